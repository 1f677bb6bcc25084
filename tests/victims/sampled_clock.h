/* SPDX-License-Identifier: MIT */
/*
 * For how long a busy thread was stopped, by its own clocks.
 *
 * The thread looks at the clock after each thing it does. If more than GAP_NS lie between two looks, it did
 * not run for a while, and the kernel knows why:
 *
 *	stood	it left the processor by itself (voluntary switches), which it never does: it was stopped, or
 *		slept in the kernel. The time that it then waited for a processor (schedstat), and the usual
 *		time of the thing it did (the mean of the others), is subtracted
 *	waited	ready to run, while other threads ran
 *	else	nothing that the kernel can see: an interrupt, a fault, or the host of a virtual machine ran
 *		something else
 *
 * What the kernel does in a stop is CPU time of the thread itself, and is in both: stood_cpu_ns, so that cpu
 * + stood - stood_cpu is the time for which it was stopped, or could run freely.
 *
 * wall - cpu would not do: on a virtual machine, some percent of that were used by nothing on this machine.
 * All is counted per second of CLOCK_MONOTONIC; for ten seconds, add ten. Pieces of work follow each other
 * without a gap; only after a sleep until more is due does a piece begin anew.
 */
#ifndef SAMPLED_CLOCK_H
#define SAMPLED_CLOCK_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "victim.h"

#define GAP_NS 9000u		/* a pair takes a microsecond, with its work five */
#define CLOCK_SECONDS 7200u

/* Sums: of one second, or of all. */
struct clock_second {
	uint64_t wall_ns, cpu_ns, waited_ns, stood_ns, stood_cpu_ns, gaps_ns, longest_ns;
	uint32_t stops, gaps;
};

struct clock_log {
	int schedstat;
	uint64_t wall, cpu;		/* when the piece began */
	uint64_t waited, switches;	/* at the last reading */
	uint64_t looked, usual_ns;
	uint64_t gap_end, gap_cpu;	/* after the last gap */
	struct clock_second piece;
	uint64_t first_s;		/* the second of seconds[0] */
	unsigned n;
	struct clock_second seconds[CLOCK_SECONDS];
};

static inline uint64_t clock_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* "run wait timeslices", in ns. */
static inline uint64_t clock_waited(const struct clock_log *c)
{
	char text[96] = "";
	unsigned long long ran = 0, waited = 0;

	if (pread(c->schedstat, text, sizeof(text) - 1, 0) <= 0 || sscanf(text, "%llu %llu", &ran, &waited) != 2)
		victim_die("schedstat");
	return waited;
}

static inline uint64_t clock_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nvcsw;
}

/* Called by the thread itself, before the first piece. */
static inline void clock_open(struct clock_log *c)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
	c->schedstat = open(path, O_RDONLY | O_CLOEXEC);
	if (c->schedstat < 0)
		victim_die(path);
}

/* A piece begins; the time since the last one ended does not count. */
static inline void clock_begin(struct clock_log *c)
{
	c->waited = clock_waited(c);
	c->switches = clock_switches();
	c->cpu = c->gap_cpu = clock_cpu();
	c->wall = c->looked = c->gap_end = now_ns();
}

/* What the kernel reports at @at. */
struct clock_reading {
	uint64_t at, cpu, waited, switches;
};

/*
 * If the thread was stopped during the reading, some of the values are from before the stop: it reads again.
 */
static inline struct clock_reading clock_read(const struct clock_log *c)
{
	struct clock_reading r;

	for (int tries = 0; tries < 4; tries++) {
		r.at = now_ns();
		r.cpu = clock_cpu();
		r.waited = clock_waited(c);
		r.switches = clock_switches();
		if (now_ns() - r.at <= GAP_NS)
			break;
	}
	return r;
}

/* The CPU time it has used in the @gap ns that end with @r: between two gaps it runs all the time. */
static inline uint64_t clock_gap_cpu(struct clock_log *c, const struct clock_reading *r, uint64_t gap)
{
	uint64_t used = r->cpu - c->gap_cpu, ran = r->at - gap - c->gap_end;

	c->gap_cpu = r->cpu;
	c->gap_end = r->at;
	used = used > ran ? used - ran : 0;
	return used < gap ? used : gap;
}

static inline void clock_explain(struct clock_log *c, const struct clock_reading *r, uint64_t gap)
{
	uint64_t used = clock_gap_cpu(c, r, gap), waited = r->waited - c->waited, others = waited + c->usual_ns;

	c->piece.waited_ns += waited;
	if (r->switches != c->switches) {
		c->piece.stops += (uint32_t)(r->switches - c->switches);
		c->piece.stood_ns += gap > others ? gap - others : 0;
		c->piece.stood_cpu_ns += gap > others && used > c->usual_ns ? used - c->usual_ns : 0;
	}
	c->waited = r->waited;
	c->switches = r->switches;
}

/* More than GAP_NS since the last look. */
static inline void clock_gap(struct clock_log *c)
{
	struct clock_reading r = clock_read(c);
	uint64_t gap = r.at - c->looked;

	c->looked = r.at;
	c->piece.gaps++;
	c->piece.gaps_ns += gap;
	if (gap > c->piece.longest_ns)
		c->piece.longest_ns = gap;
	clock_explain(c, &r, gap);
}

/* Called after each thing done; returns the time. */
static inline uint64_t clock_look(struct clock_log *c)
{
	uint64_t now = now_ns(), gap = now - c->looked;

	if (gap > GAP_NS) {
		clock_gap(c);
	} else {
		c->looked = now;
		c->usual_ns = (15 * c->usual_ns + gap) / 16;
	}
	return c->looked;
}

static inline struct clock_second *clock_second(struct clock_log *c, uint64_t now)
{
	uint64_t s = now / 1000000000u;

	if (!c->n)
		c->first_s = s;
	if (s - c->first_s >= CLOCK_SECONDS)
		victim_die("a run longer than there is room for");
	c->n = (unsigned)(s - c->first_s) + 1;
	return &c->seconds[c->n - 1];
}

static inline void clock_add_to(struct clock_second *sum, const struct clock_second *s)
{
	sum->wall_ns += s->wall_ns;
	sum->cpu_ns += s->cpu_ns;
	sum->waited_ns += s->waited_ns;
	sum->stood_ns += s->stood_ns;
	sum->stood_cpu_ns += s->stood_cpu_ns;
	sum->gaps_ns += s->gaps_ns;
	sum->gaps += s->gaps;
	sum->stops += s->stops;
	if (s->longest_ns > sum->longest_ns)
		sum->longest_ns = s->longest_ns;
}

/* A piece ends, and the next begins. */
static inline void clock_end(struct clock_log *c)
{
	uint64_t cpu = clock_cpu(), now = clock_look(c);

	c->piece.wall_ns = now - c->wall;
	c->piece.cpu_ns = cpu - c->cpu;
	clock_add_to(clock_second(c, now), &c->piece);
	c->piece = (struct clock_second){ 0 };
	c->cpu = cpu;
	c->wall = now;
}

/* Add all seconds to @sum. */
static inline void clock_add(const struct clock_log *c, struct clock_second *sum)
{
	for (unsigned i = 0; i < c->n; i++)
		clock_add_to(sum, &c->seconds[i]);
}

/* [{...}, ...], one for each second. */
static inline void clock_tell(const struct clock_log *c)
{
	printf("{\"first_s\": %lu, \"seconds\": [", c->first_s);
	for (unsigned i = 0; i < c->n; i++) {
		const struct clock_second *s = &c->seconds[i];

		printf("%s{\"wall_ns\": %lu, \"cpu_ns\": %lu, \"waited_ns\": %lu, \"stood_ns\": %lu, "
		       "\"stood_cpu_ns\": %lu, \"stops\": %u, \"gaps\": %u, \"gaps_ns\": %lu, "
		       "\"longest_ns\": %lu}",
		       i ? ", " : "", s->wall_ns, s->cpu_ns, s->waited_ns, s->stood_ns, s->stood_cpu_ns,
		       s->stops, s->gaps, s->gaps_ns, s->longest_ns);
	}
	printf("]}");
}

#endif
