/* SPDX-License-Identifier: MIT */
/* A report: of a watch, its trace, or a scan. */
#include "report/fields/fields.h"
#include "report/fields/parts.h"
#include "report/fields/table.h"

#include "base/version.h"
#include "report/model/scan.h"
#include "report/names/rows.h"
#include "report/query/lookup.h"

#define MMATTACH(F) \
	F(string, version, ALL, ((void)any, MM_VERSION), "Of the program.")				\
	F(uint, schema, ALL, 1, "Says when the meaning of a member changes. Members are added, and never renamed.")

FIELDS(mmattach, const void *any, MMATTACH, "What printed this.");

static const void *child_at(const struct field_source *c, const void *base, size_t i)
{
	const struct summary_memory *m = (const struct summary_memory *)base + i;

	return m == summary_memory_of_target(c->s) ? NULL : m;
}

static bool is_listed(const struct summary *s)
{
	return s->lookup && s->lookup->question.entry;
}

static bool is_asked(const struct summary *s)
{
	return s->lookup && s->lookup->question.naddrs;
}

#define REPORT(F) \
	F(object(mmattach), mmattach, ALL, s, "What printed this.")					\
	F(object(target), target, ALL, &s->target, "The process.")					\
	F(object(run), run, ALL, &s->run, \
	  "The watch: what was watched, what was lost, what it cost, verdicts.")			\
	F(object(totals), totals, ALL, &s->totals, \
	  "Of the whole watch, with what is suppressed or filtered.")					\
	F(histogram, block_sizes, ALL, ((struct field_histogram){ &s->sizes, false }), \
	  "Live blocks of memory by size, whatever a filter hides: [from, blocks, bytes] for sizes from this one to twice of it.") \
	F(histogram, block_ages, ALL, ((struct field_histogram){ &s->ages, true }), \
	  "The same by age in seconds. Empty in a scan.")						\
	F(string_or_null, runtime, ALL, s->runtime, \
	  "What runs the process, where that has a heap of its own: CPython, JVM, Go, V8.")		\
	F(object_or_null(memory), memory, ALL, summary_memory_of_target(s), \
	  "The memory of the process.")									\
	F(list(child), children, ALL, CHOSEN(s->memories, s->nmemories, child_at), \
	  "Child processes, which were not watched.")							\
	F(list(process), processes, ALL | OPT,					\
	  WHEN(summary_is_merged(s), ARRAY(s->processes, s->nprocesses)),	\
	  "Only of a merged trace (mmattach merge).")							\
	F(list(group), groups, ALL, ARRAY(s->groups, s->ngroups), "In the order of the text report.")	\
	F(list(refs), refs, ALL, ARRAY(s->refs, s->nrefs), "Groups of objects.")			\
	F(list(family), families, ALL, ARRAY(s->families, s->nfamilies), \
	  "In the order of the report.")								\
	F(list(row), rows, ALL, ARRAY(c->rows->by_stack.view.groups, c->rows->by_stack.view.ngroups), \
	  "What people see, and speak of as [3].")							\
	F(list(ref_row), ref_rows, ALL, ARRAY(c->rows->refs, c->rows->nrefs), "The same of objects.")	\
	F(list(double_free), double_frees, ALL, ARRAY(s->twice, s->ntwice), \
	  "Blocks that were freed twice.")								\
	F(object(hidden), suppressed, ALL, &s->suppressed, "By suppressions.")				\
	F(object(hidden), filtered, ALL, &s->filtered, \
	  "By --older-than, --min-bytes, --show, --focus, --ignore.")					\
	F(list(suppression), suppressions_used, ALL, ARRAY(s->suppressions, s->nsuppressions), \
	  "Which ones.")										\
	F(strings, notes, ALL, ARRAY(s->notes, s->nnotes), \
	  "What the text report says in sentences at its end.")						\
	F(object(block_list_of), block_list_of, ALL | OPT, WHEN(is_listed(s), s->lookup), \
	  "With --block-list.")										\
	F(list(listed), block_list, ALL | OPT, WHEN(is_listed(s), ARRAY(s->lookup->list, s->lookup->nlist)), \
	  "The blocks, or objects: the oldest is the first.")						\
	F(list(block_at), block_at, ALL | OPT, WHEN(is_asked(s), ARRAY(s->lookup->at, s->lookup->nat)), \
	  "With --block-at.")										\
	F(object(scan), scan, ALL | OPT, WHEN(c->scan, c->scan), "Of a scan.")				\
	F(list(pointers_to), pointers, ALL | OPT, \
	  WHEN(c->scan && c->scan->nanswers, ARRAY(c->scan->answers, c->scan->nanswers)), "With --who-points-at.")

FIELDS(report, const struct summary *s, REPORT, "Of a watch, its trace, or a scan.");
