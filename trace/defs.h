/* SPDX-License-Identifier: MIT */
/*
 * defs: what the numbers of a run mean: families, modules, frames, nodes, tags, stacks.
 *
 *	stack ──▶ node ──▶ caller ──▶ ...	a trie, the outermost frame at its root
 *	node ──▶ frame ──▶ pc, module, names
 *	stack ──▶ tag		a text: the same frames with another one are another stack
 *
 * In a run each of these has a number; here it has an index too, in the order of definition. In a whole run
 * they are the same, and converting is one comparison; in a later piece, or behind damage, it takes a table.
 * All other code uses the index, and finds the number in the definition.
 *
 * A definition that names an undefined thing is refused: so every walk over the trie ends. A caller has a
 * smaller index than its node, whatever the file says.
 */
#ifndef MM_DEFS_H
#define MM_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "trace/fact.h"
#include "base/intern.h"

#define DEFS_NONE UINT32_MAX	/* no such index */
#define DEFS_DEPTH_MAX 4096
#define DEFS_NAMES_MAX 4096	/* functions inlined into one another */

struct defs_module {
	uint32_t number, file;
	taddr bias, lo, hi;
	const char *path, *build_id;
};

struct defs_name {
	const char *function, *linkage, *file;	/* in the pool; NULL: not known */
	uint32_t line;
	bool inlined;
};

struct defs_frame {
	taddr pc;
	uint32_t number;
	uint32_t module;	/* index or DEFS_NONE */
	uint32_t names, nnames;	/* the first in defs->names; nnames 0: not looked up yet */
	uint16_t names_room;	/* how many names there is room for */
	bool exact, skip;
};

struct defs_node {
	uint32_t number;
	uint32_t caller;	/* index or DEFS_NONE */
	uint32_t frame;		/* index */
	uint32_t depth;		/* frames from here to the root, this one included */
};

struct defs_stack {
	uint32_t number;
	uint32_t node;		/* index or DEFS_NONE */
	uint32_t tag;		/* index or DEFS_NONE */
	/* MMT_END_WHOLE ... MMT_END_ELSEWHERE; what is not known here is MMT_END_LOST */
	uint8_t end;
};

struct defs_family {
	uint32_t number;
	const char *name;
	const char *noun;	/* what a block or object is called; NULL: the usual */
	bool refs;		/* objects with references; else blocks */
	bool ranges;		/* blocks that are ranges of addresses */
};

static inline bool defs_is_of_blocks(const struct defs_family *f)
{
	return !f->refs && !f->ranges;
}

struct defs_tag {
	uint32_t number;
	const char *text;
};

/* For things of one kind: from number to index, where they differ. */
struct defs_index {
	struct addrmap other;	/* number -> index */
};

struct defs {
	struct defs_family *families;
	struct defs_module *modules;
	struct defs_frame *frames;
	struct defs_node *nodes;
	struct defs_tag *tags;
	struct defs_stack *stacks;
	struct defs_name *names;
	size_t nfamilies, nmodules, nframes, nnodes, ntags, nstacks, nnames;
	size_t families_size, modules_size, frames_size, nodes_size, tags_size, stacks_size, names_size;
	struct defs_index family_index, module_index, frame_index, node_index, tag_index, stack_index;
	struct intern pool;
};

void defs_init(struct defs *d);
void defs_fini(struct defs *d);

/* @text stored once, valid as long as @d; NULL for NULL, and if memory is short. */
const char *defs_string(struct defs *d, const char *text);

/*
 * Take a definition: a fact of MMT_FAMILY_NAME, MODULE, FRAME, NODE, TAG, STACK or NAMES. One that is known
 * is left as it is (a module's path and build id may be filled in; names are replaced; a family without a
 * name is of no kind yet). 0; -ENOENT: it refers to what is not defined; -EINVAL: it contradicts what is
 * known (the same number was something else), or is too deep; -ENOMEM.
 */
must_check int defs_take(struct defs *d, const struct fact *f);

/* From a run's number to the index; DEFS_NONE if it is not defined. Cheap where they are the same. */
uint32_t defs_family(const struct defs *d, uint32_t number);
uint32_t defs_module(const struct defs *d, uint32_t number);
uint32_t defs_frame(const struct defs *d, uint32_t number);
uint32_t defs_node(const struct defs *d, uint32_t number);
uint32_t defs_tag(const struct defs *d, uint32_t number);
uint32_t defs_stack(const struct defs *d, uint32_t number);

/*
 * The frames of the stack with index @stack, leaf first, as indices; at most @max of them. Returns how many
 * there are in all.
 */
uint32_t defs_path(const struct defs *d, uint32_t stack, uint32_t *frames, uint32_t max);

/*
 * The definition with this index as a fact, strings borrowed from @d. (Of a node: by the numbers of caller
 * and frame.)
 */
void defs_family_fact(const struct defs *d, uint32_t index, struct fact *f);
void defs_module_fact(const struct defs *d, uint32_t index, struct fact *f);
void defs_frame_fact(const struct defs *d, uint32_t index, struct fact *f);
void defs_node_fact(const struct defs *d, uint32_t index, struct fact *f);
void defs_tag_fact(const struct defs *d, uint32_t index, struct fact *f);
void defs_stack_fact(const struct defs *d, uint32_t index, struct fact *f);
/* @names has room for frames[index].nnames. */
void defs_names_fact(const struct defs *d, uint32_t index, struct fact_name *names, struct fact *f);

/*
 * Is the frame at @index one of a script that an interpreter executes? It is of no module, and its name has a
 * file: code that was made at run time has none.
 */
bool defs_is_script(const struct defs *d, uint32_t index);

size_t defs_memory(const struct defs *d);

#endif
