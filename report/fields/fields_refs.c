/* SPDX-License-Identifier: MIT */
/* Groups of objects with references, and what their call sites did. */
#include "report/fields/parts.h"
#include "report/fields/table.h"

#include "report/names/rows.h"

static const struct summary_refs *group_of(const struct field_source *c)
{
	return c->owner;
}

#define OBJECT(F)											\
	F(address, address, ALL, o->addr, "Where it is.")						\
	F(seconds, age_s, ALL, o->age_s, "Since the first reference that was seen.")			\
	F(numbers, acquired, ALL, LONGS(o->counts, group_of(c)->nacquired),				\
	  "In the order of the group's acquired.")							\
	F(numbers, released, ALL, LONGS(o->counts + group_of(c)->nacquired, group_of(c)->nreleased),	\
	  "In the order of the group's released.")

FIELDS(object, const struct summary_object *o, OBJECT, "An object.");

static size_t index_of(const struct field_source *c, const struct summary_refs *r)
{
	return (size_t)(r - c->s->refs);
}

static const struct merged_refs *row_of(const struct field_source *c, const struct summary_refs *r)
{
	return &c->rows->refs[c->rows->of_refs[index_of(c, r)]];
}

static uint64_t sum(const struct summary_use *uses, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += uses[i].count;
	return all;
}

static const struct stack_view *suspect(const struct summary_refs *r)
{
	static const struct stack_view none;

	return r->nacquired ? &r->acquired->stack : r->nreleased ? &r->released->stack : &none;
}

#define REFS(F)												\
	F(uint, number, ALL | C, rows_number_of_refs(c->rows, index_of(c, r)),				\
	  "[n] in every format: that of its row. Groups that differ only in their net count may be one.") \
	F(string, family, ALL | C, r->family, "Family of rules.")					\
	F(string, noun, ALL, r->noun, "What such an object is called.")					\
	F(uint, objects, ALL | C, r->objects, "How many there are.")					\
	F(int, net, ALL | C, r->net, "References acquired less those released, of each.")		\
	F(bool, older, ALL, r->older, "They are older than the watch.")					\
	F(bool, counted, ALL, r->counted, "The objects' own counts say so.")				\
	F(uint, all_acquired, C, sum(r->acquired, r->nacquired),					\
	  "References that were acquired on them.")							\
	F(uint, all_released, C, sum(r->released, r->nreleased),					\
	  "References that were released on them.")							\
	F(seconds, oldest_s, ALL | C, r->oldest_s, "Since the first reference that was seen.")		\
	F(seconds, youngest_s, ALL | C, r->youngest_s, "Of the youngest one.")				\
	F(flat(ref_growth, "growth_"), growth, ALL | C, &r->growth,					\
	  "Of references of the first call site.")							\
	F(series, series, J, POINTS(r->series, r->npoints), "References of that in time.")		\
	F(addresses, examples, ALL | C, ARRAY(r->samples, r->nsamples), "The oldest ones.")		\
	FIELDS_OF_USES(F, J, r)										\
	F(list(object), object_list, ALL | OPT, WHEN(c->s->per_object, ARRAY(r->all, r->nall)),		\
	  "With --per-object.")										\
	F(word(stack_end), stack_end, C, suspect(r)->end, "Of the most suspect call site.")		\
	F(stack, stack, C, suspect(r), "The most suspect call site.")					\
	F(flat(ref_row, "row_"), of_row, C, row_of(c, r), "Its row.")

FIELDS(refs, const struct summary_refs *r, REFS, "Objects whose references the same places acquired and released.");
