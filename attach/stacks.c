/* SPDX-License-Identifier: MIT */
#include "attach/stacks.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_NODE 1

void stacks_init(struct stacks *s, const struct modules *ms)
{
	*s = (struct stacks){ .modules = ms, .nnodes = FIRST_NODE };
	addrmap_init(&s->by_hash, sizeof(uint32_t));
	addrmap_init(&s->by_pc, sizeof(uint32_t));
	addrmap_init(&s->by_place, sizeof(uint32_t));
	addrmap_init(&s->by_caller, sizeof(uint32_t));
	addrmap_init(&s->by_leaf, sizeof(uint32_t));
}

void stacks_fini(struct stacks *s)
{
	addrmap_fini(&s->by_hash);
	addrmap_fini(&s->by_pc);
	addrmap_fini(&s->by_place);
	addrmap_fini(&s->by_caller);
	addrmap_fini(&s->by_leaf);
	free(s->frames);
	free(s->nodes);
	free(s->all);
}

void stacks_modules_changed(struct stacks *s)
{
	addrmap_clear(&s->by_hash);
	addrmap_clear(&s->by_pc);
}

/* Room for one more of @n elements in *@array. */
static int reserve(void *array, size_t n, size_t *size, size_t element)
{
	void **p = array;
	size_t more = *size ? 2 * *size : 256;
	void *grown;

	if (n < *size)
		return 0;
	grown = reallocarray(*p, more, element);
	if (!grown)
		return -ENOMEM;
	*p = grown;
	*size = more;
	return 0;
}

/* --- frames --- */

/* Which module has it: by its number, since a frame outlives what is mapped. */
static uint32_t module_of(const struct stacks *s, taddr pc)
{
	taddr addr = pc & UNWIND_EXACT ? pc & ~UNWIND_EXACT : pc - 1;
	const struct module *m = modules_find(s->modules, addr);

	/* what was unmapped there has no code there any more */
	for (size_t i = 0; m && !m->gone && i < modules_count(s->modules); i++)
		if (modules_at(s->modules, i) == m)
			return i;
	return STACKS_NO_MODULE;
}

/* A pc has 47 bits and UNWIND_EXACT; the module goes in between. */
static uint64_t place_key(taddr pc, uint32_t module)
{
	return pc ^ (uint64_t)(uint16_t)(module + 1) << 47;
}

static int frame_at(struct stacks *s, taddr pc, uint32_t *frame)
{
	uint32_t module, *known;
	bool fresh;

	module = module_of(s, pc);
	known = addrmap_slot(&s->by_place, place_key(pc, module), &fresh);
	if (!known)
		return -ENOMEM;
	if (fresh) {
		if (reserve(&s->frames, s->nframes, &s->frames_size, sizeof(*s->frames)) < 0) {
			addrmap_del(&s->by_place, place_key(pc, module), NULL);
			return -ENOMEM;
		}
		s->frames[s->nframes] = (struct stacks_frame){ pc, module };
		*known = s->nframes++;
	}
	*frame = *known;
	return addrmap_put(&s->by_pc, pc, frame);
}

static int frame_of(struct stacks *s, taddr pc, uint32_t *frame)
{
	const uint32_t *known = addrmap_get(&s->by_pc, pc);

	if (!known)
		return frame_at(s, pc, frame);
	*frame = *known;
	return 0;
}

/* --- the trie --- */

static int node_of(struct stacks *s, uint32_t caller, uint32_t frame, uint32_t *node)
{
	uint64_t key = (uint64_t)caller << 32 | frame;
	uint32_t *known = addrmap_get(&s->by_caller, key);
	uint32_t fresh = s->nnodes;

	if (known) {
		*node = *known;
		return 0;
	}
	if (reserve(&s->nodes, s->nnodes, &s->nodes_size, sizeof(*s->nodes)) < 0 ||
	    addrmap_put(&s->by_caller, key, &fresh) < 0)
		return -ENOMEM;
	s->nodes[fresh] = (struct stacks_node){ caller, frame };
	s->nnodes = fresh + 1;
	*node = fresh;
	return 0;
}

static int number_of(struct stacks *s, uint32_t node, uint32_t depth, enum unwind_end end, uint32_t *number)
{
	uint64_t key = (uint64_t)node << 8 | end;
	uint32_t *known = addrmap_get(&s->by_leaf, key), fresh = s->n;

	if (known) {
		*number = *known;
		return 0;
	}
	if (reserve(&s->all, s->n, &s->size, sizeof(*s->all)) < 0 || addrmap_put(&s->by_leaf, key, &fresh) < 0)
		return -ENOMEM;
	s->all[s->n++] = (struct stacks_entry){ .node = node, .depth = depth, .end = end };
	*number = fresh;
	return 0;
}

static int add(struct stacks *s, const taddr *frames, uint32_t n, enum unwind_end end, uint32_t *number)
{
	uint32_t node = 0, frame;

	for (uint32_t i = n; i-- > 0;)
		if (frame_of(s, frames[i], &frame) < 0 || node_of(s, node, frame, &node) < 0)
			return -ENOMEM;
	return number_of(s, node, n, end, number);
}

/* --- finding --- */

static uint64_t hash(const taddr *frames, uint32_t n, enum unwind_end end)
{
	uint64_t h = 0x9e3779b97f4a7c15ull ^ n ^ (uint64_t)end << 32;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ frames[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

/* Two of millions may share a hash of 64 bits: so the depth and the two ends are compared. */
static bool is_that(const struct stacks *s, uint32_t number, const taddr *frames, uint32_t n, enum unwind_end end)
{
	const struct stacks_entry *e = &s->all[number];

	return e->depth == n && e->end == end &&
	       (!n || s->frames[s->nodes[e->node].frame].pc == frames[0]);
}

int stacks_intern(struct stacks *s, const taddr *frames, uint32_t n, enum unwind_end end, uint32_t *number)
{
	uint64_t h = hash(frames, n, end);
	const uint32_t *known = addrmap_get(&s->by_hash, h);
	int r;

	if (known && is_that(s, *known, frames, n, end)) {
		*number = *known;
		return 0;
	}
	r = add(s, frames, n, end, number);
	return r < 0 ? r : addrmap_put(&s->by_hash, h, number);
}

uint32_t stacks_frames(const struct stacks *s, uint32_t number, uint32_t *frames, uint32_t max)
{
	const struct stacks_entry *e = &s->all[number];
	uint32_t i = 0;

	for (uint32_t node = e->node; node && i < max; node = s->nodes[node].caller)
		frames[i++] = s->nodes[node].frame;
	return e->depth;
}

size_t stacks_memory(const struct stacks *s)
{
	return s->frames_size * sizeof(*s->frames) + s->nodes_size * sizeof(*s->nodes) + s->size * sizeof(*s->all) +
	       addrmap_memory(&s->by_hash) + addrmap_memory(&s->by_pc) + addrmap_memory(&s->by_place) +
	       addrmap_memory(&s->by_caller) + addrmap_memory(&s->by_leaf);
}
