/* SPDX-License-Identifier: MIT */
/*
 * pymalloc: a table of arenas, arenas and pools made by hand: which slots are in use; addresses at all bounds; tables
 * and pools that are damaged, zeros, random words; and the texts that say which CPython it is.
 */
#include "heap/python/pymalloc.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap/python/pymalloc_parts.h"
#include "heap/python/python_version.h"
#include "tests/unit/memory_example.h"

#define HEAP 0x550000000000u
#define TABLE (HEAP + 0x100)
#define ENTRIES 16u
#define ARENA 0x7f0000100000u		/* begins with a pool */
#define BESIDE 0x7f0000301000u		/* does not */
#define POOL (16u << 10)
#define POOLS 64u
#define HEAD 48u
#define SLOTS 10u			/* of the first pool that were ever given out */
#define SIZE 64u
#define AT(i) (ARENA + HEAD + (i) * SIZE)
#define ALL (POOL - HEAD)		/* bytes for slots */

struct heap {
	struct memory_example m;
	struct block block;
	struct census c;
	uint8_t *heap, *arena, *beside;
	struct pymalloc p;
};

static struct pymalloc_entry *entry(struct heap *h, uint32_t i)
{
	return (struct pymalloc_entry *)(void *)(h->heap + (TABLE - HEAP)) + i;
}

static struct pymalloc_head *head(struct heap *h, uint32_t pool)
{
	return (struct pymalloc_head *)(void *)(h->arena + pool * POOL);
}

static void set_head(struct pymalloc_head *p, uint32_t arena, uint32_t used, uint32_t size, uint32_t slots)
{
	*p = (struct pymalloc_head){ .used = used, .arena = arena, .class = size / 16 - 1,
				     .nextoffset = HEAD + slots * size, .maxnextoffset = POOL - size };
}

/* Slot @i of the first pool is free, and leads to slot @next; 0: to none. */
static void set_free(struct heap *h, uint32_t i, uint32_t next)
{
	const taddr to = next ? AT(next) : 0;

	memcpy(h->arena + (AT(i) - ARENA), &to, sizeof(to));
}

/*
 * Arena 3 has three pools that were used: of 10 slots of 64 bytes, of which 2 and 5 are free; one that is full, of
 * 512; an empty one. Arena 4 does not begin with a pool, and has one, with one slot of 16. The others have no arena.
 */
static void init(struct heap *h)
{
	const taddr beside = (BESIDE + POOL - 1) & ~(taddr)(POOL - 1);

	memset(h, 0, sizeof(*h));
	example_init(&h->m);
	h->heap = (uint8_t *)example_map(&h->m, HEAP, 0x2000, "rw-p", "[heap]");
	h->arena = (uint8_t *)example_map(&h->m, ARENA, POOLS * POOL, "rw-p", "");
	h->beside = (uint8_t *)example_map(&h->m, BESIDE, POOLS * POOL, "rw-p", "");
	for (uint32_t i = 0; i + 1 < ENTRIES; i++)
		entry(h, i)->next = TABLE + (i + 1) * sizeof(struct pymalloc_entry);
	*entry(h, 3) = (struct pymalloc_entry){ .address = ARENA, .pool_address = ARENA + 3 * POOL,
						.free = POOLS - 2, .total = POOLS };
	*entry(h, 4) = (struct pymalloc_entry){ .address = BESIDE, .pool_address = beside + POOL,
						.free = POOLS - 2, .total = POOLS - 1 };
	set_head(head(h, 0), 3, SLOTS - 2, SIZE, SLOTS);
	head(h, 0)->freeblock = AT(5);
	set_free(h, 5, 2);
	set_head(head(h, 1), 3, ALL / 512, 512, ALL / 512);
	set_head(head(h, 2), 3, 0, 32, 4);
	set_head((void *)(h->beside + (beside - BESIDE)), 4, 1, 16, 1);
	h->block = (struct block){ .addr = TABLE, .size = ENTRIES * sizeof(struct pymalloc_entry) + 8 };
	h->c = (struct census){ .blocks = &h->block, .nblocks = 1 };
}

static void fini(struct heap *h)
{
	pymalloc_fini(&h->p);
	example_fini(&h->m);
}

static void take(struct heap *h)
{
	example_seal(&h->m);
	assert_int_equal(pymalloc_take(&h->m.s, &h->c, pymalloc_sizes_of(12), &h->p), 0);
}

static void blocks(void **state)
{
	struct heap h;

	(void)state;
	init(&h);
	take(&h);
	assert_int_equal(h.p.narenas, 2);
	assert_int_equal(h.p.npools, 4);
	assert_int_equal(h.p.blocks, SLOTS - 2 + ALL / 512 + 1);
	assert_int_equal(h.p.bytes, (SLOTS - 2) * SIZE + ALL / 512 * 512 + 16);
	assert_int_equal(h.p.arena_bytes, (2 * POOLS - 1) * POOL);
	assert_int_equal(h.p.empty_bytes, (2 * POOLS - 1 - 3) * POOL);
	assert_int_equal(h.p.free_bytes, 3 * ALL - h.p.bytes);
	assert_int_equal(h.p.unseen_bytes, 0);
	assert_int_equal(h.p.differing, 0);
	fini(&h);
}

/* Is @at in slot number @i of the first pool; which is in use, or not? */
static void in_slot(const struct heap *h, taddr at, uint32_t i, bool used)
{
	const struct pymalloc_pool *pool = NULL;
	const size_t slot = pymalloc_slot(&h->p, at, &pool);

	assert_int_not_equal(slot, PYMALLOC_NONE);
	assert_int_equal(pymalloc_address(pool, slot), AT(i));
	assert_int_equal(h->p.used[slot], used);
}

static void in_none(const struct heap *h, taddr at)
{
	const struct pymalloc_pool *pool;

	assert_int_equal(pymalloc_slot(&h->p, at, &pool), PYMALLOC_NONE);
}

static void slots_at_their_bounds(void **state)
{
	const taddr beside = (BESIDE + POOL - 1) & ~(taddr)(POOL - 1);
	const struct pymalloc_pool *pool;
	struct heap h;

	(void)state;
	init(&h);
	take(&h);
	for (uint32_t i = 0; i < SLOTS; i++) {
		in_slot(&h, AT(i), i, i != 2 && i != 5);
		in_slot(&h, AT(i) + SIZE - 1, i, i != 2 && i != 5);
	}
	in_none(&h, 0);
	in_none(&h, ARENA - 1);
	in_none(&h, ARENA);
	in_none(&h, AT(0) - 1);
	in_none(&h, AT(SLOTS));
	in_none(&h, ARENA + POOL - 1);
	/* the end of a full pool, an empty one, one that was never used, the end of the arena */
	assert_int_not_equal(pymalloc_slot(&h.p, ARENA + POOL + HEAD + ALL / 512 * 512 - 1, &pool), PYMALLOC_NONE);
	in_none(&h, ARENA + POOL + HEAD + ALL / 512 * 512);
	in_none(&h, ARENA + 2 * POOL + HEAD);
	in_none(&h, ARENA + 3 * POOL);
	in_none(&h, ARENA + POOLS * POOL);
	/* before the first pool of the other arena, and in it */
	in_none(&h, BESIDE);
	in_none(&h, beside - 1);
	assert_int_not_equal(pymalloc_slot(&h.p, beside + HEAD + 15, &pool), PYMALLOC_NONE);
	in_none(&h, beside + HEAD + 16);
	in_none(&h, UINT64_MAX);
	fini(&h);
}

static void only_the_arenas(void **state)
{
	struct snapshot_range *all;
	struct heap h;
	size_t n;

	(void)state;
	init(&h);
	example_seal(&h.m);
	assert_int_equal(pymalloc_arenas(&h.m.s, &h.c, pymalloc_sizes_of(12), &all, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(all[0].lo, ARENA);
	assert_int_equal(all[0].hi, ARENA + POOLS * POOL);
	assert_int_equal(all[1].lo, BESIDE);
	free(all);
	fini(&h);
}

/* A block is a table by each of its entries, and by one arena that has the number of its entry. */
static void no_tables(void **state)
{
	struct heap h;

	(void)state;
	for (int damage = 0; damage < 10; damage++) {
		init(&h);
		switch (damage) {
		case 0: h.block.size = ENTRIES * sizeof(struct pymalloc_entry) - 8; break;
		case 1: entry(&h, 3)->address += 16; break;
		case 2: entry(&h, 3)->total++; break;
		case 3: entry(&h, 3)->free = POOLS + 1; break;
		case 4: entry(&h, 3)->pool_address = ARENA + (POOLS + 1) * POOL; break;
		case 5: entry(&h, 3)->pool_address = ARENA - POOL; break;
		case 6: entry(&h, 3)->pool_address += 16; break;
		case 7: entry(&h, 7)->next = 0; break;
		case 8: memset(entry(&h, 0), 0, ENTRIES * sizeof(struct pymalloc_entry)); break;
		case 9:
			head(&h, 0)->arena = 2;
			entry(&h, 4)->pool_address -= POOL;
			break;
		}
		take(&h);
		assert_int_equal(h.p.narenas, 0);
		fini(&h);
	}
}

/* A pool that makes no sense is not read; one that contradicts itself is counted. */
static void damaged_pools(void **state)
{
	struct heap h;

	(void)state;
	for (int damage = 0; damage < 5; damage++) {
		init(&h);
		switch (damage) {
		case 0: head(&h, 0)->class = 32; break;
		case 1: head(&h, 0)->nextoffset += 8; break;
		case 2: head(&h, 0)->nextoffset = HEAD + 256 * SIZE; break;
		case 3: head(&h, 0)->maxnextoffset -= SIZE; break;
		case 4: head(&h, 0)->class = UINT32_MAX; break;
		}
		take(&h);
		assert_int_equal(h.p.unseen_bytes, POOL);
		assert_int_equal(h.p.differing, 1);
		assert_int_equal(h.p.blocks, ALL / 512 + 1);
		fini(&h);
	}
	/* another arena's number: it was not seen */
	init(&h);
	head(&h, 1)->arena = 7;
	take(&h);
	assert_int_equal(h.p.unseen_bytes, POOL);
	assert_int_equal(h.p.blocks, SLOTS - 2 + 1);
	fini(&h);
}

/* The free list leads out of the pool, between slots, in a circle, to memory that is not there. */
static void damaged_lists(void **state)
{
	static const taddr to[] = { ARENA, AT(0) - SIZE, AT(SLOTS), AT(1) + 8, 16, UINT64_MAX, AT(5), AT(2) };
	struct heap h;

	(void)state;
	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++) {
		init(&h);
		memcpy(h.arena + (AT(2) - ARENA), &to[i], sizeof(to[i]));
		take(&h);
		assert_int_equal(h.p.differing, 1);
		assert_int_equal(h.p.narenas, 2);
		assert_true(h.p.blocks <= SLOTS + ALL / 512 + 1);
		fini(&h);
	}
	init(&h);
	head(&h, 0)->used++;
	take(&h);
	assert_int_equal(h.p.differing, 1);
	fini(&h);
	init(&h);
	entry(&h, 3)->free--;
	take(&h);
	assert_int_equal(h.p.differing, 1);
	fini(&h);
}

/* Words of any value in the table and in heads and lists: nothing is read outside, and sums are within bounds. */
static void random_words(void **state)
{
	(void)state;
	srand(1);
	for (int i = 0; i < 3000; i++) {
		struct heap h;
		int words = rand() % 4;

		init(&h);
		for (; words >= 0; words--) {
			uint8_t *at = rand() % 2 ? (uint8_t *)entry(&h, (uint32_t)rand() % ENTRIES)
						 : (uint8_t *)head(&h, (uint32_t)rand() % 3);
			const uint64_t some[] = { 0, UINT64_MAX, ARENA + (uint64_t)(rand() % 70) * POOL,
						  AT(rand() % 12), (uint64_t)rand() << rand() % 33 };

			memcpy(at + rand() % 12 * 4, &some[rand() % 5], rand() % 2 ? 4 : 8);
		}
		take(&h);
		assert_true(h.p.bytes + h.p.free_bytes <= h.p.npools * ALL);
		for (int k = 0; k < 50; k++) {
			const struct pymalloc_pool *pool;
			const taddr at = ARENA + (uint64_t)(rand() % (4 * POOL));
			const size_t slot = pymalloc_slot(&h.p, at, &pool);

			assert_true(slot == PYMALLOC_NONE || (slot < h.p.nslots && pool->size &&
							      at - pymalloc_address(pool, slot) < pool->size));
		}
		fini(&h);
	}
}

static void sizes(void **state)
{
	(void)state;
	assert_int_equal(pymalloc_sizes_of(9).arena, 256 << 10);
	assert_int_equal(pymalloc_sizes_of(9).pool, 4 << 10);
	assert_int_equal(pymalloc_sizes_of(10).arena, 1 << 20);
	assert_int_equal(pymalloc_sizes_of(13).pool, 16 << 10);
}

static void version_is(const char *text, const char *version, unsigned minor, bool release, bool freethreaded)
{
	struct python_version v;
	/* without an end, so that what is read behind it is found (with the sanitizers) */
	char *copy = malloc(strlen(text));

	assert_non_null(copy);
	memcpy(copy, text, strlen(text));
	assert_int_equal(python_version_parse(copy, strlen(text), &v), version != NULL);
	free(copy);
	if (!version)
		return;
	assert_string_equal(v.text, version);
	assert_int_equal(v.minor, minor);
	assert_int_equal(v.release, release);
	assert_int_equal(v.freethreaded, freethreaded);
}

static void versions(void **state)
{
	(void)state;
	version_is("3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]", "3.11.2", 11, true, false);
	version_is("3.9.18+ (tags/v3.9.18:1, Jan  1 2024, 00:00:00) \n[Clang 17]", "3.9.18+", 9, true, false);
	version_is("3.13.0b1 (main, May  8 2024, 00:00:00) [GCC 13]", "3.13.0b1", 13, false, false);
	version_is("3.13.0 experimental free-threading build (main, Oct  7 2024, 00:00:00) [GCC 13]", "3.13.0", 13,
		   true, true);
	version_is("3.11.2 (main, Apr 28 2025, 14:11:48) ", NULL, 0, false, false);
	version_is("3.11.2", NULL, 0, false, false);
	version_is("3.x (main) [GCC]", NULL, 0, false, false);
	version_is("2.7.18 (main, Apr 28 2025) [GCC]", NULL, 0, false, false);
	version_is("3.11.2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa (main) [GCC]", NULL, 0, false, false);
	version_is("3", NULL, 0, false, false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
		cmocka_unit_test(slots_at_their_bounds),
		cmocka_unit_test(only_the_arenas),
		cmocka_unit_test(no_tables),
		cmocka_unit_test(damaged_pools),
		cmocka_unit_test(damaged_lists),
		cmocka_unit_test(random_words),
		cmocka_unit_test(sizes),
		cmocka_unit_test(versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
