/* SPDX-License-Identifier: MIT */
/*
 * suspect_frees: frees that may be the allocator's own.
 *
 * When a thread ends, glibc calls free once more for the blocks in its cache, which were freed before, and
 * for the cache itself, which was not allocated by malloc. So what looks like a double free, or the free of
 * an older block, is set aside. If the thread then has a hit of another kind, the free was the program's; if
 * the thread ends first, it was the allocator's.
 *
 *	free of a cached block ... free of the cache	perhaps frees of live blocks		the thread ends
 *
 * A free of a live block is no hit of another kind if a block was freed again before: a detached thread goes on to
 * unmap the stacks of others that have ended, and frees what these had for their thread local variables. But then it
 * is done with its cache: a further block that was freed before shows that it had not ended.
 */
#ifndef MM_SUSPECT_FREES_H
#define MM_SUSPECT_FREES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "report/ledger/released.h"

struct suspect_frees {
	struct addrmap threads;	/* tid -> struct suspect_found */
};

/* A free of a block that was not live. */
struct suspect_free {
	taddr addr;
	uint64_t time_us;
	uint64_t size;			/* 0: not known */
	uint32_t stack;			/* the stack that freed it: number + 1 or FACT_NONE */
	bool again;			/* it was freed before, by */
	struct released_by before;
};

/* The suspect frees of one thread, the oldest first. */
struct suspect_found {
	struct suspect_free *all;
	size_t n, size;
	uint32_t probe;		/* the one that was hit */
	bool done;		/* suspect_frees_set_done */
};

void suspect_frees_init(struct suspect_frees *d);
void suspect_frees_fini(struct suspect_frees *d);

/* 0 or -ENOMEM. */
must_check int suspect_frees_add(struct suspect_frees *d, uint32_t tid, const struct suspect_free *a,
				 uint32_t probe);

/*
 * If the suspect frees of thread @tid were the allocator's own, it is done with its cache by now. false: none of them is
 * of a block that was freed before.
 */
bool suspect_frees_set_done(struct suspect_frees *d, uint32_t tid);
bool suspect_frees_is_done(const struct suspect_frees *d, uint32_t tid);

/* Remove those of thread @tid; false if there are none. Call suspect_found_fini afterwards. */
bool suspect_frees_take(struct suspect_frees *d, uint32_t tid, struct suspect_found *out);
void suspect_found_fini(struct suspect_found *t);

/* Find any thread that has suspect frees; false if there is none. */
bool suspect_frees_any(const struct suspect_frees *d, uint32_t *tid);

/* Those that have freed a block again, one after the other, from *@at = 0 on; false: there are no more. */
bool suspect_frees_next_again(const struct suspect_frees *d, size_t *at, uint32_t *tid);

#endif
