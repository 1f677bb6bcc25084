/* SPDX-License-Identifier: MIT */
/* massif_tree: see massif_tree.h. A node is a set of groups whose stacks are equal up to its depth. */
#include "report/massif/massif_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/export/export.h"

#define THRESHOLD 100		/* of all bytes, one in so many */
#define ENDS UINT32_MAX		/* in place of a frame: the stack has no more */

/* --- stacks --- */

void massif_no_comment(struct strbuf *sb, size_t from)
{
	for (size_t i = from; sb->s && i < sb->len; i++)
		if (sb->s[i] == '#')
			sb->s[i] = '@';
}

/* "0x10918B: make (svc.c:8)" */
static void put_label(struct strbuf *sb, const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_printf(&text, "0x%" PRIX64 ": ", f->pc);
	if (f->function)
		export_frame_name(&text, f);
	else
		strbuf_puts(&text, "???");
	if (f->file)
		strbuf_printf(&text, " (%s:%d)", f->file, f->line);
	else if (f->module)
		strbuf_printf(&text, " (in %s)", f->module);
	strbuf_text(sb, strbuf_str(&text));
	massif_no_comment(sb, 0);
	if (text.err && !sb->err)
		sb->err = text.err;
}

static int add_stack(struct massif_stacks *st, size_t i)
{
	const struct stack_view *stack = &st->summary->groups[i].stack;
	const size_t depth = export_depth(stack);
	cleanup_strbuf struct strbuf label = STRBUF_INIT;
	uint32_t *its = calloc(depth + 1, sizeof(*its));

	st->all[i] = its;
	if (!its)
		return -ENOMEM;
	for (size_t k = 0; k < depth; k++) {
		put_label(&label, export_frame(stack, k));
		its[k] = numbering_take(&st->frames, &label, NULL);
	}
	its[depth] = ENDS;
	return st->frames.err;
}

int massif_stacks_make(const struct summary *s, struct massif_stacks *out)
{
	int r = 0;

	*out = (struct massif_stacks){ .summary = s, .all = calloc(s->ngroups + 1, sizeof(*out->all)) };
	numbering_init(&out->frames);
	if (!out->all)
		return -ENOMEM;
	for (size_t i = 0; i < s->ngroups && r == 0; i++)
		r = add_stack(out, i);
	return r;
}

void massif_stacks_free(struct massif_stacks *st)
{
	for (size_t i = 0; st->all && i < st->summary->ngroups; i++)
		free(st->all[i]);
	free(st->all);
	numbering_fini(&st->frames);
}

/* --- the tree --- */

struct tree {
	const struct massif_stacks *stacks;
	const uint64_t *bytes;
	uint64_t total;
	struct strbuf *sb;
	int err;
};

/* The groups of a node, or of one of its callers. */
struct node {
	uint32_t frame;
	uint64_t bytes;
	size_t *groups, n;		/* a part of an array of indices */
};

static uint32_t frame_at(const struct tree *t, size_t group, size_t depth)
{
	return t->stacks->all[group][depth];
}

struct keyed {
	uint32_t frame;
	size_t group;
};

static int compare_keyed(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;

	return a->frame != b->frame ? (a->frame > b->frame) - (a->frame < b->frame)
				    : (a->group > b->group) - (a->group < b->group);
}

/* The largest first; of the same size the one whose frame came first. */
static int compare_nodes(const void *pa, const void *pb)
{
	const struct node *a = pa, *b = pb;

	return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
				    : (a->frame > b->frame) - (a->frame < b->frame);
}

/* Sort the groups of @node by the frame at @depth, in their array. */
static int sort_groups(const struct tree *t, const struct node *node, size_t depth)
{
	cleanup_free struct keyed *keyed = calloc(node->n + 1, sizeof(*keyed));

	if (!keyed)
		return -ENOMEM;
	for (size_t i = 0; i < node->n; i++)
		keyed[i] = (struct keyed){ frame_at(t, node->groups[i], depth), node->groups[i] };
	qsort(keyed, node->n, sizeof(*keyed), compare_keyed);
	for (size_t i = 0; i < node->n; i++)
		node->groups[i] = keyed[i].group;
	return 0;
}

/* Callers of @node, by size, in @out, which has room for node->n; returns their number. */
static size_t find_callers(const struct tree *t, const struct node *node, size_t depth, struct node *out)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n; i++) {
		const uint32_t frame = frame_at(t, node->groups[i], depth);

		if (!n || out[n - 1].frame != frame)
			out[n++] = (struct node){ .frame = frame, .groups = &node->groups[i] };
		out[n - 1].n++;
		out[n - 1].bytes += t->bytes[node->groups[i]];
	}
	qsort(out, n, sizeof(*out), compare_nodes);
	return n == 1 && out[0].frame == ENDS ? 0 : n;	/* only stacks that end here have no caller */
}

/* The callers of a node: those that are large enough to be shown; of the others how many, and their bytes. */
struct callers {
	struct node *all;
	size_t n, others;
	uint64_t rest;
};

/*
 * Only what is shown is kept while the tree below it is made, so the memory does not grow with the depth of the
 * stacks times their number.
 */
static int take_callers(const struct tree *t, const struct node *node, size_t depth, struct callers *out)
{
	struct node *all, *shown;
	size_t n;

	*out = (struct callers){ 0 };
	if (node->frame == ENDS)
		return 0;
	all = calloc(node->n + 1, sizeof(*all));
	if (!all || sort_groups(t, node, depth) < 0) {
		free(all);
		return -ENOMEM;
	}
	n = find_callers(t, node, depth, all);
	while (out->n < n && all[out->n].bytes >= t->total / THRESHOLD)
		out->n++;
	out->others = n - out->n;
	for (size_t i = out->n; i < n; i++)
		out->rest += all[i].bytes;
	shown = reallocarray(all, out->n + 1, sizeof(*all));
	out->all = shown ? shown : all;
	return 0;
}

static void put_others(struct strbuf *sb, const struct callers *c, size_t depth)
{
	if (!c->others)
		return;
	strbuf_pad(sb, ' ', depth);
	strbuf_printf(sb, "n0: %" PRIu64 " in %zu place%s, %s below massif's threshold (1.00%%)\n", c->rest, c->others,
		      c->others == 1 ? "" : "s", c->others == 1 ? "" : "all");
}

/* The node's line, and all below it. */
static void put_node(struct tree *t, const struct node *node, size_t depth)
{
	struct callers callers;

	if (take_callers(t, node, depth, &callers) < 0) {
		t->err = -ENOMEM;
		return;
	}
	strbuf_pad(t->sb, ' ', depth);
	strbuf_printf(t->sb, "n%zu: %" PRIu64 " ", callers.n + (callers.others > 0), node->bytes);
	if (!depth)
		strbuf_puts(t->sb, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
	else
		strbuf_puts(t->sb, node->frame == ENDS ? "(the stack ends here)"
						       : t->stacks->frames.texts.all[node->frame]);
	strbuf_putc(t->sb, '\n');
	for (size_t i = 0; i < callers.n; i++)
		put_node(t, &callers.all[i], depth + 1);
	put_others(t->sb, &callers, depth + 1);
	free(callers.all);
}

int massif_tree(const struct massif_stacks *st, const uint64_t *bytes, uint64_t total, struct strbuf *sb)
{
	const size_t n = st->summary->ngroups;
	cleanup_free size_t *groups = calloc(n + 1, sizeof(*groups));
	struct tree t = { st, bytes, total, sb, 0 };
	struct node root = { .bytes = total, .groups = groups };

	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			groups[root.n++] = i;
	put_node(&t, &root, 0);
	return t.err;
}
