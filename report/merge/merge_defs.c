/* SPDX-License-Identifier: MIT */
/* merge_defs: see merge_defs.h. */
#include "report/merge/merge_defs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/madecode.h"

#define MIX 0x9e3779b97f4a7c15u

void merge_defs_init(struct merge_defs *d, struct ledger *into)
{
	d->into = into;
	addrmap_init(&d->modules, sizeof(uint32_t));
	addrmap_init(&d->frames, sizeof(uint32_t));
	addrmap_init(&d->nodes, sizeof(uint32_t));
	addrmap_init(&d->tags, sizeof(uint32_t));
	addrmap_init(&d->stacks, sizeof(uint32_t));
}

void merge_defs_fini(struct merge_defs *d)
{
	addrmap_fini(&d->modules);
	addrmap_fini(&d->frames);
	addrmap_fini(&d->nodes);
	addrmap_fini(&d->tags);
	addrmap_fini(&d->stacks);
}

static uint32_t *new_map(size_t n)
{
	uint32_t *map = malloc((n + 1) * sizeof(*map));

	for (size_t i = 0; map && i < n; i++)
		map[i] = DEFS_NONE;
	return map;
}

int merge_map_init(struct merge_map *m, struct merge_defs *to, const struct ledger *from)
{
	*m = (struct merge_map){
		.to = to, .from = from, .modules = new_map(from->defs.nmodules),
		.frames = new_map(from->defs.nframes), .stacks = new_map(from->defs.nstacks),
		.families = new_map(from->defs.nfamilies),
	};
	return m->modules && m->frames && m->stacks && m->families ? 0 : -ENOMEM;
}

void merge_map_fini(struct merge_map *m)
{
	free(m->modules);
	free(m->frames);
	free(m->stacks);
	free(m->families);
}

static struct fact info(const struct ledger *l, uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what, .time_us = l->now_us };
}

/* Define it, as number @n, which is its index. */
static int define(struct merge_map *m, const struct fact *f, size_t n, uint32_t *out)
{
	*out = (uint32_t)n;
	return defs_take(&m->to->into->defs, f);
}

static int compare_texts(const char *a, const char *b)
{
	return !a || !b ? (b != NULL) - (a != NULL) : strcmp(a, b);
}

/* --- families --- */

/*
 * Families that have the same name and are of another kind, which only a damaged trace has, are different
 * ones.
 */
static bool same_family(const struct defs_family *a, const struct defs_family *b)
{
	return compare_texts(a->name, b->name) == 0 && a->refs == b->refs &&
	       a->ranges == b->ranges;
}

static int new_family(struct merge_map *m, const struct defs_family *its, uint32_t *out)
{
	struct ledger *l = m->to->into;
	struct fact f = info(l, MMT_FAMILY_NAME);

	if (l->defs.nfamilies >= LEDGER_FAMILIES_MAX)
		return -EINVAL;
	*out = f.family_name.number = (uint32_t)l->defs.nfamilies;
	f.family_name.name = its->name;
	f.family_name.noun = its->noun;
	f.family_name.refs = its->refs;
	f.family_name.ranges = its->ranges;
	return ledger_take(l, &f);
}

int merge_map_family(struct merge_map *m, uint32_t index, uint32_t *out)
{
	const struct defs *have = &m->to->into->defs;
	const struct defs_family *its;
	int r = 0;

	*out = index == DEFS_NONE ? DEFS_NONE : m->families[index];
	if (*out != DEFS_NONE || index == DEFS_NONE)
		return 0;
	its = &m->from->defs.families[index];
	for (uint32_t i = 0; i < have->nfamilies && *out == DEFS_NONE; i++)
		if (same_family(&have->families[i], its))
			*out = i;
	if (*out == DEFS_NONE)
		r = new_family(m, its, out);
	m->families[index] = *out;
	return r;
}

/* --- modules --- */

/* The pool has each text once, so its address is its identity. A build id is no path. */
static int module_key(struct merge_map *m, const struct defs_module *its, uint64_t *key)
{
	const bool built = its->build_id && *its->build_id;
	const char *path = its->path ? its->path : "";
	const char *kept = defs_string(&m->to->into->defs, built ? its->build_id : path);

	*key = (uint64_t)(uintptr_t)kept << 1 | built;
	return kept ? 0 : -ENOMEM;
}

static int new_module(struct merge_map *m, const struct defs_module *its, uint32_t *out)
{
	struct ledger *l = m->to->into;
	struct fact f = info(l, MMT_MODULE);

	f.module.number = f.module.file = (uint32_t)l->defs.nmodules;
	f.module.lo = its->lo - its->bias;
	f.module.hi = its->hi - its->bias;
	f.module.path = its->path;
	f.module.build_id = its->build_id ? its->build_id : "";
	return define(m, &f, l->defs.nmodules, out);
}

/* One file may be at several paths, and mapped in parts. */
static int know_module(struct merge_map *m, const struct defs_module *its, struct defs_module *have)
{
	const taddr lo = its->lo - its->bias, hi = its->hi - its->bias;

	have->lo = lo < have->lo ? lo : have->lo;
	have->hi = hi > have->hi ? hi : have->hi;
	if (!its->path || compare_texts(its->path, have->path) >= 0)
		return 0;
	have->path = defs_string(&m->to->into->defs, its->path);
	return have->path ? 0 : -ENOMEM;
}

static int map_module(struct merge_map *m, uint32_t index, uint32_t *out)
{
	const struct defs_module *its;
	const uint32_t *known;
	uint64_t key;
	int r;

	*out = index == DEFS_NONE ? DEFS_NONE : m->modules[index];
	if (*out != DEFS_NONE || index == DEFS_NONE)
		return 0;
	its = &m->from->defs.modules[index];
	r = module_key(m, its, &key);
	if (r < 0)
		return r;
	known = addrmap_get(&m->to->modules, key);
	if (known) {
		*out = *known;
		r = know_module(m, its, &m->to->into->defs.modules[*known]);
	} else {
		r = new_module(m, its, out);
		if (r == 0)
			r = addrmap_put(&m->to->modules, key, out);
	}
	m->modules[index] = *out;
	return r;
}

/* --- frames --- */

static uint64_t frame_hash(const struct defs_frame *f, const struct defs_name *name)
{
	const uint64_t place = f->module == DEFS_NONE ? (name ? madecode_hash(name) : 0)
						      : f->pc ^ ((uint64_t)f->module + 1) << 40;

	return (place ^ (uint64_t)f->exact << 63) * MIX;
}

static bool same_frame(const struct defs *d, const struct defs_frame *a, const struct defs_frame *f,
		       const struct defs_name *name)
{
	const struct defs_name *have = madecode_name(d, a);

	if (a->module != f->module || a->exact != f->exact)
		return false;
	if (f->module != DEFS_NONE)
		return a->pc == f->pc;
	return have && name ? madecode_same(have, name) : have == name;
}

/* How much is known: a function, and where it is. */
static unsigned knowledge(const struct defs_name *names, uint32_t n)
{
	unsigned sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += 2 * (names[i].function != NULL) + (names[i].file != NULL);
	return sum;
}

/* Any order will do, as long as it is one. */
static int compare_names(const struct defs_name *a, const struct defs_name *b)
{
	int order = compare_texts(a->function, b->function);

	if (!order)
		order = compare_texts(a->file, b->file);
	if (!order)
		order = (a->line > b->line) - (a->line < b->line);
	if (!order)
		order = compare_texts(a->linkage, b->linkage);
	return order ? order : a->inlined - b->inlined;
}

static bool better(const struct defs_name *a, uint32_t na, const struct defs_name *b, uint32_t nb)
{
	const unsigned knows_a = knowledge(a, na), knows_b = knowledge(b, nb);
	int order = 0;

	if (knows_a != knows_b || na != nb)
		return knows_a != knows_b ? knows_a > knows_b : na > nb;
	for (uint32_t i = 0; i < na && !order; i++)
		order = compare_names(&a[i], &b[i]);
	return order < 0;
}

static int give_names(struct merge_map *m, uint32_t index, uint32_t to)
{
	const struct defs *from = &m->from->defs;
	struct defs *d = &m->to->into->defs;
	const struct defs_frame *its = &from->frames[index], *have = &d->frames[to];
	cleanup_free struct fact_name *names = NULL;
	struct fact f;

	if (!its->nnames ||
	    !better(&from->names[its->names], its->nnames, &d->names[have->names], have->nnames))
		return 0;
	names = calloc(its->nnames, sizeof(*names));
	if (!names)
		return -ENOMEM;
	defs_names_fact(from, index, names, &f);
	f.names.frame = to;
	return defs_take(d, &f);
}

/* The slot of a frame like @f, in the receiving ledger's terms. NULL: out of memory. */
static uint32_t *frame_slot(struct merge_map *m, const struct defs_frame *f, const struct defs_name *name,
			    bool *fresh)
{
	const struct defs *d = &m->to->into->defs;

	for (uint64_t h = frame_hash(f, name);; h++) {
		uint32_t *slot = addrmap_slot(&m->to->frames, h, fresh);

		if (!slot || *fresh || same_frame(d, &d->frames[*slot], f, name))
			return slot;
	}
}

static int new_frame(struct merge_map *m, const struct defs_frame *frame, uint32_t *slot)
{
	struct fact f = info(m->to->into, MMT_FRAME);

	f.frame.number = (uint32_t)m->to->into->defs.nframes;
	f.frame.module = frame->module == DEFS_NONE ? FACT_NONE : frame->module + 1;
	f.frame.pc = frame->pc;
	f.frame.exact = frame->exact;
	return define(m, &f, m->to->into->defs.nframes, slot);
}

static int map_frame(struct merge_map *m, uint32_t index, uint32_t *out)
{
	const struct defs *from = &m->from->defs;
	struct defs_frame frame = from->frames[index];
	const struct defs_name *name = madecode_name(from, &frame);
	uint32_t *slot;
	bool fresh;
	int r;

	*out = m->frames[index];
	if (*out != DEFS_NONE)
		return 0;
	frame.pc = frame.module == DEFS_NONE ? 0 : frame.pc - from->modules[frame.module].bias;
	r = map_module(m, frame.module, &frame.module);
	if (r < 0)
		return r;
	slot = frame_slot(m, &frame, name, &fresh);
	if (!slot)
		return -ENOMEM;
	r = fresh ? new_frame(m, &frame, slot) : 0;
	m->frames[index] = *out = *slot;
	if (r == 0)
		r = give_names(m, index, *out);
	if (r == 0)
		m->to->into->defs.frames[*out].skip |= frame.skip;
	return r;
}

/* --- stacks --- */

static int find_node(struct merge_map *m, uint32_t caller, uint32_t frame, uint32_t *out)
{
	struct fact f = info(m->to->into, MMT_NODE);
	const uint64_t key = ((uint64_t)caller + 1) << 32 | frame;
	bool fresh;
	uint32_t *slot = addrmap_slot(&m->to->nodes, key, &fresh);

	if (!slot)
		return -ENOMEM;
	*out = *slot;
	if (!fresh)
		return 0;
	f.node.number = (uint32_t)m->to->into->defs.nnodes + 1;
	f.node.caller = caller == DEFS_NONE ? 0 : caller + 1;
	f.node.frame = frame;
	*out = *slot = (uint32_t)m->to->into->defs.nnodes;
	return defs_take(&m->to->into->defs, &f);
}

static int map_path(struct merge_map *m, uint32_t stack, uint32_t *node)
{
	const struct defs *from = &m->from->defs;
	const uint32_t depth = defs_path(from, stack, NULL, 0);
	cleanup_free uint32_t *frames = calloc((size_t)depth + 1, sizeof(*frames));
	int r = frames ? 0 : -ENOMEM;

	*node = DEFS_NONE;
	if (r == 0)
		defs_path(from, stack, frames, depth);
	for (uint32_t i = depth; i > 0 && r == 0; i--) {
		uint32_t frame;

		r = map_frame(m, frames[i - 1], &frame);
		if (r == 0)
			r = find_node(m, *node, frame, node);
	}
	return r;
}

static int map_tag(struct merge_map *m, uint32_t index, uint32_t *out)
{
	struct fact f = info(m->to->into, MMT_TAG);
	const char *text;
	uint32_t *slot;
	bool fresh;

	*out = DEFS_NONE;
	if (index == DEFS_NONE)
		return 0;
	text = defs_string(&m->to->into->defs, m->from->defs.tags[index].text);
	slot = text ? addrmap_slot(&m->to->tags, (uint64_t)(uintptr_t)text, &fresh) : NULL;
	if (!slot)
		return -ENOMEM;
	if (!fresh) {
		*out = *slot;
		return 0;
	}
	f.tag.number = *slot = (uint32_t)m->to->into->defs.ntags;
	f.tag.text = text;
	return define(m, &f, m->to->into->defs.ntags, out);
}

static int find_stack(struct merge_map *m, uint32_t node, uint32_t tag, uint8_t end, uint32_t *out)
{
	struct fact f = info(m->to->into, MMT_STACK);
	const uint64_t key = (uint64_t)(node + 1) << 32 | (tag + 1) << 3 | end;
	bool fresh;
	uint32_t *slot = addrmap_slot(&m->to->stacks, key, &fresh);

	if (!slot)
		return -ENOMEM;
	*out = *slot;
	if (!fresh)
		return 0;
	f.stack.number = *slot = (uint32_t)m->to->into->defs.nstacks;
	f.stack.node = node == DEFS_NONE ? 0 : node + 1;
	f.stack.tag = tag == DEFS_NONE ? FACT_NONE : tag + 1;
	f.stack.end = end;
	return define(m, &f, m->to->into->defs.nstacks, out);
}

int merge_map_stack(struct merge_map *m, uint32_t index, uint32_t *out)
{
	const struct defs_stack *its;
	uint32_t node, tag;
	int r;

	*out = index == DEFS_NONE ? DEFS_NONE : m->stacks[index];
	if (*out != DEFS_NONE || index == DEFS_NONE)
		return 0;
	its = &m->from->defs.stacks[index];
	r = map_path(m, index, &node);
	if (r == 0)
		r = map_tag(m, its->tag, &tag);
	if (r == 0)
		r = find_stack(m, node, tag, its->end, out);
	if (r == 0)
		m->stacks[index] = *out;
	return r;
}
