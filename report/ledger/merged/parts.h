/* SPDX-License-Identifier: MIT */
/*
 * parts: how many bytes each process has of something, in a few bytes a process: varints, as in a trace. Two
 * thousand processes with a thousand stacks each would otherwise take 32 MB.
 */
#ifndef MM_PARTS_H
#define MM_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/fact.h"

/* All zero: empty. */
struct parts {
	uint8_t *bytes;
	size_t n, size;
	size_t count;
	uint32_t last;			/* process */
};

void parts_fini(struct parts *p);

/* In any order; one that is near to the last takes the least memory. 0 or -ENOMEM. */
must_check int parts_add(struct parts *p, uint32_t process, uint64_t bytes);

/* A position for parts_next; begin with one that is all zero. */
struct parts_place {
	size_t at;
	uint32_t before;
};

/* In the order in which they were added. */
bool parts_next(const struct parts *p, struct parts_place *place, struct fact_part *out);

#endif
