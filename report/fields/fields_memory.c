/* SPDX-License-Identifier: MIT */
/* The memory of processes, as the kernel counts it; and the processes of a merged trace. */
#include "report/fields/parts.h"
#include "report/fields/table.h"

#define POINT(F)											\
	F(seconds, at_s, ALL, p->at_us / 1e6, "Since the start of the watch.")				\
	F(bytes, anonymous, ALL, p->anonymous, "Resident bytes of no file.")				\
	F(bytes, file, ALL, p->file, "Resident bytes of files.")						\
	F(bytes, shared, ALL, p->shared, "Resident bytes of shared memory.")				\
	F(bytes, swapped, ALL, p->swapped, "Bytes in swap.")						\
	F(bytes, heap, ALL, p->heap, "Size of [heap]; 0: not asked.")					\
	F(bytes, mapped, ALL, p->mapped, "Size of all mappings; 0: not read.")				\
	F(uint, threads, ALL, p->threads, "How many threads it has; 0: not read.")			\
	F(uint, descriptors, ALL, p->descriptors, "How many descriptors are open; 0: not read.")	\
	F(seconds, busy_s, ALL, p->busy_us / 1e6, "Processor time of all its threads until then; 0: not read.")

FIELDS(point, const struct memory_point *p, POINT, "What a process had at a moment.");

#define PROCESS_MEMORY(F)										\
	F(object(point), first, ALL, &m->points[0], "At the beginning.")				\
	F(object(point), last, ALL, &m->points[m->npoints - 1], "At the end, or when it ended.")	\
	F(int, growth, ALL, summary_memory_growth(m), "Of anonymous, shared and swapped together.")	\
	F(resident, series, ALL, ARRAY(m->points, m->npoints), "Resident bytes in time.")

#define MEMORY(F)											\
	PROCESS_MEMORY(F)										\
	F(bytes, explained, ALL, summary_memory_explained(c->s),	\
	  "Of growth: watched blocks that are live; of a sampled watch, as is estimated.")		\
	F(bytes, code_copied, ALL, c->s->run.code_copied,						\
	  "Of growth: pages of code that the kernel has copied since traps were written there.")

FIELDS(memory, const struct summary_memory *m, MEMORY, "The memory of the process, beside what was watched.");

#define CHILD(F)											\
	F(int, pid, ALL, m->pid, "Number of the process.")						\
	F(string, name, ALL, m->name, "Its command line, or its name.")					\
	PROCESS_MEMORY(F)

FIELDS(child, const struct summary_memory *m, CHILD, "A child process, which was not watched.");

#define PROCESS(F)											\
	F(int, pid, ALL, p->its.pid, "Number of the process.")						\
	F(string_or_null, comm, ALL, p->its.comm, "Its name, as the kernel has it.")			\
	F(string_or_null, exe, ALL, p->its.exe, "Path of its program.")					\
	F(string_or_null, host, ALL, p->its.host, "The name of the machine.")				\
	F(labels, labels, ALL, p->its.labels, "Of mmattach merge --label.")				\
	F(bool, absent, ALL, p->its.absent,								\
	  "There is no trace of it: all its numbers are 0, and how says why.")				\
	F(bool, ended, ALL, p->its.ended, "Its watch ended regularly.")					\
	F(string_or_null, how, ALL, p->its.how,								\
	  "How the process ended, or why there is no trace of it.")					\
	F(string_or_null, engine, ALL, p->its.frontend, "As in run.")					\
	F(string_or_null, mode, ALL, p->its.mode, "As in run.")						\
	F(time, start, ALL, p->its.start_ns, "When its watch began.")					\
	F(seconds, seconds, ALL, (double)p->its.run_us / 1e6, "How long that was.")			\
	F(uint, allocs, ALL, p->its.allocs, "Allocations.")						\
	F(uint, frees, ALL, p->its.frees, "Frees.")							\
	F(uint, live_blocks, ALL, p->its.live_blocks, "Blocks that are live at the end.")		\
	F(bytes, live_bytes, ALL, p->its.live_bytes, "Their bytes.")					\
	F(uint, events, ALL, p->its.events, "Events that were seen.")					\
	F(uint, lost, ALL, p->its.lost, "Events that were lost, for any reason.")			\
	F(seconds, stopped_s, ALL, (double)p->its.stopped_us / 1e6,					\
	  "For how long its threads were stopped.")							\
	F(seconds, thread_s, ALL, (double)p->its.thread_us / 1e6, "The time of its threads, added up.")	\
	F(uint, gaps, ALL, p->its.gaps, "How many times there were in which nothing was seen.")		\
	F(seconds, gap_s, ALL, (double)p->its.gaps_us / 1e6, "For how long, added up.")			\
	F(bytes, resident, ALL, p->its.resident, "Bytes at the end; 0: not known.")			\
	F(int, growth, ALL, (int64_t)(p->its.own_last - p->its.own_first),				\
	  "Of its own memory, in bytes.")								\
	F(bool, verdicts_known, ALL, p->its.judged, "Its blocks have verdicts.")			\
	F(sums, verdicts, ALL, p->sums, "Its live blocks, by verdict.")

FIELDS(process, const struct summary_process *p, PROCESS, "One of the processes of a merged trace.");
