/* SPDX-License-Identifier: MIT */
#include "heap/census_blocks.h"

#include <sys/mman.h>

#define PAGE 4096u
#define LEAST (1u << 16)	/* a MiB */

bool census_blocks_reserve(struct census *c, size_t most)
{
	for (most += LEAST; most >= LEAST; most /= 2) {
		void *p = mmap(NULL, most * sizeof(*c->blocks), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			continue;
		(void)madvise(p, most * sizeof(*c->blocks), MADV_HUGEPAGE);
		c->blocks = p;
		c->block_room = most;
		return true;
	}
	return false;
}

/* The kernel moves the pages. */
bool census_blocks_grow(struct census *c)
{
	void *p = mremap(c->blocks, c->block_room * sizeof(*c->blocks),
			 2 * c->block_room * sizeof(*c->blocks), MREMAP_MAYMOVE);

	if (p == MAP_FAILED)
		return false;
	c->blocks = p;
	c->block_room *= 2;
	return true;
}

void census_blocks_trim(struct census *c)
{
	const size_t all = (c->block_room * sizeof(*c->blocks) + PAGE - 1) & ~(size_t)(PAGE - 1);
	size_t kept = (c->nblocks * sizeof(*c->blocks) + PAGE - 1) & ~(size_t)(PAGE - 1);

	/* one page stays, so that there is something to unmap later */
	kept = kept ? kept : PAGE;
	if (kept < all && munmap((char *)c->blocks + kept, all - kept) == 0)
		c->block_room = kept / sizeof(*c->blocks);
}

void census_blocks_free(struct census *c)
{
	if (c->blocks)
		munmap(c->blocks, c->block_room * sizeof(*c->blocks));
	c->blocks = NULL;
}
