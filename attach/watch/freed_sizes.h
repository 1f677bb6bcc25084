/* SPDX-License-Identifier: MIT */
/*
 * freed_sizes: how large a block was that was freed, and is older than the watch, if its allocator is not
 * glibc's: that is asked as a watch with a budget asks it (attach/sampling/blocks/block_heap.h), from outside
 * and afterwards. The page of a small block is its class's for as long as other blocks are there, so the
 * answer still holds then. Of a larger block, and of one of another allocator, nothing is known; nor of one that is
 * freed while events come faster than they are read: to ask takes a system call or two.
 */
#ifndef MM_FREED_SIZES_H
#define MM_FREED_SIZES_H

#include <sys/types.h>

#include "attach/sampling/blocks/block_heap.h"

struct link;
struct module;
struct modules;

struct freed_sizes {
	struct block_heap *heap;	/* NULL: there is none to ask */
	taddr module;			/* where malloc's module begins */
	const struct link *link;
};

/* Before the target is touched: it takes some milliseconds, if malloc is not glibc's. */
void freed_sizes_open(struct freed_sizes *f, pid_t pid, const struct modules *ms, const struct link *link);
void freed_sizes_close(struct freed_sizes *f);

/*
 * Of the block at @addr, which a function of @m has freed: another module's may free a part of a block. 0:
 * not known. @ctx: a struct freed_sizes.
 */
uint64_t freed_sizes_of(void *ctx, const struct module *m, taddr addr);

#endif
