/* SPDX-License-Identifier: MIT */
/* musl: a heap made by hand: what is in each slot, and what a thread inside malloc changes about that. */
#include "heap/musl/musl.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syscall.h>

#include <cmocka.h>

#include "tests/unit/memory_example.h"

#define DATA 0x7f0000100000u
#define CONTEXT (DATA + 0x40)
#define CODE 0x7f0000000000u
#define AREA 0x7f0000300000u
#define GROUP 0x7f0000400000u
#define LARGE 0x7f0000500000u
#define SECRET UINT64_C(0x1122334455667788)
#define CLASS 3u		/* 64 bytes a slot */
#define SLOTS 8u

struct heap {
	struct memory_example m;
	struct musl_context *context;
	uint64_t *area, *group, *large;
};

/* The four bytes before what begins at @offset of the group's memory. */
static void head(uint64_t *group, unsigned offset, unsigned index, unsigned units)
{
	uint8_t *p = (uint8_t *)group + offset;

	p[-4] = 0;
	p[-3] = (uint8_t)index;
	p[-2] = (uint8_t)units;
	p[-1] = (uint8_t)(units >> 8);
}

static void meta(struct heap *h, unsigned i, taddr mem, uint64_t masks, uint64_t flags)
{
	uint64_t *m = h->area + (MUSL_AREA_HEAD + i * MUSL_META) / 8;

	m[2] = mem;
	m[3] = masks;
	m[4] = flags;
}

/*
 * A group of eight slots: 0 a block of 60 bytes, 1 one of 50, 2 one that begins 16 bytes later, 3 freed, 4 and 5
 * in use again, 6 and 7 never. And a block with a mapping of its own.
 */
static void init(struct heap *h)
{
	example_init(&h->m);
	(void)example_map(&h->m, CODE, 0x1000, "r-xp", "/lib/ld-musl-x86_64.so.1");
	h->context = (struct musl_context *)(example_map(&h->m, DATA, 0x1000, "rw-p", "/lib/ld-musl-x86_64.so.1") + 8);
	h->area = example_map(&h->m, AREA, 0x1000, "rw-p", "");
	h->group = example_map(&h->m, GROUP, 0x1000, "rw-p", "");
	h->large = example_map(&h->m, LARGE, 0x21000, "rw-p", "");
	h->context->secret = h->area[0] = SECRET;
	h->area[2] = MUSL_AREA_SLOTS;
	h->context->init_done = 1;
	h->context->first_area = h->context->last_area = AREA;
	h->context->next_meta = AREA + MUSL_AREA_HEAD + 2 * MUSL_META;
	h->context->brk = UINT64_MAX;
	h->context->active[CLASS] = AREA + MUSL_AREA_HEAD;
	h->context->usage[CLASS] = SLOTS;
	meta(h, 0, GROUP, (uint64_t)0xc8 << 32, (SLOTS - 1) | 1 << 5 | CLASS << 6 | 1 << 12);
	meta(h, 1, LARGE, 0, 1 << 5 | MUSL_MAPPED << 6 | 0x21 << 12);
	h->group[0] = AREA + MUSL_AREA_HEAD;
	h->large[0] = AREA + MUSL_AREA_HEAD + MUSL_META;
	head(h->group, 16, 0, 0);
	head(h->group, 16 + 64, 1 | 5 << 5, 4);
	memcpy((uint8_t *)h->group + 16 + 64 + 56, &(uint32_t){ 10 }, 4);
	head(h->group, 16 + 128, 0xe0, 1);
	head(h->group, 16 + 144, 2 | 2 << 5, 9);
	head(h->group, 16 + 192, 0xff, 0);
	head(h->group, 16 + 256, 4 | 1 << 5, 16);
	head(h->group, 16 + 320, 5, 20);
	head(h->large, 16, 0 | 4 << 5, 0);
	example_thread(&h->m, 1000, 0x7ffc00001000)->regs.orig_rax = SYS_read;
}

static void fini(struct heap *h, struct census *c)
{
	census_fini(c);
	example_fini(&h->m);
}

static void take(struct heap *h, struct census *c)
{
	example_seal(&h->m);
	census_init(c);
	assert_int_equal(musl_census(&h->m.s, c), 0);
	assert_true(c->known);
}

static void test_blocks(void **state)
{
	static const struct block expected[] = {
		{ GROUP + 16, 60 },	 { GROUP + 16 + 64, 50 },  { GROUP + 16 + 144, 42 },
		{ GROUP + 16 + 256, 59 }, { GROUP + 16 + 320, 60 }, { LARGE + 16, 0x21000 - 16 - 4 - 4 },
	};
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	take(&h, &c);
	assert_true(census_adds_up(&c));
	assert_int_equal(c.nblocks, sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < c.nblocks; i++) {
		assert_int_equal(c.blocks[i].addr, expected[i].addr);
		assert_int_equal(c.blocks[i].size, expected[i].size);
	}
	assert_int_equal(c.mmapped.blocks, 1);
	assert_int_equal(c.arenas->used.blocks, 5);
	assert_int_equal(c.arenas->bins.blocks, 3);
	assert_int_equal(c.nareas, 3);
	fini(&h, &c);
}

/* The masks still say that it is in use. */
static void test_being_freed(void **state)
{
	(void)state;
	for (unsigned in_malloc = 0; in_malloc < 2; in_malloc++) {
		struct heap h;
		struct census c;

		init(&h);
		head(h.group, 16 + 256, 0xff, 0);
		if (in_malloc) {
			h.m.s.threads[0].regs.orig_rax = UINT64_MAX;
			h.m.s.threads[0].regs.rip = CODE + 0x100;
		}
		take(&h, &c);
		assert_int_equal(c.nblocks, 5);
		assert_int_equal(census_adds_up(&c), in_malloc);
		assert_int_equal(c.nproblems, !in_malloc);
		fini(&h, &c);
	}
}

static void test_waits_for_the_lock(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	head(h.group, 16 + 256, 0xff, 0);
	h.m.s.threads[0].regs.orig_rax = SYS_futex;
	h.m.s.threads[0].regs.rdi = DATA + 0x800;
	take(&h, &c);
	assert_int_equal(c.nproblems, 0);
	assert_int_equal(c.between, 1);
	fini(&h, &c);
}

static void test_group_being_made(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	h.context->next_meta += MUSL_META;
	meta(&h, 2, GROUP + 0x800, (uint64_t)7 << 32, 0);
	h.m.s.threads[0].regs.orig_rax = UINT64_MAX;
	h.m.s.threads[0].regs.rip = CODE + 0x100;
	take(&h, &c);
	assert_true(census_adds_up(&c));
	assert_int_equal(c.nblocks, 6);
	fini(&h, &c);
}

static void corrupt_head(struct heap *h) { head(h->group, 16 + 320, 5, 21); }
static void corrupt_end(struct heap *h) { ((uint8_t *)h->group)[16 + 64 + 50] = 'x'; }
static void corrupt_mem(struct heap *h) { meta(h, 1, LARGE + 0x1000, 0, 1 << 5 | MUSL_MAPPED << 6 | 0x21 << 12); }
static void corrupt_gone(struct heap *h) { meta(h, 1, 0, 0, 0); }
static void corrupt_mask(struct heap *h) { meta(h, 0, GROUP, (uint64_t)0xd8 << 32, (SLOTS - 1) | 1 << 5 | CLASS << 6 | 1 << 12); }
static void corrupt_area(struct heap *h) { h->area[1] = AREA; }
static void corrupt_group(struct heap *h) { head(h->group, 16 + 320, 5 | 6 << 5, 20); }

/* Each of them is noticed, and what is not concerned is listed. */
static void test_corrupt(void **state)
{
	static void (*const all[])(struct heap *) = { corrupt_head, corrupt_end, corrupt_mem, corrupt_gone,
						      corrupt_mask, corrupt_area, corrupt_group };

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct heap h;
		struct census c;

		init(&h);
		all[i](&h);
		take(&h, &c);
		assert_false(census_adds_up(&c));
		assert_true(c.nblocks >= 5);
		fini(&h, &c);
	}
}

/* An alignment of more than a MiB: by how much the block begins later does not fit into 16 bits. */
static void test_wide_offset(void **state)
{
	const unsigned later = 0x110000;
	struct heap h;
	struct census c;
	uint64_t *large;
	uint8_t *p;

	(void)state;
	init(&h);
	large = example_map(&h.m, LARGE + 0x1000000, 0x200000, "rw-p", "");
	h.context->next_meta += MUSL_META;
	meta(&h, 2, LARGE + 0x1000000, 0, 1 << 5 | MUSL_MAPPED << 6 | 0x200 << 12);
	large[0] = AREA + MUSL_AREA_HEAD + 2 * MUSL_META;
	head(large, 16, 0xe0, later / 16 & 0xffff);
	p = (uint8_t *)large + 16 + later;
	memcpy(p - 8, &(uint32_t){ later / 16 }, 4);
	head((uint64_t *)(void *)p, 0, 0, 0);
	p[-4] = 1;
	take(&h, &c);
	assert_true(census_adds_up(&c));
	assert_int_equal(c.nblocks, 7);
	assert_int_equal(c.blocks[6].addr, LARGE + 0x1000000 + 16 + later);
	fini(&h, &c);
}

static void test_not_there(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	h.area[0]++;
	example_seal(&h.m);
	census_init(&c);
	assert_int_equal(musl_census(&h.m.s, &c), -ENOENT);
	assert_false(c.known);
	fini(&h, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),		   cmocka_unit_test(test_being_freed),
		cmocka_unit_test(test_waits_for_the_lock), cmocka_unit_test(test_group_being_made),
		cmocka_unit_test(test_corrupt),		   cmocka_unit_test(test_wide_offset),
		cmocka_unit_test(test_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
