/* SPDX-License-Identifier: MIT */
/* trap_page: traps in the page of code_page.h. */
#ifndef MM_TRAP_PAGE_H
#define MM_TRAP_PAGE_H

#include "attach/keeper/traps/trap.h"
#include "tests/unit/code_page.h"

static struct traps traps;

static inline int setup(void **state)
{
	(void)state;
	memset(&traps, 0, sizeof(traps));
	new_file(5);
	return 0;
}

/* A site of one emulated instruction, with @n known bytes of the file. */
static inline struct site site_at(uint32_t offset, uint8_t n)
{
	struct site s = { .addr = at(offset), .nbytes = n, .emu = { .op = EMU_NOP, .len = 1 } };

	memcpy(s.bytes, file + offset, n);
	return s;
}

static inline int plant(uint32_t i, uint32_t offset, uint8_t n)
{
	struct site s = site_at(offset, n);

	return trap_plant(&traps, mem, i, &s);
}

/* The page has the contents of @base, except for int3 at @n places. */
static inline void assert_page(const uint8_t *base, const uint32_t *places, size_t n)
{
	static uint8_t want[PAGE];

	memcpy(want, base, PAGE);
	for (size_t i = 0; i < n; i++)
		want[places[i]] = INT3;
	for (uint32_t i = 0; i < PAGE; i++)
		if (page[i] != want[i])
			fail_msg("at %u: %02x, not %02x", i, page[i], want[i]);
}

#endif
