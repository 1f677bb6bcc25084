/* SPDX-License-Identifier: MIT */
/*
 * ledger_facts: a ledger with some stacks, short functions that put facts into it, and checks of its totals.
 */
#ifndef LEDGER_FACTS_H
#define LEDGER_FACTS_H

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "report/ledger/ledger.h"

#define A 0x5000ull
#define B 0x6000ull
#define S1 1
#define S2 2
#define STACKS 8
#define SECOND 1000000u

static struct ledger ledger;
static uint64_t now;

static inline void take(const struct fact *f)
{
	assert_int_equal(ledger_take(&ledger, f), 0);
}

static inline void define_stacks(void)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		const struct fact f = { .kind = MMT_INFO, .info = MMT_STACK,
					.stack = { i, 0, MMT_END_WHOLE, FACT_NONE } };
		take(&f);
	}
}

static inline int setup(void **state)
{
	(void)state;
	now = 0;
	assert_int_equal(ledger_init(&ledger), 0);
	define_stacks();
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	ledger_fini(&ledger);
	return 0;
}

/* --- facts --- */

static inline struct fact event(uint32_t kind, taddr addr)
{
	return (struct fact){ .kind = kind, .time_us = now, .block = { .addr = addr } };
}

static inline void simple(uint32_t kind, taddr addr)
{
	const struct fact f = event(kind, addr);

	take(&f);
}

static inline void alloc(taddr addr, uint64_t size, uint32_t stack)
{
	struct fact f = event(MMT_ALLOC, addr);

	f.block.size = size;
	f.block.stack = stack;
	take(&f);
}

static inline void held(taddr addr, uint64_t size, uint32_t stack, uint64_t birth_us)
{
	struct fact f = event(MMT_HELD, addr);

	f.block.size = size;
	f.block.stack = stack;
	f.block.birth_us = birth_us;
	take(&f);
}

static inline void aside(uint32_t kind, uint64_t key, taddr addr)
{
	struct fact f = event(kind, addr);

	f.block.key = key;
	take(&f);
}

static inline void twice(taddr addr, uint32_t second, uint32_t first, uint32_t alloc_stack, uint64_t more)
{
	struct fact f = event(MMT_TWICE, addr);

	f.block.stack = second;
	f.block.first = first;
	f.block.alloc = alloc_stack;
	f.block.size = more;
	take(&f);
}

static inline void family(uint32_t number)
{
	const struct fact f = { .kind = MMT_FAMILY, .time_us = now, .family = number };

	take(&f);
}

static inline void define_family(uint32_t number, const char *name)
{
	const struct fact f = { .kind = MMT_INFO, .info = MMT_FAMILY_NAME,
				.family_name = { .number = number, .name = name } };

	take(&f);
}

static inline struct fact info(uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what, .time_us = now };
}

static inline void lost(const char *reason, uint64_t count)
{
	struct fact f = info(MMT_LOST);

	f.lost.reason = reason;
	f.lost.count = count;
	take(&f);
}

static inline void note(const char *text)
{
	struct fact f = info(MMT_NOTE);

	f.note = text;
	take(&f);
}

/* --- expectations --- */

static inline void assert_held(uint64_t blocks, uint64_t bytes)
{
	uint64_t of_places = 0, bytes_of_places = 0, of_tables = 0;

	assert_int_equal(ledger.held_blocks, blocks);
	assert_int_equal(ledger.held_bytes, bytes);
	for (size_t b = 0; b < ledger.nbooks; b++) {
		of_tables += live_count(ledger.books[b].live);
		for (size_t i = 0; i < ledger.books[b].nplaces; i++) {
			of_places += ledger.books[b].places[i].blocks;
			bytes_of_places += ledger.books[b].places[i].bytes;
		}
	}
	assert_int_equal(of_places, blocks);
	assert_int_equal(of_tables, blocks);
	assert_int_equal(bytes_of_places, bytes);
}

static inline void assert_place(uint32_t stack, uint64_t allocs, uint64_t frees, uint64_t blocks,
				uint64_t bytes)
{
	const struct place *p = ledger_place(&ledger, 0, defs_stack(&ledger.defs, stack));

	assert_non_null(p);
	assert_int_equal(p->allocs, allocs);
	assert_int_equal(p->frees, frees);
	assert_int_equal(p->blocks, blocks);
	assert_int_equal(p->bytes, bytes);
}

static inline void assert_totals(uint64_t allocs, uint64_t frees, uint64_t unmatched, uint64_t doubled)
{
	assert_int_equal(ledger.allocs, allocs);
	assert_int_equal(ledger.frees, frees);
	assert_int_equal(ledger.unmatched_frees, unmatched);
	assert_int_equal(ledger.double_frees, doubled);
}

static inline void assert_doubts(uint64_t displaced, uint64_t undefined, uint64_t nonsense)
{
	assert_int_equal(ledger.displaced, displaced);
	assert_int_equal(ledger.undefined, undefined);
	assert_int_equal(ledger.nonsense, nonsense);
}

#endif
