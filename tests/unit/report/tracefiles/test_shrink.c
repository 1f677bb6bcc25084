/* SPDX-License-Identifier: MIT */
/*
 * shrink, replay: random runs, cut into pieces at random places. In whichever way the pieces are turned into
 * a ledger (as they are, each shrunken, shrunken together, shrunken again), the ledger is the same.
 */
#include "report/tracefiles/shrink.h"

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

#include "base/fdio.h"
#include "base/log.h"
#include "report/tracefiles/replay.h"
#include "tests/unit/any_fact.h"
#include "tests/unit/ledger_text.h"
#include "tests/unit/random_run.h"

#define PATHS 4000

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

/* Shrinks @paths to one file; returns its path. */
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
	fail_msg("run %lu, %s: line %zu: wanted %.300s\ncame %.300s", (unsigned long)seed, what, line,
		 wanted + at, text + at);
}

static void assert_same(const char *wanted, const char *const *paths, size_t n, const char *what,
			uint64_t seed)
{
	char *text = read_files(paths, n);

	assert_same_text(wanted, text, what, seed);
	free(text);
}

/* Shrinks the first @n of @paths in groups of neighbours; returns how many files there are then. */
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

/*
 * Some pieces alone, so that the earlier ones are missing; and the first and the last without those in
 * between.
 */
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

static void put_key(struct run *r, uint32_t kind, uint64_t key)
{
	put(r, (struct fact){ .kind = kind, .block = { .addr = address(0), .key = key } });
}

/*
 * A block of an earlier piece comes back to its address while another block there is put aside, live or not.
 */
static void back_while_put_aside(void **state)
{
	(void)state;
	for (int held = 0; held < 2; held++) {
		char *files[2], *wanted;
		struct run r;

		run_init(&r, 2);
		begin_piece(&r);
		put_alloc(&r, 0);
		end_piece(&r);
		begin_piece(&r);
		put_key(&r, MMT_ASIDE, 4);
		put_release(&r, 0);
		if (held)
			put_alloc(&r, 0);
		put_key(&r, MMT_ASIDE, 2);
		put_key(&r, MMT_ASIDE_BACK, 4);
		put(&r, info(MMT_END));
		end_piece(&r);
		assert_int_equal(r.whole.held_blocks, 1);
		files[0] = shrink((const char *const[]){ r.paths[0] }, 1);
		files[1] = shrink((const char *const[]){ r.paths[1] }, 1);
		wanted = ledger_text(&r.whole);
		assert_same(wanted, (const char *const *)files, 2, "shrunken", (uint64_t)held);
		free_all(files, 2);
		free(wanted);
		run_fini(&r);
	}
}

/* --- facts as no writer writes them --- */

static void add_stacks(struct ledger *l)
{
	for (uint32_t i = 0; i < 8; i++) {
		const struct fact f = { .kind = MMT_INFO, .info = MMT_STACK,
					.stack = { i, 0, i % 5, FACT_NONE } };

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

/* An object that was used by more stacks than fit into one record. */
static void an_object_of_many_stacks(void **state)
{
	const struct fact family = {
		.kind = MMT_INFO, .info = MMT_FAMILY_NAME,
		.family_name = { .number = 0, .name = "dict", .refs = true },
	};
	const struct fact end = { .kind = MMT_INFO, .info = MMT_END };
	char path[60], *wanted;
	struct ledger l;

	(void)state;
	snprintf(path, sizeof(path), "%s/many.mmt", folder);
	assert_int_equal(ledger_init(&l), 0);
	assert_int_equal(ledger_take(&l, &family), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		const struct fact stack = { .kind = MMT_INFO, .info = MMT_STACK,
					    .stack = { 9000 - i, 0, i % 5, FACT_NONE } };
		const struct fact ref = {
			.kind = i % 3 ? MMT_REF : MMT_UNREF, .time_us = 5 + i,
			.ref = { .addr = 0x5000 + i % 2 * 64, .stack = 9000 - i, .by = 1 + i % 7,
				 .count = i % 2 ? FACT_NONE : 9 },
		};

		assert_int_equal(ledger_take(&l, &stack), 0);
		assert_int_equal(ledger_take(&l, &ref), 0);
	}
	assert_int_equal(ledger_take(&l, &end), 0);
	assert_int_equal(ledger_object(&l, 0, 0x5000)->nuses, 2500);
	assert_int_equal(shrink_write(&l, path), 0);
	wanted = ledger_text(&l);
	assert_same(wanted, (const char *const[]){ path }, 1, "many stacks", 0);
	free(wanted);
	ledger_fini(&l);
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

/* A foreign file with the temporary name of the new file is left alone. */
static void a_foreign_file_stays(void **state)
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
		cmocka_unit_test(back_while_put_aside),
		cmocka_unit_test(whatever_was_taken),
		cmocka_unit_test(an_object_of_many_stacks),
		cmocka_unit_test(what_cannot_be_written),
		cmocka_unit_test(a_device_stays_one),
		cmocka_unit_test(the_old_file_stays_until_the_new_is_whole),
		cmocka_unit_test(a_foreign_file_stays),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
