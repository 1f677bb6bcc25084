/* SPDX-License-Identifier: MIT */
/* scan: see scan.h. */
#include "report/model/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/summary_parts.h"

void scan_init(struct scan_report *r)
{
	*r = (struct scan_report){ .heap = { .mmapped_claimed = UINT64_MAX } };
	summary_init(&r->summary);
	r->summary.run.mode = "scan";
	r->summary.run.verdicts.wanted = true;
	r->summary.scanned = true;
}

static void fini_answer(struct scan_answer *a)
{
	free(a->pointers);
	free(a->chain.links);
}

void scan_fini(struct scan_report *r)
{
	for (size_t i = 0; i < r->nanswers; i++)
		fini_answer(&r->answers[i]);
	free(r->answers);
	free(r->problems);
	free(r->heap.arenas);
	free(r->python.types);
	summary_fini(&r->summary);
	memset(r, 0, sizeof(*r));
}

int scan_error(const struct scan_report *r)
{
	return summary_error(&r->summary);
}

void scan_add_problem(struct scan_report *r, taddr at, const char *what)
{
	struct scan_problem *slot = summary_push(&r->summary, &r->problems, &r->nproblems, sizeof(*slot));

	if (slot)
		*slot = (struct scan_problem){ at, summary_string(&r->summary, what) };
}

void scan_add_arena(struct scan_report *r, const struct scan_arena *arena)
{
	struct scan_arena *slot = summary_push(&r->summary, &r->heap.arenas, &r->heap.narenas, sizeof(*slot));

	if (slot)
		*slot = *arena;
}

struct scan_python_type *scan_add_python_type(struct scan_report *r)
{
	struct scan_python_type *slot;

	slot = summary_push(&r->summary, &r->python.types, &r->python.ntypes, sizeof(*slot));
	if (slot)
		*slot = (struct scan_python_type){ 0 };
	return slot;
}

struct scan_answer *scan_add_answer(struct scan_report *r)
{
	struct scan_answer *slot = summary_push(&r->summary, &r->answers, &r->nanswers, sizeof(*slot));

	if (slot)
		*slot = (struct scan_answer){ 0 };
	return slot;
}

/* --- order --- */

static int compare_kinds(const struct summary_kind *a, const struct summary_kind *b)
{
	int order = summary_compare_texts(a->label, b->label);

	if (!order)
		order = summary_compare_texts(a->module, b->module);
	if (!order)
		order = summary_compare_numbers(b->size_low, a->size_low);
	return order ? order : summary_compare_texts(a->class_name, b->class_name);
}

static int compare_groups(const void *pa, const void *pb)
{
	const struct summary_group *a = pa, *b = pb;
	int order = summary_rank(a->verdict) - summary_rank(b->verdict);

	if (!order)
		order = summary_compare_numbers(summary_weight(a), summary_weight(b));
	if (!order)
		order = summary_compare_numbers(a->blocks, b->blocks);
	if (!order)
		order = compare_kinds(&a->kind, &b->kind);
	if (!order)
		order = summary_compare_texts(a->tag, b->tag);
	return order ? order : stack_compare(&a->stack, &b->stack);
}

void scan_sort(struct scan_report *r)
{
	if (r->summary.ngroups)
		qsort(r->summary.groups, r->summary.ngroups, sizeof(*r->summary.groups), compare_groups);
}

/* --- sums --- */

static void add(struct summary_sum *to, const struct summary_sum *s)
{
	to->blocks += s->blocks;
	to->bytes += s->bytes;
}

void scan_account(const struct scan_heap *heap, struct scan_account *out)
{
	*out = (struct scan_account){ .system = heap->mmapped.bytes, .used = heap->mmapped.bytes };
	for (size_t i = 0; i < heap->narenas; i++) {
		const struct scan_arena *a = &heap->arenas[i];

		out->system += a->system_bytes;
		out->used += a->used.bytes;
		out->tops += a->top_bytes;
		out->other += a->other_bytes;
		add(&out->free, &a->fast);
		add(&out->free, &a->tcache);
		add(&out->free, &a->bins);
	}
}

/* --- names --- */

bool scan_allocator_is_other(const struct scan_report *r)
{
	return !r->heap.known && (r->heap.other || !r->core || !r->memory.missing);
}

const char *scan_place_name(enum scan_place place)
{
	static const char *const names[] = {
		[SCAN_IN_BLOCK] = "block", [SCAN_IN_REGISTER] = "register", [SCAN_ON_STACK] = "stack",
		[SCAN_IN_DATA] = "data",   [SCAN_IN_TLS] = "tls",	    [SCAN_IN_ALLOCATOR] = "allocator",
	};

	return names[place];
}
