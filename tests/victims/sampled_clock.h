/* SPDX-License-Identifier: MIT */
/*
 * How long a busy thread stood, by its own clocks.
 *
 * It looks at the clock after each thing it does. Where more than GAP_NS lie between two looks it did not run: it was stopped, or others had the
 * processor, or what it did took so long. The kernel tells these apart, for each piece of work from beginning to end:
 *
 *	stood = wall - cpu - waited	neither running nor waiting for a processor: stopped (or asleep in a lock: there are none that are fought for)
 *	waited				ready to run, and others ran (schedstat)
 *
 * Kept by the second of CLOCK_MONOTONIC in which a piece ended; who wants ten adds ten. What is no piece of work (sleeping until
 * the next is due) is not counted.
 */
#ifndef SAMPLED_CLOCK_H
#define SAMPLED_CLOCK_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "victim.h"

#define GAP_NS 20000u		/* a pair takes a microsecond or two, with a page fault ten */
#define CLOCK_SECONDS 7200u

/* Sums of one second. */
struct clock_second {
	uint64_t wall_ns, cpu_ns, waited_ns, stood_ns, gaps_ns, longest_ns;
	uint32_t gaps;
};

struct clock_log {
	int schedstat;
	uint64_t looked, began, cpu, waited, gaps_ns, longest_ns;
	uint32_t gaps;
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

/* By the thread itself, before the first piece. */
static inline void clock_open(struct clock_log *c)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
	c->schedstat = open(path, O_RDONLY | O_CLOEXEC);
	if (c->schedstat < 0)
		victim_die(path);
}

static inline void clock_begin(struct clock_log *c)
{
	c->waited = clock_waited(c);
	c->cpu = clock_cpu();
	c->looked = c->began = now_ns();
	c->gaps_ns = c->longest_ns = c->gaps = 0;
}

/* After each thing done; the time. */
static inline uint64_t clock_look(struct clock_log *c)
{
	uint64_t now = now_ns(), gap = now - c->looked;

	c->looked = now;
	if (gap > GAP_NS) {
		c->gaps++;
		c->gaps_ns += gap;
		if (gap > c->longest_ns)
			c->longest_ns = gap;
	}
	return now;
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

static inline void clock_end(struct clock_log *c)
{
	uint64_t now = clock_look(c), cpu = clock_cpu() - c->cpu, waited = clock_waited(c) - c->waited, wall = now - c->began;
	struct clock_second *s = clock_second(c, now);

	s->wall_ns += wall;
	s->cpu_ns += cpu;
	s->waited_ns += waited;
	s->stood_ns += wall > cpu + waited ? wall - cpu - waited : 0;
	s->gaps += c->gaps;
	s->gaps_ns += c->gaps_ns;
	if (c->longest_ns > s->longest_ns)
		s->longest_ns = c->longest_ns;
}

/* [[wall, cpu, waited, stood, gaps, gaps_ns, longest], ...] by the second. */
static inline void clock_tell(const struct clock_log *c)
{
	printf("{\"first_s\": %lu, \"seconds\": [", c->first_s);
	for (unsigned i = 0; i < c->n; i++) {
		const struct clock_second *s = &c->seconds[i];

		printf("%s[%lu, %lu, %lu, %lu, %u, %lu, %lu]", i ? ", " : "", s->wall_ns, s->cpu_ns, s->waited_ns, s->stood_ns, s->gaps, s->gaps_ns, s->longest_ns);
	}
	printf("]}");
}

#endif
