/* SPDX-License-Identifier: MIT */
/* parts: the tables of what reports are made of, and lines that several of them have. */
#ifndef MM_FIELD_PARTS_H
#define MM_FIELD_PARTS_H

#include "report/fields/field.h"

/* report/fields/fields_names.c */
extern const struct field_words names_verdict, names_stack_end, names_shape, names_turnover, names_section,
	names_unknown, names_change, names_place;

extern const struct fields fields_target, fields_run, fields_totals, fields_double_free, fields_hidden,
	fields_suppression;
extern const struct fields fields_memory, fields_child, fields_process;
extern const struct fields fields_growth, fields_ref_growth, fields_group;
extern const struct fields fields_family, fields_row, fields_ref_row;
extern const struct fields fields_acquired, fields_released, fields_refs;
extern const struct fields fields_block_list_of, fields_listed, fields_block_at;
extern const struct fields fields_scan, fields_pointers_to;

/* A call site that is not that of a group. */
#define FIELDS_OF_SITE(F, stack_, apart)								\
	F(made, name, ALL | C, sitename_of(&v->made, stack_, apart, SITENAME_WIDTH),			\
	  "What a table calls it: at most 80 characters.")						\
	F(uint, wrappers, ALL, (stack_)->wrappers,							\
	  "So many frames at the front of the stack only pass the allocation on.")			\
	F(word(stack_end), stack_end, ALL, (stack_)->end,						\
	  "Whether the stack is whole, or why it goes on.")						\
	F(stack, stack, ALL | C, stack_, "Its frames, leaf first.")

/* Which processes of a merged trace have the blocks of a group, or row. */
#define FIELDS_OF_SHARES(F, in, g)									\
	F(uint, processes, (in) | OPT, WHEN(summary_worst_share(g), (g)->nshares),			\
	  "Of a merged trace: in how many processes these blocks are.")					\
	F(uint, worst_process, ALL | OPT,								\
	  WHEN(summary_worst_share(g), summary_worst_share(g) ? summary_worst_share(g)->process : 0),	\
	  "The one with the most of these bytes: an index in the report's processes.")			\
	F(bytes, worst_bytes, (in) | OPT,								\
	  WHEN(summary_worst_share(g), summary_worst_share(g) ? summary_worst_share(g)->bytes : 0),	\
	  "How much that one has.")

/* What is lost with a group, or row, @h: another one, whose index is the first member. */
#define FIELDS_OF_HANG(F, key, of)									\
	F(uint, key, ALL, summary_index(of, h->serial), "Its index.")					\
	F(uint, blocks, ALL, h->blocks, "Of its blocks, those that are lost with these.")		\
	F(bytes, bytes, ALL, h->bytes, "Their bytes.")

/* What call sites did to the objects of a group; in a page those of a row. */
#define FIELDS_OF_USES(F, in, r)									\
	F(uint, suspects, (in) & P, summary_suspects(r),						\
	  "How many of the acquiring call sites stand out.")						\
	F(uint, near, (in) & P, summary_near_uses((r)->acquired, (r)->nacquired),			\
	  "How many are nearly as suspect.")								\
	F(list(acquired), acquired, in, ARRAY((r)->acquired, (r)->nacquired),				\
	  "Where they were acquired, most suspect first.")						\
	F(list(released), released, in, ARRAY((r)->released, (r)->nreleased), "Where they were released, most first.")

#endif
