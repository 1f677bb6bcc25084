/* SPDX-License-Identifier: MIT */
/*
 * live: the blocks that are held, and who holds them.
 *
 * A place is where an allocation came from: a call stack, by its number
 * (attach/stacks.h). Every block knows its place; every place knows what it keeps.
 * An address that was released stays known as released, so that a second
 * release of it can be told from that of a block older than the watch.
 */
#ifndef MM_LIVE_H
#define MM_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"

struct place {
	uint64_t allocs, frees;
	uint64_t blocks, bytes;
};

struct block {
	uint64_t size;
	uint64_t born_ns;
	uint32_t place;
	bool held;	/* false: it was released, and nobody has got the address since */
	uint16_t epoch;	/* of the release: what was released before a gap proves nothing after it */
};

struct live {
	struct addrmap blocks;		/* address -> struct block */
	struct place *places;		/* by stack number */
	size_t nplaces, places_size;
	uint64_t allocs, frees, unmatched_frees, double_frees;
	uint64_t held_blocks, held_bytes;
	uint16_t epoch;
};

void live_init(struct live *l);
void live_fini(struct live *l);

/* A block was given out to the code of stack @place. 0 or -ENOMEM. */
must_check int live_alloc(struct live *l, taddr addr, uint64_t size, uint32_t place, uint64_t now_ns);

/* Events were lost: addresses released until now may have been given out again since. */
void live_gap(struct live *l);

/* The address was given out again, but that is not to be counted: what we knew of it is over. */
void live_forget(struct live *l, taddr addr);

/* A block was released. @counted: the call counts in the totals; otherwise only the block goes. */
void live_free(struct live *l, taddr addr, bool counted);

/*
 * A release that takes time (realloc): the block is set aside when it begins,
 * since its address may be another's before it ends. Then either it was
 * released (live_released) or it was not after all (live_put_back).
 */
struct aside {
	taddr addr;
	struct block block;
	enum { ASIDE_HELD, ASIDE_UNKNOWN, ASIDE_RELEASED } was;
};
void live_set_aside(struct live *l, taddr addr, struct aside *out);
void live_released(struct live *l, const struct aside *a, bool counted);
void live_put_back(struct live *l, const struct aside *a);

#endif
