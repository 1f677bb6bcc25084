/* SPDX-License-Identifier: MIT */
/* backing: which files are accepted, and what is read through them. */
#include "heap/snapshot/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/core_image.h"
#include "tests/unit/folder.h"

#define P 4096u
#define BASE 0x10000ull

/* Two mappings of one file, one of another, one shared. */
static const char maps[] =
	"00010000-00011000 r--p 00000000 fe:01 77 /x.so\n"
	"00011000-00014000 rw-p 00001000 fe:01 77 /x.so\n"
	"00020000-00021000 r--p 00000000 fe:01 78 /data (deleted)\n"
	"00030000-00031000 rw-s 00000000 fe:01 79 /shared\n"
	"00040000-00041000 rw-p 00000000 00:00 0\n";

static uint8_t file[2 * P + 100] __attribute__((aligned(8)));
static uint8_t memory[P] __attribute__((aligned(8)));	/* the first page at the time of the snapshot */
static struct snapshot s;
static struct backing b;
static unsigned opened;

/* A file with a build id of 20 bytes @id; 0: without one. */
static void make_elf(uint8_t *out, uint8_t id)
{
	struct core_image c;
	uint8_t bytes[20];

	core_begin(&c);
	c.eh.e_type = ET_DYN;
	memset(bytes, id, sizeof(bytes));
	if (id)
		core_note(&c, "GNU", NT_GNU_BUILD_ID, bytes, sizeof(bytes));
	core_place(&c, 0);
	memcpy(out, &c.eh, sizeof(c.eh));
	memcpy(out + c.eh.e_phoff, c.ph, sizeof(c.ph[0]));
	memcpy(out + c.ph[0].p_offset, c.notes, c.nnotes);
}

static void write_file(const char *name, const void *bytes, size_t n)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static int setup(void **state)
{
	memset(memory, 0, sizeof(memory));
	for (size_t i = 0; i < sizeof(file); i++)
		file[i] = (uint8_t)(i * 5 + 1);
	make_elf(file, 1);
	make_elf(memory, 1);
	snapshot_init(&s);
	opened = 0;
	return folder_enter(state) || procmaps_parse(maps, sizeof(maps) - 1, &s.maps);
}

static int teardown(void **state)
{
	backing_fini(&b);
	snapshot_fini(&s);
	return folder_leave(state);
}

/* Opens the last part of the name, in the current folder; @ctx: it is certain to be the file. */
static int open_here(void *ctx, const struct mapping *m, bool *certain)
{
	int fd = open(m->path + 1, O_RDONLY | O_CLOEXEC);

	opened++;
	*certain = ctx != NULL;
	return fd < 0 ? -errno : fd;
}

static void add(bool with_memory, bool certain)
{
	if (with_memory)
		assert_int_equal(snapshot_add_piece(&s, BASE, P, memory), 0);
	assert_int_equal(snapshot_seal(&s), 0);
	assert_int_equal(backing_add(&s, open_here, certain ? &s : NULL, &b), 0);
	assert_true(s.sealed);
	assert_int_equal(opened, 2);
	assert_int_equal(b.n, 2);
}

static void used(enum backing_proof proof)
{
	uint8_t got[sizeof(file)];

	assert_int_equal(b.files[0].proof, proof);
	assert_string_equal(b.files[0].why, "");
	assert_ptr_equal(backing_find(&b, &s.maps.maps[1]), &b.files[0]);
	assert_int_equal(b.files[0].size, sizeof(file));
	assert_memory_equal(b.files[0].bytes, file, sizeof(file));
	assert_int_equal(snapshot_read(&s, BASE + P, got, P + 100), 0);
	assert_memory_equal(got, file + P, P + 100);
	/* zeros up to the end of its last page, nothing behind it */
	assert_int_equal(snapshot_read(&s, BASE + 2 * P + 100, got, P - 100), 0);
	assert_int_equal(got[0] | got[P - 101], 0);
	assert_int_equal(snapshot_kind_at(&s, BASE + 3 * P), SNAPSHOT_FILE);
}

static void not_used(const char *why)
{
	assert_int_equal(b.files[0].proof, BACKING_NONE);
	assert_string_equal(b.files[0].why, why);
	assert_null(b.files[0].bytes);
	assert_int_equal(snapshot_kind_at(&s, BASE + P), SNAPSHOT_FILE);
}

static void test_same_build(void **state)
{
	(void)state;
	write_file("x.so", file, sizeof(file));
	add(true, false);
	used(BACKING_BUILD_ID);
	assert_null(backing_find(&b, &s.maps.maps[3]));
	assert_null(backing_find(&b, &s.maps.maps[4]));
}

static void test_another_build(void **state)
{
	(void)state;
	make_elf(file, 2);
	write_file("x.so", file, sizeof(file));
	add(true, false);
	not_used("is another build than the one that ran");
}

static void test_header(void **state)
{
	(void)state;
	make_elf(memory, 0);
	memset(file, 0, P);
	make_elf(file, 0);
	write_file("x.so", file, sizeof(file));
	add(true, false);
	used(BACKING_HEADER);
}

static void test_another_header(void **state)
{
	(void)state;
	memset(memory, 0, P);
	make_elf(memory, 0);
	memory[24] ^= 1;	/* its entry point */
	write_file("x.so", file, sizeof(file));
	add(true, false);
	not_used("is another file than the one that was mapped: its ELF header differs");
}

static void test_no_elf_file(void **state)
{
	(void)state;
	write_file("x.so", file + 1, sizeof(file) - 1);
	add(true, false);
	not_used("is another file than the one that was mapped: its ELF header differs");
}

static void test_only_a_name(void **state)
{
	(void)state;
	write_file("x.so", file, sizeof(file));
	write_file("data (deleted)", file, sizeof(file));
	add(false, false);
	used(BACKING_NAME);
	assert_int_equal(b.files[1].proof, BACKING_NONE);
	assert_string_equal(b.files[1].why, "was deleted, and nothing tells whether this is it");
}

static void test_certain(void **state)
{
	(void)state;
	make_elf(memory, 3);
	write_file("x.so", file, sizeof(file));
	write_file("data (deleted)", file, 10);
	add(true, true);
	used(BACKING_CERTAIN);
	assert_int_equal(b.files[1].proof, BACKING_CERTAIN);
	assert_int_equal(snapshot_kind_at(&s, 0x20fff), SNAPSHOT_HERE);
}

static void test_too_short(void **state)
{
	(void)state;
	write_file("x.so", file, P);
	add(true, false);
	not_used("is another file than the one that was mapped: it is too short");
}

static void test_not_there(void **state)
{
	(void)state;
	add(true, false);
	not_used("No such file or directory");
}

static void test_empty(void **state)
{
	(void)state;
	write_file("x.so", "", 0);
	add(true, false);
	not_used("is empty, or no regular file");
}

/* What the process wrote is newer than its file. */
static void test_pieces_stay(void **state)
{
	uint8_t got[P];

	(void)state;
	memset(memory + 1000, 0xab, 100);
	write_file("x.so", file, sizeof(file));
	add(true, false);
	assert_int_equal(snapshot_read(&s, BASE, got, P), 0);
	assert_memory_equal(got, memory, P);
}

static void test_cut_under_us(void **state)
{
	uint8_t got[8];

	(void)state;
	write_file("x.so", file, sizeof(file));
	add(true, false);
	assert_int_equal(truncate("x.so", 0), 0);
	assert_int_equal(snapshot_read(&s, BASE + P, got, 8), 0);
	assert_int_equal(got[0] | got[7], 0);
	assert_true(snapshot_damaged(&s));
}

static void test_by_name(void **state)
{
	char path[64];
	struct backing_names names = { NULL, NULL };
	struct mapping m = { .path = path };
	bool certain = false;
	int fd;

	snprintf(path, sizeof(path), "%s/x.so", ((struct folder *)*state)->path);
	write_file("x.so", file, 10);
	write_file("other", file, 20);
	fd = backing_open_name(&names, &m, &certain);
	assert_int_equal(lseek(fd, 0, SEEK_END), 10);
	close(fd);
	strcat(path, " (deleted)");
	fd = backing_open_name(&names, &m, &certain);
	assert_int_equal(lseek(fd, 0, SEEK_END), 10);
	close(fd);
	names = (struct backing_names){ path, "other" };
	fd = backing_open_name(&names, &m, &certain);
	assert_int_equal(lseek(fd, 0, SEEK_END), 20);
	close(fd);
	assert_false(certain);
	m.path = "/dev/null";
	assert_int_equal(backing_open_name(&names, &m, &certain), -EINVAL);
	m.path = "x.so";
	assert_int_equal(backing_open_name(&names, &m, &certain), -ENOENT);
}

#define each(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		each(test_same_build),
		each(test_another_build),
		each(test_header),
		each(test_another_header),
		each(test_no_elf_file),
		each(test_only_a_name),
		each(test_certain),
		each(test_too_short),
		each(test_not_there),
		each(test_empty),
		each(test_pieces_stay),
		each(test_cut_under_us),
		each(test_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
