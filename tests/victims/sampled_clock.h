/* SPDX-License-Identifier: MIT */
/*
 * How long a busy thread stood, by its own clocks.
 *
 * It looks at the clock after each thing it does. Where more than GAP_NS lie between two looks it did not run: it was stopped, or others had the
 * processor, or what it did took so long. The kernel tells these apart, for each piece of work from beginning to end:
 *
 *	stood = wall - cpu - waited	neither running nor waiting for a processor: stopped (or asleep, as long as the truth is told)
 *	waited				ready to run, and others ran (schedstat)
 *
 * Kept by the second of CLOCK_MONOTONIC in which a piece ended; who wants ten adds ten. Pieces follow each other, and what one of them
 * ends with the next begins with: nothing is between them. Only where a thread sleeps until more is due a piece begins anew.
 */
#ifndef SAMPLED_CLOCK_H
#define SAMPLED_CLOCK_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "victim.h"

#define GAP_NS 20000u		/* a pair takes a microsecond or two, with a page fault ten */
#define CLOCK_SECONDS 7200u

/* Sums: of one second, or of all. */
struct clock_second {
	uint64_t wall_ns, cpu_ns, waited_ns, stood_ns, gaps_ns, longest_ns;
	uint32_t gaps;
};

/* What the clocks say at one moment. */
struct clock_reading {
	uint64_t wall, cpu, waited;
};

struct clock_log {
	int schedstat;
	struct clock_reading since;	/* the piece's beginning */
	uint64_t looked, gaps_ns, longest_ns;
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

/* All three at once: read again if others ran in between, as then they would not be of one moment. */
static inline struct clock_reading clock_read(const struct clock_log *c)
{
	struct clock_reading r;
	uint64_t before;
	int tries = 0;

	do {
		before = now_ns();
		r.waited = clock_waited(c);
		r.cpu = clock_cpu();
		r.wall = now_ns();
	} while (r.wall - before > GAP_NS && ++tries < 20);
	return r;
}

/* A piece begins; what was since the last one ended does not count. */
static inline void clock_begin(struct clock_log *c)
{
	c->since = clock_read(c);
	c->looked = c->since.wall;
}

static inline void clock_note(struct clock_log *c, uint64_t now)
{
	uint64_t gap = now - c->looked;

	c->looked = now;
	if (gap > GAP_NS) {
		c->gaps++;
		c->gaps_ns += gap;
		if (gap > c->longest_ns)
			c->longest_ns = gap;
	}
}

/* After each thing done; the time. */
static inline uint64_t clock_look(struct clock_log *c)
{
	uint64_t now = now_ns();

	clock_note(c, now);
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

/* A piece ends, and the next begins. */
static inline void clock_end(struct clock_log *c)
{
	struct clock_reading now = clock_read(c);
	uint64_t wall = now.wall - c->since.wall, cpu = now.cpu - c->since.cpu, waited = now.waited - c->since.waited;
	struct clock_second *s = clock_second(c, now.wall);

	clock_note(c, now.wall);
	s->wall_ns += wall;
	s->cpu_ns += cpu;
	s->waited_ns += waited;
	s->stood_ns += wall > cpu + waited ? wall - cpu - waited : 0;
	s->gaps += c->gaps;
	s->gaps_ns += c->gaps_ns;
	if (c->longest_ns > s->longest_ns)
		s->longest_ns = c->longest_ns;
	c->gaps_ns = c->longest_ns = c->gaps = 0;
	c->since = now;
}

/* All seconds together are added to @sum. */
static inline void clock_add(const struct clock_log *c, struct clock_second *sum)
{
	for (unsigned i = 0; i < c->n; i++) {
		sum->wall_ns += c->seconds[i].wall_ns;
		sum->cpu_ns += c->seconds[i].cpu_ns;
		sum->waited_ns += c->seconds[i].waited_ns;
		sum->stood_ns += c->seconds[i].stood_ns;
	}
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
