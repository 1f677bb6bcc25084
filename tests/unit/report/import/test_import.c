/* SPDX-License-Identifier: MIT */
/* import: the lines of mmleak and mtrace, as they are written and damaged, and what they add up to. */
#include "report/import/import.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "report/import/importer.h"
#include "report/import/textlines.h"

#define MAPS									\
	"00400000-00401000 r--p 00000000 fe:00 11 /bin/fixed\n"			\
	"00401000-00402000 r-xp 00001000 fe:00 11 /bin/fixed\n"			\
	"7f0000000000-7f0000001000 r--p 00000000 fe:00 22                         /lib/a b.so (deleted)\n" \
	"7f0000001000-7f0000002000 r-xp 00001000 fe:00 22                         /lib/a b.so (deleted)\n" \
	"7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n"			\
	"no line of the kernel's\n"						\
	"7f0000003000-7f0000004000 rw-p 00001000 fe:00 22                         /lib/a b.so (deleted)\n" \
	"7fff00000000-7fff00001000 rw-p 00000000 00:00 0                          [stack]\n"

static void mmleak_into(struct ledger *l, const char *text)
{
	assert_int_equal(import_mmleak_text(text, strlen(text), MAPS, strlen(MAPS), l), 0);
}

static void mtrace_into(struct ledger *l, const char *text)
{
	assert_int_equal(import_mtrace_text(text, strlen(text), l), 0);
}

static void check_totals(const struct ledger *l, uint64_t allocs, uint64_t frees, uint64_t blocks,
			 uint64_t bytes)
{
	assert_int_equal(l->allocs, allocs);
	assert_int_equal(l->frees, frees);
	assert_int_equal(l->held_blocks, blocks);
	assert_int_equal(l->held_bytes, bytes);
	assert_int_equal(l->undefined, 0);
	assert_int_equal(l->nonsense, 0);
	assert_true(l->ended);
}

/* The only frame of the stack with index @stack. */
static const struct defs_frame *frame_of(const struct ledger *l, uint32_t stack)
{
	uint32_t frame;

	assert_int_equal(defs_path(&l->defs, stack, &frame, 1), 1);
	return &l->defs.frames[frame];
}

static const struct defs_frame *find_frame(const struct ledger *l, taddr pc, uint32_t *stack)
{
	for (*stack = 0; *stack < l->defs.nstacks; ++*stack) {
		const struct defs_frame *f = frame_of(l, *stack);

		if (f->pc == pc)
			return f;
	}
	fail_msg("nobody called from %#lx", pc);
	return NULL;
}

static void check_place(struct ledger *l, taddr pc, uint64_t blocks, uint64_t bytes)
{
	const struct place *p;
	uint32_t stack;

	find_frame(l, pc, &stack);
	p = ledger_place(l, defs_family(&l->defs, 1), stack);
	assert_non_null(p);
	assert_int_equal(p->blocks, blocks);
	assert_int_equal(p->bytes, bytes);
}

static bool is_noted(const struct ledger *l, const char *part)
{
	for (size_t i = 0; i < l->nnotes; i++) {
		if (strstr(l->notes[i], part))
			return true;
	}
	return false;
}

static void mmleak_lines(void **state)
{
	struct ledger l;

	(void)state;
	mmleak_into(&l, "0x10 0x401100 100\n"
			"0x20 0x401100 50\n"
			"0x10 0x401200\n"
			"0x30 0x401300 18446744073709551615\n"
			"0x30 0x401300\n"
			"0x40 0x7f0000001234 0\n");
	check_totals(&l, 4, 2, 2, 50);
	check_place(&l, 0x401100, 1, 50);
	check_place(&l, 0x7f0000001234, 1, 0);
	assert_int_equal(l.counts[MMT_COUNT_EVENTS], 6);
	assert_string_equal(l.run.frontend, "mmleak");
	assert_string_equal(l.run.mode, "exact");
	assert_string_equal(l.target.exe, "/bin/fixed");
	assert_string_equal(l.target.comm, "fixed");
	assert_int_equal(l.nprobes, 2);
	assert_int_equal(l.probes[0].hits, 4);
	assert_int_equal(l.probes[1].hits, 2);
	ledger_fini(&l);
}

/* A free of a block older than the dump, and of one that was freed before. */
static void mmleak_releases(void **state)
{
	struct ledger l;

	(void)state;
	mmleak_into(&l, "0x10 0x401100\n"
			"0x20 0x401200 8\n"
			"0x20 0x401300\n"
			"0x20 0x401400\n"
			"0x20 0x401200 9\n");
	check_totals(&l, 2, 3, 1, 9);
	assert_int_equal(l.unmatched_frees, 1);
	assert_int_equal(l.double_frees, 1);
	assert_int_equal(l.ntwice, 1);
	assert_int_equal(l.twice[0].sample, 0x20);
	assert_int_equal(frame_of(&l, l.twice[0].second)->pc, 0x401400);
	assert_int_equal(frame_of(&l, l.twice[0].first)->pc, 0x401300);
	assert_int_equal(frame_of(&l, l.twice[0].alloc)->pc, 0x401200);
	ledger_fini(&l);
}

static void mmleak_oddities(void **state)
{
	cleanup_free char *text = NULL, *huge = malloc(3 * TEXTLINES_MAX + 1);
	struct ledger l;

	(void)state;
	assert_non_null(huge);
	memset(huge, '7', 3 * TEXTLINES_MAX);
	huge[3 * TEXTLINES_MAX] = '\0';
	assert_true(asprintf(&text,
			     "0x10 0x401100 5\n\n  \nrubbish\n0x10\n0x10 0x20 0x30\n0x1 0x2 3 4\n0x1 0x2 -3\n"
			     "0x11111111111111111 0x2 1\n0x1 0x2 18446744073709551616\n(nil) 0x401100 "
			     "7\n0x10 0x401100 6\n%s\n"
			     "0x20 0x401100 7\n0x30 0x401100 70",
			     huge) > 0);
	mmleak_into(&l, text);
	check_totals(&l, 3, 0, 2, 13);
	assert_true(is_noted(&l, "text:4: not a line that mmleak writes"));
	assert_true(is_noted(&l, "8 lines"));
	assert_true(is_noted(&l, "text: the last line is cut off"));
	assert_true(is_noted(&l, "1 calls got no memory"));
	assert_true(is_noted(&l, "1 blocks were given out again without a release"));
	ledger_fini(&l);
}

static const struct defs_module *module_of(const struct ledger *l, taddr pc)
{
	uint32_t stack, module = find_frame(l, pc, &stack)->module;

	return module == DEFS_NONE ? NULL : &l->defs.modules[module];
}

static void mmleak_modules(void **state)
{
	struct ledger l;

	(void)state;
	mmleak_into(&l, "0x10 0x401100 1\n0x20 0x7f0000001234 1\n0x30 0x7f0000003999 1\n0x40 0x7f0000002999 "
			"1\n0x50 0x402000 1\n");
	assert_int_equal(l.defs.nmodules, 2);
	assert_string_equal(module_of(&l, 0x401100)->path, "/bin/fixed");
	assert_int_equal(module_of(&l, 0x401100)->bias, 0);
	assert_string_equal(module_of(&l, 0x7f0000001234)->path, "/lib/a b.so (deleted)");
	assert_int_equal(module_of(&l, 0x7f0000001234)->bias, 0x7f0000000000);
	assert_ptr_equal(module_of(&l, 0x7f0000003999), module_of(&l, 0x7f0000001234));
	assert_null(module_of(&l, 0x7f0000002999));
	assert_null(module_of(&l, 0x402000));
	ledger_fini(&l);
}

static void mtrace_lines(void **state)
{
	struct ledger l;

	(void)state;
	mtrace_into(&l, "= Start\n"
			"@ ./a [x](y):[0x1100] + 0x10 0x20\n"
			"@ /lib/c.so:(_ZN1a1bEv+1a)[0x2100] + 0x20 0x6\n"
			"@ ./a [x](y):[0x1200] < 0x10\n"
			"@ /lib/c.so:(plain-0x4)[0x2200] + 0x10 0x7\n"
			"@ ./a [x](y):[0x1200] > 0x30 0x40\n"
			"@ ./a [x](y):[0x1200] ! 0x30 0x7fffffffffffffff\n"
			"@ [0x3100] + 0x40 0\n"
			"+ 0x50 0x9\n"
			"@ ./a [x](y):[0x1300] - 0x40\n"
			"@ ./a [x](y):[0x1300] - 0x60\n"
			"= End\n");
	check_totals(&l, 6, 3, 4, 0x6 + 0x7 + 0x40 + 0x9);
	assert_int_equal(l.unmatched_frees, 1);
	assert_int_equal(l.counts[MMT_COUNT_EVENTS], 8);
	check_place(&l, 0x1200, 1, 0x40);
	check_place(&l, 0, 1, 9);
	assert_string_equal(module_of(&l, 0x1100)->path, "./a [x](y)");
	assert_string_equal(module_of(&l, 0x2100)->path, "/lib/c.so");
	assert_int_equal(module_of(&l, 0x2100)->bias, 0);
	assert_null(module_of(&l, 0x3100));
	assert_int_equal(l.defs.nmodules, 2);
	assert_true(is_noted(&l, "1 calls got no memory"));
	ledger_fini(&l);
}

static void mtrace_symbols(void **state)
{
	const struct defs_frame *f;
	struct ledger l;
	uint32_t stack;

	(void)state;
	mtrace_into(&l, "@ /lib/c.so:(_ZN1a1bEv+1a)[0x2100] + 0x20 0x6\n"
			"@ /lib/c.so:(plain-0x4)[0x2200] + 0x10 0x7\n"
			"@ /lib/c.so:[0x2300] + 0x30 0x7\n");
	f = find_frame(&l, 0x2100, &stack);
	assert_int_equal(f->nnames, 1);
	assert_string_equal(l.defs.names[f->names].function, "a::b()");
	assert_string_equal(l.defs.names[f->names].linkage, "_ZN1a1bEv");
	f = find_frame(&l, 0x2200, &stack);
	assert_string_equal(l.defs.names[f->names].function, "plain");
	assert_null(l.defs.names[f->names].linkage);
	assert_int_equal(find_frame(&l, 0x2300, &stack)->nnames, 0);
	ledger_fini(&l);
}

/* realloc's lines are written at its end, and another thread may have used the old address before that. */
static void mtrace_overtaken(void **state)
{
	struct ledger l;

	(void)state;
	mtrace_into(&l, "@ a:[0x1] + 0x10 0x1\n"
			"@ a:[0x2] + 0x10 0x2\n"
			"@ a:[0x1] < 0x10\n"
			"@ a:[0x1] > 0x20 0x4\n"
			"@ a:[0x2] - 0x10\n");
	check_place(&l, 0x1, 1, 4);
	check_place(&l, 0x2, 0, 0);
	assert_int_equal(l.held_blocks, 1);
	assert_int_equal(l.unmatched_frees, 0);
	assert_int_equal(l.double_frees, 0);
	assert_false(is_noted(&l, "given out again"));
	ledger_fini(&l);
}

static void mtrace_oddities(void **state)
{
	struct ledger l;

	(void)state;
	mtrace_into(
		&l,
		"= Start\n@ a:[0x1]\n@ a:[0x1] \n@ a:[0x1] * 0x1\n@ a:[0x1] + 0x1\n@ a:[0x1] - 0x1 0x2\n@ "
		"a:[1] + 0x1 0x1\n"
		"@ a:0x1] + 0x1 0x1\n@ a:)[0x1] + 0x1 0x1\n@ a:(b+1)x[0x1] + 0x1 0x1\n@ a(b+1)[0x1] + 0x1 "
		"0x1\n@\n= Begin\n"
		"@ a:[0x1] + (nil) 0x5\n@ :[0x7] + 0x7 0x7\n@ a:()[0x8] + 0x8 0x8\n@ a:[(nil)] + 0x9 0x9\n");
	check_totals(&l, 3, 0, 3, 7 + 8 + 9);
	assert_true(is_noted(&l, "12 lines"));
	assert_null(module_of(&l, 7));
	assert_string_equal(module_of(&l, 8)->path, "a");
	ledger_fini(&l);
}

/* Text without a line of the format is not imported. */
static void refused(void **state)
{
	static const char *const texts[] = { "rubbish\n", "@ a:[0x1] + 0x1 0x1\n", "0x1 0x2 3", "\n" };
	struct ledger l;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(import_mmleak_text(texts[i], strlen(texts[i]), "", 0, &l), -EINVAL);
		ledger_fini(&l);
	}
	assert_int_equal(import_mtrace_text("0x1 0x2 3\n", 10, &l), -EINVAL);
	ledger_fini(&l);
}

static char folder[] = "/tmp/mm_import.XXXXXX";

static const char *file(char *path, const char *name, const char *text)
{
	sprintf(path, "%s/%s", folder, name);
	assert_int_equal(write_whole_file(path, text, strlen(text)), 0);
	return path;
}

static void check_refused(const char *const *paths, size_t n, const char *maps, int err)
{
	struct ledger l;

	assert_int_equal(import_mmleak(paths, n, maps, &l), err);
	ledger_fini(&l);
}

static void files(void **state)
{
	char a[64], b[64], c[64], maps[64];
	const char *paths[] = {
		file(a, "mmleak-my.host.77.0.out", "0x10 0x401100 1\n0x20 0x401100 2\n"),
		file(b, "mmleak-my.host.77.1.out", "0x10 0x401200\n0x30 0x401100 4\n"),
	};
	const char *odd[] = { a, file(c, "mmleak-my.host.78.0.out", "0x10 0x401100 1\n") };
	const char *folders[] = { folder }, *none[] = { "/nowhere" };
	struct ledger l;

	(void)state;
	assert_int_equal(import_mmleak(paths, 2, file(maps, "maps", MAPS), &l), 0);
	check_totals(&l, 3, 1, 2, 6);
	assert_int_equal(l.target.pid, 77);
	assert_string_equal(l.probes[0].module, "2 files");
	ledger_fini(&l);
	check_refused(odd, 2, NULL, -EINVAL);
	check_refused(folders, 1, NULL, -EINVAL);
	check_refused(none, 1, NULL, -ENOENT);
	check_refused(odd, 1, a, -EINVAL);
	assert_int_equal(import_mtrace(odd, 1, &l), -EINVAL);
	ledger_fini(&l);
	file(a, "mmleak-my.host.77.0.out", "");
	check_refused(paths, 1, NULL, -EINVAL);
	assert_int_equal(import_mmleak(paths, 2, NULL, &l), 0);
	check_totals(&l, 1, 1, 1, 4);
	ledger_fini(&l);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {
		"mmleak-my.host.77.0.out", "mmleak-my.host.77.1.out", "mmleak-my.host.78.0.out", "maps",
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sprintf(path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mmleak_lines),
		cmocka_unit_test(mmleak_releases),
		cmocka_unit_test(mmleak_oddities),
		cmocka_unit_test(mmleak_modules),
		cmocka_unit_test(mtrace_lines),
		cmocka_unit_test(mtrace_symbols),
		cmocka_unit_test(mtrace_overtaken),
		cmocka_unit_test(mtrace_oddities),
		cmocka_unit_test(refused),
		cmocka_unit_test_setup_teardown(files, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
