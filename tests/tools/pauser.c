/* SPDX-License-Identifier: MIT */
/*
 * pauser PID [watch [RULE...]]: pauses of a process, one an order, for tests and for bench/.
 *
 * It seizes PID (with "watch", it plants traps too, on the libc family or by the rules), prints {"keeper":
 * PID}, and answers each line of stdin with a line of JSON:
 *
 *	pause [MAX_NS [LIMIT_NS]]	pause_and_copy; the snapshot stays until the next one
 *	word ADDR			the word at ADDR in the snapshot
 *	sum ADDR SIZE			of the 64-bit words there: sum = sum * FNV prime ^ word
 *	find VALUE			threads with it in a register, and in a vector register
 *	threads				what is known of each
 *	plain				how long process_vm_readv of the same ranges takes, one after the
 *					other, into warm memory
 *	stop LIMIT_NS, resume		only that: the keeper's commands
 *	hits				of malloc, free and others, since the last time
 *	end				leave; end of stdin too
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attach/control/link.h"
#include "attach/control/planting.h"
#include "attach/keeper/procfs.h"
#include "attach/options/options.h"
#include "attach/options/ruleset.h"
#include "attach/snapshot/pause.h"
#include "attach/target/modules.h"
#include "attach/watch/watch.h"
#include "base/strbuf.h"
#include "heap/snapshot/snapshot.h"

#define SEIZE_NS 20000000000ull
#define CALL_NS 20000000000ull

struct pauser {
	pid_t pid;
	struct link link;
	struct snapshot snapshot;
	bool watching;
	struct ruleset rules;
	struct modules *modules;
	struct planting planting;
	uint64_t mallocs, frees, others;
};

/* --- a watch that only counts hits --- */

static int begin_watch(struct pauser *p, char **rules)
{
	const struct plan_options options = { .exact_sizes = false };
	struct options opt = { .pid = p->pid, .what.probes = STRBUF_INIT };
	int r;

	for (; *rules; rules++)
		strbuf_printf(&opt.what.probes, "%s\n", *rules);
	r = ruleset_choose(&opt, &p->rules);
	strbuf_fini(&opt.what.probes);

	if (r == 0)
		r = modules_new(p->pid, &p->modules);
	if (r == 0)
		r = modules_refresh(p->modules, false);
	if (r == 0)
		r = planting_init(&p->planting, &p->link, p->modules, procfs_open_mem(p->pid), &p->rules,
				  &options);
	if (r == 0)
		r = planting_plan(&p->planting);
	if (r == 0)
		r = planting_plant(&p->planting);
	p->watching = r == 0;
	return r;
}

static void count(struct pauser *p, const struct record *rec)
{
	uint32_t i = rec->kind == RECORD_HIT ? p->planting.sites[rec->site].probe : NO_PROBE;

	if (i == NO_PROBE)
		return;
	if (!strcmp(p->planting.probes[i].function, "malloc"))
		p->mallocs++;
	else if (!strcmp(p->planting.probes[i].function, "free"))
		p->frees++;
	else
		p->others++;
}

static void drain(struct pauser *p)
{
	const struct record *rec;

	while ((rec = ring_peek(&p->link.shared->ring))) {
		if (p->watching)
			count(p, rec);
		ring_consume(&p->link.shared->ring, rec);
	}
}

static void say_hits(struct pauser *p)
{
	drain(p);
	printf("{\"malloc\": %" PRIu64 ", \"free\": %" PRIu64 ", \"others\": %" PRIu64
	       ", \"dropped\": %" PRIu64 ", \"stepped\": %" PRIu64 "}\n",
	       p->mallocs, p->frees, p->others, atomic_load(&p->link.shared->counts.dropped),
	       atomic_load(&p->link.shared->counts.stepped));
	p->mallocs = 0;
	p->frees = 0;
	p->others = 0;
}

static bool meanwhile(void *ctx)
{
	drain(ctx);
	return true;
}

/* --- orders --- */

static void order_pause(struct pauser *p, const char *line)
{
	struct pause_wish wish = { .meanwhile = meanwhile, .ctx = p };
	struct pause_had had;
	int r;

	sscanf(line, "pause %" SCNu64 " %" SCNu64, &wish.max_pause_ns, &wish.limit_ns);
	snapshot_fini(&p->snapshot);
	r = pause_and_copy(&p->link, p->pid, &wish, &p->snapshot, &had);
	printf("{\"r\": %d, \"expected_ns\": %" PRIu64 ", \"had_ns\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"threads\": %u, "
	       "\"not_stopped\": %u, \"tries\": %u, \"swapped\": %" PRIu64 ", \"missing\": %" PRIu64
	       ", \"left_out\": %" PRIu64 ", \"pieces\": %zu, \"comm\": \"%s\"}\n",
	       r, had.expected_ns, had.had_ns, had.bytes, had.threads, had.not_stopped, had.tries,
	       p->snapshot.swapped, p->snapshot.missing, p->snapshot.left_out, p->snapshot.npieces,
	       p->snapshot.comm);
}

static void order_word(struct pauser *p, const char *line)
{
	taddr at = strtoull(line + 5, NULL, 0);
	uint64_t word;

	if (snapshot_word(&p->snapshot, at, &word) < 0)
		printf("{\"word\": null, \"kind\": %d}\n", snapshot_kind_at(&p->snapshot, at));
	else
		printf("{\"word\": %" PRIu64 ", \"kind\": %d}\n", word, snapshot_kind_at(&p->snapshot, at));
}

static void order_sum(struct pauser *p, const char *line)
{
	uint64_t sum = 1, word;
	taddr at;
	uint64_t size;

	if (sscanf(line, "sum %" SCNi64 " %" SCNu64, (int64_t *)&at, &size) != 2)
		size = 0;
	for (taddr a = at; a < at + size; a += 8) {
		if (snapshot_word(&p->snapshot, a, &word) < 0) {
			printf("{\"sum\": null, \"at\": %" PRIu64 "}\n", a);
			return;
		}
		sum = sum * 1099511628211u ^ word;
	}
	printf("{\"sum\": %" PRIu64 "}\n", sum);
}

static bool holds(const void *bytes, size_t n, uint64_t value)
{
	for (size_t i = 0; i + sizeof(value) <= n; i += sizeof(value))
		if (!memcmp((const uint8_t *)bytes + i, &value, sizeof(value)))
			return true;
	return false;
}

static void order_find(struct pauser *p, const char *line)
{
	uint64_t value = strtoull(line + 5, NULL, 0);
	const char *comma = "";

	printf("{\"regs\": [");
	for (size_t i = 0; i < p->snapshot.nthreads; i++) {
		const struct snapshot_thread *t = &p->snapshot.threads[i];

		if (t->known && holds(&t->regs, sizeof(t->regs), value)) {
			printf("%s%d", comma, t->tid);
			comma = ", ";
		}
	}
	printf("], \"vectors\": [");
	comma = "";
	for (size_t i = 0; i < p->snapshot.nthreads; i++) {
		const struct snapshot_thread *t = &p->snapshot.threads[i];

		if (holds(t->vectors, t->nvectors, value)) {
			printf("%s%d", comma, t->tid);
			comma = ", ";
		}
	}
	printf("]}\n");
}

static void order_threads(struct pauser *p)
{
	printf("[");
	for (size_t i = 0; i < p->snapshot.nthreads; i++) {
		const struct snapshot_thread *t = &p->snapshot.threads[i];

		printf("%s{\"tid\": %d, \"known\": %s, \"running\": %s, \"sp\": %" PRIu64
		       ", \"vectors\": %zu}",
		       i ? ", " : "", t->tid, t->known ? "true" : "false", t->running ? "true" : "false",
		       t->sp, t->nvectors);
	}
	printf("]\n");
}

static void order_plain(struct pauser *p)
{
	uint8_t *room =
		mmap(NULL, p->snapshot.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = 0, start;
	bool ok = room != MAP_FAILED;

	if (ok && madvise(room, p->snapshot.bytes, MADV_HUGEPAGE) == 0)
		memset(room, 1, p->snapshot.bytes);
	start = link_clock_ns();
	for (size_t i = 0; ok && i < p->snapshot.npieces; i++) {
		const struct snapshot_piece *piece = &p->snapshot.pieces[i];
		struct iovec here = { room + at, piece->size },
			     there = { (void *)(uintptr_t)piece->lo, piece->size };

		ok = process_vm_readv(p->pid, &here, 1, &there, 1, 0) == (ssize_t)piece->size;
		at += piece->size;
	}
	printf("{\"ns\": %" PRIu64 "}\n", ok ? link_clock_ns() - start : 0);
	if (room != MAP_FAILED)
		munmap(room, p->snapshot.bytes);
}

static void order_call(struct pauser *p, enum command_op op, const char *arg)
{
	printf("{\"r\": %" PRId64 "}\n", link_call(&p->link, op, strtoll(arg, NULL, 0), 0, CALL_NS));
}

/* false: it was the last order. */
static bool obey(struct pauser *p, const char *line)
{
	if (!strncmp(line, "pause", 5))
		order_pause(p, line);
	else if (!strncmp(line, "word ", 5))
		order_word(p, line);
	else if (!strncmp(line, "sum ", 4))
		order_sum(p, line);
	else if (!strncmp(line, "find ", 5))
		order_find(p, line);
	else if (!strncmp(line, "threads", 7))
		order_threads(p);
	else if (!strncmp(line, "plain", 5))
		order_plain(p);
	else if (!strncmp(line, "stop ", 5))
		order_call(p, COMMAND_STOP_ALL, line + 5);
	else if (!strncmp(line, "resume", 6))
		order_call(p, COMMAND_RESUME_ALL, "0");
	else if (!strncmp(line, "hits", 4))
		say_hits(p);
	else
		return false;
	fflush(stdout);
	return true;
}

/* Read the ring between orders, as a watch does. */
static void serve(struct pauser *p)
{
	struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[256];

	setvbuf(stdin, NULL, _IONBF, 0);
	for (;;) {
		drain(p);
		link_alive(&p->link);
		if (poll(&ready, 1, p->watching ? 1 : 100) > 0 &&
		    (!fgets(line, sizeof(line), stdin) || !obey(p, line)))
			return;
	}
}

int main(int argc, char **argv)
{
	static struct pauser p;
	const struct link_settings set = { .slice_bytes = 4096, .max_stall_ns = 100000000, .gdb = -1, .gdb_mem = -1 };
	int r;

	if (argc < 2)
		return 2;
	p.pid = atoi(argv[1]);
	snapshot_init(&p.snapshot);
	r = link_open(&p.link, &set, argc, argv);
	if (r == 0)
		r = link_call(&p.link, COMMAND_SEIZE, p.pid, 0, SEIZE_NS);
	if (r == 0 && argc > 2)
		r = begin_watch(&p, argv + 3);
	if (r < 0) {
		fprintf(stderr, "pauser: %s\n", strerror(-r));
		return 1;
	}
	printf("{\"keeper\": %d}\n", p.link.keeper);
	fflush(stdout);
	serve(&p);
	r = link_leave(&p.link, CALL_NS);
	drain(&p);
	printf("{\"left\": %d, \"r\": %d}\n", (int)atomic_load(&p.link.shared->end.left), r);
	snapshot_fini(&p.snapshot);
	return r < 0;
}
