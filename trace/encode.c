/* SPDX-License-Identifier: MIT */
#include "trace/encode.h"

#include <errno.h>
#include <string.h>

#include "trace/fields.h"
#include "trace/wire.h"

void encoder_start(struct encoder *e, uint8_t *payload)
{
	*e = (struct encoder){ .payload = payload };
}

static void put_text(struct sink *s, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	sink_varint(s, text ? (uint64_t)n + 1 : 0);
	sink_bytes(s, text, n);
}

/* --- lists --- */

static void put_value(struct sink *s, uint64_t key, const void *value, size_t n)
{
	sink_varint(s, key);
	sink_varint(s, n);
	sink_bytes(s, value, n);
}

static void put_number_value(struct sink *s, uint64_t key, uint64_t number)
{
	uint8_t bytes[WIRE_VARINT_MAX];
	struct sink value = { bytes, bytes + sizeof(bytes), false };

	if (!number)
		return;
	sink_varint(&value, number);
	put_value(s, key, bytes, (size_t)(value.at - bytes));
}

static void put_text_value(struct sink *s, uint64_t key, const char *text)
{
	if (text)
		put_value(s, key, text, strlen(text));
}

/* What is not known is left out. */
static void put_run(struct sink *s, const struct fact_run *r)
{
	static const uint8_t none[sizeof(r->id)];

	if (memcmp(r->id, none, sizeof(none)))
		put_value(s, MMT_RUN_ID, r->id, sizeof(r->id));
	put_number_value(s, MMT_RUN_PIECE, r->piece);
	put_number_value(s, MMT_RUN_LAST, r->last);
	put_number_value(s, MMT_RUN_START, wire_zigzag(r->start_ns));
	put_text_value(s, MMT_RUN_FRONTEND, r->frontend);
	put_text_value(s, MMT_RUN_MODE, r->mode);
	put_text_value(s, MMT_RUN_WRITER, r->writer);
	put_text_value(s, MMT_RUN_HOST, r->host);
	put_number_value(s, MMT_RUN_SAMPLE, r->sample_bytes);
	put_text_value(s, MMT_RUN_ENGINE, r->engine);
	put_text_value(s, MMT_RUN_OTHER, r->other);
}

static void put_arguments(struct sink *s, const struct fact *f)
{
	sink_varint(s, f->target.argc);
	for (uint32_t i = 0; i < f->target.argc && !s->full; i++)
		put_text(s, f->target.argv[i]);
}

static void put_names(struct sink *s, const struct fact *f)
{
	sink_varint(s, f->names.n);
	for (uint32_t i = 0; i < f->names.n && !s->full; i++) {
		const struct fact_name *name = &f->names.all[i];

		put_text(s, name->function);
		put_text(s, name->linkage);
		put_text(s, name->file);
		sink_varint(s, name->line);
		sink_varint(s, name->inlined ? MMT_NAMES_INLINED : 0);
	}
}

static void put_points(struct sink *s, const struct fact *f)
{
	sink_varint(s, f->place.npoints);
	for (uint32_t i = 0; i < f->place.npoints; i++)
		sink_varint(s, f->place.points[i]);
}

static void put_uses(struct sink *s, const struct fact *f)
{
	sink_varint(s, f->object.nuses);
	for (uint32_t i = 0; i < f->object.nuses && !s->full; i++) {
		sink_varint(s, f->object.uses[i].stack);
		sink_varint(s, f->object.uses[i].acquired);
		sink_varint(s, f->object.uses[i].released);
	}
}

static void put_sums(struct sink *s, const struct fact_sum *sums, uint32_t n)
{
	sink_varint(s, n);
	for (uint32_t i = 0; i < n && !s->full; i++) {
		sink_varint(s, sums[i].blocks);
		sink_varint(s, sums[i].bytes);
	}
}

static void put_look(struct sink *s, const struct fact_verdicts *l)
{
	sink_varint(s, l->number);
	sink_varint(s, (l->known ? MMT_VERDICTS_TAKEN : 0) | (l->census ? MMT_VERDICTS_CENSUS : 0));
	put_text(s, l->why_not);
	put_text(s, l->allocator);
	sink_varint(s, l->expected_ns);
	sink_varint(s, l->had_ns);
	sink_varint(s, l->bytes);
	sink_varint(s, l->threads);
	sink_varint(s, l->not_stopped);
	sink_varint(s, l->judged);
	sink_varint(s, l->passed);
	put_sums(s, l->sums, l->nsums);
	sink_varint(s, l->ndoubts);
	for (uint32_t i = 0; i < l->ndoubts && !s->full; i++)
		put_text(s, l->doubts[i]);
}

/*
 * The first address is absolute, and does not count as the last one: a reader that skips this record must
 * still understand the addresses of the events after it.
 */
static void put_judged(struct sink *s, const struct fact *f)
{
	taddr before = 0;

	sink_varint(s, f->judged.n);
	for (uint32_t i = 0; i < f->judged.n && !s->full; i++) {
		const struct fact_judged *j = &f->judged.all[i];

		sink_address(s, before, j->addr);
		sink_varint(s, j->with_blocks);
		if (j->with_blocks)
			sink_varint(s, j->with_bytes);
		before = j->addr;
	}
}

static void put_sample(struct sink *s, const struct fact_sample *its)
{
	sink_varint(s, its->standing ? MMT_SAMPLE_STANDING : 0);
#define X(field) sink_varint(s, its->field);
	FIELDS_OF_SAMPLE(X)
#undef X
	sink_varint(s, its->nsteps);
	for (uint32_t i = 0; i < its->nsteps; i++) {
		sink_varint(s, its->steps[i].at_risk);
		sink_varint(s, its->steps[i].gone);
		sink_varint(s, its->steps[i].unknown);
	}
	sink_varint(s, its->late_exposed_us);
	sink_varint(s, its->missed);
	sink_varint(s, its->stood_us);
	sink_varint(s, its->process);
	sink_varint(s, its->searched);
	sink_varint(s, its->lost);
#define X(field) sink_varint(s, its->losing.field);
	FIELDS_OF_LOSING(X)
#undef X
}

static void put_budget(struct sink *s, const struct fact_budget *b)
{
#define X(field) sink_varint(s, b->field);
	FIELDS_OF_BUDGET(X)
#undef X
#define X(field) sink_varint(s, b->loss.field);
	FIELDS_OF_LOSS(X)
#undef X
}

static void put_process(struct sink *s, const struct fact_process *p)
{
	sink_varint(s, p->number);
	sink_varint(s, wire_zigzag(p->pid));
	sink_bytes(s, p->run_id, sizeof(p->run_id));
	sink_varint(s, wire_zigzag(p->start_ns));
	sink_varint(s, (p->ended ? MMT_PROCESS_ENDED : 0) | (p->judged ? MMT_PROCESS_JUDGED : 0) |
			       (p->absent ? MMT_PROCESS_ABSENT : 0));
	put_text(s, p->comm);
	put_text(s, p->exe);
	put_text(s, p->host);
	put_text(s, p->labels);
	put_text(s, p->frontend);
	put_text(s, p->mode);
	put_text(s, p->how);
#define X(name) sink_varint(s, p->name);
	FACT_PROCESS_NUMBERS(X)
#undef X
	put_sums(s, p->sums, p->nsums);
}

static void put_merged(struct sink *s, const struct fact_merged *m)
{
	uint32_t before = 0;

	sink_varint(s, m->verdict);
#define X(field) sink_varint(s, m->field);
	FIELDS_OF_MERGED(X)
#undef X
	sink_varint(s, m->npoints);
	for (uint32_t i = 0; i < m->npoints; i++)
		sink_varint(s, m->points[i]);
	sink_varint(s, m->nparts);
	for (uint32_t i = 0; i < m->nparts && !s->full; i++) {
		sink_varint(s, wire_zigzag((int64_t)m->parts[i].process - before));
		sink_varint(s, m->parts[i].bytes);
		before = m->parts[i].process;
	}
}

/* --- one record --- */

#define KIND(kind, fields) case kind: fields break;
#define ADDRESS(field) sink_address(s, e->addr, f->field); e->addr = f->field;
#define U64(field) sink_varint(s, f->field);
#define U32(field) sink_varint(s, f->field);
#define SIGNED(field) sink_varint(s, wire_zigzag(f->field));
#define STACK(field) sink_varint(s, f->field);
#define STACK_OR_NONE(field) sink_varint(s, f->field);
#define SIGNED64(field) SIGNED(field)
#define FLAGS(field, bit, other, its) sink_varint(s, (f->field ? (bit) : 0) | (f->other ? (its) : 0));
#define FLAG(field, bit) sink_varint(s, f->field ? (bit) : 0);
#define TEXT(field) put_text(s, f->field);
#define RUN() put_run(s, &f->run);
#define ARGUMENTS() put_arguments(s, f);
#define LIST() put_names(s, f);
#define POINTS() put_points(s, f);
#define USES() put_uses(s, f);
#define LOOK() put_look(s, f->look);
#define JUDGED() put_judged(s, f);
#define SAMPLE() put_sample(s, f->sample.its);
#define BUDGET() put_budget(s, f->budget);
#define PROCESS() put_process(s, f->process);
#define MERGED() put_merged(s, f->merged.its);
#define BINS() put_sums(s, f->bins.all, f->bins.n);

static int put_info_fields(struct sink *s, const struct fact *f)
{
	switch (f->info) {
	FIELDS_OF_INFO
	default:
		return -EINVAL;
	}
	return 0;
}

/*
 * The length comes before the fields, and is known only after them: one byte is reserved for it, and if it
 * needs more, the fields are moved.
 */
static int put_info(struct sink *s, const struct fact *f)
{
	uint8_t length[WIRE_VARINT_MAX], *start;
	struct sink before = { length, length + sizeof(length), false };

	if ((f->info == MMT_PLACE || f->info == MMT_OLDER) && f->place.npoints > MMT_SERIES_POINTS)
		return -EINVAL;
	if (f->info == MMT_MERGED && f->merged.its->npoints > MMT_SERIES_POINTS)
		return -EINVAL;
	if (f->info == MMT_SAMPLE && f->sample.its->nsteps > MMT_SAMPLE_STEPS)
		return -EINVAL;
	sink_varint(s, f->info);
	start = s->at;
	sink_byte(s, 0);
	if (put_info_fields(s, f))
		return -EINVAL;
	if (s->full)
		return 0;

	size_t n = (size_t)(s->at - start - 1);
	sink_varint(&before, n);
	size_t more = (size_t)(before.at - length) - 1;
	if (more > (size_t)(s->end - s->at)) {
		s->full = true;
		return 0;
	}
	memmove(start + 1 + more, start + 1, n);
	memcpy(start, length, more + 1);
	s->at += more;
	return 0;
}

static int put_fields(struct encoder *e, struct sink *s, const struct fact *f)
{
	switch (f->kind) {
	FIELDS_OF_EVENTS
	case MMT_INFO:
		return put_info(s, f);
	default:
		return -EINVAL;
	}
	if (f->kind == MMT_FAMILY)
		e->family = f->family;
	return 0;
}

static void put_head(struct sink *s, uint32_t kind, uint64_t passed_us)
{
	uint64_t high = passed_us < MMT_TIME_FOLLOWS ? passed_us : MMT_TIME_FOLLOWS;

	sink_byte(s, (uint8_t)(high << MMT_KIND_BITS | kind));
	if (high == MMT_TIME_FOLLOWS)
		sink_varint(s, passed_us);
}

int encoder_put(struct encoder *e, const struct fact *f)
{
	struct encoder before = *e;
	struct sink s = { e->payload + e->n, e->payload + MMT_BLOCK_MAX, false };
	int err;

	if (f->time_us > e->time_us) {
		put_head(&s, f->kind & MMT_KIND_MASK, f->time_us - e->time_us);
		e->time_us = f->time_us;
	} else {
		put_head(&s, f->kind & MMT_KIND_MASK, 0);
	}
	err = put_fields(e, &s, f);
	if (!err && s.full)
		err = -ENOBUFS;
	if (err)
		*e = before;
	else
		e->n = (size_t)(s.at - e->payload);
	return err;
}
