/* SPDX-License-Identifier: MIT */
/* classify: vtables made by hand, valid ones and lookalikes; names that expand to gigabytes. */
#include "heap/classify/classify.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define DATA 0x20000000ull	/* a module's */
#define HEAP 0x30000000ull
#define PAGES 64u

/* The address sanitizer's process has no limit of memory. */
#ifdef __SANITIZE_ADDRESS__
#define LEVELS 22
#else
#define LEVELS 30
#endif

static const char maps[] =
	"20000000-20040000 rw-p 00000000 fe:01 77 /x.so\n"
	"20040000-20041000 rw-p 00000000 00:00 0\n"	/* its .bss */
	"30000000-31000000 rw-p 00000000 00:00 0\n";

static uint64_t data[PAGES * SNAPSHOT_PAGE / 8], bss[SNAPSHOT_PAGE / 8], heap[PAGES * SNAPSHOT_PAGE / 8];
static size_t next_word;	/* the next free word of data */
static struct snapshot s;
static struct classify *c;
static taddr family;		/* vptr of a type_info of __class_type_info */

static taddr place(const uint64_t *words, size_t n)
{
	taddr at = DATA + next_word * 8;

	memcpy(&data[next_word], words, n * 8);
	next_word += n;
	assert_true(next_word < sizeof(data) / 8);
	return at;
}

static taddr place_text(const char *text)
{
	taddr at = DATA + next_word * 8;

	memcpy(&data[next_word], text, strlen(text) + 1);
	next_word += strlen(text) / 8 + 1;
	assert_true(next_word < sizeof(data) / 8);
	return at;
}

static taddr type_info(taddr vptr, const char *name)
{
	return place((uint64_t[]){ vptr, place_text(name) }, 2);
}

/* A vtable; returns the address that a vptr has. */
static taddr vtable(uint64_t top, taddr info)
{
	return place((uint64_t[]){ top, info, DATA + 8, DATA + 8 }, 4) + 16;
}

static taddr class_of(const char *name)
{
	return vtable(0, type_info(family, name));
}

static int setup(void **state)
{
	taddr info;

	(void)state;
	memset(data, 0, sizeof(data));
	memset(heap, 0, sizeof(heap));
	next_word = 16;
	/*
	 * the type_info of __class_type_info's vtable names itself; in reality that type_info is of
	 * __si_class_type_info
	 */
	info = type_info(DATA, "N10__cxxabiv117__class_type_infoE");
	family = vtable(0, info);
	snapshot_init(&s);
	return procmaps_parse(maps, sizeof(maps) - 1, &s.maps) ||
	       snapshot_add_piece(&s, DATA, sizeof(data), data) ||
	       snapshot_add_piece(&s, DATA + sizeof(data), sizeof(bss), bss) ||
	       snapshot_add_piece(&s, HEAP, sizeof(heap), heap) || snapshot_seal(&s) ||
	       classify_new(&s, NULL, &c);
}

static int teardown(void **state)
{
	(void)state;
	classify_free(c);
	snapshot_fini(&s);
	return 0;
}

static uint32_t class_at(taddr at, uint64_t size)
{
	uint32_t class = 77;

	assert_int_equal(classify_block(c, at, size, &class), 0);
	assert_true(class < classify_count(c));
	return class;
}

/* A block of 64 bytes that begins with @vptr. */
static uint32_t block(taddr vptr)
{
	heap[8] = vptr;
	return class_at(HEAP + 64, 64);
}

static const char *name(uint32_t class)
{
	assert_int_equal(classify_names(c), 0);
	return classify_name(c, class);
}

static void test_named(void **state)
{
	uint32_t one = block(class_of("N3app6WidgetE")), other = block(class_of("3Foo")),
		 same = block(class_of("3Foo"));

	(void)state;
	assert_true(one && other && one != other);
	assert_int_equal(other, same);		/* a second library's vtable */
	assert_string_equal(classify_name(c, one), "N3app6WidgetE");
	assert_string_equal(name(one), "app::Widget");
	assert_string_equal(name(other), "Foo");
	assert_string_equal(name(block(class_of("*N12_GLOBAL__N_16HiddenE"))),
			    "(anonymous namespace)::Hidden");
	assert_null(name(CLASS_NONE));
	assert_null(name(9999));
	assert_string_equal(classify_module(c, one), "/x.so");
	assert_null(classify_module(c, CLASS_NONE));
	assert_null(classify_module(c, 9999));
	assert_int_equal(classify_count(c), 4);
}

static void test_not_by_other_ways(void **state)
{
	taddr info = type_info(family, "3Foo");

	(void)state;
	assert_int_equal(block(vtable((uint64_t)-16, info)), CLASS_NONE);	/* a part of an object */
	assert_int_equal(block(vtable(0, info) + 8), CLASS_NONE);
	assert_int_equal(block(vtable(0, info) + 4), CLASS_NONE);
	assert_int_equal(block(info), CLASS_NONE);
	assert_int_equal(block(vtable(0, HEAP)), CLASS_NONE);
	/* without type_info, and no file with symbols */
	assert_int_equal(block(vtable(0, 0)), CLASS_NONE);
	assert_int_equal(block(vtable(0, 3)), CLASS_NONE);
	assert_int_equal(block(vtable(0, type_info(DATA, "3Foo"))), CLASS_NONE);
	assert_int_equal(block(vtable(0, type_info(0, "3Foo"))), CLASS_NONE);
	assert_int_equal(block(DATA), CLASS_NONE);
	assert_int_equal(block(DATA + 8), CLASS_NONE);
	assert_int_equal(block(0), CLASS_NONE);
	assert_int_equal(block(UINT64_MAX & ~7ull), CLASS_NONE);
	assert_int_equal(block(HEAP), CLASS_NONE);
	assert_int_equal(class_at(HEAP + 64, 7), CLASS_NONE);
	assert_int_equal(class_at(0x1000, 64), CLASS_NONE);
	assert_int_equal(classify_count(c), 1);
}

static void test_families(void **state)
{
	taddr self, vptr;

	(void)state;
	assert_true(block(vtable(
		0, type_info(vtable(0, type_info(0, "N10__cxxabiv121__vmi_class_type_infoE")), "1A"))));
	assert_true(block(
		vtable(0, type_info(vtable(0, type_info(0, "N10__cxxabiv120__si_class_type_infoE")), "1B"))));
	/* a pointer's type_info is not a class's */
	assert_false(block(
		vtable(0, type_info(vtable(0, type_info(0, "N10__cxxabiv119__pointer_type_infoE")), "1C"))));
	/* a type_info that points to itself */
	self = DATA + next_word * 8;
	vptr = place((uint64_t[]){ 0, self, DATA, self + 16 }, 4) + 16;
	assert_false(block(vptr));
}

static void test_odd_names(void **state)
{
	static const char *const odd[] = { "",	       "*",  "**3Foo", "3Fo o",	  "3Foo\n",
					   "\x1b[31m", "Pc", "i",      "foo(int)" };
	static char end[] = "3Endless";
	taddr at = DATA + sizeof(data) - 8;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_int_equal(block(class_of(odd[i])), CLASS_NONE);
	/* no NUL before the memory ends */
	memset(bss, 'a', sizeof(bss));
	memcpy(&data[sizeof(data) / 8 - 1], end, 8);
	assert_int_equal(block(vtable(0, place((uint64_t[]){ family, at }, 2))), CLASS_NONE);
	memset(bss, 0, sizeof(bss));
	/* long, and across the border of two pieces */
	assert_true(block(vtable(0, place((uint64_t[]){ family, at }, 2))));
}

static void test_too_long(void **state)
{
	static char text[8192];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[0] = '9';
	assert_int_equal(block(class_of(text)), CLASS_NONE);
}

/*
 * A name that no demangler can read stays as it is; so does one that would expand to gigabytes. The others
 * get their names.
 */
static void test_bombs(void **state)
{
	uint32_t before = block(class_of("N3app5FirstE")), bad = block(class_of("N3broken")), bomb, array,
		 after;
	char text[1024];
	struct timespec t0, t1;

	(void)state;
	/* each p<> contains the one before twice: 2^30 of them, which kills a demangling process */
	strcpy(text, "N1xI1pI1a1aE");
	for (int i = 2; i < 2 + LEVELS; i++)
		sprintf(text + strlen(text), "S0_IS%1$c_S%1$c_E", i < 10 ? '0' + i : 'A' + i - 10);
	strcat(text, "EE");
	bomb = block(class_of(text));
	heap[8] = 1;
	heap[9] = class_of("5Array");
	array = class_at(HEAP + 64, 64);
	after = block(class_of("N3app4LastE"));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	assert_string_equal(name(before), "app::First");
	clock_gettime(CLOCK_MONOTONIC, &t1);
	assert_true(t1.tv_sec - t0.tv_sec < 60);
	assert_string_equal(name(bad), "N3broken");
	assert_string_equal(name(bomb), text);
	assert_string_equal(name(array), "Array[]");
	assert_string_equal(name(after), "app::Last");
}

static void test_arrays(void **state)
{
	taddr vptr = class_of("3Foo");
	uint32_t one = block(vptr), class;

	(void)state;
	/* 4 elements of 24 bytes behind their count */
	heap[100] = 4;
	for (int i = 0; i < 4; i++)
		heap[101 + i * 3] = vptr;
	class = class_at(HEAP + 800, 8 + 4 * 24);
	assert_true(class && class != one);
	assert_int_equal(class_at(HEAP + 800, 8 + 4 * 24 + 16), class);
	assert_string_equal(name(class), "Foo[]");
	heap[100] = 5;
	assert_int_equal(class_at(HEAP + 800, 8 + 4 * 24), CLASS_NONE);
	heap[100] = 1;
	assert_int_equal(class_at(HEAP + 800, 8 + 4 * 24), class);
	heap[100] = UINT64_MAX;
	assert_int_equal(class_at(HEAP + 800, 8 + 4 * 24), CLASS_NONE);
	heap[100] = UINT64_MAX / 8;
	assert_int_equal(class_at(HEAP + 800, UINT64_MAX), CLASS_NONE);
}

/* Blocks at the edges of known memory. */
static void test_edges(void **state)
{
	taddr vptr = class_of("3Foo"), last = HEAP + sizeof(heap) - 8;

	(void)state;
	heap[sizeof(heap) / 8 - 1] = vptr;
	assert_true(class_at(last, 8));
	assert_int_equal(class_at(last + 8, 64), CLASS_NONE);
	assert_int_equal(class_at(last + 4, 64), CLASS_NONE);
	assert_int_equal(class_at(UINT64_MAX - 4, 64), CLASS_NONE);
	assert_true(class_at(last, 8));
}

/* More classes than any small table has numbers for, seen in any order. */
static void test_many(void **state)
{
	enum { N = 2000 };
	static taddr vptrs[N];
	static uint32_t classes[N];
	char text[32];

	(void)state;
	for (int i = 0; i < N; i++) {
		sprintf(text, "5K%04d", i);
		vptrs[i] = class_of(text);
		classes[i] = block(vptrs[i]);
	}
	for (int round = 0; round < 3 * N; round++) {
		int i = round * 7919 % N;

		assert_int_equal(block(vptrs[i]), classes[i]);
	}
	assert_int_equal(classify_names(c), 0);
	for (int i = 0; i < N; i++) {
		sprintf(text, "K%04d", i);
		assert_string_equal(classify_name(c, classes[i]), text);
	}
}

/* Random words in the module's data and the heap. */
static void test_noise(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 50; seed++) {
		srand(seed);
		for (size_t i = 16; i < 4096; i++) {
			int kind = rand() % 8;

			data[i] = kind < 3    ? DATA + (uint64_t)rand() % 4096 * 8
				  : kind < 5  ? 0
				  : kind == 5 ? family
					      : ((uint64_t)rand() << 33) ^ (uint64_t)rand();
			heap[i] = kind % 2 ? DATA + (uint64_t)rand() % 4096 * 8 : (uint64_t)rand() % 20;
		}
		for (size_t i = 16; i < 4000; i++)
			(void)class_at(HEAP + i * 8, 16 + (uint64_t)rand() % 500);
		classify_free(c);
		c = NULL;
		assert_int_equal(classify_new(&s, NULL, &c), 0);
	}
}

#define each(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		each(test_named),
		each(test_not_by_other_ways),
		each(test_families),
		each(test_odd_names),
		each(test_too_long),
		each(test_bombs),
		each(test_arrays),
		each(test_edges),
		each(test_many),
		each(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
