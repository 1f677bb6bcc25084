/* SPDX-License-Identifier: MIT */
#include "report/groups/forwarders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/addrmap.h"
#include "report/names/expand.h"
#include "report/names/wrappers.h"

#define LEVELS 4	/* of such wrappers, one calling another */
#define CALLERS 5	/* from so many functions one is called, at least, */
/* which get blocks of sizes that differ by more: the same size may be rounded in two ways */
#define SIZES_DIFFER(least, most) ((most) > (least) + (least) / 8 + 16)

/* What is known of a function. */
struct seen {
	uint32_t number, callers;
	uint64_t least, most;		/* mean sizes of stacks */
};

/* Functions, by name or, if that is not known, by the address of the call; and pairs, each of which counts once. */
struct pairs {
	struct addrmap functions;	/* -> struct seen */
	struct addrmap callers;		/* number << 32 | that of the caller -> nothing */
	uint32_t n;
};

static void pairs_init(struct pairs *p)
{
	*p = (struct pairs){ 0 };
	addrmap_init(&p->functions, sizeof(struct seen));
	addrmap_init(&p->callers, 1);
}

static void pairs_fini(struct pairs *p)
{
	addrmap_fini(&p->functions);
	addrmap_fini(&p->callers);
}

/* Mean bytes of a block. */
static uint64_t size_of(const struct stack_group *d)
{
	if (d->sampled && d->sampled->seen)
		return d->sampled->usable_bytes / d->sampled->seen;
	return d->allocs ? d->allocated_bytes / d->allocs : 0;
}

/* As summary_frame_is_script. */
static bool is_script(const struct defs *defs, const struct defs_frame *f)
{
	return f->module == DEFS_NONE && f->nnames && defs->names[f->names].file;
}

/* The first frame that is no known wrapper, if it has a caller: lines of a script do not forward. */
static bool has_candidate(const struct stack_groups *ds, const struct stack_group *d)
{
	const struct defs *defs = &ds->ledger->defs;

	return d->skip + 1 < d->path.depth && !is_script(defs, &defs->frames[d->path.frames[d->skip]]);
}

/* The function that contains @frame, into which others may be inlined. Names are stored once. */
static uint64_t key_of(const struct defs *defs, uint32_t frame)
{
	const struct defs_frame *f = &defs->frames[frame];
	const char *function = f->nnames ? defs->names[f->names + f->nnames - 1].function : NULL;

	return function && *function ? (uintptr_t)function ^ (uint64_t)(f->module + 1) << 48 : (uint64_t)frame << 1 | 1;
}

static int find(struct pairs *p, uint64_t key, struct seen **out)
{
	int r = 0;

	*out = addrmap_get(&p->functions, key);
	if (*out)
		return 0;
	r = addrmap_put(&p->functions, key, &(struct seen){ .number = p->n++, .least = UINT64_MAX });
	*out = addrmap_get(&p->functions, key);
	return r;
}

/* @count goes up if it is a new one. */
static int note(struct addrmap *pairs, uint32_t number, uint32_t other, uint32_t *count)
{
	const uint64_t key = (uint64_t)number << 32 | other;

	if (addrmap_get(pairs, key))
		return 0;
	(*count)++;
	return addrmap_put(pairs, key, "");
}

static int see(struct pairs *p, const struct defs *defs, const struct stack_group *d)
{
	const uint64_t size = size_of(d);
	struct seen *its, *caller;
	uint32_t number;
	int r = find(p, key_of(defs, d->path.frames[d->skip + 1]), &caller);

	if (r < 0)
		return r;
	number = caller->number;
	r = find(p, key_of(defs, d->path.frames[d->skip]), &its);
	if (r == 0)
		r = note(&p->callers, its->number, number, &its->callers);
	if (r == 0 && size) {
		its->least = size < its->least ? size : its->least;
		its->most = size > its->most ? size : its->most;
	}
	return r;
}

static bool forwards(const struct pairs *p, const struct defs *defs, const struct stack_group *d)
{
	const struct seen *its = addrmap_get(&p->functions, key_of(defs, d->path.frames[d->skip]));

	return its && its->callers >= CALLERS && its->most && SIZES_DIFFER(its->least, its->most);
}

/* One more frame, and the known wrappers behind it. */
static int skip_one(const struct ledger *l, struct stack_group *d)
{
	const struct defs *defs = &l->defs;
	struct summary_frame *frames = NULL;
	size_t n, first;
	int r = expand_path(defs, d->path.frames, d->skip + 1, &frames, &first);

	free(frames);
	frames = NULL;
	if (r == 0)
		r = expand_path(defs, d->path.frames, d->path.depth, &frames, &n);
	if (r == 0) {
		first = first < n ? first : n;
		wrappers_mark(frames, n, l->skips, l->nskips);
		d->wrappers = first + wrappers_count(frames + first, n - first);
		d->skip = expand_frames_within(defs, d->path.frames, d->path.depth, d->wrappers);
	}
	free(frames);
	return r;
}

/* 1: some were found; 0: none; -ENOMEM. */
static int skip_level(struct stack_groups *ds)
{
	struct pairs pairs;
	int r = 0, found = 0;

	pairs_init(&pairs);
	for (size_t i = 0; r == 0 && i < ds->n; i++)
		if (has_candidate(ds, &ds->all[i]))
			r = see(&pairs, &ds->ledger->defs, &ds->all[i]);
	for (size_t i = 0; r == 0 && i < ds->n; i++) {
		if (!has_candidate(ds, &ds->all[i]) || !forwards(&pairs, &ds->ledger->defs, &ds->all[i]))
			continue;
		r = skip_one(ds->ledger, &ds->all[i]);
		found = 1;
	}
	pairs_fini(&pairs);
	return r < 0 ? r : found;
}

int forwarders_skip(struct stack_groups *ds)
{
	int r = 1;

	for (unsigned level = 0; r > 0 && level < LEVELS; level++)
		r = skip_level(ds);
	return r < 0 ? r : 0;
}
