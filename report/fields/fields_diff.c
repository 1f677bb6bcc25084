/* SPDX-License-Identifier: MIT */
/* A comparison of two watches (report/diff/diff.h). */
#include "report/fields/parts.h"
#include "report/fields/fields.h"
#include "report/fields/table.h"

#include "report/diff/diff.h"
#include "report/names/sitename.h"

#define DIFF_SIDE(F)											\
	F(uint, pid, ALL, (uint64_t)s->target.pid, "Number of the process.")				\
	F(string, comm, ALL, s->target.comm, "Its name, as the kernel has it.")				\
	F(time, start, ALL, s->run.start_ns, "When the watch began.")					\
	F(seconds, seconds, ALL, s->run.seconds, "How long it was.")					\
	F(uint, live_blocks, ALL, s->totals.live_blocks, "Blocks that were live at its end.")		\
	F(bytes, live_bytes, ALL, s->totals.live_bytes, "Their bytes.")

FIELDS(diff_side, const struct summary *s, DIFF_SIDE, "One of the two watches.");

#define NUMBERED(F, of)											\
	F(uint_or_null, number, ALL | C, OR_NULL((of)->number, (of)->number),				\
	  "[n] in every format: of what grew, then of what grows in both watches. null: it has none.")

#define CHANGE(F)											\
	F(word(change), change, ALL | C, g->change, "What became of it.")				\
	F(string, family, ALL | C, g->group->family, "Family of rules.")				\
	F(string_or_null, tag, ALL | C, g->group->tag,							\
	  "What a rule tells blocks of one stack apart by.")						\
	F(uint, old_blocks, ALL | C, g->old_blocks, "Live blocks in the old watch.")			\
	F(bytes, old_bytes, ALL | C, g->old_bytes, "Their bytes.")					\
	F(uint, new_blocks, ALL | C, g->new_blocks, "Live blocks in the new watch.")			\
	F(bytes, new_bytes, ALL | C, g->new_bytes, "Their bytes.")					\
	NUMBERED(F, g)											\
	FIELDS_OF_SITE(F, &g->group->stack, &g->apart)							\
	F(word(verdict), verdict, ALL | C, g->group->verdict, "The worst of its blocks.")		\
	F(bool, verdict_mixed, ALL, g->mixed,								\
	  "It has blocks with other verdicts, too: the worst is shown.")				\
	F(bool, by_rate, ALL | C, g->rated,								\
	  "Compared by bytes a minute, for the watches differ in length.")				\
	F(real, old_bytes_per_minute, ALL | C, diff_rate(c->diff->old, g->old_bytes),			\
	  "Of the old watch.")										\
	F(real, new_bytes_per_minute, ALL | C, diff_rate(c->diff->new, g->new_bytes), "Of the new watch.")

FIELDS(change, const struct diff_group *g, CHANGE, "A group of one or both watches.");

#define REF_CHANGE(F)											\
	F(word(change), change, ALL | C, d->change, "What became of it.")				\
	F(string, family, ALL | C, d->refs->family, "Family of rules.")					\
	F(uint, old_objects, ALL | C, d->old_objects, "Objects in the old watch.")			\
	F(uint, new_objects, ALL | C, d->new_objects, "Objects in the new watch.")			\
	NUMBERED(F, d)											\
	FIELDS_OF_SITE(F, &diff_refs_use(d->refs)->stack, NULL)

FIELDS(ref_change, const struct diff_refs *d, REF_CHANGE, "Objects of one or both watches.");

#define DIFF(F)												\
	F(object(mmattach), mmattach, ALL, d, "What printed this.")					\
	F(object(diff_side), old, ALL, d->old, "The first watch.")					\
	F(object(diff_side), new, ALL, d->new, "The second one.")					\
	F(bool, same_process, ALL, d->same_process,							\
	  "Both are watches of one process: the new one does not know the blocks that the old one left live.") \
	F(list(change), changes, ALL, ARRAY(d->groups, d->ngroups),					\
	  "Largest growth first, largest shrinkage last.")						\
	F(list(ref_change), ref_changes, ALL, ARRAY(d->refs, d->nrefs), "The same of objects.")

FIELDS(diff, const struct diff *d, DIFF, "Of mmattach diff.");
