/* SPDX-License-Identifier: MIT */
/* The watch: which process, what was watched, what was lost, what it cost, its verdicts, its totals. */
#include "report/fields/parts.h"
#include "report/fields/table.h"

#define TARGET(F)											\
	F(uint, pid, ALL, (uint64_t)t->pid, "Number of the process.")					\
	F(string, comm, ALL, t->comm, "Its name, as the kernel has it.")				\
	F(string, exe, ALL, t->exe, "Path of its program.")						\
	F(strings, cmdline, ALL, ARRAY(t->cmdline, t->nargs), "Its arguments, the name of the program first.")

FIELDS(target, const struct summary_target *t, TARGET, "The process.");

#define PROBE(F)											\
	F(string, family, ALL, p->family, "Family of the rule.")					\
	F(string, rule, ALL, p->rule, "The rule, as it is written in a file of rules.")			\
	F(string, module, ALL, p->module,								\
	  "Path of the file that has the function; empty if it was not found.")				\
	F(uint, hits, ALL, p->hits, "How often it was called.")						\
	F(string_or_null, note, ALL, p->note, "What is to be known of it.")

FIELDS(probe, const struct summary_probe *p, PROBE, "A function that was watched.");

#define GAP(F)												\
	F(seconds, at_s, ALL, g->start_s, "Seconds since the start of the watch.")				\
	F(seconds, seconds, ALL, g->seconds, "For how long.")						\
	F(string, why, ALL, g->why, "Why.")

FIELDS(gap, const struct summary_gap *g, GAP, "A time in which nothing was seen.");

#define LOSS(F)												\
	F(seconds, over_s, ALL, b->loss_s, "The time between the copies.")				\
	F(uint, blocks, ALL, b->loss.blocks,								\
	  "Blocks that were lost meanwhile, whether their code was seen or not.")			\
	F(uint, bytes, ALL, b->loss.bytes, "Their bytes, as malloc made them.")				\
	F(uint, before_blocks, ALL, b->loss_before.blocks, "Blocks that were lost before.")		\
	F(uint, before_bytes, ALL, b->loss_before.bytes, "Their bytes.")

FIELDS(loss, const struct summary_budget *b, LOSS, "What a process has lost while it was watched.");

#define BUDGET(F)											\
	F(real, promise, ALL, b->promise,								\
	  "The share of any ten seconds for which threads may be stopped.")				\
	F(real, spent, ALL, b->wall_s > 0 ? b->spent_s / b->wall_s : 0,					\
	  "The share of the whole time that was used.")							\
	F(real, worst_ten_seconds, ALL, b->worst, "The largest share of any ten seconds.")		\
	F(seconds, stopped_s, ALL, b->spent_s, "For how long threads were stopped, summed over them.")	\
	F(uint, closed, ALL, b->closed, "How often the budget was used up.")				\
	F(seconds, closed_s, ALL, b->closed_s, "For how long nothing was seen then.")			\
	F(uint, sites, ALL, b->sites, "Call sites that were found.")					\
	F(uint, sites_hit, ALL, b->hit, "Of these, sites that were hit.")				\
	F(uint, settled, ALL, b->settled, "Sites of whose blocks enough is known.")			\
	F(uint, candidates, ALL, b->candidates, "Sites whose blocks may stay.")				\
	F(uint, unfound, ALL, b->unfound, "Calls from places that were not found.")			\
	F(object(loss), loss, ALL | OPT, WHEN(b->loss_s > 0, b),					\
	  "What the process has lost, if two copies of its memory show it.")

FIELDS(budget, const struct summary_budget *b, BUDGET, "Of a watch with --budget: what it promised, and used.");

#define VERDICTS_OF_RUN(F)										\
	F(bool, known, ALL, r->known, "There are verdicts.")						\
	F(string_or_null, why_not, ALL, r->why_not, "Why there are none.")				\
	F(seconds, pause_s, ALL, r->pause_s, "For so long the process was stopped for them.")		\
	F(seconds, expected_s, ALL, r->expected_s, "The estimate that was made before.")			\
	F(uint, threads, ALL, r->threads, "Threads of the process.")					\
	F(uint, not_stopped, ALL, r->not_stopped, "Of these, threads that could not be stopped.")	\
	F(bytes, bytes_copied, ALL, r->bytes, "Memory that was copied in the pause.")			\
	F(bool, census, ALL, r->census, "All blocks of the allocator could be listed.")			\
	F(string_or_null, allocator, ALL, r->allocator, "What is known of the allocator.")		\
	F(sums, all, ALL, r->all, "All blocks of the process, watched or not.")				\
	F(sums, watched, ALL, r->watched,								\
	  "Of these the watched ones; under unknown also what is in no heap, as descriptors are.")	\
	F(strings, doubts, ALL, ARRAY(r->doubts, r->ndoubts), "What makes the verdicts doubtful.")

FIELDS(verdicts, const struct summary_verdicts *r, VERDICTS_OF_RUN, "How the verdicts were made, and their sums.");

#define RUN(F)												\
	F(time, start, ALL, r->start_ns, "When the watch began.")					\
	F(seconds, seconds, ALL, r->seconds, "How long it was.")						\
	F(string_or_null, host, ALL, r->host, "The name of the machine.")				\
	F(string, engine, ALL, r->frontend,								\
	  "ptrace, uprobe, gdb, core, or the tool whose file was imported.")				\
	F(string, engine_asked, ALL | OPT, WHEN(r->engine, r->engine),					\
	  "The engine that was asked for: ptrace, uprobe, auto. Missing: none was named.")		\
	F(string, no_other_engine, ALL | OPT, WHEN(r->other, r->other),					\
	  "Why it could not be watched by the other engine. Missing: it could be, as far as is known.")	\
	F(string, mode, ALL, r->mode,									\
	  "exact, sampled (--budget), sampled-bytes (--sample), growth (--growth), or scan.")		\
	F(bytes, sample_bytes, ALL | OPT, WHEN(r->sample_bytes, r->sample_bytes),			\
	  "With --sample: one byte in so many was chosen; all numbers of blocks and bytes are estimates.") \
	F(real, duty, ALL, r->duty,									\
	  "Of a watch with --budget: the mean share of the time for which a site was watched.")		\
	F(uint, events, ALL, r->events, "Events that were seen.")					\
	F(counts, lost, ALL, ARRAY(r->lost, r->nlost), "Events that were lost, by reason.")		\
	F(uint, stacks_cut, ALL, r->stacks_cut,								\
	  "Stacks that were longer than what was copied of them.")					\
	F(uint, stacks_lost, ALL, r->stacks_lost,							\
	  "Stacks whose outermost frame has an unknown caller.")					\
	F(uint, ring_waits, ALL, r->ring_waits,								\
	  "How often a thread waited because events were not read fast enough.")			\
	F(uint, ranges_left_out, ALL | OPT, WHEN(r->left_out, r->left_out),				\
	  "Ranges of memory that were allocated outside of the selected scope.")			\
	F(seconds, stopped_s, ALL, r->stopped_seconds,							\
	  "For how long threads were stopped, summed over all of them.")				\
	F(bool, stopped_known, ALL, summary_stops_known(r), "stopped_s was measured.")			\
	F(seconds, thread_s, ALL, r->thread_seconds,							\
	  "The time of all threads, added up: what stopped_s is a part of. 0: not known.")		\
	F(uint, hitting_threads, ALL, r->hitting, "Threads that have called what is watched.")		\
	F(seconds, hitting_s, ALL, r->hitting_seconds, "Their time since, added up.")			\
	F(seconds, hitting_stopped_s, ALL, r->hitting_stopped, "For so long of it they were stopped.")	\
	F(seconds, worst_thread_s, ALL | OPT, WHEN(r->worst_seconds > 0, r->worst_seconds),		\
	  "Of the thread that the watch has cost most: the time since its first call. Missing: not known.") \
	F(seconds, worst_thread_stopped_s, ALL | OPT, WHEN(r->worst_seconds > 0, r->worst_stopped),	\
	  "For so long of it it was stopped; where the kernel takes the hits: at least how long its probes took.") \
	F(seconds, probed_s, ALL | OPT,									\
	  WHEN(r->worst_seconds > 0 && r->probed_seconds > 0, r->probed_seconds),			\
	  "Where the kernel takes the hits: at least how long its probes took, of all threads together.") \
	F(list(probe), probes, ALL, ARRAY(r->probes, r->nprobes), "The functions that were watched.")	\
	F(list(gap), gaps, ALL, ARRAY(r->gaps, r->ngaps), "Times in which nothing was seen.")		\
	F(object(budget), budget, ALL | OPT, WHEN(r->budget.told, &r->budget),				\
	  "With --budget: what it has cost.")								\
	F(object(verdicts), verdicts, ALL, &r->verdicts, "Verdicts, and how they were made.")

FIELDS(run, const struct summary_run *r, RUN, "The watch.");

#define TOTALS(F)											\
	F(uint, allocs, ALL, t->allocs, "Allocations.")							\
	F(uint, frees, ALL, t->frees, "Frees of blocks whose allocation was seen.")			\
	F(uint, unmatched_frees, ALL, t->unmatched_frees,						\
	  "Frees of blocks that are older than the watch.")						\
	F(uint, older_blocks, ALL, t->older_blocks, "Of unmatched_frees, those whose size is known.")	\
	F(bytes, older_bytes, ALL, t->older_bytes, "Their bytes.")					\
	F(uint, double_frees, ALL, t->double_frees, "Frees of blocks that had been freed.")		\
	F(uint, live_blocks, ALL, t->live_blocks, "Blocks that are live at the end.")			\
	F(bytes, live_bytes, ALL, t->live_bytes, "Their bytes.")

FIELDS(totals, const struct summary_totals *t, TOTALS, "Of the whole watch, with what is suppressed or filtered.");

/* --- what is not among the groups --- */

#define SIDE(F)												\
	F(word(stack_end), stack_end, ALL, s->end, "Whether the stack is whole, or why it goes on.")	\
	F(stack, stack, ALL, s, "Its frames, leaf first.")

FIELDS(side, const struct stack_view *s, SIDE, "A stack; without frames if it is not known (--free-stacks).");

#define TWICE(F)											\
	F(string, family, ALL, t->family, "Family of the block.")					\
	F(uint, count, ALL, t->count, "How often it happened.")						\
	F(address, example, ALL, t->sample, "The first of the blocks.")					\
	F(seconds, at_s, ALL, t->time_s, "When that was freed again: since the start of the watch.")	\
	F(object(side), second, ALL, &t->second, "Where it was freed again.")				\
	F(object(side), first, ALL, &t->first, "Where it was freed first.")				\
	F(object(side), alloc, ALL, &t->alloc, "Where it was allocated.")

FIELDS(double_free, const struct summary_twice *t, TWICE, "Blocks that were freed twice, by the same code each time.");

#define HIDDEN(F)											\
	F(uint, groups, ALL, h->groups, "Groups of blocks.")						\
	F(uint, blocks, ALL, h->blocks, "Their blocks.")						\
	F(bytes, bytes, ALL, h->bytes, "Their bytes.")							\
	F(uint, ref_groups, ALL, h->ref_groups, "Groups of objects.")					\
	F(uint, objects, ALL, h->objects, "Their objects.")

FIELDS(hidden, const struct summary_hidden *h, HIDDEN, "What is not among the groups because of options.");

#define SUPPRESSION(F)											\
	F(string, name, ALL, u->name, "Name of the entry, or its pattern.")				\
	F(string, where, ALL, u->where, "File and line.")						\
	F(uint, groups, ALL, u->groups, "Groups that it hides.")					\
	F(uint, blocks, ALL, u->blocks, "Their blocks.")						\
	F(bytes, bytes, ALL, u->bytes, "Their bytes.")

FIELDS(suppression, const struct summary_suppression *u, SUPPRESSION, "A suppression that was used.");
