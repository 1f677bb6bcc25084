/* SPDX-License-Identifier: MIT */
/*
 * synthetic: a program that exists only as the facts of its trace: calls with skewed sizes, from stacks of which a few
 * allocate most blocks. LIVE blocks are live once it has started, most are freed early, some never. Addresses are
 * reused, latest first, as malloc does. The same numbers give the same program.
 *
 * What fails ends the bench, with a message.
 */
#ifndef MM_BENCH_SYNTHETIC_H
#define MM_BENCH_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/ledger/ledger.h"
#include "trace/fact.h"
#include "trace/writer.h"

#define SYNTHETIC_CLASSES 64
#define SYNTHETIC_DEPTH 18
#define SYNTHETIC_FUNCTIONS 2000

_Noreturn void synthetic_die(const char *what);
void synthetic_must(int err, const char *what);

struct synthetic_block {
	taddr addr;
	uint32_t size, stack;
};

struct synthetic {
	uint64_t rng, made, events, now_us;
	uint32_t nstacks;
	size_t live, wanted;
	struct synthetic_block *blocks;	/* those that may be freed; the latest are at the end */
	struct { taddr *addrs; size_t n, size; } idle[SYNTHETIC_CLASSES];
	taddr top;			/* of the heap */
};

struct synthetic_event {
	bool alloc;
	struct synthetic_block b;
	uint64_t time_us;
};

void synthetic_init(struct synthetic *p, uint64_t events, size_t wanted, uint32_t stacks);
void synthetic_fini(struct synthetic *p);

/* false: it has ended. */
bool synthetic_next(struct synthetic *p, struct synthetic_event *e);
struct fact synthetic_fact(const struct synthetic_event *e);

/*
 * The functions that its stacks have, and the stacks 0 to @nstacks - 1. Those from @own on are made of other calls for
 * each @variant.
 */
void synthetic_define(struct ledger *l, uint32_t nstacks, uint32_t own, uint32_t variant);
taddr synthetic_pc(uint32_t function);
uint32_t synthetic_function(uint32_t stack, uint32_t depth);	/* depth: from 1, at the outer end */

/* The end of the trace, which is closed. *@raw_bytes and *@file_bytes may be NULL. */
void synthetic_close(struct writer *w, uint64_t now_us, uint64_t *raw_bytes, uint64_t *file_bytes);

#endif
