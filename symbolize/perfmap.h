/* SPDX-License-Identifier: MIT */
/*
 * perfmap: names of code that a running program generated itself, from the map it writes for perf
 * (/tmp/perf-PID.map): lines of "START SIZE name", in hexadecimal.
 *
 * A compiler reuses memory and only ever appends to the map, so where lines overlap the later one is right.
 * Lines of another form are skipped; of a longer map only the last PERFMAP_LINES_MAX lines count. Pure.
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
 * @text: the map, @n bytes from malloc and a NUL behind them. The perfmap takes it over; it is freed on
 * failure. 0; -EFBIG: more than PERFMAP_BYTES_MAX; -ENOMEM. perfmap_fini may be called after a failure.
 */
must_check int perfmap_parse(char *text, size_t n, struct perfmap *out);
void perfmap_fini(struct perfmap *m);

/* The name of the code at @addr, or NULL. Valid until perfmap_fini. */
const char *perfmap_find(const struct perfmap *m, taddr addr);

#endif
