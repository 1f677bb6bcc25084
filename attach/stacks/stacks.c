/* SPDX-License-Identifier: MIT */
#include "attach/stacks/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stacks_init(struct stacks *s, const struct modules *ms, struct defs *defs,
		 const struct script_places *places)
{
	*s = (struct stacks){ .modules = ms, .defs = defs, .places = places };
	addrmap_init(&s->by_hash, sizeof(uint32_t));
	addrmap_init(&s->by_pc, sizeof(uint32_t));
	addrmap_init(&s->by_place, sizeof(uint32_t));
	addrmap_init(&s->by_caller, sizeof(uint32_t));
	addrmap_init(&s->by_leaf, sizeof(uint32_t));
	addrmap_init(&s->by_text, sizeof(uint32_t));
}

void stacks_fini(struct stacks *s)
{
	addrmap_fini(&s->by_hash);
	addrmap_fini(&s->by_pc);
	addrmap_fini(&s->by_place);
	addrmap_fini(&s->by_caller);
	addrmap_fini(&s->by_leaf);
	addrmap_fini(&s->by_text);
}

void stacks_modules_changed(struct stacks *s)
{
	addrmap_clear(&s->by_hash);
	addrmap_clear(&s->by_pc);
}

/* --- modules --- */

#define NO_MODULE UINT32_MAX

/* The number of the module that has @pc. (A number, since a frame outlives the mapping.) */
static uint32_t module_of(const struct stacks *s, taddr pc)
{
	taddr addr = pc & UNWIND_EXACT ? pc & ~UNWIND_EXACT : pc - 1;
	const struct module *m = modules_find(s->modules, addr);

	/* a module that was unmapped has no code there any more */
	for (size_t i = 0; m && !m->gone && i < modules_count(s->modules); i++)
		if (modules_at(s->modules, i) == m)
			return i;
	return NO_MODULE;
}

/* A file has the number of its first module. */
static uint32_t file_of(const struct stacks *s, const struct module *m)
{
	uint32_t i = 0;

	while (modules_at(s->modules, i)->dev != m->dev || modules_at(s->modules, i)->ino != m->ino)
		i++;
	return i;
}

static int define_module(struct stacks *s, uint32_t number)
{
	const struct module *m = modules_at(s->modules, number);
	char build_id[MODULE_BUILD_ID_TEXT];
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_MODULE,
		.module = {
			.number = number, .file = file_of(s, m), .bias = m->bias, .lo = m->lo, .hi = m->hi,
			.path = m->path, .build_id = module_build_id(m, build_id),
		},
	};

	return defs_take(s->defs, &f);
}

/* --- frames --- */

/*
 * A pc has 47 bits and UNWIND_EXACT; 16 bits of the module's number go in between. is_place compares the
 * whole number.
 */
static uint64_t place_key(taddr pc, uint32_t module)
{
	return pc ^ (uint64_t)(uint16_t)(module + 1) << 47;
}

static bool is_place(const struct stacks *s, uint32_t frame, uint32_t module)
{
	uint32_t has = s->defs->frames[frame].module;

	return module == NO_MODULE ? has == DEFS_NONE
				   : has != DEFS_NONE && has == defs_module(s->defs, module);
}

static bool is_script(const struct stacks *s, taddr pc)
{
	return s->places && pc & UNWIND_EXACT && pc & UNWIND_SCRIPT &&
	       (pc & ~(UNWIND_EXACT | UNWIND_SCRIPT)) < s->places->n;
}

static int define_frame(struct stacks *s, taddr pc, uint32_t module)
{
	taddr addr = pc & UNWIND_EXACT ? pc & ~UNWIND_EXACT : pc - 1;
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_FRAME,
		.frame = { .number = s->defs->nframes, .module = module == NO_MODULE ? FACT_NONE : module + 1,
			   .pc = pc & ~UNWIND_EXACT, .exact = pc & UNWIND_EXACT,
			   .skip = !is_script(s, pc) && s->skipped && s->skipped(s->skipped_ctx, addr) },
	};
	int r = 0;

	if (module != NO_MODULE && defs_module(s->defs, module) == DEFS_NONE)
		r = define_module(s, module);
	return r < 0 ? r : defs_take(s->defs, &f);
}

/*
 * A frame of a script has its name from the beginning: it is known now, and at the end of the watch perhaps
 * not.
 */
static int define_script(struct stacks *s, taddr pc)
{
	const struct script_place *p = &s->places->all[(uint32_t)pc];
	const struct fact_name name = { .function = p->function, .file = p->file, .line = p->line };
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_NAMES,
		.names = { .frame = s->defs->nframes, .all = &name, .n = 1 },
	};
	int r = define_frame(s, pc, NO_MODULE);

	return r < 0 ? r : defs_take(s->defs, &f);
}

static int define(struct stacks *s, taddr pc, uint32_t module)
{
	return is_script(s, pc) ? define_script(s, pc) : define_frame(s, pc, module);
}

static int frame_at(struct stacks *s, taddr pc, uint32_t *frame)
{
	uint32_t module = is_script(s, pc) ? NO_MODULE : module_of(s, pc), fresh = s->defs->nframes;
	const uint32_t *known = addrmap_get(&s->by_place, place_key(pc, module));

	/* the known frame is of another module with the same 16 bits: it is needed no more */
	if (known && !is_place(s, *known, module))
		known = NULL;
	*frame = known ? *known : fresh;
	if (!known && (define(s, pc, module) < 0 ||
		       addrmap_put(&s->by_place, place_key(pc, module), &fresh) < 0))
		return -ENOMEM;
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
	const uint32_t *known = addrmap_get(&s->by_caller, key);
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_NODE,
		.node = { .number = s->defs->nnodes + 1, .caller = caller, .frame = frame },
	};

	*node = known ? *known : f.node.number;
	if (known)
		return 0;
	return defs_take(s->defs, &f) < 0 ? -ENOMEM : addrmap_put(&s->by_caller, key, node);
}

static uint32_t end_of(enum unwind_end end)
{
	static const uint32_t ends[] = {
		[UNWIND_WHOLE] = MMT_END_WHOLE, [UNWIND_CUT] = MMT_END_CUT, [UNWIND_LOST] = MMT_END_LOST,
		[UNWIND_DEEP] = MMT_END_DEEP, [UNWIND_ELSEWHERE] = MMT_END_ELSEWHERE,
	};

	return ends[end];
}

static int number_of(struct stacks *s, uint32_t node, enum unwind_end end, uint32_t tag, uint32_t *number)
{
	uint64_t key = (uint64_t)node << 32 | (uint64_t)tag << 8 | end;
	const uint32_t *known = addrmap_get(&s->by_leaf, key);
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_STACK,
		.stack = { .number = s->defs->nstacks, .node = node, .end = end_of(end), .tag = tag },
	};

	*number = known ? *known : f.stack.number;
	if (known)
		return 0;
	return defs_take(s->defs, &f) < 0 ? -ENOMEM : addrmap_put(&s->by_leaf, key, number);
}

static int add(struct stacks *s, const taddr *frames, uint32_t n, enum unwind_end end, uint32_t tag,
	       uint32_t *number)
{
	uint32_t node = 0, frame;

	for (uint32_t i = n; i-- > 0;)
		if (frame_of(s, frames[i], &frame) < 0 || node_of(s, node, frame, &node) < 0)
			return -ENOMEM;
	return number_of(s, node, end, tag, number);
}

/* --- tags --- */

#define TAGS_MAX 0xffffffu	/* what fits into the key of a stack */
#define TAG_OTHER "(one of too many tags)"

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static int define_tag(struct stacks *s, const char *text, uint64_t h, uint32_t *number)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_TAG, .tag = { .number = s->defs->ntags, .text = text },
	};

	*number = f.tag.number;
	return defs_take(s->defs, &f) < 0 ? -ENOMEM : addrmap_put(&s->by_text, h, number);
}

int stacks_tag(struct stacks *s, const char *text, uint32_t *tag)
{
	uint64_t h = hash_text(text);
	const uint32_t *known;
	int r = 0;

	if (s->defs->ntags >= TAGS_MAX - 2) {
		text = TAG_OTHER;
		h = hash_text(text);
	}
	/* if another text has this hash, try the next one */
	while ((known = addrmap_get(&s->by_text, h)) && strcmp(s->defs->tags[*known].text, text))
		h++;
	if (known)
		*tag = *known;
	else
		r = define_tag(s, text, h, tag);
	++*tag;
	return r;
}

/* --- finding --- */

static uint64_t hash(const taddr *frames, uint32_t n, enum unwind_end end, uint32_t tag)
{
	uint64_t h = 0x9e3779b97f4a7c15ull ^ n ^ (uint64_t)end << 32 ^ (uint64_t)tag << 40;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ frames[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

/* Two of millions may share a 64-bit hash: so the depth, the tag, the end and the leaf frame are compared. */
static bool is_that(const struct stacks *s, uint32_t number, const taddr *frames, uint32_t n,
		    enum unwind_end end, uint32_t tag)
{
	const struct defs_stack *st = &s->defs->stacks[number];
	const struct defs_node *leaf = st->node == DEFS_NONE ? NULL : &s->defs->nodes[st->node];

	return (leaf ? leaf->depth : 0) == n && st->end == end_of(end) && st->tag + 1 == tag &&
	       (!n || s->defs->frames[leaf->frame].pc == (frames[0] & ~UNWIND_EXACT));
}

int stacks_intern(struct stacks *s, const taddr *frames, uint32_t n, enum unwind_end end, uint32_t tag,
		  uint32_t *number)
{
	uint64_t h = hash(frames, n, end, tag);
	const uint32_t *known = addrmap_get(&s->by_hash, h);
	int r;

	if (known && is_that(s, *known, frames, n, end, tag)) {
		*number = *known;
		return 0;
	}
	r = add(s, frames, n, end, tag, number);
	return r < 0 ? r : addrmap_put(&s->by_hash, h, number);
}

size_t stacks_memory(const struct stacks *s)
{
	return addrmap_memory(&s->by_hash) + addrmap_memory(&s->by_pc) + addrmap_memory(&s->by_place) +
	       addrmap_memory(&s->by_caller) + addrmap_memory(&s->by_leaf) + addrmap_memory(&s->by_text);
}
