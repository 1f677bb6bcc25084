/* SPDX-License-Identifier: MIT */
/*
 * events: the cost of an event after the stop: in the ledger, in a trace, and when it is read again. There is
 * no target.
 *
 *	events EVENTS LIVE STACKS TRACE [HEAPTRACK]	prints one JSON object
 *
 * A synthetic program allocates and frees blocks: LIVE of them are live once it has started, most are freed
 * early, some never. Sizes are skewed, and addresses are reused, latest first, as malloc does. The same
 * events go through nothing, through a ledger, and through a ledger and a trace file; each in a separate
 * process, so that its memory is its own. Then the trace is read. Times are processor times per event, minus
 * the time for generating the event.
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

#include "report/tracefiles/replay.h"
#include "trace/writer.h"

#define CLASSES 64
#define DEPTH 18
#define FUNCTIONS 2000
#define YOUNG 1000		/* most freed blocks are among this many latest ones */
#define LEAK_ONE_IN 5000	/* of all blocks */

static void die(const char *what)
{
	fprintf(stderr, "events: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void must(int err, const char *what)
{
	if (err >= 0)
		return;
	errno = -err;
	die(what);
}

/* --- the synthetic program --- */

struct block {
	taddr addr;
	uint32_t size, stack;
};

struct program {
	uint64_t rng, made, events, now_us;
	uint32_t nstacks;
	size_t live, wanted;
	struct block *blocks;		/* those that may be freed; the latest are at the end */
	struct { taddr *addrs; size_t n, size; } idle[CLASSES];
	taddr top;			/* of the heap */
};

struct event {
	bool alloc;
	struct block b;
	uint64_t time_us;
};

static uint64_t rnd(struct program *p, uint64_t below)
{
	p->rng ^= p->rng << 13;
	p->rng ^= p->rng >> 7;
	p->rng ^= p->rng << 17;
	return (uint64_t)((unsigned __int128)p->rng * below >> 64);
}

static void program_init(struct program *p, uint64_t events, size_t wanted, uint32_t stacks)
{
	*p = (struct program){ .rng = 88172645463325252u, .events = events, .wanted = wanted,
			       .nstacks = stacks,
			       .top = 0x55d0c8a1e2a0 };
	p->blocks = calloc(wanted + 2, sizeof(*p->blocks));
	if (!p->blocks)
		die("memory");
	/* so that it is resident before memory is measured */
	memset(p->blocks, 1, (wanted + 2) * sizeof(*p->blocks));
}

/* Half of all blocks have at most 64 bytes, a few have thousands. */
static uint32_t any_class(struct program *p)
{
	uint64_t a = rnd(p, CLASSES), b = rnd(p, CLASSES), c = rnd(p, CLASSES);
	uint64_t least = a < b ? a : b;

	return (uint32_t)(least < c ? least : c) / 2;
}

static uint32_t class_size(uint32_t class)
{
	return class < 16 ? 24 + 16 * class : 280u << (class - 16) / 2;
}

static taddr give_address(struct program *p, uint32_t class)
{
	taddr addr;

	if (p->idle[class].n)
		return p->idle[class].addrs[--p->idle[class].n];
	addr = p->top;
	p->top += class_size(class) + 8;
	return addr;
}

static void take_address(struct program *p, uint32_t class, taddr addr)
{
	if (p->idle[class].n == p->idle[class].size) {
		size_t size = p->idle[class].size ? 2 * p->idle[class].size : 1024;
		p->idle[class].addrs = reallocarray(p->idle[class].addrs, size, sizeof(taddr));
		if (!p->idle[class].addrs)
			die("memory");
		p->idle[class].size = size;
	}
	p->idle[class].addrs[p->idle[class].n++] = addr;
}

static uint32_t class_of(uint32_t size)
{
	uint32_t class = 0;

	while (class_size(class) != size)
		class++;
	return class;
}

/* A few stacks allocate most blocks. */
static uint32_t any_stack(struct program *p)
{
	uint64_t u = rnd(p, 1 << 20);

	return (uint32_t)((u * u >> 20) * u * p->nstacks >> 40);
}

static void make_alloc(struct program *p, struct event *e)
{
	uint32_t class = any_class(p);

	e->alloc = true;
	e->b = (struct block){ give_address(p, class), class_size(class), any_stack(p) };
	if (rnd(p, LEAK_ONE_IN))
		p->blocks[p->live++] = e->b;
}

static void make_free(struct program *p, struct event *e)
{
	size_t young = p->live < YOUNG ? p->live : YOUNG;
	size_t i = rnd(p, 5) ? p->live - 1 - rnd(p, young) : rnd(p, p->live);

	e->alloc = false;
	e->b = p->blocks[i];
	p->blocks[i] = p->blocks[--p->live];
	take_address(p, class_of(e->b.size), e->b.addr);
}

/* While it starts, two of three events are allocations; afterwards there are as many allocations as frees. */
static bool program_next(struct program *p, struct event *e)
{
	if (p->made++ == p->events)
		return false;
	p->now_us += rnd(p, 5);
	e->time_us = p->now_us;
	if (!p->live || (p->live < p->wanted && rnd(p, 3)))
		make_alloc(p, e);
	else
		make_free(p, e);
	return true;
}

/* --- its stacks --- */

static taddr pc_of(uint32_t function)
{
	return 0x401000 + 208 * function + 17;
}

static void define(struct ledger *l, const struct fact *f)
{
	must(ledger_take(l, f), "definitions");
}

static void define_functions(struct ledger *l)
{
	struct fact module = { .kind = MMT_INFO, .info = MMT_MODULE,
			       .module = { .bias = 0x400000, .lo = 0x400000, .hi = 0x900000,
					   .path = "/usr/bin/made-up",
					   .build_id = "0123456789abcdef" } };
	const struct fact family = { .kind = MMT_INFO, .info = MMT_FAMILY_NAME,
				     .family_name = { .number = 0, .name = "libc" } };

	define(l, &family);
	define(l, &module);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[32];
		struct fact_name its = { .function = name, .file = "made-up.c", .line = i + 1 };
		struct fact frame = { .kind = MMT_INFO, .info = MMT_FRAME,
				      .frame = { i, 1, pc_of(i), false, false } };
		struct fact names = { .kind = MMT_INFO, .info = MMT_NAMES, .names = { i, &its, 1 } };

		snprintf(name, sizeof(name), "function_%u", i);
		define(l, &frame);
		define(l, &names);
	}
}

/*
 * Node number n of stack s: s * DEPTH + n, n counts from 1 at the outer end; the outer third is shared by all
 * stacks.
 */
static uint32_t function_of(uint32_t stack, uint32_t depth)
{
	return depth <= DEPTH / 3 ? depth : (stack * 31 + depth * 7) % FUNCTIONS;
}

static void define_stacks(struct ledger *l, uint32_t nstacks)
{
	for (uint32_t s = 0; s < nstacks; s++) {
		struct fact stack = { .kind = MMT_INFO, .info = MMT_STACK,
				      .stack = { s, (s + 1) * DEPTH, MMT_END_WHOLE, FACT_NONE } };

		for (uint32_t n = 1; n <= DEPTH; n++) {
			uint32_t number = s * DEPTH + n;
			struct fact node = { .kind = MMT_INFO, .info = MMT_NODE,
					     .node = { number, n == 1 ? 0 : number - 1, function_of(s, n) } };
			define(l, &node);
		}
		define(l, &stack);
	}
}

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

static struct fact fact_of(const struct event *e)
{
	return (struct fact){
		.kind = e->alloc ? MMT_ALLOC : MMT_FREE, .time_us = e->time_us,
		.block = { .addr = e->b.addr, .size = e->b.size, .stack = e->alloc ? e->b.stack : 0 },
	};
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

static void close_trace(struct writer *w, uint64_t now_us, struct result *out)
{
	const struct fact end = { .kind = MMT_INFO, .info = MMT_END, .time_us = now_us };

	must(writer_put(w, &end), "the trace");
	must(writer_put_names(w), "the trace");
	out->raw_bytes = writer_raw_bytes(w);
	out->file_bytes = writer_bytes(w);
	must(writer_close(w), "the trace");
}

static void run_through(const struct plan *plan, enum through what, struct result *out)
{
	struct program p;
	struct ledger l;
	struct writer *w = NULL;
	const struct writer_options opt = { .path = plan->trace, .defs = &l.defs, .begin = put_run };
	struct event e;
	uint64_t began, rss;

	program_init(&p, plan->events, plan->live, plan->stacks);
	must(ledger_init(&l), "memory");
	define_functions(&l);
	define_stacks(&l, plan->stacks);
	if (what == TRACE)
		must(writer_open(&opt, &w), plan->trace);
	rss = status_bytes("VmRSS");
	began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	while (program_next(&p, &e)) {
		const struct fact f = fact_of(&e);

		if (what != NOTHING)
			must(ledger_take(&l, &f), "the ledger");
		if (w)
			must(writer_put(w, &f), "the trace");
		if (l.held_blocks > out->peak_blocks)
			out->peak_blocks = l.held_blocks;
	}
	out->ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	out->end_blocks = l.held_blocks;
	out->memory = ledger_memory(&l);
	out->rss_grown = status_bytes("VmHWM") - rss;
	if (w)
		close_trace(w, p.now_us, out);
}

static void read_trace(const struct plan *plan, struct result *out)
{
	const struct replay_options opt = { 0 };
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);
	struct ledger l;

	must(replay_files(&plan->trace, 1, &opt, &l), plan->trace);
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
		die("fork");
	if (pid == 0) {
		if (what == THROUGH)
			read_trace(plan, shared);
		else
			run_through(plan, what, shared);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		die("a measurement failed");
}

/* --- for heaptrack_print --- */

static void write_heaptrack_stacks(FILE *f, uint32_t nstacks)
{
	fprintf(f, "v 10400 3\nX made-up\nI 1000 400000\ns 10 /usr/bin/made-up\ns 9 made-up.c\n");
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "function_%u", i);

		fprintf(f, "s %x %s\ni %" PRIx64 " 1 %x 2 %x\n", n, name, pc_of(i), i + 3, i + 1);
	}
	for (uint32_t s = 0; s < nstacks; s++)
		for (uint32_t n = 1; n <= DEPTH; n++)
			fprintf(f, "t %x %x\n", function_of(s, n) + 1, n == 1 ? 0 : s * DEPTH + n - 1);
	fprintf(f, "a 0 1\n"); /* its reader takes blocks of allocation number 0 for short-lived */
}

static uint32_t allocation_info(FILE *f, struct addrmap *infos, const struct block *b)
{
	uint64_t key = (uint64_t)b->stack << 32 | b->size;
	uint32_t *known = addrmap_get(infos, key), number = (uint32_t)addrmap_count(infos) + 1;

	if (known)
		return *known;
	must(addrmap_put(infos, key, &number), "memory");
	fprintf(f, "a %x %x\n", b->size, (b->stack + 1) * DEPTH);
	return number;
}

static void write_heaptrack(const struct plan *plan)
{
	FILE *f = fopen(plan->heaptrack, "we");
	uint64_t last_ms = 0;
	struct addrmap infos;
	struct program p;
	struct event e;

	if (!f)
		die(plan->heaptrack);
	addrmap_init(&infos, sizeof(uint32_t));
	program_init(&p, plan->events, plan->live, plan->stacks);
	write_heaptrack_stacks(f, plan->stacks);
	while (program_next(&p, &e)) {
		uint32_t number = allocation_info(f, &infos, &e.b);

		if (e.time_us / 10000 != last_ms) {
			last_ms = e.time_us / 10000;
			fprintf(f, "c %" PRIx64 "\n", e.time_us / 1000);
		}
		fprintf(f, "%c %x\n", e.alloc ? '+' : '-', number);
	}
	addrmap_fini(&infos);
	if (fclose(f))
		die(plan->heaptrack);
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
