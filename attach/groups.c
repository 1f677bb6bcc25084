/* SPDX-License-Identifier: MIT */
#include "attach/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 1

/* A stack, each frame the first of those that name the same place. */
struct path {
	uint32_t frames[UNWIND_MAX];
	uint32_t depth;
	uint8_t end;
};

/* What one group is going to be. */
struct draft {
	uint32_t stack;			/* one of those that are this */
	uint64_t blocks, bytes, allocs, frees;
	uint64_t oldest_ns, youngest_ns;
	taddr sample;			/* the oldest block */
};

struct maker {
	const struct groups_from *from;
	uint32_t *same_as;		/* frame -> the first frame of the same place */
	bool *wanted;			/* by frame */
	uint32_t *draft_of;		/* stack -> index in drafts + 1; 0: it keeps nothing */
	struct draft *drafts;
	size_t ndrafts, size;
	struct addrmap by_hash;		/* of the frames -> index in drafts */
};

/* --- frames of the same place --- */

static uint64_t place_key(const struct groups_from *from, const struct stacks_frame *f)
{
	const struct module *m = f->module == STACKS_NO_MODULE ? NULL : modules_at(from->modules, f->module);
	uint64_t file = 0;

	if (!m)
		return f->pc;
	/* the number of the file's first module, in the bits that no offset has */
	while (modules_at(from->modules, file)->dev != m->dev || modules_at(from->modules, file)->ino != m->ino)
		file++;
	return (f->pc - m->bias) ^ (file + 1) << 47;
}

static int find_same(struct maker *mk)
{
	const struct stacks *st = mk->from->stacks;
	struct addrmap first;
	int r = 0;

	addrmap_init(&first, sizeof(uint32_t));
	for (uint32_t f = 0; f < st->nframes && r == 0; f++) {
		bool fresh;
		uint32_t *slot = addrmap_slot(&first, place_key(mk->from, &st->frames[f]), &fresh);

		if (!slot)
			r = -ENOMEM;
		else if (fresh)
			*slot = f;
		if (slot)
			mk->same_as[f] = *slot;
	}
	addrmap_fini(&first);
	return r;
}

/* --- stacks of the same frames --- */

static void read_path(const struct maker *mk, uint32_t stack, struct path *p)
{
	const struct stacks *st = mk->from->stacks;

	p->end = st->all[stack].end;
	p->depth = stacks_frames(st, stack, p->frames, UNWIND_MAX);
	for (uint32_t i = 0; i < p->depth; i++)
		p->frames[i] = mk->same_as[p->frames[i]];
}

static uint64_t hash(const struct path *p)
{
	uint64_t h = p->depth ^ (uint64_t)p->end << 32;

	for (uint32_t i = 0; i < p->depth; i++) {
		h = (h ^ p->frames[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

static bool is_path(const struct maker *mk, uint32_t stack, const struct path *p)
{
	struct path other;

	read_path(mk, stack, &other);
	return other.depth == p->depth && other.end == p->end &&
	       memcmp(other.frames, p->frames, p->depth * sizeof(p->frames[0])) == 0;
}

static int new_draft(struct maker *mk, uint32_t stack, uint32_t *index)
{
	if (mk->ndrafts == mk->size) {
		size_t size = mk->size ? 2 * mk->size : 64;
		struct draft *grown = reallocarray(mk->drafts, size, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		mk->drafts = grown;
		mk->size = size;
	}
	*index = mk->ndrafts;
	mk->drafts[mk->ndrafts++] = (struct draft){ .stack = stack };
	return 0;
}

/* The draft of @path, or NULL; then @h is where it would be found. Who shares a hash without being the same goes to the next free one. */
static struct draft *look_up(struct maker *mk, const struct path *path, uint64_t *h)
{
	const uint32_t *known;

	for (*h = hash(path); (known = addrmap_get(&mk->by_hash, *h)); ++*h)
		if (is_path(mk, mk->drafts[*known].stack, path))
			return &mk->drafts[*known];
	return NULL;
}

static struct draft *known_draft(struct maker *mk, uint32_t stack)
{
	struct path path;
	uint64_t h;

	read_path(mk, stack, &path);
	return look_up(mk, &path, &h);
}

/* The draft for @stack: another stack's if it is the same path. */
static int find_draft(struct maker *mk, uint32_t stack, uint32_t *index)
{
	struct draft *known;
	struct path path;
	uint64_t h;
	int r;

	read_path(mk, stack, &path);
	known = look_up(mk, &path, &h);
	if (known) {
		*index = known - mk->drafts;
		return 0;
	}
	for (uint32_t i = 0; i < path.depth; i++)
		mk->wanted[path.frames[i]] = true;
	r = new_draft(mk, stack, index);
	return r < 0 ? r : addrmap_put(&mk->by_hash, h, index);
}

static int draft_places(struct maker *mk)
{
	const struct live *l = mk->from->live;

	for (uint32_t i = 0; i < l->nplaces; i++) {
		const struct place *p = &l->places[i];
		uint32_t index;

		if (!p->blocks)
			continue;
		if (find_draft(mk, i, &index) < 0)
			return -ENOMEM;
		mk->draft_of[i] = index + 1;
		mk->drafts[index].blocks += p->blocks;
		mk->drafts[index].bytes += p->bytes;
		mk->drafts[index].allocs += p->allocs;
		mk->drafts[index].frees += p->frees;
	}
	return 0;
}

/*
 * What a stack has given back counts as well, where another stack of the same path still keeps something. Frames of
 * a path that keeps nothing need no names.
 */
static void count_empty_places(struct maker *mk)
{
	const struct live *l = mk->from->live;

	for (uint32_t i = 0; i < l->nplaces; i++) {
		const struct place *p = &l->places[i];
		struct draft *d = p->blocks || !p->allocs ? NULL : known_draft(mk, i);

		if (d) {
			d->allocs += p->allocs;
			d->frees += p->frees;
		}
	}
}

static void note_ages(struct maker *mk)
{
	const struct live *l = mk->from->live;
	uint64_t addr;
	void *value;

	for (size_t i = 0; addrmap_next(&l->blocks, &i, &addr, &value);) {
		const struct block *b = value;
		struct draft *d;

		if (!b->held)
			continue;
		d = &mk->drafts[mk->draft_of[b->place] - 1];
		if (!d->oldest_ns || b->born_ns < d->oldest_ns) {
			d->oldest_ns = b->born_ns;
			d->sample = addr;
		}
		if (b->born_ns > d->youngest_ns)
			d->youngest_ns = b->born_ns;
	}
}

/* --- printing --- */

static enum summary_stack_end end_of(uint8_t end)
{
	static const enum summary_stack_end ends[] = {
		[UNWIND_WHOLE] = STACK_WHOLE, [UNWIND_CUT] = STACK_CUT, [UNWIND_LOST] = STACK_LOST,
		[UNWIND_DEEP] = STACK_DEEP, [UNWIND_ELSEWHERE] = STACK_ELSEWHERE,
	};

	return ends[end];
}

static size_t count_frames(const struct naming *names, const struct path *p)
{
	const struct summary_frame *frames;
	size_t n = 0;

	for (uint32_t i = 0; i < p->depth; i++)
		n += naming_frames(names, p->frames[i], &frames);
	return n;
}

static int add_group(const struct maker *mk, const struct naming *names, const struct draft *d, struct summary *s)
{
	const uint64_t end_ns = mk->from->end_ns;
	taddr sample = d->sample;
	struct summary_group g = {
		.family = mk->from->family, .blocks = d->blocks, .bytes = d->bytes, .bytes_direct = d->bytes,
		.allocs = d->allocs, .frees = d->frees, .verdict = VERDICT_UNKNOWN,
		.oldest_s = (end_ns - d->oldest_ns) / 1e9, .youngest_s = (end_ns - d->youngest_ns) / 1e9,
		.samples = &sample, .nsamples = SAMPLES,
	};
	cleanup_free struct summary_frame *stack = NULL;
	struct path path;

	read_path(mk, d->stack, &path);
	stack = calloc(count_frames(names, &path) + 1, sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	g.stack = stack;
	g.stack_end = end_of(path.end);
	for (uint32_t i = 0; i < path.depth; i++) {
		const struct summary_frame *frames;
		size_t n = naming_frames(names, path.frames[i], &frames);

		memcpy(&stack[g.depth], frames, n * sizeof(*frames));
		g.depth += n;
	}
	summary_add_group(s, &g);
	return 0;
}

static int print(const struct maker *mk, struct summary *s)
{
	const struct groups_from *from = mk->from;
	struct naming *names;
	int r = naming_new(from->stacks, from->modules, from->fs, mk->wanted, &from->naming, s, &names);

	if (r < 0)
		return r;
	for (size_t i = 0; i < mk->ndrafts && r == 0; i++)
		r = add_group(mk, names, &mk->drafts[i], s);
	naming_free(names);
	summary_sort(s);
	return r;
}

int groups_add(const struct groups_from *from, struct summary *s)
{
	struct maker mk = { .from = from };
	int r = -ENOMEM;

	addrmap_init(&mk.by_hash, sizeof(uint32_t));
	mk.same_as = calloc(from->stacks->nframes + 1, sizeof(*mk.same_as));
	mk.wanted = calloc(from->stacks->nframes + 1, sizeof(*mk.wanted));
	mk.draft_of = calloc(from->live->nplaces + 1, sizeof(*mk.draft_of));
	if (mk.same_as && mk.wanted && mk.draft_of)
		r = find_same(&mk);
	if (r == 0)
		r = draft_places(&mk);
	if (r == 0) {
		count_empty_places(&mk);
		note_ages(&mk);
		r = print(&mk, s);
	}
	addrmap_fini(&mk.by_hash);
	free(mk.same_as);
	free(mk.wanted);
	free(mk.draft_of);
	free(mk.drafts);
	return r;
}
