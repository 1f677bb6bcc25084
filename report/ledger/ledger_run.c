/* SPDX-License-Identifier: MIT */
/*
 * ledger_run: what is known of the run itself. Every piece of a trace repeats it, so each item is identified:
 * a probe by its number, a reason by its text, a gap by its start; a later fact updates an earlier one. All
 * lists have a limit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/ledger/ledger_parts.h"

/* --- the pool --- */

static int keep(struct ledger *l, const char *text, const char **out)
{
	*out = defs_string(&l->defs, text);
	return text && !*out ? -ENOMEM : 0;
}

/* The pool has each text only once, so its address identifies the text. */
static uint64_t key_of(const char *text)
{
	return (uint64_t)(uintptr_t)text;
}

/*
 * The element of *@array that @index has for @key, or a new one of zeros. 0; 1: it is new; -ENOMEM; -ENOSPC:
 * it would be new, and there are too many.
 */
static int find_or_add(struct addrmap *index, uint64_t key, void *array, size_t *n, size_t size, void *out)
{
	const size_t *known = addrmap_get(index, key);
	void *element;

	if (known) {
		*(void **)out = *(char **)array + *known * size;
		return 0;
	}
	if (*n >= LEDGER_LIST_MAX)
		return -ENOSPC;
	element = grow_by_one(array, *n, size);
	if (!element || addrmap_put(index, key, n) < 0)
		return -ENOMEM;
	memset(element, 0, size);
	*(void **)out = element;
	++*n;
	return 1;
}

/* --- run and target --- */

static int take_run(struct ledger *l, const struct fact_run *run)
{
	uint32_t last = run->last > run->piece ? run->last : run->piece;
	int r;

	if (l->has_run) {
		if (last > l->run.piece && last > l->run.last)
			l->run.last = last;
		return 0;
	}
	l->run = *run;
	l->run.last = last > run->piece ? last : 0;
	r = keep(l, run->frontend, &l->run.frontend);
	if (r == 0)
		r = keep(l, run->mode, &l->run.mode);
	if (r == 0)
		r = keep(l, run->writer, &l->run.writer);
	if (r == 0)
		r = keep(l, run->host, &l->run.host);
	if (r == 0)
		r = keep(l, run->engine, &l->run.engine);
	if (r == 0)
		r = keep(l, run->other, &l->run.other);
	l->has_run = true;
	return r;
}

static int take_target(struct ledger *l, const struct fact *f)
{
	const char **argv = calloc((size_t)f->target.argc + 1, sizeof(*argv));
	int r = argv ? keep(l, f->target.comm, &l->target.comm) : -ENOMEM;

	if (r == 0)
		r = keep(l, f->target.exe, &l->target.exe);
	for (uint32_t i = 0; i < f->target.argc && r == 0; i++)
		r = keep(l, f->target.argv[i], &argv[i]);
	if (r < 0) {
		free(argv);
		return r;
	}
	free(l->target.argv);
	l->target.argv = argv;
	l->target.argc = f->target.argc;
	l->target.pid = f->target.pid;
	return 0;
}

/* --- lists --- */

static int take_probe(struct ledger *l, const struct fact *f)
{
	struct ledger_probe *p;
	int r = find_or_add(&l->probe_index, f->probe.number, &l->probes, &l->nprobes, sizeof(*p), &p);

	if (r < 0)
		return r;
	p->number = f->probe.number;
	p->family = defs_family(&l->defs, f->probe.family);
	r = keep(l, f->probe.rule, &p->rule);
	if (r == 0)
		r = keep(l, f->probe.module, &p->module);
	return r < 0 ? r : keep(l, f->probe.note, &p->note);
}

static int take_hits(struct ledger *l, const struct fact *f)
{
	const size_t *known = addrmap_get(&l->probe_index, f->hits.probe);

	if (!known)
		l->undefined++;
	else
		l->probes[*known].hits = f->hits.hits;
	return 0;
}

static bool is_doubt(struct ledger *l, const char *reason, uint64_t count)
{
#define X(name, text)					\
	if (strcmp(reason, text) == 0) {		\
		l->name += count;			\
		return true;				\
	}
	LEDGER_DOUBTS(X)
#undef X
	return false;
}

static int take_lost(struct ledger *l, const struct fact *f)
{
	const char *reason;
	struct ledger_lost *lost;
	int r = keep(l, f->lost.reason ? f->lost.reason : "", &reason);

	if (r < 0 || is_doubt(l, reason, f->lost.count))
		return r;
	r = find_or_add(&l->lost_index, key_of(reason), &l->lost, &l->nlost, sizeof(*lost), &lost);
	if (r < 0)
		return r;
	lost->reason = reason;
	lost->count = strcmp(reason, LEDGER_DAMAGED) == 0 ? lost->count + f->lost.count : f->lost.count;
	return 0;
}

static int take_count(struct ledger *l, const struct fact *f)
{
	if (f->count.which < LEDGER_COUNTS)
		l->counts[f->count.which] = f->count.value;
	return 0;
}

/* A gap that is recorded again with the same start and reason has become longer. */
static int take_gap(struct ledger *l, const struct fact *f)
{
	struct ledger_gap *gap;
	const char *why;
	int r = keep(l, f->gap.why, &why);

	if (r == 0)
		r = find_or_add(&l->gap_index, f->gap.start_us * 0x9e3779b97f4a7c15u + key_of(why), &l->gaps,
				&l->ngaps, sizeof(*gap), &gap);
	if (r < 0)
		return r;
	*gap = (struct ledger_gap){ f->gap.start_us, f->gap.length_us, why };
	return 0;
}

/* Add to a list of texts that has each text once. */
static int take_text(struct ledger *l, const char *text, struct addrmap *index, const char ***list, size_t *n)
{
	const char *kept;
	const char **slot;
	int r = keep(l, text ? text : "", &kept);

	if (r < 0 || addrmap_get(index, key_of(kept)))
		return r;
	if (*n >= LEDGER_LIST_MAX)
		return -ENOSPC;
	slot = grow_by_one(list, *n, sizeof(*slot));
	if (!slot || addrmap_put(index, key_of(kept), NULL) < 0)
		return -ENOMEM;
	*slot = kept;
	++*n;
	return 0;
}

static int take_note(struct ledger *l, const char *text)
{
	return take_text(l, text, &l->note_index, &l->notes, &l->nnotes);
}

static int take_skip(struct ledger *l, const char *function)
{
	return take_text(l, function, &l->skip_index, &l->skips, &l->nskips);
}

/* --- blocks freed twice --- */

static bool same_twice(const struct ledger_twice *a, const struct ledger_twice *b)
{
	return a->family == b->family && a->second == b->second && a->first == b->first &&
	       a->alloc == b->alloc;
}

/* If keys collide, the later ones use the next free number. */
static uint64_t twice_key(const struct ledger *l, const struct ledger_twice *t)
{
	uint64_t key = ((t->second * 0x9e3779b97f4a7c15u ^ t->first) * 0xbf58476d1ce4e5b9u ^ t->alloc) *
		       0x94d049bb133111ebu ^ t->family;
	const size_t *known;

	while ((known = addrmap_get(&l->twice_index, key)) && !same_twice(&l->twice[*known], t))
		key++;
	return key;
}

static int find_twice(struct ledger *l, const struct ledger_twice *t, struct ledger_twice **out)
{
	uint64_t key = twice_key(l, t);

	*out = NULL;
	if (l->ntwice >= LEDGER_TWICE_MAX && !addrmap_get(&l->twice_index, key))
		return take_note(l,
				 "more different double frees than are listed: the others are only counted");
	return find_or_add(&l->twice_index, key, &l->twice, &l->ntwice, sizeof(**out), out);
}

int ledger_list_twice(struct ledger *l, const struct ledger_twice *t)
{
	struct ledger_twice *kept;
	int r = find_twice(l, t, &kept);

	if (r == -ENOMEM)
		return r;
	if (kept && r == 1)
		*kept = (struct ledger_twice){ .family = t->family, .second = t->second, .first = t->first,
					       .alloc = t->alloc, .sample = t->sample, .time_us = t->time_us };
	if (kept)
		kept->count += t->count;
	return 0;
}

int ledger_take_twice(struct ledger *l, const struct fact *f)
{
	const uint64_t count = f->block.size + 1;
	struct ledger_twice t = { .family = l->family, .sample = f->block.addr, .time_us = l->now_us,
				  .count = count };
	int r = ledger_stack_or_none(l, f->block.stack, &t.second);

	if (r == 0)
		r = ledger_stack_or_none(l, f->block.first, &t.first);
	if (r == 0)
		r = ledger_stack_or_none(l, f->block.alloc, &t.alloc);
	if (r == 0)
		r = ledger_list_twice(l, &t);
	if (r < 0)
		return r;
	l->frees += count;
	l->double_frees += count;
	return 0;
}

/* --- what a shrunken trace left out --- */

static void add_totals(struct ledger *l, uint64_t allocs, uint64_t frees)
{
	struct ledger_book *book = &l->books[l->family];
	bool refs = l->defs.families[l->family].refs;

	*(refs ? &book->acquired : &l->allocs) += allocs;
	*(refs ? &book->released : &l->frees) += frees;
}

static int take_place(struct ledger *l, const struct fact *f)
{
	uint32_t stack;
	struct place *p;
	int r = ledger_stack(l, f->place.stack, &stack);

	if (r < 0)
		return r;
	p = ledger_place_now(l, l->family, stack);
	if (!p)
		return -ENOMEM;
	p->allocs += f->place.allocs;
	p->frees += f->place.frees;
	p->allocated_bytes += f->place.bytes;
	add_totals(l, f->place.allocs, f->place.frees);
	return f->place.npoints ? series_add(&p->series, f->place.span_us, f->place.points, f->place.npoints)
				: 0;
}

static int take_older(struct ledger *l, const struct fact *f)
{
	const struct older_freed freed = {
		.size = f->place.size, .blocks = f->place.frees, .bytes = f->place.bytes,
		.span_us = f->place.span_us, .points = f->place.points, .n = f->place.npoints,
	};

	if (l->defs.families[l->family].refs)
		return -EINVAL;
	return older_sizes_add(&l->books[l->family].older, l->now_us, &freed);
}

static int take_totals(struct ledger *l, const struct fact *f)
{
	l->frees += f->totals.old + f->totals.twice;
	l->unmatched_frees += f->totals.old;
	l->double_frees += f->totals.twice;
	return 0;
}

/* --- memory --- */

static int take_memory(struct ledger *l, const struct fact *f)
{
	const char *name;
	int r = keep(l, f->memory.name, &name);

	return r < 0 ? r : memories_add(&l->memories, f->memory.pid, name, &f->memory.point);
}

/* --- all --- */

static int take(struct ledger *l, const struct fact *f)
{
	switch (f->info) {
	case MMT_RUN:
		return take_run(l, &f->run);
	case MMT_TARGET:
		return take_target(l, f);
	case MMT_PROBE:
		return take_probe(l, f);
	case MMT_HITS:
		return take_hits(l, f);
	case MMT_LOST:
		return take_lost(l, f);
	case MMT_COUNT:
		return take_count(l, f);
	case MMT_GAP:
		return take_gap(l, f);
	case MMT_NOTE:
		return take_note(l, f->note);
	case MMT_SKIP:
		return take_skip(l, f->skip);
	case MMT_PLACE:
		return take_place(l, f);
	case MMT_TOTALS:
		return take_totals(l, f);
	case MMT_OLDER:
		return take_older(l, f);
	case MMT_VERDICTS:
		return ledger_take_verdicts(l, f->look);
	case MMT_JUDGED:
		return ledger_take_judged(l, f);
	case MMT_SAMPLE:
		return ledger_take_sample(l, f);
	case MMT_BUDGET:
		ledger_take_budget(l, f->budget);
		return 0;
	case MMT_MEMORY:
		return take_memory(l, f);
	case MMT_RUNTIME:
		return keep(l, f->runtime, &l->memories.runtime);
	case MMT_PROCESS:
		return ledger_take_process(l, f->process);
	case MMT_MERGED:
		return ledger_take_merged(l, f);
	case MMT_HANG:
		return ledger_take_hang(l, f);
	case MMT_BINS:
		return ledger_take_bins(l, f);
	case MMT_SAID:
		return ledger_take_said(l, f);
	case MMT_END:
		l->ended = true;
		return 0;
	default:
		return -EINVAL;
	}
}

int ledger_take_info(struct ledger *l, const struct fact *f)
{
	int r = take(l, f);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		l->nonsense++;
	return 0;
}
