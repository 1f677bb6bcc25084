/* SPDX-License-Identifier: MIT */
#include "trace/defs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void defs_init(struct defs *d)
{
	*d = (struct defs){ 0 };
	addrmap_init(&d->family_index.other, sizeof(uint32_t));
	addrmap_init(&d->module_index.other, sizeof(uint32_t));
	addrmap_init(&d->frame_index.other, sizeof(uint32_t));
	addrmap_init(&d->node_index.other, sizeof(uint32_t));
	addrmap_init(&d->tag_index.other, sizeof(uint32_t));
	addrmap_init(&d->stack_index.other, sizeof(uint32_t));
	intern_init(&d->pool);
}

void defs_fini(struct defs *d)
{
	addrmap_fini(&d->family_index.other);
	addrmap_fini(&d->module_index.other);
	addrmap_fini(&d->frame_index.other);
	addrmap_fini(&d->node_index.other);
	addrmap_fini(&d->tag_index.other);
	addrmap_fini(&d->stack_index.other);
	intern_fini(&d->pool);
	free(d->families);
	free(d->modules);
	free(d->frames);
	free(d->nodes);
	free(d->tags);
	free(d->stacks);
	free(d->names);
	defs_init(d);
}

const char *defs_string(struct defs *d, const char *text)
{
	return intern_text(&d->pool, text);
}

/* --- from number to index --- */

static uint32_t other_index(const struct defs_index *way, uint32_t number)
{
	const uint32_t *index = addrmap_get(&way->other, number);

	return index ? *index : DEFS_NONE;
}

/* @guess: the index if numbers and indices agree. */
#define INDEX_OF(array, count, way, wanted, guess)                                                           \
	((size_t)(guess) < (count) && (array)[guess].number == (wanted) ? (guess)                            \
									: other_index(&(way), wanted))

uint32_t defs_family(const struct defs *d, uint32_t number)
{
	return INDEX_OF(d->families, d->nfamilies, d->family_index, number, number);
}

uint32_t defs_module(const struct defs *d, uint32_t number)
{
	return INDEX_OF(d->modules, d->nmodules, d->module_index, number, number);
}

uint32_t defs_frame(const struct defs *d, uint32_t number)
{
	return INDEX_OF(d->frames, d->nframes, d->frame_index, number, number);
}

/* Numbers of nodes begin at 1, indices at 0. */
uint32_t defs_node(const struct defs *d, uint32_t number)
{
	return INDEX_OF(d->nodes, d->nnodes, d->node_index, number, number - 1);
}

uint32_t defs_tag(const struct defs *d, uint32_t number)
{
	return INDEX_OF(d->tags, d->ntags, d->tag_index, number, number);
}

uint32_t defs_stack(const struct defs *d, uint32_t number)
{
	return INDEX_OF(d->stacks, d->nstacks, d->stack_index, number, number);
}

/* --- a new thing --- */

/* Make room for one more, and map @number to its index unless that is @guess. */
static int make_room(void *array, size_t n, size_t *size, size_t element, struct defs_index *way,
		     uint32_t number, uint32_t guess)
{
	uint32_t index = (uint32_t)n;

	if (n >= DEFS_NONE)
		return -ENOMEM;
	if (grow_for(array, n, size, element))
		return -ENOMEM;
	return guess == index ? 0 : addrmap_put(&way->other, number, &index);
}

/* Store @text, as *@out; NULL stays NULL. */
static int keep(struct defs *d, const char *text, const char **out)
{
	*out = intern_text(&d->pool, text);
	return text && !*out ? -ENOMEM : 0;
}

/* A text that was not known, or empty, may become known. Another text is a contradiction. */
static int fill_in(struct defs *d, const char **have, const char *text)
{
	if (!text || !*text || (*have && !strcmp(*have, text)))
		return 0;
	return *have && **have ? -EINVAL : keep(d, text, have);
}

/* A family without a name (nothing is known of it yet) has no known kind either. */
static int know_family(struct defs *d, struct defs_family *have, const struct fact *f)
{
	bool named = have->name && *have->name;
	int err;

	if (named && (have->refs != f->family_name.refs || have->ranges != f->family_name.ranges))
		return -EINVAL;
	err = fill_in(d, &have->name, f->family_name.name);
	if (!err)
		err = fill_in(d, &have->noun, f->family_name.noun);
	if (err)
		return err;
	have->refs = f->family_name.refs;
	have->ranges = f->family_name.ranges;
	return 0;
}

static int take_family(struct defs *d, const struct fact *f)
{
	uint32_t number = f->family_name.number, known = defs_family(d, number);
	struct defs_family family = { .number = number, .refs = f->family_name.refs,
				      .ranges = f->family_name.ranges };
	int err;

	if (known != DEFS_NONE)
		return know_family(d, &d->families[known], f);
	err = keep(d, f->family_name.name, &family.name);
	if (!err)
		err = keep(d, f->family_name.noun, &family.noun);
	if (!err)
		err = make_room(&d->families, d->nfamilies, &d->families_size, sizeof(family),
				&d->family_index, number, number);
	if (!err)
		d->families[d->nfamilies++] = family;
	return err;
}

static int know_module(struct defs *d, struct defs_module *have, const struct fact *f)
{
	int err;

	if (have->file != f->module.file || have->bias != f->module.bias || have->lo != f->module.lo ||
	    have->hi != f->module.hi)
		return -EINVAL;
	err = fill_in(d, &have->path, f->module.path);
	return err ? err : fill_in(d, &have->build_id, f->module.build_id);
}

static int take_module(struct defs *d, const struct fact *f)
{
	uint32_t number = f->module.number, known = defs_module(d, number);
	struct defs_module m = { .number = number, .file = f->module.file, .bias = f->module.bias,
				 .lo = f->module.lo,
				 .hi = f->module.hi };
	int err;

	if (known != DEFS_NONE)
		return know_module(d, &d->modules[known], f);
	err = keep(d, f->module.path, &m.path);
	if (!err)
		err = keep(d, f->module.build_id, &m.build_id);
	if (!err)
		err = make_room(&d->modules, d->nmodules, &d->modules_size, sizeof(m), &d->module_index,
				number, number);
	if (!err)
		d->modules[d->nmodules++] = m;
	return err;
}

static bool same_frame(const struct defs_frame *a, const struct defs_frame *b)
{
	return a->pc == b->pc && a->module == b->module && a->exact == b->exact && a->skip == b->skip;
}

static int take_frame(struct defs *d, const struct fact *f)
{
	uint32_t number = f->frame.number, known = defs_frame(d, number);
	struct defs_frame frame = {
		.pc = f->frame.pc, .number = number, .module = DEFS_NONE, .exact = f->frame.exact,
		.skip = f->frame.skip,
	};
	int err;

	if (f->frame.module != FACT_NONE) {
		frame.module = defs_module(d, f->frame.module - 1);
		if (frame.module == DEFS_NONE)
			return -ENOENT;
	}
	if (known != DEFS_NONE)
		return same_frame(&d->frames[known], &frame) ? 0 : -EINVAL;
	err = make_room(&d->frames, d->nframes, &d->frames_size, sizeof(frame), &d->frame_index, number,
			number);
	if (!err)
		d->frames[d->nframes++] = frame;
	return err;
}

static int take_node(struct defs *d, const struct fact *f)
{
	uint32_t number = f->node.number, known;
	struct defs_node node = { number, DEFS_NONE, defs_frame(d, f->node.frame), 1 };
	int err;

	if (!number)
		return -EINVAL;
	if (f->node.caller) {
		node.caller = defs_node(d, f->node.caller);
		if (node.caller == DEFS_NONE)
			return -ENOENT;
		node.depth = d->nodes[node.caller].depth + 1;
	}
	if (node.frame == DEFS_NONE)
		return -ENOENT;
	known = defs_node(d, number);
	if (known != DEFS_NONE)
		return d->nodes[known].caller == node.caller && d->nodes[known].frame == node.frame ? 0
												    : -EINVAL;
	if (node.depth > DEFS_DEPTH_MAX)
		return -EINVAL;
	err = make_room(&d->nodes, d->nnodes, &d->nodes_size, sizeof(node), &d->node_index, number,
			number - 1);
	if (!err)
		d->nodes[d->nnodes++] = node;
	return err;
}

static int take_tag(struct defs *d, const struct fact *f)
{
	uint32_t number = f->tag.number, known = defs_tag(d, number);
	struct defs_tag tag = { .number = number };
	int err = keep(d, f->tag.text ? f->tag.text : "", &tag.text);

	/* each text is in the pool once */
	if (!err && known != DEFS_NONE)
		return d->tags[known].text == tag.text ? 0 : -EINVAL;
	if (!err)
		err = make_room(&d->tags, d->ntags, &d->tags_size, sizeof(tag), &d->tag_index, number,
				number);
	if (!err)
		d->tags[d->ntags++] = tag;
	return err;
}

static bool same_stack(const struct defs_stack *a, const struct defs_stack *b)
{
	return a->node == b->node && a->end == b->end && a->tag == b->tag;
}

/* What the stack is made of, as indices. */
static int stack_parts(const struct defs *d, const struct fact *f, struct defs_stack *out)
{
	uint32_t end = f->stack.end <= MMT_END_ELSEWHERE ? f->stack.end : MMT_END_LOST;

	*out = (struct defs_stack){ f->stack.number, DEFS_NONE, DEFS_NONE, (uint8_t)end };
	if (f->stack.node)
		out->node = defs_node(d, f->stack.node);
	if (f->stack.tag != FACT_NONE)
		out->tag = defs_tag(d, f->stack.tag - 1);
	if ((f->stack.node && out->node == DEFS_NONE) || (f->stack.tag != FACT_NONE && out->tag == DEFS_NONE))
		return -ENOENT;
	return 0;
}

static int take_stack(struct defs *d, const struct fact *f)
{
	uint32_t number = f->stack.number, known = defs_stack(d, number);
	struct defs_stack stack;
	int err = stack_parts(d, f, &stack);

	if (err)
		return err;
	if (known != DEFS_NONE)
		return same_stack(&d->stacks[known], &stack) ? 0 : -EINVAL;
	err = make_room(&d->stacks, d->nstacks, &d->stacks_size, sizeof(stack), &d->stack_index, number,
			number);
	if (!err)
		d->stacks[d->nstacks++] = stack;
	return err;
}

static int keep_names(struct defs *d, const struct fact *f, struct defs_name *to)
{
	for (uint32_t i = 0; i < f->names.n; i++) {
		const struct fact_name *from = &f->names.all[i];
		struct defs_name name = { .line = from->line, .inlined = from->inlined };

		if (keep(d, from->function, &name.function) || keep(d, from->linkage, &name.linkage) ||
		    keep(d, from->file, &name.file))
			return -ENOMEM;
		to[i] = name;
	}
	return 0;
}

/*
 * New names overwrite the old ones if they fit: a file that names a frame over and over cannot fill the
 * memory.
 */
static int make_names_room(struct defs *d, struct defs_frame *frame, uint32_t n)
{
	if (n <= frame->names_room)
		return 0;
	if (d->nnames + n > UINT32_MAX ||
	    grow_for(&d->names, d->nnames + n - 1, &d->names_size, sizeof(*d->names)))
		return -ENOMEM;
	frame->names = (uint32_t)d->nnames;
	frame->names_room = (uint16_t)n;
	frame->nnames = 0;
	d->nnames += n;
	return 0;
}

static int take_names(struct defs *d, const struct fact *f)
{
	uint32_t index = defs_frame(d, f->names.frame), n = f->names.n;

	if (index == DEFS_NONE)
		return -ENOENT;
	if (n > DEFS_NAMES_MAX)
		return -EINVAL;
	struct defs_frame *frame = &d->frames[index];
	if (make_names_room(d, frame, n) || (n && keep_names(d, f, d->names + frame->names)))
		return -ENOMEM;
	frame->nnames = n;
	return 0;
}

int defs_take(struct defs *d, const struct fact *f)
{
	switch (f->kind == MMT_INFO ? f->info : 0) {
	case MMT_FAMILY_NAME:
		return take_family(d, f);
	case MMT_MODULE:
		return take_module(d, f);
	case MMT_FRAME:
		return take_frame(d, f);
	case MMT_NODE:
		return take_node(d, f);
	case MMT_TAG:
		return take_tag(d, f);
	case MMT_STACK:
		return take_stack(d, f);
	case MMT_NAMES:
		return take_names(d, f);
	default:
		return -EINVAL;
	}
}

bool defs_is_script(const struct defs *d, uint32_t index)
{
	const struct defs_frame *f = &d->frames[index];

	return f->module == DEFS_NONE && f->nnames == 1 && d->names[f->names].file;
}

uint32_t defs_path(const struct defs *d, uint32_t stack, uint32_t *frames, uint32_t max)
{
	uint32_t node = d->stacks[stack].node, depth = node == DEFS_NONE ? 0 : d->nodes[node].depth;

	for (uint32_t i = 0; i < max && node != DEFS_NONE; i++) {
		frames[i] = d->nodes[node].frame;
		node = d->nodes[node].caller;
	}
	return depth;
}

size_t defs_memory(const struct defs *d)
{
	return d->families_size * sizeof(*d->families) + d->modules_size * sizeof(*d->modules) +
	       d->frames_size * sizeof(*d->frames) + d->nodes_size * sizeof(*d->nodes) +
	       d->tags_size * sizeof(*d->tags) + d->stacks_size * sizeof(*d->stacks) +
	       d->names_size * sizeof(*d->names) + addrmap_memory(&d->family_index.other) +
	       addrmap_memory(&d->module_index.other) + addrmap_memory(&d->frame_index.other) +
	       addrmap_memory(&d->node_index.other) + addrmap_memory(&d->tag_index.other) +
	       addrmap_memory(&d->stack_index.other) + intern_memory(&d->pool);
}
