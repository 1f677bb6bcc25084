/* SPDX-License-Identifier: MIT */
/* Groups of blocks, and what is known of them in a watch that sees only a part. */
#include <math.h>

#include "report/fields/parts.h"
#include "report/fields/table.h"

#include "report/model/unknown_reason.h"
#include "report/names/rows.h"
#include "report/names/sitename.h"

/* --- estimates --- */

static struct field_interval kept(const struct survival *s, const struct estimate *e)
{
	return INTERVAL(s->kind == SURVIVAL_UNKNOWN ? NAN : e->value, e->low, e->high);
}

static struct field_interval share_live(const struct survival *s)
{
	return INTERVAL(s->share, s->low, s->high);
}

#define ESTIMATES(F)											\
	F(interval, leaked_blocks_per_minute, ALL, kept(&its->survival, &its->kept_blocks),		\
	  "Blocks that stay live: null if it is not known whether any do, so that it cannot be added up.") \
	F(interval, leaked_bytes_per_minute, ALL | C, kept(&its->survival, &its->kept_bytes),		\
	  "Their bytes.")										\
	F(interval, may_leak_blocks_per_minute, ALL, ESTIMATE(its->may_keep_blocks),			\
	  "The same, where those still live count as if they stayed, if that is not known.")		\
	F(interval, may_leak_bytes_per_minute, ALL | C, ESTIMATE(its->may_keep_bytes), "Their bytes.")	\
	F(interval, share_live, ALL | C, share_live(&its->survival), \
	  "Of all allocated blocks, the part that is still there at share_age_s.")			\
	F(bool, at_least, ALL | C, its->allocs.at_least, "The true numbers may be any higher ones.")	\
	F(seconds, share_age_s, ALL | C, its->survival.age_s,						\
	  "The highest age that enough blocks have reached.")						\
	F(seconds, needed_age_s, ALL, its->survival.min_age_s,						\
	  "What that must be for blocks to be known to stay.")						\
	F(uint, followed, ALL | C, its->survival.followed, "Blocks that were tracked.")			\
	F(uint, followed_to_share_age, ALL, its->survival.old,						\
	  "Of these, blocks that have reached share_age_s.")						\
	F(real, share_seen, ALL, its->sees, "The part of all allocations there that was seen.")		\
	F(uint, searched, ALL, its->searched,								\
	  "Tracked blocks that were live at the end, and were looked for in a copy of the memory.")	\
	F(uint, lost, ALL, its->lost, "Of these, blocks that are lost: nothing points to them, or only lost ones do.") \
	F(bool, known_by_lost, ALL, its->by_lost, "That they stay live is known only by the lost ones.") \
	F(uint, probed, ALL, its->probed, "Blocks that the kernel's probes have seen being allocated there.") \
	F(uint, probed_lost, ALL, its->probed_lost, "Of these, lost ones.") \
	F(bool, known_by_probes, ALL, its->by_probes, "That they stay live, and how many, is known by these.") \
	F(real_or_null, half_s, ALL | C, its->survival.half_s > 0 ? its->survival.half_s : INFINITY,	\
	  "About half had gone by this age; null: fewer than half have.")

FIELDS(estimate, const struct summary_sample *its, ESTIMATES, "Of a watch with --budget, from what was seen.");

static unsigned step_number(const struct field_source *c, const struct survival_step *step)
{
	const struct summary_group *g = c->owner;

	return (unsigned)(step - g->sampled->steps);
}

#define STEP(F)												\
	F(seconds, age_s, ALL, survival_age_s(step_number(c, step)), "The age at which the step begins.")	\
	F(uint, at_risk, ALL, step->at_risk, "Tracked blocks that have reached it.")			\
	F(uint, gone, ALL, step->gone, "Of these, blocks that were freed in it.")			\
	F(uint, unknown, ALL, step->unknown, "Of these, blocks of which it is not known.")

FIELDS(survival_step, const struct survival_step *step, STEP, "A step of age.");

/* Steps that no block has reached are left out. */
static size_t steps_reached(const struct summary_sample *its)
{
	size_t n = 0;

	while (n < SURVIVAL_STEPS && its->steps[n].at_risk)
		n++;
	return n;
}

/* --- a group --- */

#define FREED(F)											\
	F(uint, blocks, ALL, f->blocks, "How many of the blocks it has freed.")				\
	F(bytes, bytes, ALL, f->bytes, "Their bytes.")							\
	FIELDS_OF_SITE(F, &f->stack, NULL)

FIELDS(freed_by, const struct summary_freed *f, FREED, "A stack that freed blocks.");

#define INDIRECT_GROUP(F) FIELDS_OF_HANG(F, group, c->s)

FIELDS(indirect_group, const struct summary_hang *h, INDIRECT_GROUP, "A group that is lost with these blocks.");

static size_t index_of(const struct field_source *c, const struct summary_group *g)
{
	return (size_t)(g - c->s->groups);
}

static const struct summary_group *row_of(const struct field_source *c, const struct summary_group *g)
{
	return &c->rows->by_stack.view.groups[c->rows->of_group[index_of(c, g)]];
}

static bool is_range(const struct field_source *c, const struct summary_group *g)
{
	return summary_family(c->s, g->family)->ranges;
}

static unsigned turnover(const struct summary_group *g)
{
	return g->sampled ? g->sampled->survival.kind : SURVIVAL_UNKNOWN;
}

static bool has_indirect(const struct field_source *c)
{
	return c->s->run.verdicts.known || c->s->scanned;
}

static void put_process(struct strbuf *sb, const struct fact_process *its)
{
	strbuf_printf(sb, "%s (%d)", its->comm ? its->comm : "", its->pid);
	if (its->host)
		strbuf_printf(sb, " on %s", its->host);
	if (its->labels)
		strbuf_printf(sb, ", %s", its->labels);
}

static void put_worst(const struct field_source *c, const struct summary_group *g, struct field_value *v)
{
	const struct summary_share *worst = summary_worst_share(g);

	v->absent = !worst;
	if (worst)
		put_process(&v->made, &c->s->processes[worst->process].its);
}

/*
 * What is known exactly is an interval of one point. With --sample there are estimates; with --budget only a
 * part of the blocks is tracked, so there may be any number more.
 */
static struct field_interval blocks_between(const struct field_source *c, const struct summary_group *g)
{
	const struct summary_bounds b = summary_bounds_of(g);

	if (g->sample_of.seen)
		return BOUNDS(b.blocks_low, b.blocks_high);
	return BOUNDS((double)g->blocks, summary_is_sampled(&c->s->run) ? INFINITY : (double)g->blocks);
}

static struct field_interval bytes_between(const struct field_source *c, const struct summary_group *g)
{
	const struct summary_bounds b = summary_bounds_of(g);

	if (g->sample_of.seen)
		return BOUNDS(b.bytes_low, b.bytes_high);
	return BOUNDS((double)g->bytes, summary_is_sampled(&c->s->run) ? INFINITY : (double)g->bytes);
}

static struct field_interval allocs_per_minute(const struct field_source *c, const struct summary_group *g)
{
	const double each = c->s->run.seconds > 0 ? (double)g->allocs * 60 / c->s->run.seconds : 0;

	return g->sampled ? ESTIMATE(g->sampled->allocs) : INTERVAL(each, each, each);
}

#define GROUP(F)											\
	F(uint, number, ALL | CS, rows_number_of(c->rows, index_of(c, g)),				\
	  "[n] in every format: that of its row. Groups of one row have the same.")			\
	F(uint, row, ALL, c->rows->of_group[index_of(c, g)], "Index of its row in rows.")		\
	F(string, family, ALL | C, g->family, "Family of rules, such as libc.")				\
	F(string_or_null, tag, ALL | CS, g->tag, "What a rule tells blocks of one stack apart by.")	\
	F(uint, blocks, ALL | CS, g->blocks,								\
	  "Live blocks. Of a watch with --budget: those that were tracked.")				\
	F(bounds, blocks_between, J | C, blocks_between(c, g),						\
	  "Between what their number is, in 95 of 100 cases.")						\
	F(bytes, bytes, ALL | CS, g->bytes, "Their bytes.")						\
	F(bounds, bytes_between, J | C, bytes_between(c, g), "Between what they are.")			\
	F(bytes, bytes_direct, ALL | C, g->bytes_direct, "bytes; 0 for what is indirectly lost.")	\
	F(uint, allocs, ALL | C, g->allocs, "Allocations of the stack in the watch.")			\
	F(uint, frees, ALL | C, g->frees, "Of these, blocks that were freed.")				\
	F(interval, allocs_per_minute, ALL | C, allocs_per_minute(c, g),				\
	  "Allocations, with an interval.")								\
	F(bytes, bytes_allocated, ALL | C, g->bytes_taken, "Bytes that were allocated.")			\
	F(bytes, bytes_freed, ALL | C | OPT, WHEN(is_range(c, g), g->bytes_returned), \
	  "Of ranges of memory: bytes that were freed.")						\
	F(seconds, oldest_s, ALL | C, g->oldest_s, "Age of the oldest live block at the end.")		\
	F(seconds, youngest_s, ALL | C, g->youngest_s, "Of the youngest one.")				\
	F(word(verdict), verdict, ALL | CS, g->verdict,							\
	  "What valgrind calls definitely, indirectly and possibly lost, and still reachable; unknown: no verdict.") \
	F(bool, split, ALL | OPT, WHEN(has_indirect(c), g->split),					\
	  "allocs and frees are the stack's, and another group has them too.")				\
	F(uint, indirect_blocks, ALL | CS | OPT, WHEN(has_indirect(c), g->kind.indirect_blocks),	\
	  "Lost with these: they have groups of their own, see indirect_groups.")			\
	F(bytes, indirect_bytes, ALL | CS | OPT, WHEN(has_indirect(c), g->kind.indirect_bytes),		\
	  "Their bytes.")										\
	F(list(indirect_group), indirect_groups, ALL | OPT,						\
	  WHEN(c->s->run.verdicts.known && !c->s->scanned, ARRAY(g->hangs, g->nhangs)),			\
	  "Groups that are lost with it.")								\
	F(string_or_null, label, ALL | S | OPT, WHEN(c->s->scanned, g->kind.label),			\
	  "Of a scan: what the blocks have in common where no stack is known.")				\
	F(string_or_null, class, ALL | S | OPT, WHEN(c->s->scanned, g->kind.class_name), "C++ class.")	\
	F(string_or_null, class_module, ALL | S | OPT, WHEN(c->s->scanned, g->kind.module),		\
	  "Path of the file of it.")									\
	F(string_or_null, content, ALL | S | OPT, WHEN(c->s->scanned, g->kind.content),			\
	  "What the blocks hold, as far as it can be known from them.")					\
	F(bytes, size_low, ALL | S | OPT, WHEN(c->s->scanned, g->kind.size_low),	\
	  "The smallest size of a block.")								\
	F(bytes, size_high, ALL | S | OPT, WHEN(c->s->scanned, g->kind.size_high),			\
	  "The largest size of a block.")								\
	F(uint, seen, ALL | C | OPT, WHEN(g->sampled, g->sampled ? g->sampled->seen : 0),		\
	  "Of a watch with --budget: allocations that were seen.")					\
	F(word(turnover), turnover, ALL | C | OPT, WHEN(g->sampled, turnover(g)), \
	  "Whether such blocks stay.")									\
	F(word_or_null(unknown), why_unknown, ALL | OPT,						\
	  WHEN(g->sampled, OR_NULL(g->sampled && g->sampled->survival.kind == SURVIVAL_UNKNOWN,		\
				   (unsigned)unknown_reason(g->sampled))), "Why that is not known.")	\
	F(flat(estimate, ""), estimate, ALL | C | OPT, WHEN(g->sampled, g->sampled),			\
	  "With intervals.")										\
	F(list(survival_step), survival, ALL | OPT,							\
	  WHEN(g->sampled, ARRAY(g->sampled->steps, steps_reached(g->sampled))),			\
	  "What age the tracked blocks reach.")								\
	F(uint, sampled_blocks, ALL | OPT, WHEN(g->sample_of.seen, g->sample_of.seen),			\
	  "With --sample: the live blocks that were seen.")						\
	FIELDS_OF_SHARES(F, ALL | C, g)									\
	F(made, worst_process_name, C | OPT, put_worst(c, g, v), "The name and number of that one.")	\
	F(flat(growth, "growth_"), growth, J | C, g, "How what is live of it grows.")			\
	F(series, series, ALL, POINTS(g->series, g->npoints),						\
	  "What was live, in time: seconds since the start of the watch, and bytes.")			\
	F(addresses, examples, ALL | CS, ARRAY(g->samples, g->nsamples), "Some of the blocks.")		\
	F(uint, wrappers, ALL, g->stack.wrappers,							\
	  "So many frames at the front of the stack only pass the allocation on.")			\
	F(word(stack_end), stack_end, ALL | CS, g->stack.end,						\
	  "Whether the stack is whole, or why it goes on.")						\
	F(stack, stack, ALL | CS, &g->stack, "Its frames, leaf first.")					\
	F(list(freed_by), freed_by, ALL | OPT, WHEN(g->nfreed, ARRAY(g->freed, g->nfreed)),		\
	  "With --free-stacks: by which stacks other blocks of the stack were freed, most blocks first.") \
	F(flat(row, "row_"), of_row, CS, row_of(c, g), "Its row.")

FIELDS(group, const struct summary_group *g, GROUP, "Blocks of one stack, with one verdict: a row, or a part of one.");
