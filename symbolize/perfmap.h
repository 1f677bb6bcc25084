/* SPDX-License-Identifier: MIT */
/*
 * perfmap: names of code that a running program made itself, from the map it
 * writes for perf (/tmp/perf-PID.map): lines of "START SIZE name", hexadecimal.
 *
 * A compiler reuses memory and only ever appends, so a later line is right where it
 * overlaps earlier ones. What is no such line is skipped; of very many lines
 * the last PERFMAP_LINES_MAX count. Pure.
 */
#ifndef MM_PERFMAP_H
#define MM_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

#define PERFMAP_BYTES_MAX (64u << 20)
#define PERFMAP_LINES_MAX (1u << 20)

struct perfmap {
	char *text;			/* names, each with a NUL */
	struct perfmap_range *ranges;	/* by address; none overlaps another */
	size_t n;
};

/*
 * @text: the map, @n bytes of malloc and a NUL behind them; it becomes the perfmap's, and is freed if this
 * fails. 0; -EFBIG: more than PERFMAP_BYTES_MAX; -ENOMEM. perfmap_fini is fine after a failure.
 */
must_check int perfmap_parse(char *text, size_t n, struct perfmap *out);
void perfmap_fini(struct perfmap *m);

/* What the code at @addr is called, or NULL. Valid until perfmap_fini. */
const char *perfmap_find(const struct perfmap *m, taddr addr);

#endif
