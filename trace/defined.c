/* SPDX-License-Identifier: MIT */
#include "trace/defined.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/fields.h"
#include "base/grow.h"

/* --- sets --- */

bool bits_has(const struct bits *b, uint32_t i)
{
	return i / 8 < b->size && b->bytes[i / 8] >> i % 8 & 1;
}

static int bits_add(struct bits *b, uint32_t i)
{
	size_t had = b->size;

	if (grow_for(&b->bytes, i / 8, &b->size, 1))
		return -ENOMEM;
	memset(b->bytes + had, 0, b->size - had);
	b->bytes[i / 8] |= (uint8_t)(1 << i % 8);
	return 0;
}

void bits_fini(struct bits *b)
{
	free(b->bytes);
	*b = (struct bits){ 0 };
}

void defined_fini(struct defined *df)
{
	bits_fini(&df->families);
	bits_fini(&df->modules);
	bits_fini(&df->frames);
	bits_fini(&df->nodes);
	bits_fini(&df->tags);
	bits_fini(&df->stacks);
	free(df->path);
	*df = (struct defined){ 0 };
}

/* --- one definition after the other --- */

struct need {
	struct defined *df;
	const struct defs *d;
	defined_put *put;
	void *ctx;
};

/* Put a definition; it then counts as defined. */
static int put_new(const struct need *n, struct bits *set, uint32_t index, const struct fact *f)
{
	int err = n->put(n->ctx, f);

	return err ? err : bits_add(set, index);
}

static int need_family(const struct need *n, uint32_t number)
{
	uint32_t index = defs_family(n->d, number);
	struct fact f;

	if (index == DEFS_NONE || bits_has(&n->df->families, index))
		return 0;
	defs_family_fact(n->d, index, &f);
	return put_new(n, &n->df->families, index, &f);
}

static int need_module(const struct need *n, uint32_t index)
{
	struct fact f;

	if (index == DEFS_NONE || bits_has(&n->df->modules, index))
		return 0;
	defs_module_fact(n->d, index, &f);
	return put_new(n, &n->df->modules, index, &f);
}

/* The name of a frame of a script cannot be looked up later. */
static int put_script(const struct need *n, uint32_t index)
{
	struct fact_name name;
	struct fact f;

	defs_names_fact(n->d, index, &name, &f);
	return n->put(n->ctx, &f);
}

static int need_frame(const struct need *n, uint32_t index)
{
	struct fact f;
	int err;

	if (index == DEFS_NONE || bits_has(&n->df->frames, index))
		return 0;
	err = need_module(n, n->d->frames[index].module);
	if (err)
		return err;
	defs_frame_fact(n->d, index, &f);
	err = put_new(n, &n->df->frames, index, &f);
	return err || !defs_is_script(n->d, index) ? err : put_script(n, index);
}

static int put_node(const struct need *n, uint32_t index)
{
	struct fact f;
	int err = need_frame(n, n->d->nodes[index].frame);

	if (err)
		return err;
	defs_node_fact(n->d, index, &f);
	return put_new(n, &n->df->nodes, index, &f);
}

/* From @node outward to the first one that is defined, then put the others on the way back. */
static int need_node(const struct need *n, uint32_t node)
{
	struct defined *df = n->df;
	size_t depth = 0;

	for (; node != DEFS_NONE && !bits_has(&df->nodes, node); node = n->d->nodes[node].caller) {
		if (grow_for(&df->path, depth, &df->path_size, sizeof(*df->path)))
			return -ENOMEM;
		df->path[depth++] = node;
	}
	while (depth) {
		int err = put_node(n, df->path[--depth]);
		if (err)
			return err;
	}
	return 0;
}

static int need_tag(const struct need *n, uint32_t index)
{
	struct fact f;

	if (index == DEFS_NONE || bits_has(&n->df->tags, index))
		return 0;
	defs_tag_fact(n->d, index, &f);
	return put_new(n, &n->df->tags, index, &f);
}

static int need_stack(const struct need *n, uint32_t number)
{
	uint32_t index = defs_stack(n->d, number);
	struct fact f;
	int err;

	if (index == DEFS_NONE)
		return -EINVAL;
	if (bits_has(&n->df->stacks, index))
		return 0;
	err = need_node(n, n->d->stacks[index].node);
	if (!err)
		err = need_tag(n, n->d->stacks[index].tag);
	if (err)
		return err;
	defs_stack_fact(n->d, index, &f);
	return put_new(n, &n->df->stacks, index, &f);
}

static int need_stacks_of_uses(const struct need *n, const struct fact *f)
{
	int err = 0;

	for (uint32_t i = 0; i < f->object.nuses && !err; i++)
		err = need_stack(n, f->object.uses[i].stack);
	return err;
}

/* --- what a fact needs --- */

#define KIND(kind, fields) case kind: fields break;
#define ADDRESS(field)
#define U64(field)
#define U32(field)
#define SIGNED(field)
#define STACK(field) err = err ? err : need_stack(n, f->field);
#define STACK_OR_NONE(field) err = err || f->field == FACT_NONE ? err : need_stack(n, f->field - 1);
#define SIGNED64(field)
#define FLAGS(field, bit, other, its)
#define FLAG(field, bit)
#define TEXT(field)
#define RUN()
#define ARGUMENTS()
#define LIST()
#define POINTS()
#define USES() err = need_stacks_of_uses(n, f);
#define LOOK()
#define JUDGED()
#define SAMPLE()
#define BUDGET()
#define PROCESS()
#define MERGED()
#define BINS()

static int need_stacks_of_info(const struct need *n, const struct fact *f)
{
	int err = 0;

	switch (f->info) {
	FIELDS_OF_INFO
	}
	return err;
}

static int need_stacks(const struct need *n, const struct fact *f)
{
	int err = 0;

	switch (f->kind) {
	FIELDS_OF_EVENTS
	case MMT_INFO:
		return need_stacks_of_info(n, f);
	}
	return err;
}

/* The parts of a definition that the caller puts itself, as far as they are known. */
static int need_parts(const struct need *n, const struct fact *f)
{
	uint32_t node;
	int err;

	switch (f->info) {
	case MMT_FRAME:
		return f->frame.module == FACT_NONE ? 0
						    : need_module(n, defs_module(n->d, f->frame.module - 1));
	case MMT_NODE:
		err = need_frame(n, defs_frame(n->d, f->node.frame));
		node = f->node.caller ? defs_node(n->d, f->node.caller) : DEFS_NONE;
		return err ? err : need_node(n, node);
	case MMT_STACK:
		node = f->stack.node ? defs_node(n->d, f->stack.node) : DEFS_NONE;
		err = need_node(n, node);
		return err || f->stack.tag == FACT_NONE ? err : need_tag(n, defs_tag(n->d, f->stack.tag - 1));
	case MMT_NAMES:
		return need_frame(n, defs_frame(n->d, f->names.frame));
	case MMT_PROBE:
		return need_family(n, f->probe.family);
	default:
		return 0;
	}
}

int defined_before(struct defined *df, const struct defs *d, const struct fact *f, defined_put *put,
		   void *ctx)
{
	const struct need n = { df, d, put, ctx };
	int err;

	if (f->kind == MMT_FAMILY)
		return need_family(&n, f->family);
	err = need_stacks(&n, f);
	if (err || f->kind != MMT_INFO)
		return err;
	return need_parts(&n, f);
}

/* The set of a kind of definition, and its index there; NULL if it is none. */
static struct bits *set_of(struct defined *df, const struct defs *d, const struct fact *f, uint32_t *index)
{
	switch (f->kind == MMT_INFO ? f->info : 0) {
	case MMT_FAMILY_NAME:
		*index = defs_family(d, f->family_name.number);
		return &df->families;
	case MMT_MODULE:
		*index = defs_module(d, f->module.number);
		return &df->modules;
	case MMT_FRAME:
		*index = defs_frame(d, f->frame.number);
		return &df->frames;
	case MMT_NODE:
		*index = defs_node(d, f->node.number);
		return &df->nodes;
	case MMT_TAG:
		*index = defs_tag(d, f->tag.number);
		return &df->tags;
	case MMT_STACK:
		*index = defs_stack(d, f->stack.number);
		return &df->stacks;
	default:
		return NULL;
	}
}

int defined_already(struct defined *df, const struct defs *d, const struct fact *f, bool *already)
{
	uint32_t index = DEFS_NONE;
	struct bits *set = set_of(df, d, f, &index);
	bool has = set && index != DEFS_NONE && bits_has(set, index);

	*already = has && f->info != MMT_FAMILY_NAME && f->info != MMT_MODULE;
	if (!set || index == DEFS_NONE || has)
		return 0;
	return bits_add(set, index);
}
