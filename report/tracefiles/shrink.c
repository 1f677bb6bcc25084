/* SPDX-License-Identifier: MIT */
/*
 * shrink: see shrink.h. The order of the facts:
 *
 *	head		run, target, families, all frames, probes: at the time of the first fact
 *	orphans		with their times; among them the first of each kind of double free, with its count
 *	the rest	at the time of the last fact: numbers until now, samples, gaps, notes; places;
 *			blocks put aside; live blocks, objects; verdicts
 *	totals, end, names
 *
 * So if this trace is read after an earlier piece, older blocks go at the time when they went; then time
 * passes to the end of this piece, and what it adds comes with its whole series (MMT_PLACE), before its
 * blocks. All lists are sorted: the output does not depend on the layout of tables in memory. What is live:
 * shrink_held.c. Verdicts: shrink_verdicts.c.
 */
#include "report/tracefiles/shrink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/tracefiles/runfacts.h"
#include "report/tracefiles/shrink_parts.h"

static struct fact info(uint64_t time_us, uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what, .time_us = time_us };
}

static uint32_t number_or_none(const struct shrink *s, uint32_t index)
{
	return index == DEFS_NONE ? FACT_NONE : shrink_stack(s, index) + 1;
}

/* --- head --- */

/*
 * All frames, also those of stacks that are not needed: which of several equal frames represents a code
 * location depends on all of them.
 */
static void put_definitions(struct shrink *s)
{
	const struct defs *d = &s->l->defs;
	struct fact f;

	for (uint32_t i = 0; i < d->nfamilies; i++) {
		defs_family_fact(d, i, &f);
		f.time_us = s->l->first_us;
		shrink_put(s, &f);
	}
	for (uint32_t i = 0; i < d->nframes; i++) {
		defs_frame_fact(d, i, &f);
		f.time_us = s->l->first_us;
		shrink_put(s, &f);
	}
}

/* --- orphans and double frees --- */

/*
 * A block is allocated at the address, and forgotten: if an older block is there, the reader sees that its
 * free was missed.
 */
static void put_displaced(struct shrink *s, const struct orphan *o)
{
	const struct fact held = {
		.kind = MMT_HELD, .time_us = o->time_us,
		.block = { .addr = o->addr, .stack = shrink_stack(s, o->stack), .birth_us = o->time_us },
	};
	const struct fact forget = { .kind = MMT_FORGET, .time_us = o->time_us,
				     .block = { .addr = o->addr } };

	shrink_put(s, &held);
	shrink_put(s, &forget);
}

static bool is_of_object(uint32_t kind)
{
	return kind == MMT_REF || kind == MMT_UNREF || kind == MMT_BORN || kind == MMT_COUNTED;
}

/* Of MMT_BORN only the birth itself: if an older object is there, the reader sees that its end was missed. */
static void put_ref(struct shrink *s, const struct orphan *o)
{
	struct fact f = { .kind = o->kind, .time_us = o->time_us, .ref = { .addr = o->addr } };

	if (o->kind != MMT_COUNTED)
		f.ref.stack = shrink_stack(s, o->stack);
	if (o->kind != MMT_BORN) {
		f.ref.by = o->by;
		f.ref.count = o->count;
	}
	shrink_put(s, &f);
}

static void put_orphan(struct shrink *s, const struct orphan *o)
{
	const struct fact f = {
		.kind = o->kind, .time_us = o->time_us, .block = { .addr = o->addr, .key = o->key },
	};

	shrink_put_family(s, o->time_us, o->family);
	if (is_of_object(o->kind))
		put_ref(s, o);
	else if (o->kind == MMT_ALLOC)
		put_displaced(s, o);
	else
		shrink_put(s, &f);
}

static void put_twice(struct shrink *s, const struct ledger_twice *t)
{
	const struct fact f = {
		.kind = MMT_TWICE, .time_us = t->time_us,
		.block = {
			.addr = t->sample, .size = t->count - 1, .stack = number_or_none(s, t->second),
			.first = number_or_none(s, t->first), .alloc = number_or_none(s, t->alloc),
		},
	};

	shrink_put_family(s, t->time_us, t->family);
	shrink_put(s, &f);
}

/* Both lists are in order of time. */
static void put_orphans_and_twice(struct shrink *s)
{
	const struct ledger *l = s->l;
	size_t o = 0, t = 0;

	while (o < l->norphans || t < l->ntwice) {
		if (t == l->ntwice || (o < l->norphans && l->orphans[o].time_us <= l->twice[t].time_us))
			put_orphan(s, &l->orphans[o++]);
		else
			put_twice(s, &l->twice[t++]);
	}
}

/* --- what is known until now --- */

static void put_doubt(struct shrink *s, const char *reason, uint64_t count)
{
	struct fact f = info(s->l->now_us, MMT_LOST);

	f.lost.reason = reason;
	f.lost.count = count;
	if (count)
		shrink_put(s, &f);
}

static void put_numbers(struct shrink *s)
{
	const struct ledger *l = s->l;

	if (s->err == 0)
		s->err = runfacts_put_numbers(l, l->now_us, s->w);
#define X(name, reason) put_doubt(s, reason, l->name);
	LEDGER_DOUBTS(X)
#undef X
}

/* The samples of a later piece replace them. */
static void put_samples(struct shrink *s)
{
	if (s->err == 0)
		s->err = runfacts_put_samples(s->l, s->l->now_us, s->w);
}

static void put_words(struct shrink *s)
{
	const struct ledger *l = s->l;
	struct fact f = info(l->now_us, MMT_GAP);

	for (size_t i = 0; i < l->ngaps; i++) {
		f.gap.start_us = l->gaps[i].start_us;
		f.gap.length_us = l->gaps[i].length_us;
		f.gap.why = l->gaps[i].why;
		shrink_put(s, &f);
	}
	f = info(l->now_us, MMT_NOTE);
	for (size_t i = 0; i < l->nnotes; i++) {
		f.note = l->notes[i];
		if (i < l->own_notes || i - l->own_notes >= l->nown_notes)
			shrink_put(s, &f);
	}
}

/* --- places --- */

static void put_place(struct shrink *s, uint32_t family, uint32_t stack)
{
	const struct place *there = &s->l->books[family].places[stack];
	const struct place *p = ledger_place(s->l, family, stack);
	struct fact f = info(s->l->now_us, MMT_PLACE);

	if (!p && (there->allocs || there->frees || there->blocks))
		s->err = s->err ? s->err : -ENOMEM; /* no memory for its series */
	if (!p)
		return;
	f.place.stack = shrink_stack(s, stack);
	f.place.allocs = p->allocs;
	f.place.frees = p->frees;
	f.place.bytes = p->allocated_bytes;
	f.place.span_us = series_span_us(&p->series);
	f.place.points = p->series.points;
	f.place.npoints = p->series.points ? p->series.n : 0;
	shrink_put(s, &f);
}

static void put_older(struct shrink *s, struct older_sizes *older)
{
	struct fact f = info(s->l->now_us, MMT_OLDER);

	if (older_sizes_pass(older, s->l->now_us) < 0)
		s->err = s->err ? s->err : -ENOMEM;
	for (size_t i = 0; i < older->n; i++) {
		const struct older_size *its = &older->all[i];

		f.place.size = its->size;
		f.place.frees = its->blocks;
		f.place.bytes = its->bytes;
		f.place.span_us = series_span_us(&its->series);
		f.place.points = its->series.points;
		f.place.npoints = its->series.points ? its->series.n : 0;
		shrink_put(s, &f);
	}
}

/* --- the end --- */

/* What the places and events above do not include. */
static void put_totals(struct shrink *s)
{
	const struct ledger *l = s->l;
	struct fact f = info(l->now_us, MMT_TOTALS);

	f.totals.old = l->unmatched_frees;
	f.totals.twice = l->double_frees;
	for (size_t i = 0; i < l->norphans; i++)
		f.totals.old -= l->orphans[i].kind == MMT_FREE || l->orphans[i].kind == MMT_ASIDE_FREED;
	for (size_t i = 0; i < l->ntwice; i++)
		f.totals.twice -= l->twice[i].count;
	shrink_put(s, &f);
}

static void put_head(struct shrink *s)
{
	const struct ledger *l = s->l;

	s->err = runfacts_put_run(l, l->run.piece, l->run.last, l->first_us, s->w);
	put_definitions(s);
	if (s->err == 0)
		s->err = runfacts_put_probes(l, l->first_us, s->w);
}

static void put_all(struct shrink *s)
{
	const struct ledger *l = s->l;
	const struct fact end = info(l->now_us, MMT_END);

	put_head(s);
	put_orphans_and_twice(s);
	put_numbers(s);
	shrink_put_processes(s);
	put_samples(s);
	put_words(s);
	for (uint32_t i = 0; i < l->nbooks; i++) {
		shrink_put_family(s, l->now_us, i);
		for (uint32_t stack = 0; stack < l->books[i].nplaces; stack++)
			put_place(s, i, stack);
		put_older(s, &l->books[i].older);
		shrink_put_merged(s, i);
	}
	shrink_put_hangs(s);
	shrink_put_look(s);
	shrink_put_aside(s);
	for (uint32_t i = 0; i < l->nbooks; i++) {
		shrink_put_family(s, l->now_us, i);
		shrink_put_blocks(s, i);
		shrink_put_objects(s, i);
	}
	shrink_put_verdicts(s);
	put_totals(s);
	if (l->ended)
		shrink_put(s, &end);
	if (s->err == 0)
		s->err = writer_put_names(s->w);
}

static int write_to(struct ledger *l, const char *path)
{
	struct writer_options opt = { .path = path, .defs = &l->defs };
	struct shrink s = { .l = l };
	int closed;

	memcpy(&opt.run_tag, l->run.id, sizeof(opt.run_tag));
	s.err = writer_open(&opt, &s.w);
	if (s.err < 0)
		return s.err;
	put_all(&s);
	closed = writer_close(s.w);
	return s.err < 0 ? s.err : closed;
}

/* Creates an unused name beside @path, so that it is ours: the writer replaces the file it finds there. */
static int take_part(const char *path, char **out)
{
	char *part;
	int fd, err;

	if (asprintf(&part, "%s.%d.part", path, (int)getpid()) < 0)
		return -ENOMEM;
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = -errno;
		free(part);
		return err;
	}
	close(fd);
	*out = part;
	return 0;
}

/*
 * A device or a FIFO is written directly; a file appears when it is complete: it may replace the only copy of
 * what was read.
 */
int shrink_write(struct ledger *l, const char *path)
{
	cleanup_free char *part = NULL;
	struct stat st;
	int r;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return write_to(l, path);
	r = take_part(path, &part);
	if (r < 0)
		return r;
	r = write_to(l, part);
	if (r == 0 && rename(part, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(part);
	return r;
}
