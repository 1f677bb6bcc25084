/* SPDX-License-Identifier: MIT */
/*
 * chain_pages: whole pages of a stopped thread's memory, read for one hit. The links of a chain lie beside
 * each other, some dozens in a page: so most of them take no system call of their own. (Before CPython 3.11 they
 * are objects anywhere in the heap.) A page that is read has something in it that the target uses, or was using
 * at the thread's last hit.
 */
#ifndef MM_CHAIN_PAGES_H
#define MM_CHAIN_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/traps/remote_loads.h"
#include "base/taddr.h"

#define CHAIN_PAGE 4096u
#define CHAIN_PAGES 8u
#define CHAIN_AT_ONCE 3u
#define CHAIN_FETCHES 24u	/* system calls for one hit, at most: the thread waits meanwhile */

struct chain_pages {
	struct remote_loads_from from;
	uint32_t fetches;		/* for this hit */
	uint32_t next;			/* which is replaced: the oldest */
	taddr addr[CHAIN_PAGES];	/* 1: none */
	uint8_t bytes[CHAIN_PAGES][CHAIN_PAGE];
};

/* A hit of another thread. Reads the pages of those of @addrs at once that are not 0. */
void chain_pages_begin(struct chain_pages *p, struct remote_loads_from from, const taddr addrs[CHAIN_AT_ONCE]);

/* false: the memory is not there. */
bool chain_pages_read(struct chain_pages *p, taddr addr, void *buf, uint32_t n);

#endif
