/* SPDX-License-Identifier: MIT */
/* snapshot: what is read at which address, and the kind of an address that has no piece. */
#include "heap/snapshot/snapshot.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define TOP 0xfffffffffffff000ull

/*
 * 0x10000-0x14000 private; 0x20000-0x23000 a file's, private; 0x30000-0x31000 shared; a private page that
 * ends one byte before the last address.
 */
static const char maps[] =
	"00010000-00014000 rw-p 00000000 00:00 0\n"
	"00020000-00023000 rw-p 00001000 fe:01 77 /lib/x.so\n"
	"00030000-00031000 rw-s 00000000 00:00 0 /dev/shm/x\n"
	"fffffffffffff000-ffffffffffffffff rw-p 00000000 00:00 0\n";

static uint8_t page[4 * SNAPSHOT_PAGE] __attribute__((aligned(16)));

static int setup(void **state)
{
	static struct snapshot s;

	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = (uint8_t)(i * 7 + i / 256 + 1);
	snapshot_init(&s);
	*state = &s;
	return procmaps_parse(maps, sizeof(maps) - 1, &s.maps);
}

static int teardown(void **state)
{
	snapshot_fini(*state);
	return 0;
}

static void seal(struct snapshot *s)
{
	assert_int_equal(snapshot_seal(s), 0);
	assert_true(s->sealed);
}

static void piece(struct snapshot *s, taddr lo, uint64_t size, size_t from)
{
	assert_int_equal(snapshot_add_piece(s, lo, size, page + from), 0);
}

/* The @n bytes at @at are those of page[from...], or zeros. */
static void reads(struct snapshot *s, taddr at, size_t n, int from)
{
	uint8_t got[sizeof(page)];
	static const uint8_t zeros[sizeof(page)];

	memset(got, 0xee, sizeof(got));
	assert_int_equal(snapshot_read(s, at, got, n), 0);
	assert_memory_equal(got, from < 0 ? zeros : page + from, n);
	if (n < sizeof(got))
		assert_int_equal(got[n], 0xee);
}

static void reads_not(struct snapshot *s, taddr at, size_t n)
{
	uint8_t got[sizeof(page)];

	assert_int_equal(snapshot_read(s, at, got, n), -EFAULT);
}

static void test_empty(void **state)
{
	struct snapshot none;
	uint64_t n = 1;

	(void)state;
	snapshot_init(&none);
	seal(&none);
	assert_int_equal(snapshot_kind_at(&none, 0), SNAPSHOT_NOTHING);
	assert_int_equal(snapshot_kind_at(&none, UINT64_MAX), SNAPSHOT_NOTHING);
	assert_null(snapshot_bytes(&none, 0x1000, &n));
	assert_int_equal(n, 0);
	assert_int_equal(snapshot_piece_from(&none, 0), 0);
	reads_not(&none, 0, 1);
	reads(&none, 0, 0, 0);
	assert_false(snapshot_damaged(&none));
	snapshot_fini(&none);
}

static void test_kinds(void **state)
{
	struct snapshot *s = *state;

	piece(s, 0x11000, SNAPSHOT_PAGE, 0);
	assert_int_equal(snapshot_add_hole(s, 0x12000, 0x13000), 0);
	assert_int_equal(snapshot_back(s, 0x21000, SNAPSHOT_PAGE, page), 0);
	seal(s);
	assert_int_equal(snapshot_kind_at(s, 0xffff), SNAPSHOT_NOTHING);
	assert_int_equal(snapshot_kind_at(s, 0x10000), SNAPSHOT_ZERO);
	assert_int_equal(snapshot_kind_at(s, 0x10fff), SNAPSHOT_ZERO);
	assert_int_equal(snapshot_kind_at(s, 0x11000), SNAPSHOT_HERE);
	assert_int_equal(snapshot_kind_at(s, 0x11fff), SNAPSHOT_HERE);
	assert_int_equal(snapshot_kind_at(s, 0x12000), SNAPSHOT_MISSING);
	assert_int_equal(snapshot_kind_at(s, 0x13000), SNAPSHOT_ZERO);
	assert_int_equal(snapshot_kind_at(s, 0x14000), SNAPSHOT_NOTHING);
	assert_int_equal(snapshot_kind_at(s, 0x20000), SNAPSHOT_FILE);
	assert_int_equal(snapshot_kind_at(s, 0x21000), SNAPSHOT_HERE);
	assert_int_equal(snapshot_kind_at(s, 0x22000), SNAPSHOT_FILE);
	assert_int_equal(snapshot_kind_at(s, 0x30000), SNAPSHOT_MISSING);
	assert_int_equal(snapshot_kind_at(s, TOP), SNAPSHOT_ZERO);
	assert_int_equal(snapshot_kind_at(s, UINT64_MAX), SNAPSHOT_NOTHING);
}

static void test_stretches_end_where_something_else_begins(void **state)
{
	struct snapshot *s = *state;
	uint64_t n;

	piece(s, 0x11000, 0x80, 0);
	assert_int_equal(snapshot_add_hole(s, 0x11f00, 0x12000), 0);
	assert_int_equal(snapshot_back(s, 0x21000, SNAPSHOT_PAGE, page), 0);
	piece(s, 0x21100, 0x100, 0x1000);
	seal(s);
	assert_int_equal(snapshot_extent(s, 0x10010, &n), SNAPSHOT_ZERO);
	assert_int_equal(n, 0xff0);
	assert_int_equal(snapshot_extent(s, 0x11010, &n), SNAPSHOT_HERE);
	assert_int_equal(n, 0x70);
	assert_int_equal(snapshot_extent(s, 0x11080, &n), SNAPSHOT_ZERO);
	assert_int_equal(n, 0x11f00 - 0x11080);
	assert_int_equal(snapshot_extent(s, 0x12000, &n), SNAPSHOT_ZERO);
	assert_int_equal(n, 0x2000);
	assert_int_equal(snapshot_extent(s, 0x20000, &n), SNAPSHOT_FILE);
	assert_int_equal(n, 0x1000);
	assert_int_equal(snapshot_extent(s, 0x21000, &n), SNAPSHOT_HERE);
	assert_int_equal(n, 0x100);
	assert_int_equal(snapshot_extent(s, 0x40000, &n), SNAPSHOT_NOTHING);
	assert_int_equal(n, 0);
}

static void test_read_across_zeros_and_pieces(void **state)
{
	struct snapshot *s = *state;
	uint8_t got[0x4000];

	piece(s, 0x11008, 0xff8, 8);
	piece(s, 0x13000, 0x1000, 0x3000);
	seal(s);
	assert_int_equal(snapshot_read(s, 0x10000, got, sizeof(got)), 0);
	for (size_t i = 0; i < sizeof(got); i++) {
		bool zero = i < 0x1008 || (i >= 0x2000 && i < 0x3000);

		assert_int_equal(got[i], zero ? 0 : page[i < 0x2000 ? i - 0x1000 : i]);
	}
	reads(s, 0x11008, 0xff8, 8);
	reads_not(s, 0x13ff9, 8);
	reads_not(s, 0xfff8, 16);
}

static void test_a_read_that_begins_in_a_hole_fails(void **state)
{
	struct snapshot *s = *state;

	assert_int_equal(snapshot_add_hole(s, 0x10000, 0x11000), 0);
	piece(s, 0x11000, SNAPSHOT_PAGE, 0);
	seal(s);
	reads_not(s, 0x10ff8, 16);
	reads_not(s, 0x10fff, 2);
	reads(s, 0x11000, SNAPSHOT_PAGE, 0);
}

/*
 * A cut core may end anywhere in a page: the rest was read as zeros, as if the page had never been touched.
 */
static void test_a_hole_that_begins_within_a_page(void **state)
{
	struct snapshot *s = *state;

	piece(s, 0x11000, 0x10, 0);
	assert_int_equal(snapshot_add_hole(s, 0x11010, 0x12000), 0);
	assert_int_equal(snapshot_add_hole(s, 0x13800, 0x14000), 0);
	seal(s);
	reads(s, 0x11000, 0x10, 0);
	reads_not(s, 0x11000, 0x11);
	reads_not(s, 0x11010, 1);
	reads(s, 0x13000, 0x800, -1);
	reads_not(s, 0x13000, 0x801);
}

static void test_holes_overlap(void **state)
{
	struct snapshot *s = *state;

	assert_int_equal(snapshot_add_hole(s, 0x10800, 0x10900), 0);
	assert_int_equal(snapshot_add_hole(s, 0x10000, 0x12000), 0);
	assert_int_equal(snapshot_add_hole(s, 0x11000, 0x12800), 0);
	assert_int_equal(snapshot_add_hole(s, 0x12800, 0x12900), 0);
	assert_int_equal(snapshot_add_hole(s, 0x13000, 0x13000), 0);
	seal(s);
	assert_int_equal(s->nholes, 1);
	for (taddr at = 0x10000; at < 0x12900; at += 0x80)
		assert_int_equal(snapshot_kind_at(s, at), SNAPSHOT_MISSING);
	assert_int_equal(snapshot_kind_at(s, 0x12900), SNAPSHOT_ZERO);
}

static void test_pieces_are_newer_than_backing(void **state)
{
	struct snapshot *s = *state;
	uint64_t n;

	assert_int_equal(snapshot_back(s, 0x20000, 0x3000, page), 0);
	piece(s, 0x21000, 0x1000, 0x3000);
	seal(s);
	reads(s, 0x20000, 0x1000, 0);
	reads(s, 0x21000, 0x1000, 0x3000);
	reads(s, 0x22000, 0x1000, 0x2000);
	assert_ptr_equal(snapshot_bytes(s, 0x20ff0, &n), page + 0xff0);
	assert_int_equal(n, 0x10);
	assert_ptr_equal(snapshot_bytes(s, 0x22010, &n), page + 0x2010);
	assert_int_equal(n, 0xff0);
}

/* A page of .data that was written and then swapped out does not have the file's contents. */
static void test_a_hole_is_newer_than_backing(void **state)
{
	struct snapshot *s = *state;
	uint64_t n;

	assert_int_equal(snapshot_back(s, 0x20000, 0x3000, page), 0);
	assert_int_equal(snapshot_add_hole(s, 0x21000, 0x22000), 0);
	seal(s);
	assert_int_equal(snapshot_kind_at(s, 0x21000), SNAPSHOT_MISSING);
	assert_null(snapshot_bytes(s, 0x21000, &n));
	assert_ptr_equal(snapshot_bytes(s, 0x20800, &n), page + 0x800);
	assert_int_equal(n, 0x800);
	reads(s, 0x20000, 0x1000, 0);
	reads_not(s, 0x20000, 0x1001);
	reads(s, 0x22000, 0x1000, 0x2000);
}

static void test_a_file_s_page_is_not_zeros(void **state)
{
	struct snapshot *s = *state;

	piece(s, 0x20000, SNAPSHOT_PAGE, 0);
	seal(s);
	reads(s, 0x20000, SNAPSHOT_PAGE, 0);
	reads_not(s, 0x20ff8, 16);
	reads_not(s, 0x21000, 1);
}

static void test_joined(void **state)
{
	struct snapshot *s = *state;
	uint64_t n;

	piece(s, 0x12000, 0x1000, 0x2000);
	piece(s, 0x10000, 0x1000, 0);
	piece(s, 0x11000, 0x1000, 0x1000);
	piece(s, 0x13000, 0x1000, 0);	/* not behind the others in memory */
	piece(s, 0x20000, 0, 0);
	seal(s);
	assert_int_equal(s->npieces, 2);
	assert_int_equal(s->bytes, 0x4000);
	assert_ptr_equal(snapshot_bytes(s, 0x10800, &n), page + 0x800);
	assert_int_equal(n, 0x2800);
	assert_int_equal(snapshot_piece_from(s, 0), 0);
	assert_int_equal(snapshot_piece_from(s, 0x12fff), 0);
	assert_int_equal(snapshot_piece_from(s, 0x13000), 1);
	assert_int_equal(snapshot_piece_from(s, 0x14000), 2);
	reads(s, 0x12f00, 0x100, 0x2f00);
}

static void test_sealed_again(void **state)
{
	struct snapshot *s = *state;

	piece(s, 0x11000, 0x1000, 0x1000);
	seal(s);
	piece(s, 0x10000, 0x1000, 0);
	assert_false(s->sealed);
	seal(s);
	assert_int_equal(s->npieces, 1);
	reads(s, 0x10000, 0x2000, 0);
	assert_int_equal(snapshot_back(s, 0x20000, 0x1000, page), 0);
	seal(s);
	reads(s, 0x20000, 0x1000, 0);
}

static void test_overlaps_are_refused(void **state)
{
	struct snapshot *s = *state;

	piece(s, 0x10000, 0x3000, 0);
	piece(s, 0x12fff, 1, 0);
	assert_int_equal(snapshot_seal(s), -EINVAL);
	assert_false(s->sealed);
}

static void test_backings_that_overlap_are_refused(void **state)
{
	struct snapshot *s = *state;

	assert_int_equal(snapshot_back(s, 0x20000, 0x1000, page), 0);
	assert_int_equal(snapshot_back(s, 0x20000, 0x1000, page), 0);
	assert_int_equal(snapshot_seal(s), -EINVAL);
}

static void test_a_piece_beyond_the_last_address_is_refused(void **state)
{
	struct snapshot *s = *state;

	piece(s, TOP, 0x1001, 0);
	assert_int_equal(snapshot_seal(s), -EINVAL);
}

static void test_a_piece_of_more_than_all_addresses_is_refused(void **state)
{
	struct snapshot *s = *state;

	piece(s, 0x10000, UINT64_MAX, 0);
	assert_int_equal(snapshot_seal(s), -EINVAL);
}

/* A read that began in the last page went on at address 0. */
static void test_reading_ends_at_the_last_address(void **state)
{
	struct snapshot *s = *state;
	uint64_t n;

	piece(s, 0, 0x1000, 0);
	piece(s, TOP + 0x10, 0x1000 - 0x11, 0x10);
	seal(s);
	reads(s, TOP, 0x10, -1);
	reads(s, TOP + 0x10, 0xfef, 0x10);
	reads_not(s, TOP + 0xff8, 8);
	reads_not(s, TOP, 0x2000);
	reads_not(s, UINT64_MAX, 1);
	reads_not(s, UINT64_MAX, 2);
	assert_non_null(snapshot_bytes(s, UINT64_MAX - 1, &n));
	assert_int_equal(n, 1);
	assert_int_equal(snapshot_piece_from(s, UINT64_MAX), 2);
}

static void test_words(void **state)
{
	struct snapshot *s = *state;
	uint64_t v, expected;

	piece(s, 0x11000, 0x1000, 0);
	seal(s);
	memcpy(&expected, page + 3, 8);
	assert_int_equal(snapshot_word(s, 0x11003, &v), 0);
	assert_int_equal(v, expected);
	assert_int_equal(snapshot_word(s, 0x10ffc, &v), 0);
	memcpy(&expected, page, 4);
	assert_int_equal(v, expected << 32);
	assert_int_equal(snapshot_word(s, 0xfffc, &v), -EFAULT);
}

static void test_memory_of_its_own(void **state)
{
	struct snapshot *s = *state;
	uint8_t *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *heap = malloc(64);

	assert_ptr_not_equal(mapped, MAP_FAILED);
	assert_int_equal(snapshot_own(s, mapped, 4096), 0);
	assert_int_equal(snapshot_own(s, heap, 0), 0);
	mapped[0] = 1;
	heap[0] = 2;
	assert_int_equal(snapshot_add_piece(s, 0x10000, 4096, mapped), 0);
	assert_int_equal(snapshot_add_piece(s, 0x11000, 64, heap), 0);
	seal(s);
	snapshot_fini(s);
	assert_int_equal(s->npieces, 0);
	assert_int_equal(msync(mapped, 4096, MS_ASYNC), -1);
	snapshot_fini(s);
}

/* Random pieces, holes and backings, compared byte by byte with a plain picture of them. */
#define SIDE 0x3000

struct picture {
	uint8_t kind[SIDE], byte[SIDE];
};

static void paint(struct picture *p, size_t lo, size_t n, enum snapshot_kind kind, size_t from)
{
	for (size_t i = 0; i < n; i++) {
		p->kind[lo + i] = (uint8_t)kind;
		p->byte[lo + i] = kind == SNAPSHOT_HERE ? page[from + i] : 0;
	}
}

static void draw(struct snapshot *s, struct picture *p)
{
	memset(p->byte, 0, sizeof(p->byte));
	memset(p->kind, SNAPSHOT_FILE, sizeof(p->kind));
	for (size_t lo = (size_t)rand() % 512; lo < SIDE; lo += (size_t)rand() % 700) {
		size_t n = 1 + (size_t)rand() % 300;

		n = n < SIDE - lo ? n : SIDE - lo;
		assert_int_equal(snapshot_back(s, 0x20000 + lo, n, page + lo), 0);
		paint(p, lo, n, SNAPSHOT_HERE, lo);
		lo += n;
	}
	for (int i = 0; i < 12; i++) {
		size_t lo = (size_t)rand() % SIDE, n = (size_t)rand() % 300;

		n = n < SIDE - lo ? n : SIDE - lo;
		assert_int_equal(snapshot_add_hole(s, 0x20000 + lo, 0x20000 + lo + n), 0);
		paint(p, lo, n, SNAPSHOT_MISSING, 0);
	}
	for (size_t lo = (size_t)rand() % 512; lo < SIDE; lo += (size_t)rand() % 700) {
		size_t n = 1 + (size_t)rand() % 300;

		n = n < SIDE - lo ? n : SIDE - lo;
		piece(s, 0x20000 + lo, n, 0x1000);
		paint(p, lo, n, SNAPSHOT_HERE, 0x1000);
		lo += n;
	}
}

static void check_reads(struct snapshot *s, const struct picture *p)
{
	uint8_t got[256];

	for (int i = 0; i < 2000; i++) {
		size_t lo = (size_t)rand() % SIDE, n = (size_t)rand() % sizeof(got);
		bool all = true;

		n = n < SIDE - lo ? n : SIDE - lo;
		for (size_t k = 0; k < n; k++)
			all = all && p->kind[lo + k] == SNAPSHOT_HERE;
		assert_int_equal(snapshot_read(s, 0x20000 + lo, got, n), all ? 0 : -EFAULT);
		if (all)
			assert_memory_equal(got, p->byte + lo, n);
	}
}

static void check_bytes(struct snapshot *s, const struct picture *p)
{
	for (size_t i = 0; i < SIDE; i++) {
		uint64_t n;
		const uint8_t *b = snapshot_bytes(s, 0x20000 + i, &n);

		assert_int_equal(snapshot_kind_at(s, 0x20000 + i), p->kind[i]);
		assert_int_equal(b != NULL, p->kind[i] == SNAPSHOT_HERE);
		if (b) {
			assert_true(n >= 1 && n <= SIDE - i);
			assert_memory_equal(b, p->byte + i, n);
		}
	}
}

static void test_like_a_picture(void **state)
{
	struct snapshot *s = *state;
	struct picture p;

	for (unsigned seed = 1; seed <= 20; seed++) {
		srand(seed);
		snapshot_fini(s);
		setup(state);
		draw(s, &p);
		seal(s);
		check_reads(s, &p);
		check_bytes(s, &p);
	}
}

#define each(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		each(test_kinds),
		each(test_stretches_end_where_something_else_begins),
		each(test_read_across_zeros_and_pieces),
		each(test_a_read_that_begins_in_a_hole_fails),
		each(test_a_hole_that_begins_within_a_page),
		each(test_holes_overlap),
		each(test_pieces_are_newer_than_backing),
		each(test_a_hole_is_newer_than_backing),
		each(test_a_file_s_page_is_not_zeros),
		each(test_joined),
		each(test_sealed_again),
		each(test_overlaps_are_refused),
		each(test_backings_that_overlap_are_refused),
		each(test_a_piece_beyond_the_last_address_is_refused),
		each(test_a_piece_of_more_than_all_addresses_is_refused),
		each(test_reading_ends_at_the_last_address),
		each(test_words),
		each(test_memory_of_its_own),
		each(test_like_a_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
