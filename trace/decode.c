/* SPDX-License-Identifier: MIT */
/*
 * decode: see decode.h. A string takes at least as many bytes in the payload (its length, and the bytes) as
 * here (the bytes, and a NUL). So a text area of a block's size cannot overflow. An array's number of
 * elements is checked against the bytes that are left before memory is allocated for it.
 */
#include "trace/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/fields.h"

#define NAME_LEAST 5	/* bytes of a name */
#define USE_LEAST 3	/* of an object's use */
#define SUM_LEAST 2	/* of a verdict's sums */
#define PART_LEAST 2	/* of what a process has of a group */
#define JUDGED_LEAST 2	/* of a block with a verdict */

int decoder_init(struct decoder *d)
{
	*d = (struct decoder){ .text = malloc(MMT_BLOCK_MAX) };
	return d->text ? 0 : -ENOMEM;
}

void decoder_fini(struct decoder *d)
{
	free(d->text);
	free(d->list);
	*d = (struct decoder){ 0 };
}

void decoder_start(struct decoder *d, const void *payload, size_t n)
{
	d->in = (struct cursor){ payload, (const uint8_t *)payload + n, false };
	d->time_us = 0;
	d->addr = 0;
	d->family = 0;
}

/* @n bytes of @in as a string; a NUL within ends it. NULL if they are not there. */
static const char *take_text(struct decoder *d, struct cursor *in, uint64_t n)
{
	const uint8_t *bytes = cursor_bytes(in, n);
	char *text = d->text + d->ntext;

	if (!bytes)
		return NULL;
	memcpy(text, bytes, n);
	text[n] = '\0';
	d->ntext += n + 1;
	return text;
}

static const char *get_text(struct decoder *d, struct cursor *in)
{
	uint64_t n = cursor_varint(in);

	return n ? take_text(d, in, n - 1) : NULL;
}

static int32_t get_signed(struct cursor *in)
{
	int64_t v = wire_unzigzag(cursor_varint(in));

	in->bad |= v != (int32_t)v;
	return (int32_t)v;
}

/* --- lists --- */

/*
 * Read the number of elements, and make the array for them. The cursor becomes bad if the bytes left cannot
 * hold so many, of at least @least bytes each.
 */
static uint32_t get_list(struct decoder *d, struct cursor *in, size_t least, size_t element)
{
	uint64_t n = cursor_varint(in);

	if (n > cursor_left(in) / least) {
		in->bad = true;
		return 0;
	}
	if (n * element > d->list_size) {
		void *grown = realloc(d->list, n * element);
		if (!grown)
			return UINT32_MAX;
		d->list = grown;
		d->list_size = n * element;
	}
	return (uint32_t)n;
}

static void get_run_value(struct decoder *d, uint64_t key, struct cursor *value, struct fact_run *r)
{
	const uint8_t *id;

	switch (key) {
	case MMT_RUN_ID:
		id = cursor_bytes(value, sizeof(r->id));
		if (id)
			memcpy(r->id, id, sizeof(r->id));
		break;
	case MMT_RUN_PIECE:
		r->piece = cursor_varint32(value);
		break;
	case MMT_RUN_LAST:
		r->last = cursor_varint32(value);
		break;
	case MMT_RUN_START:
		r->start_ns = wire_unzigzag(cursor_varint(value));
		break;
	case MMT_RUN_FRONTEND:
		r->frontend = take_text(d, value, cursor_left(value));
		break;
	case MMT_RUN_MODE:
		r->mode = take_text(d, value, cursor_left(value));
		break;
	case MMT_RUN_WRITER:
		r->writer = take_text(d, value, cursor_left(value));
		break;
	case MMT_RUN_HOST:
		r->host = take_text(d, value, cursor_left(value));
		break;
	case MMT_RUN_SAMPLE:
		r->sample_bytes = cursor_varint(value);
		break;
	case MMT_RUN_ENGINE:
		r->engine = take_text(d, value, cursor_left(value));
		break;
	case MMT_RUN_OTHER:
		r->other = take_text(d, value, cursor_left(value));
		break;
	}
}

static int get_run(struct decoder *d, struct cursor *in, struct fact *f)
{
	f->run = (struct fact_run){ 0 };
	while (cursor_left(in) && !in->bad) {
		uint64_t key = cursor_varint(in), n = cursor_varint(in);
		const uint8_t *bytes = cursor_bytes(in, n);
		struct cursor value = { bytes, bytes ? bytes + n : NULL, false };

		if (bytes)
			get_run_value(d, key, &value, &f->run);
		in->bad |= value.bad;
	}
	return 0;
}

/* Read texts into d->list. Returns their number; UINT32_MAX: no memory. */
static uint32_t get_texts(struct decoder *d, struct cursor *in)
{
	uint32_t n = get_list(d, in, 1, sizeof(char *));
	const char **list = d->list;

	for (uint32_t i = 0; n != UINT32_MAX && i < n; i++)
		list[i] = get_text(d, in);
	return n;
}

static int get_arguments(struct decoder *d, struct cursor *in, struct fact *f)
{
	f->target.argc = get_texts(d, in);
	f->target.argv = d->list;
	return f->target.argc == UINT32_MAX ? -ENOMEM : 0;
}

static int get_names(struct decoder *d, struct cursor *in, struct fact *f)
{
	uint32_t n = get_list(d, in, NAME_LEAST, sizeof(struct fact_name));
	struct fact_name *list = d->list;

	if (n == UINT32_MAX)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		list[i].function = get_text(d, in);
		list[i].linkage = get_text(d, in);
		list[i].file = get_text(d, in);
		list[i].line = cursor_varint32(in);
		list[i].inlined = cursor_varint(in) & MMT_NAMES_INLINED;
	}
	f->names.n = n;
	f->names.all = list;
	return 0;
}

static int get_points(struct decoder *d, struct cursor *in, struct fact *f)
{
	uint32_t n = get_list(d, in, 1, sizeof(uint64_t));
	uint64_t *list = d->list;

	if (n == UINT32_MAX)
		return -ENOMEM;
	if (n > MMT_SERIES_POINTS) {
		in->bad = true;
		n = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		list[i] = cursor_varint(in);
	f->place.npoints = n;
	f->place.points = list;
	return 0;
}

static int get_uses(struct decoder *d, struct cursor *in, struct fact *f)
{
	uint32_t n = get_list(d, in, USE_LEAST, sizeof(struct fact_use));
	struct fact_use *list = d->list;

	if (n == UINT32_MAX)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		list[i].stack = cursor_varint32(in);
		list[i].acquired = cursor_varint(in);
		list[i].released = cursor_varint(in);
	}
	f->object.nuses = n;
	f->object.uses = list;
	return 0;
}

/* At most @most of them into @sums; the others are skipped. Returns how many there are. */
static uint32_t get_sums(struct cursor *in, struct fact_sum *sums, uint32_t most)
{
	uint64_t n = cursor_varint(in);

	in->bad |= n > cursor_left(in) / SUM_LEAST;
	for (uint64_t i = 0; i < n && !in->bad; i++) {
		struct fact_sum sum;

		sum.blocks = cursor_varint(in);
		sum.bytes = cursor_varint(in);
		if (i < most)
			sums[i] = sum;
	}
	return n < most ? (uint32_t)n : most;
}

static int get_look(struct decoder *d, struct cursor *in, struct fact *f)
{
	struct fact_verdicts *l = &d->look;
	uint64_t flags;

	*l = (struct fact_verdicts){ .number = cursor_varint32(in) };
	flags = cursor_varint(in);
	l->known = flags & MMT_VERDICTS_TAKEN;
	l->census = flags & MMT_VERDICTS_CENSUS;
	l->why_not = get_text(d, in);
	l->allocator = get_text(d, in);
	l->expected_ns = cursor_varint(in);
	l->had_ns = cursor_varint(in);
	l->bytes = cursor_varint(in);
	l->threads = cursor_varint32(in);
	l->not_stopped = cursor_varint32(in);
	l->judged = cursor_varint(in);
	l->passed = cursor_varint(in);
	/* verdicts beyond those that are known here are skipped */
	l->nsums = get_sums(in, d->sums, DECODE_SUMS);
	l->sums = d->sums;
	l->ndoubts = get_texts(d, in);
	l->doubts = d->list;
	f->look = l;
	return l->ndoubts == UINT32_MAX ? -ENOMEM : 0;
}

static int get_judged(struct decoder *d, struct cursor *in, struct fact *f)
{
	uint32_t n = get_list(d, in, JUDGED_LEAST, sizeof(struct fact_judged));
	struct fact_judged *list = d->list;
	taddr before = 0;

	if (n == UINT32_MAX)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		before = list[i].addr = cursor_address(in, before);
		list[i].with_blocks = cursor_varint(in);
		list[i].with_bytes = list[i].with_blocks ? cursor_varint(in) : 0;
	}
	f->judged.n = n;
	f->judged.all = list;
	return 0;
}

static void get_sample(struct decoder *d, struct cursor *in, struct fact *f)
{
	struct fact_sample *its = &d->sample;
	uint64_t n;

	*its = (struct fact_sample){ .standing = cursor_varint(in) & MMT_SAMPLE_STANDING };
#define X(field) its->field = cursor_varint(in);
	FIELDS_OF_SAMPLE(X)
#undef X
	n = cursor_varint(in);
	in->bad |= n > MMT_SAMPLE_STEPS;
	for (; its->nsteps < n && !in->bad; its->nsteps++) {
		struct fact_step *step = &its->steps[its->nsteps];

		step->at_risk = cursor_varint(in);
		step->gone = cursor_varint(in);
		step->unknown = cursor_varint(in);
	}
	its->late_exposed_us = cursor_varint(in);
	its->missed = cursor_varint(in);
	its->stood_us = cursor_varint(in);
	its->process = cursor_varint32(in);
	/* traces of earlier versions end here */
	if (cursor_left(in)) {
		its->searched = cursor_varint(in);
		its->lost = cursor_varint(in);
	}
	/* and of somewhat later ones here */
	if (cursor_left(in)) {
#define X(field) its->losing.field = cursor_varint(in);
		FIELDS_OF_LOSING(X)
#undef X
	}
	f->sample.its = its;
}

static void get_budget(struct decoder *d, struct cursor *in, struct fact *f)
{
	d->budget.loss = (struct fact_loss){ 0 };
#define X(field) d->budget.field = cursor_varint(in);
	FIELDS_OF_BUDGET(X)
#undef X
	/* traces of earlier versions end here */
	if (cursor_left(in)) {
#define X(field) d->budget.loss.field = cursor_varint(in);
		FIELDS_OF_LOSS(X)
#undef X
	}
	f->budget = &d->budget;
}

static void get_process(struct decoder *d, struct cursor *in, struct fact *f)
{
	struct fact_process *p = &d->process;
	const uint8_t *id;
	uint64_t flags;

	*p = (struct fact_process){ .number = cursor_varint32(in) };
	p->pid = get_signed(in);
	id = cursor_bytes(in, sizeof(p->run_id));
	if (id)
		memcpy(p->run_id, id, sizeof(p->run_id));
	p->start_ns = wire_unzigzag(cursor_varint(in));
	flags = cursor_varint(in);
	p->ended = flags & MMT_PROCESS_ENDED;
	p->judged = flags & MMT_PROCESS_JUDGED;
	p->absent = flags & MMT_PROCESS_ABSENT;
	p->comm = get_text(d, in);
	p->exe = get_text(d, in);
	p->host = get_text(d, in);
	p->labels = get_text(d, in);
	p->frontend = get_text(d, in);
	p->mode = get_text(d, in);
	p->how = get_text(d, in);
#define X(name) p->name = cursor_varint(in);
	FACT_PROCESS_NUMBERS(X)
#undef X
	p->nsums = get_sums(in, d->sums, DECODE_SUMS);
	p->sums = d->sums;
	f->process = p;
}

static void get_merged_points(struct decoder *d, struct cursor *in)
{
	uint64_t n = cursor_varint(in);

	in->bad |= n > MMT_SERIES_POINTS;
	for (uint64_t i = 0; i < n && !in->bad; i++)
		d->points[i] = cursor_varint(in);
	d->merged.points = d->points;
	d->merged.npoints = in->bad ? 0 : (uint32_t)n;
}

static int get_merged(struct decoder *d, struct cursor *in, struct fact *f)
{
	struct fact_merged *m = &d->merged;
	struct fact_part *list;
	uint32_t n, before = 0;

	*m = (struct fact_merged){ .verdict = cursor_varint32(in) };
#define X(field) m->field = cursor_varint(in);
	FIELDS_OF_MERGED(X)
#undef X
	get_merged_points(d, in);
	n = get_list(d, in, PART_LEAST, sizeof(struct fact_part));
	if (n == UINT32_MAX)
		return -ENOMEM;
	list = d->list;
	for (uint32_t i = 0; i < n; i++) {
		before += (uint32_t)wire_unzigzag(cursor_varint(in));
		list[i] = (struct fact_part){ before, cursor_varint(in) };
	}
	m->nparts = n;
	m->parts = list;
	f->merged.its = m;
	return 0;
}

static void get_bins(struct decoder *d, struct cursor *in, struct fact *f)
{
	f->bins.n = get_sums(in, d->bins, MMT_BINS_MAX);
	f->bins.all = d->bins;
}

/* --- one record --- */

#define KIND(kind, fields) case kind: fields break;
#define ADDRESS(field) f->field = d->addr = cursor_address(in, d->addr);
#define U64(field) f->field = cursor_varint(in);
#define U32(field) f->field = cursor_varint32(in);
#define SIGNED(field) f->field = get_signed(in);
#define STACK(field) f->field = cursor_varint32(in);
#define STACK_OR_NONE(field) f->field = cursor_varint32(in);
#define SIGNED64(field) f->field = wire_unzigzag(cursor_varint(in));
#define FLAGS(field, bit, other, its)                                                                        \
	flags = cursor_varint(in);                                                                           \
	f->field = flags & (bit);                                                                            \
	f->other = flags & (its);
#define FLAG(field, bit) f->field = cursor_varint(in) & (bit);
#define TEXT(field) f->field = get_text(d, in);
#define RUN() err = get_run(d, in, f);
#define ARGUMENTS() err = get_arguments(d, in, f);
#define LIST() err = get_names(d, in, f);
#define POINTS() err = get_points(d, in, f);
#define USES() err = get_uses(d, in, f);
#define LOOK() err = get_look(d, in, f);
#define JUDGED() err = get_judged(d, in, f);
#define SAMPLE() get_sample(d, in, f);
#define BUDGET() get_budget(d, in, f);
#define PROCESS() get_process(d, in, f);
#define MERGED() err = get_merged(d, in, f);
#define BINS() get_bins(d, in, f);

/*
 * 1; 0: the kind is not known, and was skipped. Bytes after the known fields are from a newer version, and
 * are skipped, too.
 */
static int get_info(struct decoder *d, struct fact *f)
{
	uint64_t info = cursor_varint(&d->in), n = cursor_varint(&d->in);
	const uint8_t *bytes = cursor_bytes(&d->in, n);
	struct cursor value = { bytes, bytes ? bytes + n : NULL, false }, *in = &value;
	uint64_t flags;
	int err = 0;

	if (!bytes)
		return -EPROTO;
	switch (info) {
	FIELDS_OF_INFO
	default:
		return 0;
	}
	f->info = (uint32_t)info;
	if (value.bad)
		return -EPROTO;
	return err ? err : 1;
}

static int get_event(struct decoder *d, struct fact *f)
{
	struct cursor *in = &d->in;
	uint64_t flags;
	int err = 0;

	switch (f->kind) {
	FIELDS_OF_EVENTS
	default:
		return -ENOTSUP;
	}
	if (f->kind == MMT_FAMILY)
		d->family = f->family;
	return err ? err : 1;
}

static void pass_time(struct decoder *d, unsigned int high)
{
	uint64_t passed = high == MMT_TIME_FOLLOWS ? cursor_varint(&d->in) : high;

	d->in.bad |= passed > UINT64_MAX - d->time_us;
	d->time_us += passed;
}

int decoder_next(struct decoder *d, struct fact *f)
{
	while (cursor_left(&d->in)) {
		uint8_t head = cursor_byte(&d->in);
		int got;

		pass_time(d, head >> MMT_KIND_BITS);
		d->ntext = 0;
		memset(f, 0, sizeof(*f));
		f->kind = head & MMT_KIND_MASK;
		f->time_us = d->time_us;
		got = f->kind == MMT_INFO ? get_info(d, f) : get_event(d, f);
		if (d->in.bad)
			return -EPROTO;
		if (got)
			return got;
	}
	return 0;
}
