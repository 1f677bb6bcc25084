/* SPDX-License-Identifier: MIT */
/*
 * census_table: how a victim records its own blocks for census_truth.h. A victim says census_table_begin before
 * it calls its allocator, with the block that is given up, if any; and then census_table_put with the new
 * block, or census_table_end. Nothing here calls an allocator.
 */
#ifndef CENSUS_TABLE_H
#define CENSUS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "census_truth.h"

static struct truth truth;
static struct truth_block *census_table;
static __thread struct truth_note *census_note;

static inline void census_table_make(void)
{
	const uint64_t slots = 1u << 22;
	/* the system call: an allocator may be called before mmap(3) is bound */
	void *p = (void *)syscall(SYS_mmap, NULL, slots * sizeof(*census_table), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		_exit(4);
	truth.slots = slots;
	truth.table = (uint64_t)(uintptr_t)p;
	truth.magic = TRUTH_MAGIC;
	census_table = p;
}

/* Neighbours in memory are neighbours in the table, for 64 KB: a small heap touches little of it. */
static inline uint64_t census_table_place(uint64_t addr)
{
	return (addr >> 16) * 0x9e3779b97f4a7c15u >> 54 << 12 | (addr >> 4 & 4095);
}

static inline void census_table_take_out(uint64_t addr)
{
	const uint64_t mask = truth.slots - 1;

	for (uint64_t i = census_table_place(addr), n = 0; n <= mask; i++, n++) {
		struct truth_block *b = &census_table[i & mask];

		if (__atomic_load_n(&b->addr, __ATOMIC_RELAXED) == addr) {
			__atomic_store_n(&b->addr, TRUTH_GONE, __ATOMIC_SEQ_CST);
			return;
		}
		/* never used: older than the table */
		if (!__atomic_load_n(&b->addr, __ATOMIC_RELAXED))
			return;
	}
}

static inline void census_table_begin(void *given_up)
{
	if (!census_table)
		census_table_make();
	if (!census_note) {
		const uint64_t i = __atomic_fetch_add(&truth.nnotes, 1, __ATOMIC_SEQ_CST);

		if (i >= TRUTH_NOTES)
			_exit(5);
		census_note = &truth.notes[i];
	}
	census_note->addr = (uint64_t)(uintptr_t)given_up;
	__atomic_store_n(&census_note->busy, 1, __ATOMIC_SEQ_CST);
	if (given_up)
		census_table_take_out((uint64_t)(uintptr_t)given_up);
}

static inline void census_table_end(void)
{
	__atomic_store_n(&census_note->busy, 0, __ATOMIC_SEQ_CST);
}

/* @size: what the allocator says is usable. */
static inline void *census_table_put(void *p, size_t size)
{
	const uint64_t addr = (uint64_t)(uintptr_t)p, mask = truth.slots - 1;

	for (uint64_t i = census_table_place(addr); p; i++) {
		struct truth_block *b = &census_table[i & mask];
		uint64_t was = __atomic_load_n(&b->addr, __ATOMIC_RELAXED);

		if (was > TRUTH_GONE || !__atomic_compare_exchange_n(&b->addr, &was, TRUTH_TAKEN, false,
								     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			continue;
		b->size = size;
		__atomic_store_n(&b->addr, addr, __ATOMIC_SEQ_CST);
		break;
	}
	census_table_end();
	return p;
}

#endif
