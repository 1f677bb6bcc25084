/* SPDX-License-Identifier: MIT */
/* core: cores made by hand: what is in them, what is not, and files that are not cores. */
#include "heap/snapshot/core.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/core_image.h"
#include "tests/unit/folder.h"

#define P 4096u
#define HEAP 0x10000000ull
#define TEXT 0x400000ull
#define STACK 0x7ff000000000ull

static uint8_t page[8 * P];
static const uint8_t zeros[P];
static struct core_image image;
static struct snapshot s;
static struct core_info info;

static int setup(void **state)
{
	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = (uint8_t)(i * 11 + i / 256 + 1);
	core_begin(&image);
	return folder_enter(state);
}

static int teardown(void **state)
{
	snapshot_fini(&s);
	return folder_leave(state);
}

static void opens(void)
{
	int err = core_open("core", &s, &info);

	if (err)
		print_error("%d: %s\n", err, info.why);
	assert_int_equal(err, 0);
	assert_true(s.sealed);
	assert_string_equal(info.why, "");
}

static void write_and_open(void)
{
	core_place(&image, 0);
	core_write(&image, "core");
	opens();
}

static void reads(taddr at, size_t n, const void *expected)
{
	static uint8_t got[sizeof(page)];

	assert_int_equal(snapshot_read(&s, at, got, n), 0);
	assert_memory_equal(got, expected, n);
}

static void doubts(size_t n, const char *first)
{
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(core_doubts(&info, &sb), n);
	if (first)
		assert_string_equal(strbuf_str(&sb), first);
	strbuf_fini(&sb);
}

/* An ordinary process: text of a file, its data, a heap, a guard, a stack; two threads. */
static void ordinary(void)
{
	static const struct core_line lines[] = {
		{ TEXT, TEXT + 2 * P, 0, "/bin/x" }, { TEXT + 2 * P, TEXT + 3 * P, 2, "/bin/x" },
	};
	struct elf_prpsinfo ps = { .pr_pid = 77, .pr_fname = "sixteen-letters", .pr_psargs = "x -v" };
	Elf64_auxv_t auxv[] = { { AT_PHDR, { TEXT + 64 } },
				{ AT_ENTRY, { TEXT + 0x800 } },
				{ AT_RANDOM, { STACK + 8 } },
				{ AT_NULL, { 0 } } };
	int32_t sig[32] = { SIGSEGV, 0, 1, 0, 0x1234 };
	uint8_t xstate[832];

	memset(xstate, 0x5a, sizeof(xstate));
	core_thread(&image, 77, STACK + 0x100, 0x1111);
	core_note(&image, "CORE", NT_PRPSINFO, &ps, sizeof(ps));
	core_note(&image, "CORE", NT_SIGINFO, sig, sizeof(sig));
	core_note(&image, "CORE", NT_AUXV, auxv, sizeof(auxv));
	core_files(&image, lines, 2);
	core_note(&image, "CORE", NT_FPREGSET, page, 512);
	core_note(&image, "LINUX", NT_X86_XSTATE, xstate, sizeof(xstate));
	core_thread(&image, 78, STACK + 0x200, 0x2222);
	core_note(&image, "CORE", NT_FPREGSET, page, 512);
	core_load(&image, TEXT, 2 * P, P, PF_R | PF_X, page);
	core_load(&image, TEXT + 2 * P, P, P, PF_R | PF_W, page + P);
	core_load(&image, HEAP, 2 * P, 2 * P, PF_R | PF_W, page + 2 * P);
	core_load(&image, HEAP + 2 * P, P, 0, 0, NULL);
	core_load(&image, STACK, P, P, PF_R | PF_W, page + 4 * P);
}

static void test_ordinary(void **state)
{
	(void)state;
	ordinary();
	write_and_open();
	assert_int_equal(s.pid, 77);
	assert_false(s.live);
	assert_string_equal(s.comm, "sixteen-letters");
	assert_string_equal(info.args, "x -v");
	assert_string_equal(info.exe, "/bin/x");
	assert_int_equal(info.signal, SIGSEGV);
	assert_int_equal(info.code, 1);
	assert_int_equal(info.fault, 0x1234);
	assert_int_equal(info.entry, TEXT + 0x800);
	assert_int_equal(info.size, info.whole);
	assert_int_equal(info.damaged, 0);
	assert_int_equal(s.missing, 0);
	reads(TEXT, P, page);
	reads(TEXT + 2 * P, P, page + P);
	reads(HEAP, 2 * P, page + 2 * P);
	reads(STACK, P, page + 4 * P);
	assert_int_equal(s.bytes, 5 * P);
	assert_int_equal(snapshot_kind_at(&s, TEXT + P), SNAPSHOT_FILE);
	assert_int_equal(snapshot_kind_at(&s, HEAP + 2 * P), SNAPSHOT_ZERO);
	assert_int_equal(snapshot_kind_at(&s, HEAP + 3 * P), SNAPSHOT_NOTHING);
	doubts(0, NULL);
}

static void test_threads(void **state)
{
	(void)state;
	ordinary();
	write_and_open();
	assert_int_equal(s.nthreads, 2);
	assert_int_equal(s.threads[0].tid, 77);
	assert_true(s.threads[0].known);
	assert_int_equal(s.threads[0].sp, STACK + 0x100);
	assert_int_equal(s.threads[0].regs.fs_base, 0x1111);
	assert_int_equal(s.threads[0].nvectors, 832);
	assert_int_equal(s.threads[0].vectors[831], 0x5a);
	assert_int_equal((uintptr_t)s.threads[0].vectors % 8, 0);
	assert_int_equal(s.threads[1].tid, 78);
	assert_int_equal(s.threads[1].regs.rsp, STACK + 0x200);
	assert_int_equal(s.threads[1].nvectors, 512);
	assert_memory_equal(s.threads[1].vectors, page, 512);
}

static void test_mappings(void **state)
{
	(void)state;
	ordinary();
	write_and_open();
	assert_int_equal(s.maps.n, 5);
	assert_string_equal(s.maps.maps[0].path, "/bin/x");
	assert_int_equal(s.maps.maps[0].perms, MAPPING_READ | MAPPING_EXEC);
	assert_int_equal(s.maps.maps[1].offset, 2 * P);
	assert_true(s.maps.maps[0].ino && s.maps.maps[0].ino == s.maps.maps[1].ino);
	assert_string_equal(s.maps.maps[2].path, "");
	assert_int_equal(s.maps.maps[2].ino, 0);
	assert_int_equal(s.maps.maps[3].perms, 0);
	assert_string_equal(s.maps.maps[4].path, "[stack]");
}

/* gdb writes no segment for what it leaves out, but NT_FILE names it; its segments may lie anywhere. */
static void test_files_without_segments(void **state)
{
	static const struct core_line lines[] = {
		{ TEXT, TEXT + P, 0, "/bin/x" },
		{ TEXT + P, TEXT + 4 * P, 1, "/bin/x" },
		{ TEXT + 8 * P, TEXT + 9 * P, 0, "/dev/shm/y" },
		{ TEXT + 10 * P, TEXT + 11 * P, 0, "/anon_hugepage (deleted)" },
	};

	(void)state;
	core_files(&image, lines, 4);
	core_load(&image, TEXT, P, P, PF_R, page);
	/* in the middle of a file's mapping */
	core_load(&image, TEXT + 2 * P, P, P, PF_R | PF_W, page + P);
	core_load(&image, TEXT + 8 * P, P, 0, PF_R | PF_W, NULL);
	core_load(&image, TEXT + 10 * P, P, 0, PF_R | PF_W, NULL);
	write_and_open();
	assert_int_equal(s.maps.n, 6);
	assert_int_equal(s.maps.maps[1].lo, TEXT + P);
	assert_int_equal(s.maps.maps[1].perms, MAPPING_READ);
	assert_int_equal(s.maps.maps[2].offset, 2 * P);
	assert_int_equal(s.maps.maps[2].perms, MAPPING_READ | MAPPING_WRITE);
	assert_int_equal(s.maps.maps[3].offset, 3 * P);
	assert_int_equal(snapshot_kind_at(&s, TEXT + 3 * P), SNAPSHOT_FILE);
	assert_int_equal(s.maps.maps[4].perms, MAPPING_READ | MAPPING_WRITE | MAPPING_SHARED);
	assert_int_equal(snapshot_kind_at(&s, TEXT + 8 * P), SNAPSHOT_MISSING);
	assert_int_equal(snapshot_kind_at(&s, TEXT + 10 * P), SNAPSHOT_MISSING);
	assert_int_equal(s.missing, P);
	reads(TEXT + 2 * P, P, page + P);
}

static void test_left_out(void **state)
{
	static const struct core_line lines[] = { { TEXT, TEXT + 4 * P, 0, "/bin/x" } };

	(void)state;
	core_files(&image, lines, 1);
	core_load(&image, TEXT, 4 * P, 0, PF_R | PF_W, NULL);
	core_load(&image, HEAP, 4 * P, 0, PF_R | PF_W, NULL);
	core_load(&image, HEAP + 4 * P, P, 0, PF_R, NULL);
	core_load(&image, HEAP + 5 * P, P, 0, 0, NULL);
	core_thread(&image, 1, STACK, 0);
	core_load(&image, STACK, P, P, PF_R | PF_W, page);
	write_and_open();
	assert_false(info.no_private);
	assert_int_equal(info.left_out, 4 * P);
	assert_int_equal(info.unwritten, 4 * P);
	assert_int_equal(s.missing, 4 * P);
	assert_int_equal(snapshot_kind_at(&s, TEXT), SNAPSHOT_FILE);
	assert_int_equal(snapshot_kind_at(&s, HEAP), SNAPSHOT_MISSING);
	assert_int_equal(snapshot_kind_at(&s, HEAP + 4 * P), SNAPSHOT_MISSING);
	assert_int_equal(snapshot_kind_at(&s, HEAP + 5 * P), SNAPSHOT_ZERO);
	doubts(1, "16384 bytes of private memory are not in the core file: never touched, or kept out of it "
		  "(MADV_DONTDUMP)");
}

/*
 * coredump_filter 0: the thread's own stack is not there, so a missing page of a file may have been written
 * to.
 */
static void test_without_private_memory(void **state)
{
	static const struct core_line lines[] = { { TEXT, TEXT + P, 0, "/bin/x" } };

	(void)state;
	core_thread(&image, 1, STACK + 0x80, 0);
	core_files(&image, lines, 1);
	core_load(&image, TEXT, P, 0, PF_R | PF_W, NULL);
	core_load(&image, STACK, P, 0, PF_R | PF_W, NULL);
	write_and_open();
	assert_true(info.no_private);
	assert_int_equal(snapshot_kind_at(&s, TEXT), SNAPSHOT_MISSING);
	assert_int_equal(s.missing, 2 * P);
	doubts(2, "the core file was written without the process's own memory (its coredump_filter)");
}

/* Holes of the core file are not pieces, except in a file's mapping: there the zeros are real contents. */
static void test_sparse(void **state)
{
	static const struct core_line lines[] = { { TEXT, TEXT + 64 * P, 0, "/bin/x" } };
	uint64_t n;
	int fd;

	(void)state;
	core_files(&image, lines, 1);
	core_load(&image, TEXT, 64 * P, 64 * P, PF_R, NULL);
	core_load(&image, HEAP, 64 * P, 64 * P, PF_R | PF_W, NULL);
	core_place(&image, 0);
	core_write(&image, "core");
	fd = open("core", O_RDWR | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)(image.ph[2].p_offset + 64 * P)), 0);
	assert_int_equal(pwrite(fd, page, P, (off_t)(image.ph[2].p_offset + 17 * P)), P);
	assert_int_equal(pwrite(fd, page, 10, (off_t)(image.ph[2].p_offset + 40 * P + 100)), 10);
	if (lseek(fd, (off_t)image.ph[2].p_offset, SEEK_DATA) != (off_t)(image.ph[2].p_offset + 17 * P)) {
		close(fd);
		skip();		/* the file system has no holes */
	}
	close(fd);
	opens();
	assert_int_equal(s.bytes, 66 * P);
	assert_int_equal(snapshot_kind_at(&s, TEXT + P), SNAPSHOT_HERE);
	assert_int_equal(snapshot_kind_at(&s, HEAP + 16 * P), SNAPSHOT_ZERO);
	assert_int_equal(snapshot_kind_at(&s, HEAP + 17 * P), SNAPSHOT_HERE);
	assert_int_equal(snapshot_kind_at(&s, HEAP + 18 * P), SNAPSHOT_ZERO);
	assert_non_null(snapshot_bytes(&s, HEAP + 40 * P, &n));
	assert_int_equal(n, P);
	reads(HEAP + 17 * P, P, page);
	reads(HEAP + 18 * P, P, zeros);
	reads(HEAP + 40 * P + 100, 10, page);
	assert_int_equal(s.missing, 0);
}

/* Segments as gdb places them: at multiples of 8, or, if its notes come first, of 4: these are copied. */
static void test_anywhere_in_the_file(void **state)
{
	(void)state;
	for (uint64_t shift = 0; shift < 12; shift++) {
		uint64_t n;
		const uint8_t *b;

		core_begin(&image);
		ordinary();
		core_place(&image, shift);
		core_write(&image, "core");
		opens();
		assert_int_equal(info.copied, shift % 8 != 0);
		reads(HEAP, 2 * P, page + 2 * P);
		b = snapshot_bytes(&s, HEAP + 16, &n);
		assert_int_equal((uintptr_t)b % 8, 0);
		assert_int_equal(n, 2 * P - 16);
		snapshot_fini(&s);
	}
}

/* Cut at each byte: what is there is read, and all the rest is missing. */
static void test_truncated(void **state)
{
	struct stat st;
	uint64_t whole;

	(void)state;
	ordinary();
	core_place(&image, 0);
	core_write(&image, "core");
	assert_int_equal(stat("core", &st), 0);
	whole = (uint64_t)st.st_size;
	for (uint64_t n = whole - 1; n >= sizeof(Elf64_Ehdr); n -= n > 3000 ? 97 : 1) {
		uint64_t missing;

		assert_int_equal(truncate("core", (off_t)n), 0);
		opens();
		assert_int_equal(info.size, n);
		assert_true(info.whole > n && info.whole <= whole);
		missing = n < image.ph[1].p_offset || info.headers_cut ? 5 * P : s.bytes + info.cut;
		assert_int_equal(missing, 5 * P);
		if (n > image.ph[3].p_offset && n <= image.ph[4].p_offset + 1)
			reads(HEAP, n - image.ph[3].p_offset < 2 * P ? n - image.ph[3].p_offset : 2 * P,
			      page + 2 * P);
		if (n > image.ph[3].p_offset && n < image.ph[3].p_offset + 2 * P) {
			assert_int_equal(snapshot_kind_at(&s, HEAP + (n - image.ph[3].p_offset)),
					 SNAPSHOT_MISSING);
			assert_int_equal(s.missing, HEAP + 2 * P - (HEAP + (n - image.ph[3].p_offset)) + P);
		}
		snapshot_fini(&s);
	}
}

static void test_truncated_is_said(void **state)
{
	char text[128];

	(void)state;
	ordinary();
	core_place(&image, 0);
	core_write(&image, "core");
	assert_int_equal(truncate("core", (off_t)image.ph[5].p_offset + 16), 0);
	opens();
	snprintf(text, sizeof(text), "the core file is truncated: %llu of %llu bytes are there",
		 (unsigned long long)image.ph[5].p_offset + 16, (unsigned long long)image.ph[5].p_offset + P);
	doubts(2, text);
	assert_int_equal(info.cut, P - 16);
	assert_int_equal(s.missing, P - 16);
	reads(STACK, 16, page + 4 * P);
	assert_int_equal(snapshot_kind_at(&s, STACK + 16), SNAPSHOT_MISSING);
}

/* Another process truncates it while we read. */
static void test_cut_under_us(void **state)
{
	(void)state;
	ordinary();
	write_and_open();
	assert_false(snapshot_damaged(&s));
	assert_int_equal(truncate("core", (off_t)image.ph[3].p_offset), 0);
	reads(HEAP + P, P, zeros);
	assert_true(snapshot_damaged(&s));
	reads(TEXT + 2 * P, P, page + P);
}

/* 65,535 segments and more: the number is in the first section header, which comes last. */
static void many(unsigned n, bool sections)
{
	static Elf64_Phdr ph[70001];
	static Elf64_Shdr sh;
	int fd = open("core", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t end = sizeof(image.eh) + (uint64_t)(n + 1) * sizeof(ph[0]),
		 data = (end + P - 1) & ~(uint64_t)(P - 1);

	image.eh.e_phnum = PN_XNUM;
	image.eh.e_shoff = data + P;
	sh.sh_info = n + 1;
	ph[0] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = end };
	for (unsigned i = 1; i <= n; i++) {
		ph[i] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W,
				      .p_vaddr = HEAP + i * 2ull * P, .p_memsz = P, .p_filesz = P,
				      .p_offset = data };
	}
	assert_int_equal(pwrite(fd, &image.eh, sizeof(image.eh), 0), sizeof(image.eh));
	assert_int_equal(pwrite(fd, ph, (n + 1) * sizeof(ph[0]), sizeof(image.eh)), (n + 1) * sizeof(ph[0]));
	assert_int_equal(pwrite(fd, page, P, (off_t)data), P);
	if (sections)
		assert_int_equal(pwrite(fd, &sh, sizeof(sh), (off_t)(data + P)), sizeof(sh));
	close(fd);
}

static void test_many_segments(void **state)
{
	(void)state;
	many(70000, true);
	opens();
	assert_int_equal(s.maps.n, 70000);
	assert_int_equal(s.npieces, 70000);
	reads(HEAP + 70000 * 2ull * P, P, page);
	assert_int_equal(info.size, info.whole);
	snapshot_fini(&s);
	many(70000, false);
	opens();
	assert_int_equal(s.maps.n, 70000);
	assert_true(info.size < info.whole);
}

static void refused(int err, const char *why, const char *what_to_do)
{
	assert_int_equal(core_open("core", &s, &info), err);
	assert_string_equal(info.why, why);
	if (what_to_do)
		assert_non_null(strstr(info.what_to_do, what_to_do));
	assert_int_equal(s.npieces + s.nowned + s.maps.n, 0);
}

static void put(const void *bytes, size_t n)
{
	int fd = open("core", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static void test_no_core(void **state)
{
	(void)state;
	unlink("core");
	refused(-ENOENT, "No such file or directory", NULL);
	put("", 0);
	refused(-ENOEXEC, "is empty", "ulimit -c");
	put("\x28\xb5\x2f\xfd" "0123456789", 14);
	refused(-ENOEXEC, "is compressed with zstd", "unzstd");
	put("\x1f\x8b" "0123456789", 12);
	refused(-ENOEXEC, "is compressed with gzip", "gunzip");
	put("\xfd" "7zXZ\0" "0123456789", 16);
	refused(-ENOEXEC, "is compressed with xz", "unxz");
	put("#!/bin/sh\n", 10);
	refused(-ENOEXEC, "is no ELF file", NULL);
	put("\x7f", 1);
	refused(-ENOEXEC, "is truncated in its first bytes", "ulimit -c");
	put("\0\0\0\0\0\0\0\0", 8);
	refused(-ENOEXEC, "begins with zeros: it was not written to its end", "disk");
	put(ELFMAG "\2\1\1", 7);
	refused(-ENOEXEC, "is truncated in its first bytes", NULL);
	unlink("core");
	assert_int_equal(mkfifo("core", 0600), 0);
	refused(-ENOEXEC, "is no regular file", NULL);
}

static void refused_with_header(const char *why, const char *what_to_do)
{
	put(&image.eh, sizeof(image.eh));
	refused(-ENOEXEC, why, what_to_do);
	core_begin(&image);
}

static void test_other_elf_files(void **state)
{
	(void)state;
	image.eh.e_type = ET_DYN;
	refused_with_header("is a program or a shared object, not a core file", "--exe");
	image.eh.e_type = ET_REL;
	refused_with_header("is an ELF file, but no core file", NULL);
	image.eh.e_machine = EM_386;
	image.eh.e_ident[EI_CLASS] = ELFCLASS32;
	refused_with_header("is a core of a 32-bit process", "64-bit");
	image.eh.e_ident[EI_CLASS] = ELFCLASS32;
	refused_with_header("is a core of a 32-bit process (x32)", "64-bit");
	image.eh.e_machine = EM_AARCH64;
	refused_with_header("is a core of another machine (ELF machine 183, not x86-64)", NULL);
	image.eh.e_ident[EI_DATA] = ELFDATA2MSB;
	refused_with_header("is an ELF file of a big-endian machine", NULL);
	image.eh.e_phentsize = 32;
	refused_with_header("has program headers of a strange size", NULL);
}

/* Segments that overlap, wrap, or lie outside; files that overlap; invalid notes: left out, counted. */
static void test_damaged(void **state)
{
	static const struct core_line lines[] = {
		{ TEXT, TEXT + 2 * P, 0, "/bin/x" },
		{ TEXT + P, TEXT + 3 * P, 0, "/bin/y" },
		{ 9, 9, 0, "/none" },
	};
	uint64_t claim[2] = { UINT64_MAX / 2, 4096 };

	(void)state;
	core_files(&image, lines, 3);
	core_note(&image, "CORE", NT_FILE, claim, sizeof(claim));
	core_note(&image, "CORE", NT_PRSTATUS, page, 20);
	core_note(&image, "LINUX", NT_X86_XSTATE, page, 600);
	core_load(&image, HEAP, 2 * P, 2 * P, PF_R | PF_W, page);
	core_load(&image, HEAP + P, 2 * P, 2 * P, PF_R | PF_W, page);
	core_load(&image, UINT64_MAX - P, 2 * P, 2 * P, PF_R | PF_W, page);
	core_load(&image, HEAP + 8 * P, 0, 4 * P, PF_R | PF_W, NULL);
	core_load(&image, HEAP + 9 * P, P, 5 * P, PF_R | PF_W, page + P);
	core_place(&image, 0);
	image.ph[4].p_offset = UINT64_MAX - 100;
	core_write(&image, "core");
	opens();
	assert_int_equal(info.damaged, 2 + 1 + 1 + 1 + 1 + 1);
	assert_int_equal(s.nthreads, 0);
	assert_true(info.no_notes);
	assert_int_equal(s.maps.n, 3);
	reads(HEAP, 2 * P, page);
	reads(HEAP + 9 * P, P, page + P);
	assert_int_equal(snapshot_kind_at(&s, HEAP + 2 * P), SNAPSHOT_NOTHING);
	doubts(2, "the core file tells of no thread: no registers and no stacks are known");
}

/* Random numbers in a complete core: nothing breaks, and the snapshot is sealed. */
static void test_noise(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 3000; seed++) {
		srand(seed);
		core_begin(&image);
		ordinary();
		core_place(&image, 0);
		for (int i = 0; i < 1 + rand() % 8; i++) {
			uint8_t *p = rand() % 2 ? (uint8_t *)image.ph : image.notes;
			size_t n = p == image.notes ? image.nnotes : image.nph * sizeof(image.ph[0]);

			p[(size_t)rand() % n] = (uint8_t)(rand() % 3 ? rand() : 0xff);
		}
		image.ph[0].p_offset = sizeof(image.eh) + image.nph * sizeof(image.ph[0]);
		for (unsigned i = 1; i < image.nph; i++)
			image.contents[i] = NULL;
		core_write(&image, "core");
		assert_int_equal(truncate("core", 10 * P), 0);
		opens();
		for (size_t i = 0; i < s.maps.n; i++)
			(void)snapshot_kind_at(&s, s.maps.maps[i].lo);
		snapshot_fini(&s);
	}
}

#define each(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		each(test_ordinary),
		each(test_threads),
		each(test_mappings),
		each(test_files_without_segments),
		each(test_left_out),
		each(test_without_private_memory),
		each(test_sparse),
		each(test_anywhere_in_the_file),
		each(test_truncated),
		each(test_truncated_is_said),
		each(test_cut_under_us),
		each(test_many_segments),
		each(test_no_core),
		each(test_other_elf_files),
		each(test_damaged),
		each(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
