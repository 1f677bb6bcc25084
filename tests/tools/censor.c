/* SPDX-License-Identifier: MIT */
/*
 * censor: the census of a process or a core file, as a line of JSON for each time that it was taken; and, if
 * the process has the truth about its blocks (tests/victims/census_truth.h), by how much the two differ.
 *
 *	censor [-t ADDRESS] [-n STOPS] [-r RETRIES] [-b] [-d IMAGE] PID | -c FILE
 *	censor -t ADDRESS [-g HELD] -s STEPS [-u TIMES] PID
 *	censor -t ADDRESS -f FLIPS PID
 *
 * -b lists the blocks too; -d writes an image for the fuzzer of the census (heapimage.h). With -r, a census
 * that does not add up is taken again, as a user of the census would.
 *
 * With -s one thread runs instruction by instruction, with a census after each: every state that a stop can
 * find. What is wrong is printed, and a line for all. A thread inside malloc may hold HELD blocks (2). With -u
 * each instruction has a census at most TIMES times, so that more of them are reached in the same time.
 *
 * With -f one byte of what is the allocator's is changed in the copy, the census taken, the byte put back; and so
 * on. What is counted: censuses that were not in order; and those that add up and are not equal to the truth,
 * in which blocks there are, or only in how large they are.
 *
 * Truth and heap are read from the same snapshot, so that they are of the same moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include "attach/cli/scan_live.h"
#include "base/addrmap.h"
#include "heap/census_take.h"
#include "heap/snapshot/core.h"
#include "heap/snapshot/snapshot.h"
#include "tests/tools/heapimage.h"
#include "tests/victims/census_truth.h"

#define EXAMPLES 4u
/* A thread in malloc has a block for its caller, and may be moving another from a bin to its cache. */
static unsigned in_hand = 2;

static void die(const char *what)
{
	fprintf(stderr, "censor: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* --- a snapshot of a process --- */

static int stop_thread(pid_t tid, struct snapshot *s)
{
	struct snapshot_thread t = { .tid = tid, .known = true };
	struct iovec all = { &t.regs, sizeof(t.regs) };
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0 || waitpid(tid, &status, __WALL) != tid ||
	    !WIFSTOPPED(status))
		return -ESRCH;
	if (ptrace(PTRACE_GETREGSET, tid, 1 /* NT_PRSTATUS */, &all) < 0)
		return -errno;
	t.sp = t.regs.rsp;
	return snapshot_add_thread(s, &t);
}

static bool have_thread(const struct snapshot *s, pid_t tid)
{
	for (size_t i = 0; i < s->nthreads; i++)
		if (s->threads[i].tid == tid)
			return true;
	return false;
}

/* Until no new thread shows up. */
static void stop_all(pid_t pid, struct snapshot *s)
{
	char path[64];
	size_t before;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	do {
		DIR *d = opendir(path);

		before = s->nthreads;
		if (!d)
			die(path);
		for (struct dirent *e; (e = readdir(d));)
			if (atoi(e->d_name) > 0 && !have_thread(s, atoi(e->d_name)))
				(void)stop_thread(atoi(e->d_name), s);
		closedir(d);
	} while (s->nthreads != before);
}

static void let_go(const struct snapshot *s)
{
	for (size_t i = 0; i < s->nthreads; i++)
		(void)ptrace(PTRACE_DETACH, s->threads[i].tid, 0, 0);
}

static void copy_into(pid_t pid, struct snapshot *s, taddr lo, taddr hi)
{
	void *to = malloc(hi - lo);
	struct iovec here = { to, hi - lo }, there = { (void *)lo, hi - lo };

	if (!to || process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)(hi - lo)) {
		free(to);
		if (snapshot_add_hole(s, lo, hi) < 0)
			die("memory");
		return;
	}
	if (snapshot_own(s, to, 0) < 0 || snapshot_add_piece(s, lo, hi - lo, to) < 0)
		die("memory");
}

/* Copy the resident pages of @m; pages that are swapped out are holes. */
static void copy_mapping(pid_t pid, int pagemap, struct snapshot *s, const struct mapping *m)
{
	const size_t n = (m->hi - m->lo) / SNAPSHOT_PAGE;
	uint64_t entries[512];
	taddr from = 0;

	for (size_t i = 0; i <= n; i++) {
		const taddr at = m->lo + i * SNAPSHOT_PAGE;
		bool here;

		if (i < n && i % 512 == 0 &&
		    pread(pagemap, entries, sizeof(entries), (off_t)(at / SNAPSHOT_PAGE * 8)) <= 0)
			die("pagemap");
		here = i < n && entries[i % 512] >> 63;
		/* a page of a file that was not written has the file's contents */
		if (here && m->ino && entries[i % 512] >> 61 & 1)
			here = false;
		if (i < n && entries[i % 512] >> 62 & 1 && snapshot_add_hole(s, at, at + SNAPSHOT_PAGE) < 0)
			die("memory");
		if (here && !from)
			from = at;
		if (!here && from) {
			copy_into(pid, s, from, at);
			from = 0;
		}
	}
}

/* Copy the memory, while all threads are stopped. */
static void copy_memory(pid_t pid, struct snapshot *s)
{
	char path[64];
	int pagemap;

	s->pid = pid;
	s->live = true;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (procmaps_read(path, &s->maps) < 0)
		die(path);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		die(path);
	for (size_t i = 0; i < s->maps.n; i++) {
		const struct mapping *m = &s->maps.maps[i];

		if (m->perms & MAPPING_WRITE && m->perms & MAPPING_READ && !(m->perms & MAPPING_SHARED))
			copy_mapping(pid, pagemap, s, m);
	}
	close(pagemap);
	if (snapshot_seal(s) < 0)
		die("seal");
}

static void take_snapshot(pid_t pid, struct snapshot *s)
{
	snapshot_init(s);
	stop_all(pid, s);
	copy_memory(pid, s);
	let_go(s);
}

/* --- the truth --- */

struct known {
	struct truth_block *blocks;
	size_t n, room;
	uint64_t busy, going[TRUTH_NOTES];
	size_t ngoing;
};

static int by_addr(const void *a, const void *b)
{
	const struct truth_block *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void add_known(struct known *k, const struct truth_block *b)
{
	if (b->addr <= TRUTH_TAKEN)
		return;
	if (k->n == k->room) {
		k->room = k->room ? 2 * k->room : 4096;
		k->blocks = realloc(k->blocks, k->room * sizeof(*k->blocks));
		if (!k->blocks)
			die("memory");
	}
	k->blocks[k->n++] = *b;
}

/* Read the pages of the table that were ever touched. */
static void read_table(const struct snapshot *s, const struct truth *t, struct known *k)
{
	const taddr end = t->table + t->slots * sizeof(struct truth_block);

	for (size_t i = snapshot_piece_from(s, t->table); i < s->npieces && s->pieces[i].lo < end; i++) {
		const struct snapshot_piece *p = &s->pieces[i];
		const taddr lo = p->lo > t->table ? p->lo : t->table,
			    hi = p->lo + p->size < end ? p->lo + p->size : end;

		for (taddr at = lo; at + sizeof(struct truth_block) <= hi; at += sizeof(struct truth_block)) {
			struct truth_block b;

			memcpy(&b, p->bytes + (at - p->lo), sizeof(b));
			add_known(k, &b);
		}
	}
	if (k->n)
		qsort(k->blocks, k->n, sizeof(*k->blocks), by_addr);
}

static void read_truth(const struct snapshot *s, taddr at, struct known *k)
{
	static struct truth t;

	memset(k, 0, sizeof(*k));
	if (snapshot_read(s, at, &t, sizeof(t)) < 0 || t.magic != TRUTH_MAGIC || t.slots % 256 ||
	    t.nnotes > TRUTH_NOTES) {
		errno = EINVAL;
		die("the truth");
	}
	read_table(s, &t, k);
	for (size_t i = 0; i < t.nnotes; i++) {
		if (!t.notes[i].busy)
			continue;
		k->busy++;
		if (t.notes[i].addr)
			k->going[k->ngoing++] = t.notes[i].addr;
	}
}

static bool is_going(const struct known *k, uint64_t addr)
{
	for (size_t i = 0; i < k->ngoing; i++)
		if (k->going[i] == addr)
			return true;
	return false;
}

/* The same, if it was given out by an address inside of it. */
static bool is_going_inside(const struct census *c, const struct known *k, const struct block *b)
{
	for (size_t i = 0; i < k->ngoing; i++)
		if (k->going[i] > b->addr && block_holds(b, k->going[i]) && census_is_inner(c, k->going[i]))
			return true;
	return false;
}

struct difference {
	uint64_t missing, wrong_size, extra;
	uint64_t examples[3][EXAMPLES];
};

static void note(uint64_t *n, uint64_t *examples, uint64_t addr)
{
	if (*n < EXAMPLES)
		examples[*n] = addr;
	++*n;
}

/* Is @is the block @seen, which was given out by an address inside of it? */
static bool is_inner(const struct census *c, const struct block *seen, const struct truth_block *is)
{
	return seen->addr < is->addr && is->addr + is->size == seen->addr + seen->size &&
	       census_is_inner(c, is->addr);
}

static void compare(const struct census *c, const struct known *k, struct difference *d)
{
	size_t i = 0, j = 0;

	memset(d, 0, sizeof(*d));
	while (i < c->nblocks || j < k->n) {
		const uint64_t seen = i < c->nblocks ? c->blocks[i].addr : UINT64_MAX,
			       is = j < k->n ? k->blocks[j].addr : UINT64_MAX;

		if (i < c->nblocks && j < k->n && is_inner(c, &c->blocks[i], &k->blocks[j])) {
			i++;
			j++;
			continue;
		}
		if (seen < is && !is_going(k, seen) && !is_going_inside(c, k, &c->blocks[i]))
			note(&d->extra, d->examples[2], seen);
		if (is < seen && !is_going(k, is))
			note(&d->missing, d->examples[0], is);
		if (is == seen && c->blocks[i].size != k->blocks[j].size)
			note(&d->wrong_size, d->examples[1], is);
		i += seen <= is;
		j += is <= seen;
	}
}

/* --- output --- */

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		putchar(*text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? '?' : *text);
	putchar('"');
}

static void print_sum(const char *name, const struct census_sum *s)
{
	printf(", \"%s\": [%" PRIu64 ", %" PRIu64 "]", name, s->blocks, s->bytes);
}

static void print_arenas(const struct census *c)
{
	printf(", \"arenas\": [");
	for (size_t i = 0; i < c->narenas; i++) {
		const struct census_arena *a = &c->arenas[i];

		printf("%s{\"allocator\": \"%s\", \"at\": %" PRIu64 ", \"system\": %" PRIu64 ", \"walked\": %" PRIu64
		       ", \"top\": %" PRIu64 ", \"other\": %" PRIu64,
		       i ? ", " : "", a->allocator, a->at, a->system_bytes, a->walked_bytes, a->top_bytes, a->other_bytes);
		print_sum("used", &a->used);
		print_sum("fast", &a->fast);
		print_sum("tcache", &a->tcache);
		print_sum("bins", &a->bins);
		putchar('}');
	}
	putchar(']');
}

static void print_blocks(const char *name, const struct block *b, size_t n)
{
	printf(", \"%s\": [", name);
	for (size_t i = 0; i < n; i++)
		printf("%s[%" PRIu64 ", %" PRIu64 "]", i ? ", " : "", b[i].addr, b[i].size);
	putchar(']');
}

static void print_difference(const struct difference *d, const struct known *k)
{
	static const char *const names[] = { "missing", "wrong_size", "extra" };
	const uint64_t n[] = { d->missing, d->wrong_size, d->extra };

	printf(", \"truth\": {\"blocks\": %zu, \"busy\": %" PRIu64 ", \"going\": %zu, \"allowed\": %" PRIu64,
	       k->n, k->busy, k->ngoing, k->busy * in_hand);
	for (unsigned i = 0; i < 3; i++) {
		printf(", \"%s\": %" PRIu64 ", \"%s_at\": [", names[i], n[i], names[i]);
		for (unsigned j = 0; j < n[i] && j < EXAMPLES; j++)
			printf("%s%" PRIu64, j ? ", " : "", d->examples[i][j]);
		putchar(']');
	}
	putchar('}');
}

static void print_census(const struct census *c, const struct snapshot *s, double seconds, int tries)
{
	printf("{\"known\": %s, \"layout\": ", c->known ? "true" : "false");
	print_text(c->layout);
	printf(", \"problems\": %zu, \"problem_at\": %" PRIu64 ", \"problem\": ", c->nproblems, c->problem.at);
	print_text(c->problem.what);
	printf(", \"doubt_at\": %" PRIu64 ", \"doubt\": ", c->doubt.at);
	print_text(c->doubt.what);
	printf(", \"unread\": ");
	print_text(c->unread);
	printf(", \"adds_up\": %s, \"tries\": %d, \"seconds\": %.6f, \"threads\": %zu, \"bytes\": %" PRIu64
	       ", \"blocks\": %zu",
	       census_adds_up(c) ? "true" : "false", tries, seconds, s->nthreads, s->bytes, c->nblocks);
	printf(", \"main_arena\": %" PRIu64 ", \"own\": %zu, \"areas\": %zu, \"mmapped_claimed\": [%" PRId64
	       ", %" PRId64 "], \"foreign\": %" PRIu64 ", \"unseen\": %" PRIu64
	       ", \"repaired\": %zu, \"between\": %zu",
	       c->narenas ? c->arenas[0].at : 0, c->nown, c->nareas, (int64_t)c->mmapped_chunks_claimed,
	       (int64_t)c->mmapped_claimed, c->foreign_bytes, c->unseen_bytes, c->repaired, c->between);
	print_sum("mmapped", &c->mmapped);
	print_arenas(c);
}

struct wish {
	pid_t pid;
	const char *core, *image;
	taddr truth;
	unsigned stops, retries, steps, times, flips;
	bool blocks;
};

/* Of the processor: other programs may take it meanwhile. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- as an image for the fuzzer --- */

static void put(FILE *f, char tag, const void *record, size_t n)
{
	if (fputc(tag, f) == EOF || fwrite(record, n, 1, f) != 1)
		die("the image");
}

/* Runs of words that are not 0. */
static void dump_words(FILE *f, const struct snapshot *s, taddr lo, taddr hi)
{
	uint64_t words[512];

	for (taddr at = lo; at < hi;) {
		unsigned n = 0;

		while (n < 512 && at + 8 * n < hi && snapshot_word(s, at + 8 * n, &words[n]) == 0 && words[n])
			n++;
		if (n) {
			const struct image_words w = { at, (uint16_t)n };

			put(f, IMAGE_WORDS, &w, sizeof(w));
			if (fwrite(words, 8, n, f) != n)
				die("the image");
		}
		at += 8 * (n ? n : 1);
	}
}

static void dump_range(FILE *f, const struct snapshot *s, const struct mapping *m, taddr lo, taddr hi)
{
	const struct image_mapping im = { lo, (uint16_t)((hi - lo) / SNAPSHOT_PAGE), (uint8_t)m->perms,
					  m->ino != 0 };

	put(f, IMAGE_MAPPING, &im, sizeof(im));
	dump_words(f, s, lo, hi);
}

static bool has_area(const struct census *c, const struct mapping *m)
{
	for (size_t i = 0; i < c->nareas; i++)
		if (c->areas[i].lo < m->hi && m->lo < c->areas[i].hi)
			return true;
	return false;
}

/* Write the memory of malloc, and the threads' pointers to their caches. */
static void dump(const struct snapshot *s, const struct census *c, const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		die(path);
	for (size_t i = 0; i < s->maps.n; i++) {
		const struct mapping *m = &s->maps.maps[i];
		bool whole = has_area(c, m) || (c->narenas && c->arenas[0].at >= m->lo && c->arenas[0].at < m->hi);

		if (!(m->perms & MAPPING_WRITE))
			continue;
		if (whole)
			dump_range(f, s, m, m->lo, m->hi);
		for (size_t k = 0; k < s->nthreads && !whole; k++) {
			const taddr fs = s->threads[k].regs.fs_base;

			if (fs > m->lo && fs < m->hi)
				dump_range(f, s, m, (fs - 200) & ~4095ull, (fs & ~4095ull) + 4096);
		}
	}
	for (size_t k = 0; k < s->nthreads; k++) {
		const struct user_regs_struct *r = &s->threads[k].regs;
		const struct image_thread t = { r->orig_rax, r->fs_base, r->rsp, r->rax, r->rbx, r->rbp };

		put(f, IMAGE_THREAD, &t, sizeof(t));
	}
	if (fclose(f))
		die(path);
}

/* --- instruction by instruction --- */

/* Sums over all single steps. */
struct stepped {
	uint64_t steps, busy, wrong, repaired, not_adding_up, most_extra;
	struct addrmap seen;		/* with -u: how often the census was taken at an instruction */
};

/* Is any thread in malloc? Otherwise the heap does not change. */
static bool any_busy(const struct wish *w)
{
	static struct truth t;
	/* as many notes as there are threads in such a test */
	const size_t n = offsetof(struct truth, notes) + 64 * sizeof(t.notes[0]);
	struct iovec here = { &t, n }, there = { (void *)w->truth, n };

	if (process_vm_readv(w->pid, &here, 1, &there, 1, 0) != (ssize_t)n || t.nnotes > 64)
		die("the truth");
	for (size_t i = 0; i < t.nnotes; i++)
		if (t.notes[i].busy)
			return true;
	return false;
}

static bool is_wanted(const struct wish *w, struct stepped *out, taddr rip)
{
	uint64_t *times;

	if (!w->times)
		return true;
	times = addrmap_slot(&out->seen, rip, NULL);
	if (!times)
		die("memory");
	return (*times)++ < w->times;
}

static void step_once(const struct wish *w, const struct snapshot_thread *threads, size_t n, struct stepped *out)
{
	struct snapshot s;
	struct census c;
	struct known k;
	struct difference d;

	snapshot_init(&s);
	for (size_t i = 0; i < n; i++)
		if (snapshot_add_thread(&s, &threads[i]) < 0)
			die("memory");
	copy_memory(w->pid, &s);
	if (census_take(&s, &c) < 0)
		die("census");
	read_truth(&s, w->truth, &k);
	compare(&c, &k, &d);
	out->steps++;
	out->busy += k.busy;
	out->repaired += c.repaired;
	out->not_adding_up += !census_adds_up(&c);
	if (d.extra > out->most_extra)
		out->most_extra = d.extra;
	/* a census that reports that it does not add up is not wrong, but must be rare */
	if (!c.known || (census_adds_up(&c) && (d.missing || d.wrong_size || d.extra > k.busy * in_hand))) {
		out->wrong++;
		print_census(&c, &s, 0, 1);
		print_difference(&d, &k);
		printf(", \"step\": %" PRIu64 ", \"rip\": %" PRIu64 "}\n", out->steps,
		       (uint64_t)threads[n - 1].regs.rip);
	}
	free(k.blocks);
	census_fini(&c);
	snapshot_fini(&s);
}

/* The thread that was started last runs by single steps; the others are stopped. */
static void step(const struct wish *w)
{
	struct snapshot all;
	struct snapshot_thread *t;
	struct stepped out = { 0 };

	addrmap_init(&out.seen, sizeof(uint64_t));
	snapshot_init(&all);
	stop_all(w->pid, &all);
	t = &all.threads[all.nthreads - 1];
	for (unsigned i = 0; i < w->steps; i++) {
		struct iovec regs = { &t->regs, sizeof(t->regs) };
		int status;

		if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0) < 0 ||
		    waitpid(t->tid, &status, __WALL) != t->tid || !WIFSTOPPED(status))
			die("step");
		if (ptrace(PTRACE_GETREGSET, t->tid, 1, &regs) < 0)
			die("registers");
		t->sp = t->regs.rsp;
		if (any_busy(w) && is_wanted(w, &out, t->regs.rip))
			step_once(w, all.threads, all.nthreads, &out);
	}
	let_go(&all);
	snapshot_fini(&all);
	addrmap_fini(&out.seen);
	printf("{\"steps\": %" PRIu64 ", \"busy\": %" PRIu64 ", \"wrong\": %" PRIu64
	       ", \"repaired\": %" PRIu64 ", \"not_adding_up\": %" PRIu64 ", \"most_extra\": %" PRIu64 "}\n",
	       out.steps, out.busy, out.wrong, out.repaired, out.not_adding_up, out.most_extra);
}

/* --- a byte at a time --- */

static uint64_t below(uint64_t n)
{
	static uint64_t rng = 88172645463325252u;

	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

/* A byte that is the allocator's own, as likely as not one that matters. */
static taddr any_place(const struct census *c)
{
	const struct census_area *area = &c->areas[below(c->nareas)];
	const struct census_arena *arena = &c->arenas[below(c->narenas)];

	switch (below(4)) {
	case 0: return c->blocks[below(c->nblocks)].addr - 8 + below(8);
	case 1: return arena->at + below(arena->state_bytes ? arena->state_bytes : 8);
	case 2: return area->lo + below(area->hi - area->lo < 4096 ? area->hi - area->lo : 4096);
	default: return area->lo + below(area->hi - area->lo);
	}
}

/* The byte at @at in the copy; NULL: it is not there, or a block's. */
static uint8_t *own_byte(const struct snapshot *s, const struct census *c, taddr at)
{
	uint64_t n;
	const uint8_t *byte = snapshot_bytes(s, at, &n);

	return n && block_over(c->blocks, c->nblocks, at) == c->nblocks ? (uint8_t *)(uintptr_t)byte : NULL;
}

static bool in_order(const struct census *c)
{
	for (size_t i = 1; i < c->nblocks; i++)
		if (c->blocks[i].addr < c->blocks[i - 1].addr + c->blocks[i - 1].size ||
		    c->blocks[i].addr == c->blocks[i - 1].addr)
			return false;
	for (size_t i = 1; i < c->nareas; i++)
		if (c->areas[i].lo < c->areas[i - 1].hi)
			return false;
	return true;
}

struct flipped {
	uint64_t flips, noticed, unnoticed, resized, disorder;
	taddr example;
};

static void flip_once(const struct snapshot *s, const struct known *k, uint8_t *byte, taddr at, struct flipped *f)
{
	const uint8_t was = *byte;
	struct census c;
	struct difference d;

	*byte ^= (uint8_t)(1 + below(255));
	if (census_take(s, &c) < 0)
		die("census");
	compare(&c, k, &d);
	f->flips++;
	f->noticed += !census_adds_up(&c);
	f->disorder += !in_order(&c);
	if (census_adds_up(&c) && (d.missing || d.extra)) {
		f->unnoticed++;
		f->example = at;
	}
	f->resized += census_adds_up(&c) && d.wrong_size && !d.missing && !d.extra;
	census_fini(&c);
	*byte = was;
}

static void flip(const struct wish *w)
{
	struct flipped f = { 0 };
	struct snapshot s;
	struct census c;
	struct known k;

	take_snapshot(w->pid, &s);
	if (census_take(&s, &c) < 0)
		die("census");
	read_truth(&s, w->truth, &k);
	for (unsigned tries = 0; f.flips < w->flips && tries < 20 * w->flips; tries++) {
		const taddr at = any_place(&c);
		uint8_t *byte = own_byte(&s, &c, at);

		if (byte)
			flip_once(&s, &k, byte, at, &f);
	}
	printf("{\"flips\": %" PRIu64 ", \"noticed\": %" PRIu64 ", \"unnoticed\": %" PRIu64 ", \"resized\": %" PRIu64
	       ", \"disorder\": %" PRIu64 ", \"example\": %" PRIu64 "}\n",
	       f.flips, f.noticed, f.unnoticed, f.resized, f.disorder, f.example);
	free(k.blocks);
	census_fini(&c);
	snapshot_fini(&s);
}

static void once(const struct wish *w)
{
	struct snapshot s;
	struct core_info info;
	struct census c;
	double began;

	for (unsigned tries = 1;; tries++) {
		if (!w->core)
			take_snapshot(w->pid, &s);
		else if (core_open(w->core, &s, &info) < 0)
			die(info.why);
		began = now();
		if (census_take(&s, &c) < 0)
			die("census");
		if (census_adds_up(&c) || tries > w->retries) {
			print_census(&c, &s, now() - began, (int)tries);
			break;
		}
		census_fini(&c);
		snapshot_fini(&s);
		usleep(SCAN_GO_ON_US * tries);	/* as a scan does */
	}
	if (w->truth) {
		struct known k;
		struct difference d;

		read_truth(&s, w->truth, &k);
		compare(&c, &k, &d);
		print_difference(&d, &k);
		free(k.blocks);
	}
	if (w->image)
		dump(&s, &c, w->image);
	if (w->blocks) {
		print_blocks("list", c.blocks, c.nblocks);
		print_blocks("own_list", c.own, c.nown);
	}
	puts("}");
	fflush(stdout);
	census_fini(&c);
	snapshot_fini(&s);
}

int main(int argc, char **argv)
{
	struct wish w = { .stops = 1 };
	int o;

	while ((o = getopt(argc, argv, "t:n:r:bc:s:u:f:d:g:")) != -1) {
		switch (o) {
		case 't': w.truth = strtoull(optarg, NULL, 0); break;
		case 'n': w.stops = (unsigned)strtoul(optarg, NULL, 0); break;
		case 'r': w.retries = (unsigned)strtoul(optarg, NULL, 0); break;
		case 's': w.steps = (unsigned)strtoul(optarg, NULL, 0); break;
		case 'u': w.times = (unsigned)strtoul(optarg, NULL, 0); break;
		case 'd': w.image = optarg; break;
		case 'f': w.flips = (unsigned)strtoul(optarg, NULL, 0); break;
		case 'g': in_hand = (unsigned)strtoul(optarg, NULL, 0); break;
		case 'b': w.blocks = true; break;
		case 'c': w.core = optarg; break;
		default: return 2;
		}
	}
	if (!w.core && optind < argc)
		w.pid = atoi(argv[optind]);
	if (!w.core && w.pid <= 0) {
		fputs("usage: censor [-t ADDRESS] [-n STOPS] [-r RETRIES] [-s STEPS [-u TIMES]] [-f FLIPS] [-b] "
		      "[-d IMAGE] PID | -c FILE\n",
		      stderr);
		return 2;
	}
	/* malloc reuses memory that is already touched for the next copy */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (w.steps) {
		step(&w);
		return 0;
	}
	if (w.flips) {
		flip(&w);
		return 0;
	}
	srand((unsigned)w.pid);
	for (unsigned i = 0; i < w.stops; i++) {
		/* at another moment each time, to find other states of the heap */
		if (i)
			usleep((useconds_t)(rand() % 3000));
		once(&w);
	}
	return 0;
}
