/* SPDX-License-Identifier: MIT */
/*
 * shrink, replay: random runs, cut into pieces at random places. Whichever way one comes from the pieces to a ledger (as
 * they are, each shrunken, shrunken together, shrunken again) it says the same.
 */
#include "report/shrink.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_fact.h"
#include "base/fdio.h"
#include "base/log.h"
#include "ledger_text.h"
#include "report/replay.h"
#include "trace/writer.h"

#define STACKS 20
#define FAMILIES 3
#define ADDRESSES 60
#define KEYS 5
#define PIECES_MAX 5
#define PATHS 4000

static char folder[] = "/tmp/test_shrink.XXXXXX";
static uint64_t rng;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

/* --- a run --- */

struct run {
	struct defs defs;
	struct ledger whole;		/* takes everything directly */
	struct writer *w;		/* of the piece */
	char paths[PIECES_MAX][80];
	uint32_t npieces, piece;
	uint64_t now, step;
	uint32_t family;
	bool held[FAMILIES][ADDRESSES];
	struct aside { bool open; uint32_t family; uint64_t k; bool held; } aside[KEYS];
	uint64_t events, ring, hits;
};

static void put(struct run *r, struct fact f)
{
	f.time_us = r->now;
	assert_int_equal(ledger_take(&r->whole, &f), 0);
	assert_int_equal(writer_put(r->w, &f), 0);
}

static struct fact info(uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what };
}

static void define(struct run *r, struct fact f)
{
	assert_int_equal(defs_take(&r->defs, &f), 0);
	assert_int_equal(ledger_take(&r->whole, &f), 0);
}

/* Stack i: a chain of i % 4 frames, the outer ones shared. Numbers in another order than one would define them. */
static void define_all(struct run *r)
{
	static const struct fact_name names[] = { { "inner", "_Z5inner", "a.c", 3, true }, { "outer", NULL, NULL, 0, false } };

	for (uint32_t i = 0; i < FAMILIES; i++) {
		struct fact f = info(MMT_FAMILY_NAME);
		f.family_name.number = i;
		f.family_name.name = i == 0 ? "libc" : i == 1 ? "dict" : "fd";
		define(r, f);
	}
	struct fact module = info(MMT_MODULE);
	module.module.path = "/bin/x";
	module.module.build_id = "ab";
	define(r, module);
	for (uint32_t i = 0; i < STACKS; i++) {
		struct fact frame = info(MMT_FRAME), node = info(MMT_NODE), stack = info(MMT_STACK), its = info(MMT_NAMES);

		frame.frame.number = i;
		frame.frame.module = i % 5 ? 1 : FACT_NONE;
		frame.frame.pc = 0x1000 + i / 2;
		frame.frame.exact = i % 2;
		define(r, frame);
		node.node.number = i + 1;
		node.node.caller = i % 4 ? i : 0;
		node.node.frame = i;
		define(r, node);
		stack.stack.number = i;
		stack.stack.node = i % 7 ? i + 1 : 0;
		stack.stack.end = i % 3;
		define(r, stack);
		if (i % 3 == 0)
			continue;
		its.names.frame = i;
		its.names.all = names;
		its.names.n = i % 3;
		define(r, its);
	}
}

static int put_both(struct run *r, struct writer *w, struct fact *f)
{
	int err = ledger_take(&r->whole, f);

	return err ? err : writer_put(w, f);
}

static int put_head(void *ctx, struct writer *w, uint32_t piece)
{
	static const char *const argv[] = { "svc", "" };
	struct run *r = ctx;
	struct fact run = info(MMT_RUN), target = info(MMT_TARGET), probe = info(MMT_PROBE);
	int err;

	(void)piece;
	run.time_us = target.time_us = probe.time_us = r->now;
	run.run = (struct fact_run){
		.id = { 1, 2, 3 }, .piece = r->npieces > 1 ? r->piece + 1 : 0, .start_ns = 77, .frontend = "ptrace",
		.mode = "exact", .writer = "test",
	};
	target.target.pid = 5;
	target.target.comm = "svc";
	target.target.argv = argv;
	target.target.argc = 2;
	probe.probe.number = 3;
	probe.probe.rule = "alloc malloc";
	err = put_both(r, w, &run);
	if (!err)
		err = put_both(r, w, &target);
	return err ? err : put_both(r, w, &probe);
}

static void begin_piece(struct run *r)
{
	struct writer_options opt = {
		.path = r->paths[r->piece], .defs = &r->defs, .run_tag = 5, .begin = put_head, .ctx = r,
	};

	snprintf(r->paths[r->piece], sizeof(r->paths[0]), "%s/%u.mmt", folder, r->piece);
	assert_int_equal(writer_open(&opt, &r->w), 0);
	/* the family goes on */
	put(r, (struct fact){ .kind = MMT_FAMILY, .family = r->family });
}

static void end_piece(struct run *r)
{
	assert_int_equal(writer_put_names(r->w), 0);
	assert_int_equal(writer_close(r->w), 0);
	r->piece++;
}

/* --- events --- */

static taddr address(uint64_t k)
{
	return 0x7f0000000000 + 48 * k;
}

static uint32_t any_stack_or_none(void)
{
	return rnd(3) ? 1 + (uint32_t)rnd(STACKS) : FACT_NONE;
}

static void put_alloc(struct run *r, uint64_t k)
{
	struct fact f = { .kind = MMT_ALLOC, .block = { .addr = address(k), .size = rnd(5000), .stack = (uint32_t)rnd(STACKS) } };

	if (rnd(50) == 0)
		f.block.size <<= 32;
	r->held[r->family][k] = true;
	put(r, f);
}

static void put_release(struct run *r, uint64_t k)
{
	struct fact f = { .kind = rnd(2) ? MMT_FREE : MMT_FREE_AT, .block = { .addr = address(k) } };

	f.block.stack = f.kind == MMT_FREE_AT ? (uint32_t)rnd(STACKS) : 0;
	r->held[r->family][k] = false;
	put(r, f);
}

static void put_unheld(struct run *r, uint64_t k)
{
	struct fact f = { .kind = rnd(2) ? MMT_OLD : MMT_TWICE, .block = { .addr = address(k), .stack = any_stack_or_none() } };

	if (f.kind == MMT_TWICE) {
		f.block.stack = 1 + (uint32_t)rnd(3);
		f.block.first = (uint32_t)rnd(3);
		f.block.alloc = (uint32_t)rnd(2);
		f.block.size = rnd(5) ? 0 : rnd(10);
	}
	put(r, f);
}

static void begin_aside(struct run *r, uint64_t k, uint64_t key)
{
	const struct fact f = { .kind = MMT_ASIDE, .block = { .addr = address(k), .key = key } };

	r->aside[key] = (struct aside){ true, r->family, k, r->held[r->family][k] };
	r->held[r->family][k] = false;
	put(r, f);
}

/* A block whose address was given away cannot come back. */
static void end_aside(struct run *r, uint64_t key)
{
	struct aside *a = &r->aside[key];
	bool *held = &r->held[a->family][a->k];
	bool back = !*held && rnd(2);
	const struct fact f = { .kind = back ? MMT_ASIDE_BACK : MMT_ASIDE_FREED, .block = { .key = key } };

	if (back)
		*held = a->held;
	a->open = false;
	put(r, f);
}

/* Now and then an end is lost. */
static void put_aside(struct run *r, uint64_t k, uint64_t key)
{
	if (r->aside[key].open && rnd(10))
		end_aside(r, key);
	else
		begin_aside(r, k, key);
}

static void put_number(struct run *r)
{
	struct fact f = info(MMT_COUNT);

	switch (rnd(5)) {
	case 0:
		f.count.which = MMT_COUNT_EVENTS;
		f.count.value = r->events += rnd(10);
		break;
	case 1:
		f = info(MMT_LOST);
		f.lost.reason = rnd(2) ? "ring full" : "size not read";
		f.lost.count = r->ring += rnd(3);
		break;
	case 2:
		f = info(MMT_HITS);
		f.hits.probe = 3;
		f.hits.hits = r->hits += rnd(100);
		break;
	case 3:
		f = info(MMT_GAP);
		f.gap.start_us = r->now;
		f.gap.length_us = rnd(1000);
		f.gap.why = "dropped";
		break;
	default:
		f = info(MMT_NOTE);
		f.note = rnd(2) ? "something" : "else";
	}
	put(r, f);
}

static void put_any(struct run *r)
{
	uint64_t k = rnd(ADDRESSES), what = rnd(100);

	r->now += rnd(r->step);
	if (what < 40)
		put_alloc(r, k);
	else if (what < 75)
		put_release(r, k);
	else if (what < 80)
		put_unheld(r, k);
	else if (what < 82)
		put(r, (struct fact){ .kind = MMT_FORGET, .block = { .addr = address(k) } });
	else if (what < 93)
		put_aside(r, k, rnd(KEYS));
	else if (what < 96)
		put(r, (struct fact){ .kind = MMT_FAMILY, .family = r->family = (uint32_t)rnd(FAMILIES) });
	else
		put_number(r);
}

/* Each piece has between no and some hundred events. */
static void make_run(struct run *r, uint64_t seed)
{
	rng = seed;
	*r = (struct run){ .npieces = 1 + (uint32_t)(seed % PIECES_MAX), .step = 1 + rnd(1 + rnd(200000)) };
	defs_init(&r->defs);
	assert_int_equal(ledger_init(&r->whole), 0);
	define_all(r);
	while (r->piece < r->npieces) {
		uint64_t n = rnd(4) ? rnd(300) : 0;

		begin_piece(r);
		while (n--)
			put_any(r);
		if (r->piece + 1 == r->npieces)
			put(r, info(MMT_END));
		end_piece(r);
	}
}

static void run_fini(struct run *r)
{
	defs_fini(&r->defs);
	ledger_fini(&r->whole);
}

/* --- ways to a ledger --- */

static char *read_files(const char *const *paths, size_t n)
{
	const struct replay_options opt = { 0 };
	struct ledger l;
	char *text;

	assert_int_equal(replay_files(paths, n, &opt, &l), 0);
	text = ledger_text(&l);
	assert_non_null(text);
	ledger_fini(&l);
	return text;
}

/* @paths as one file; its path. */
static char *shrink(const char *const *paths, size_t n)
{
	static unsigned number;
	const struct replay_options opt = { .keep_orphans = true };
	struct ledger l;
	char *out;

	assert_true(asprintf(&out, "%s/s%u.mmt", folder, number++ % PATHS) > 0);
	assert_int_equal(replay_files(paths, n, &opt, &l), 0);
	assert_int_equal(shrink_write(&l, out), 0);
	ledger_fini(&l);
	return out;
}

static void assert_same_text(const char *wanted, const char *text, const char *what, uint64_t seed)
{
	size_t line = 1, at = 0;

	if (strcmp(wanted, text) == 0)
		return;
	for (size_t i = 0; wanted[i] && wanted[i] == text[i]; i++) {
		if (wanted[i] == '\n') {
			line++;
			at = i + 1;
		}
	}
	fail_msg("run %lu, %s: line %zu: wanted %.300s\ncame %.300s", (unsigned long)seed, what, line, wanted + at, text + at);
}

static void assert_same(const char *wanted, const char *const *paths, size_t n, const char *what, uint64_t seed)
{
	char *text = read_files(paths, n);

	assert_same_text(wanted, text, what, seed);
	free(text);
}

/* Of the first @n of @paths: groups of neighbours, each shrunken. How many files it are then. */
static size_t shrink_some(const char *const *paths, size_t n, char **out)
{
	size_t files = 0;

	for (size_t i = 0; i < n;) {
		size_t together = 1 + rnd(n - i);

		out[files++] = shrink(paths + i, together);
		i += together;
	}
	return files;
}

static void shuffle(const char **paths, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = rnd(i);
		const char *p = paths[i - 1];

		paths[i - 1] = paths[k];
		paths[k] = p;
	}
}

static void free_all(char **paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
}

/* These files as they are, and shrunken in ever larger groups until there is one. */
static void assert_all_ways(const char *const *given, size_t n, uint64_t seed)
{
	const char *paths[PIECES_MAX];
	char *wanted = read_files(given, n), *files[2][PIECES_MAX];
	size_t count = n, round = 0;

	memcpy(paths, given, n * sizeof(*paths));
	shuffle(paths, n);
	assert_same(wanted, paths, n, "in another order", seed);
	memcpy(paths, given, n * sizeof(*paths));
	do {
		size_t before = count;

		count = shrink_some(paths, count, files[round % 2]);
		assert_same(wanted, (const char *const *)files[round % 2], count, "shrunken", seed);
		if (round)
			free_all(files[(round - 1) % 2], before);
		memcpy(paths, files[round % 2], count * sizeof(*paths));
		round++;
	} while (count > 1 || round < 2);
	free_all(files[(round - 1) % 2], count);
	free(wanted);
}

/* Some pieces alone, so that what came before is missing; and the first and the last, without what was between. */
static void assert_parts(const struct run *r, const char *const *paths, uint64_t seed)
{
	for (uint32_t i = 0; i < r->npieces; i++)
		assert_all_ways(&paths[i], 1 + rnd(r->npieces - i), seed);
	if (r->npieces > 2)
		assert_all_ways((const char *[]){ paths[0], paths[r->npieces - 1] }, 2, seed);
}

static void the_same_whichever_way(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		const char *paths[PIECES_MAX];
		struct run r;
		char *watched;

		make_run(&r, seed);
		for (uint32_t i = 0; i < r.npieces; i++)
			paths[i] = r.paths[i];
		watched = ledger_text(&r.whole);
		assert_same(watched, paths, r.npieces, "read", seed);
		assert_all_ways(paths, r.npieces, seed);
		assert_parts(&r, paths, seed);
		free(watched);
		run_fini(&r);
	}
}

/* --- facts as nobody writes them --- */

static void add_stacks(struct ledger *l)
{
	for (uint32_t i = 0; i < 8; i++) {
		const struct fact f = { .kind = MMT_INFO, .info = MMT_STACK, .stack = { i, 0, i % 5, FACT_NONE } };

		assert_int_equal(ledger_take(l, &f), 0);
	}
}

static void whatever_was_taken(void **state)
{
	const struct fact end = { .kind = MMT_INFO, .info = MMT_END };

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct ledger l;
		char *path, *wanted;
		uint64_t n;

		rng = seed;
		n = rnd(2000);
		assert_int_equal(ledger_init(&l), 0);
		add_stacks(&l);
		while (n--) {
			const struct fact f = any_fact(&rng);

			assert_int_equal(ledger_take(&l, &f), 0);
		}
		assert_int_equal(ledger_take(&l, &end), 0);
		l.run.piece = l.run.last = 0;
		assert_true(asprintf(&path, "%s/any.mmt", folder) > 0);
		assert_int_equal(shrink_write(&l, path), 0);
		wanted = ledger_text(&l);
		assert_same(wanted, (const char *const[]){ path }, 1, "any facts", seed);
		free(wanted);
		free(path);
		ledger_fini(&l);
	}
}

/* --- the file --- */

static void write_small(const char *path, int wanted)
{
	struct ledger l;

	assert_int_equal(ledger_init(&l), 0);
	assert_int_equal(shrink_write(&l, path), wanted);
	ledger_fini(&l);
}

static void what_cannot_be_written(void **state)
{
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/none/x.mmt", folder);
	write_small(path, -ENOENT);
}

static void a_device_stays_one(void **state)
{
	struct stat st;

	(void)state;
	write_small("/dev/null", 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* It may be the only copy of what was shrunken. */
static void the_old_file_stays_until_the_new_is_whole(void **state)
{
	char path[100], part[130], old[10] = { 0 };
	struct rlimit limit, small;
	struct stat st;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/old.mmt", folder);
	snprintf(part, sizeof(part), "%s.%d.part", path, (int)getpid());
	assert_int_equal(write_whole_file(path, "old", 3), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){ 20, limit.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	write_small(path, -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread_full(fd, old, sizeof(old), 0), 3);
	close(fd);
	assert_string_equal(old, "old");
	assert_int_equal(stat(part, &st), -1);
	write_small(path, 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 3);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(part, &st), -1);
}

/* Whatever is called as the new file is until it is whole. */
static void what_is_somebody_elses_stays(void **state)
{
	char path[100], part[130], plain[110], *data;
	size_t n;

	(void)state;
	snprintf(path, sizeof(path), "%s/mine.mmt", folder);
	snprintf(part, sizeof(part), "%s.%d.part", path, (int)getpid());
	snprintf(plain, sizeof(plain), "%s.part", path);
	assert_int_equal(write_whole_file(plain, "other", 5), 0);
	write_small(path, 0);
	assert_int_equal(read_whole_file(plain, 100, &data, &n), 0);
	assert_int_equal(n, 5);
	free(data);
	assert_int_equal(write_whole_file(part, "other", 5), 0);
	write_small(path, -EEXIST);
	assert_int_equal(read_whole_file(part, 100, &data, &n), 0);
	assert_int_equal(n, 5);
	free(data);
	assert_int_equal(unlink(part), 0);
}

static int make_folder(void **state)
{
	(void)state;
	log_set_quiet();
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_whichever_way),
		cmocka_unit_test(whatever_was_taken),
		cmocka_unit_test(what_cannot_be_written),
		cmocka_unit_test(a_device_stays_one),
		cmocka_unit_test(the_old_file_stays_until_the_new_is_whole),
		cmocka_unit_test(what_is_somebody_elses_stays),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
