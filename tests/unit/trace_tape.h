/* SPDX-License-Identifier: MIT */
/*
 * trace_tape: what a reader delivers, written down: each event with its family, information, damage; and the
 * definitions on the way. An event that names an undefined stack is counted.
 */
#ifndef TRACE_TAPE_H
#define TRACE_TAPE_H

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "tests/unit/fact_text.h"
#include "trace/defs.h"
#include "trace/reader.h"

#define TAPE_DAMAGES 8

struct tape {
	struct strbuf events;	/* one a line; MMT_TIME too */
	struct strbuf info;	/* except definitions */
	struct defs defs;
	uint32_t family;
	size_t nevents, undefined, ndefinitions;
	uint64_t last_us;	/* the latest time of any fact */
	struct reader_damage damage[TAPE_DAMAGES];	/* the first ones */
	size_t ndamage;
	size_t stop_at;		/* so many events are accepted; 0: all */
};

static inline void tape_init(struct tape *t)
{
	*t = (struct tape){ 0 };
	defs_init(&t->defs);
}

static inline void tape_fini(struct tape *t)
{
	strbuf_fini(&t->events);
	strbuf_fini(&t->info);
	defs_fini(&t->defs);
}

static inline void tape_need_stack(struct tape *t, uint32_t number)
{
	t->undefined += defs_stack(&t->defs, number) == DEFS_NONE;
}

static inline void tape_need_stack_or_none(struct tape *t, uint32_t number)
{
	if (number != FACT_NONE)
		tape_need_stack(t, number - 1);
}

static inline void tape_need_uses(struct tape *t, const struct fact *f)
{
	for (uint32_t i = 0; i < f->object.nuses; i++)
		tape_need_stack(t, f->object.uses[i].stack);
}

static inline void tape_event(struct tape *t, const struct fact *f)
{
	switch (f->kind) {
	case MMT_ALLOC:
	case MMT_HELD:
	case MMT_FREE_AT:
		tape_need_stack(t, f->block.stack);
		break;
	case MMT_TWICE:
		tape_need_stack_or_none(t, f->block.first);
		tape_need_stack_or_none(t, f->block.alloc);
		tape_need_stack_or_none(t, f->block.stack);
		break;
	case MMT_OLD:
	case MMT_ASIDE_FREED:
		tape_need_stack_or_none(t, f->block.stack);
		break;
	case MMT_REF:
	case MMT_UNREF:
	case MMT_BORN:
		tape_need_stack(t, f->ref.stack);
		break;
	case MMT_OBJECT:
		tape_need_uses(t, f);
		break;
	}
	if (f->kind != MMT_TIME)
		strbuf_printf(&t->events, "%u: ", t->family);
	fact_text(&t->events, f);
	t->nevents++;
}

static inline int tape_take(void *ctx, const struct fact *f)
{
	struct tape *t = ctx;

	if (f->time_us > t->last_us)
		t->last_us = f->time_us;
	if (f->kind == MMT_FAMILY) {
		t->family = f->family;
		return 0;
	}
	if (f->kind != MMT_INFO) {
		tape_event(t, f);
		return t->stop_at && t->nevents >= t->stop_at ? -ECANCELED : 0;
	}
	int err = defs_take(&t->defs, f);
	t->ndefinitions += !err;
	if (err == -EINVAL)
		fact_text(&t->info, f);
	else if (err)
		t->undefined++;
	return 0;
}

static inline void tape_damaged(void *ctx, const struct reader_damage *d)
{
	struct tape *t = ctx;

	if (t->ndamage < TAPE_DAMAGES)
		t->damage[t->ndamage] = *d;
	t->ndamage++;
}

/* All of a file, or of memory; returns the result of reader_open or reader_run. */
static inline int tape_run(struct tape *t, struct reader *r)
{
	int err = reader_run(r, tape_take, tape_damaged, t);

	reader_close(r);
	return err;
}

static inline int tape_read(struct tape *t, const char *path)
{
	struct reader *r;
	int err = reader_open(path, &r);

	return err ? err : tape_run(t, r);
}

static inline int tape_read_memory(struct tape *t, const void *data, size_t n)
{
	struct reader *r;
	int err = reader_open_memory(data, n, &r);

	return err ? err : tape_run(t, r);
}

#endif
