/* SPDX-License-Identifier: MIT */
/*
 * events: the cost of an event after the stop: in the ledger, in a trace, and when it is read again. There is
 * no target.
 *
 *	events EVENTS LIVE STACKS TRACE [HEAPTRACK]	prints one JSON object
 *
 * The events of a synthetic program (synthetic.h) go through nothing, through a ledger, and through a ledger and
 * a trace file; each in a separate process, so that its memory is its own. Then the trace is read. Times are
 * processor times per event, minus the time for generating the event.
 *
 * HEAPTRACK gets the same events in heaptrack's format, for heaptrack_print.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/synthetic/synthetic.h"
#include "report/tracefiles/replay.h"
#include "trace/writer.h"

/* --- measuring --- */

struct result {
	uint64_t ns;			/* processor time */
	uint64_t peak_blocks, end_blocks;
	uint64_t memory;		/* of the ledger's table and everything else, at the end */
	uint64_t rss_grown;		/* the process' peak, minus its RSS before */
	uint64_t file_bytes, raw_bytes;
	uint64_t wall_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* "VmHWM" or "VmRSS" of this process, in bytes. */
static uint64_t status_bytes(const char *what)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, what, strlen(what)) == 0)
			sscanf(line + strlen(what) + 1, "%lu", &kb);
	if (f)
		fclose(f);
	return (uint64_t)kb << 10;
}

enum through { NOTHING, LEDGER, TRACE, THROUGH };

struct plan {
	uint64_t events;
	size_t live;
	uint32_t stacks;
	const char *trace, *heaptrack;
};

static int put_run(void *ctx, struct writer *w, uint32_t piece)
{
	const struct fact run = {
		.kind = MMT_INFO, .info = MMT_RUN,
		.run = { .id = { 1 }, .frontend = "bench", .mode = "exact", .writer = "bench/events" },
	};

	(void)ctx, (void)piece;
	return writer_put(w, &run);
}

static void run_through(const struct plan *plan, enum through what, struct result *out)
{
	struct synthetic p;
	struct ledger l;
	struct writer *w = NULL;
	const struct writer_options opt = { .path = plan->trace, .defs = &l.defs, .begin = put_run };
	struct synthetic_event e;
	uint64_t began, rss;

	synthetic_init(&p, plan->events, plan->live, plan->stacks);
	synthetic_must(ledger_init(&l), "memory");
	synthetic_define(&l, plan->stacks, plan->stacks, 0);
	if (what == TRACE)
		synthetic_must(writer_open(&opt, &w), plan->trace);
	rss = status_bytes("VmRSS");
	began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	while (synthetic_next(&p, &e)) {
		const struct fact f = synthetic_fact(&e);

		if (what != NOTHING)
			synthetic_must(ledger_take(&l, &f), "the ledger");
		if (w)
			synthetic_must(writer_put(w, &f), "the trace");
		if (l.held_blocks > out->peak_blocks)
			out->peak_blocks = l.held_blocks;
	}
	out->ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	out->end_blocks = l.held_blocks;
	out->memory = ledger_memory(&l);
	out->rss_grown = status_bytes("VmHWM") - rss;
	if (w)
		synthetic_close(w, p.now_us, &out->raw_bytes, &out->file_bytes);
}

static void read_trace(const struct plan *plan, struct result *out)
{
	const struct replay_options opt = { 0 };
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);
	struct ledger l;

	synthetic_must(replay_files(&plan->trace, 1, &opt, &l), plan->trace);
	out->ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	out->wall_ns = clock_ns(CLOCK_MONOTONIC) - wall;
	out->end_blocks = l.held_blocks;
	out->rss_grown = status_bytes("VmHWM");
}

/* In a child, so that each measurement begins with the same memory. */
static void measure(const struct plan *plan, enum through what, struct result *shared)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		synthetic_die("fork");
	if (pid == 0) {
		if (what == THROUGH)
			read_trace(plan, shared);
		else
			run_through(plan, what, shared);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		synthetic_die("a measurement failed");
}

/* --- for heaptrack_print --- */

static void write_heaptrack_stacks(FILE *f, uint32_t nstacks)
{
	fprintf(f, "v 10400 3\nX made-up\nI 1000 400000\ns 10 /usr/bin/made-up\ns 9 made-up.c\n");
	for (uint32_t i = 0; i < SYNTHETIC_FUNCTIONS; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "function_%u", i);

		fprintf(f, "s %x %s\ni %" PRIx64 " 1 %x 2 %x\n", n, name, synthetic_pc(i), i + 3, i + 1);
	}
	for (uint32_t s = 0; s < nstacks; s++)
		for (uint32_t n = 1; n <= SYNTHETIC_DEPTH; n++)
			fprintf(f, "t %x %x\n", synthetic_function(s, n) + 1, n == 1 ? 0 : s * SYNTHETIC_DEPTH + n - 1);
	fprintf(f, "a 0 1\n"); /* its reader takes blocks of allocation number 0 for short-lived */
}

static uint32_t allocation_info(FILE *f, struct addrmap *infos, const struct synthetic_block *b)
{
	uint64_t key = (uint64_t)b->stack << 32 | b->size;
	uint32_t *known = addrmap_get(infos, key), number = (uint32_t)addrmap_count(infos) + 1;

	if (known)
		return *known;
	synthetic_must(addrmap_put(infos, key, &number), "memory");
	fprintf(f, "a %x %x\n", b->size, (b->stack + 1) * SYNTHETIC_DEPTH);
	return number;
}

static void write_heaptrack(const struct plan *plan)
{
	FILE *f = fopen(plan->heaptrack, "we");
	uint64_t last_ms = 0;
	struct addrmap infos;
	struct synthetic p;
	struct synthetic_event e;

	if (!f)
		synthetic_die(plan->heaptrack);
	addrmap_init(&infos, sizeof(uint32_t));
	synthetic_init(&p, plan->events, plan->live, plan->stacks);
	write_heaptrack_stacks(f, plan->stacks);
	while (synthetic_next(&p, &e)) {
		uint32_t number = allocation_info(f, &infos, &e.b);

		if (e.time_us / 10000 != last_ms) {
			last_ms = e.time_us / 10000;
			fprintf(f, "c %" PRIx64 "\n", e.time_us / 1000);
		}
		fprintf(f, "%c %x\n", e.alloc ? '+' : '-', number);
	}
	addrmap_fini(&infos);
	if (fclose(f))
		synthetic_die(plan->heaptrack);
}

/* --- all --- */

static double per_event(const struct plan *plan, uint64_t ns, const struct result *less)
{
	return ns > less->ns ? (double)(ns - less->ns) / (double)plan->events : 0;
}

static void print(const struct plan *plan, const struct result *r)
{
	const struct result *ledger = &r[LEDGER], *trace = &r[TRACE], *read = &r[THROUGH];

	printf("{\"events\": %" PRIu64 ", \"stacks\": %u, \"peak_blocks\": %" PRIu64
	       ", \"end_blocks\": %" PRIu64,
	       plan->events, plan->stacks, ledger->peak_blocks, ledger->end_blocks);
	printf(", \"make_ns\": %.1f, \"ledger_ns\": %.1f, \"trace_ns\": %.1f",
	       (double)r[NOTHING].ns / (double)plan->events, per_event(plan, ledger->ns, &r[NOTHING]),
	       per_event(plan, trace->ns, ledger));
	printf(", \"bytes_per_block\": %.2f, \"rss_per_block\": %.2f",
	       (double)ledger->memory / (double)ledger->end_blocks,
	       (double)(ledger->rss_grown - r[NOTHING].rss_grown) / (double)ledger->peak_blocks);
	printf(", \"bytes_per_event\": %.3f, \"raw_bytes_per_event\": %.3f",
	       (double)trace->file_bytes / (double)plan->events,
	       (double)trace->raw_bytes / (double)plan->events);
	printf(", \"read_s\": %.2f, \"read_per_s\": %.0f, \"read_same\": %s}\n", (double)read->wall_ns / 1e9,
	       (double)plan->events * 1e9 / (double)read->wall_ns,
	       read->end_blocks == ledger->end_blocks ? "true" : "false");
}

int main(int argc, char **argv)
{
	struct result *r = mmap(NULL, (THROUGH + 1) * sizeof(*r), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct plan plan;

	if (argc < 5 || argc > 6 || r == MAP_FAILED) {
		fprintf(stderr, "events EVENTS LIVE STACKS TRACE [HEAPTRACK]\n");
		return 2;
	}
	plan = (struct plan){
		.events = strtoull(argv[1], NULL, 10), .live = strtoull(argv[2], NULL, 10),
		.stacks = (uint32_t)strtoul(argv[3], NULL, 10), .trace = argv[4], .heaptrack = argv[5],
	};
	if (!plan.events || !plan.live || !plan.stacks) {
		fprintf(stderr, "events: EVENTS, LIVE and STACKS are numbers above 0\n");
		return 2;
	}
	for (enum through what = NOTHING; what <= THROUGH; what++)
		measure(&plan, what, &r[what]);
	if (plan.heaptrack)
		write_heaptrack(&plan);
	print(&plan, r);
	return 0;
}
