/* SPDX-License-Identifier: MIT */
/*
 * datamaps: the writable data of the program and its libraries, mapping by mapping: where an allocator has
 * its own variables. .bss is anonymous memory right behind a file's data.
 */
#ifndef MM_DATAMAPS_H
#define MM_DATAMAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/procmaps.h"

struct datamaps {
	const struct procmaps *maps;
	size_t next;
	taddr end;
	const struct mapping *file;
};

static inline struct datamaps datamaps_of(const struct procmaps *maps)
{
	return (struct datamaps){ maps, 0, 0, NULL };
}

/* The next mapping, and @file: the last one of the file whose data it is; NULL: there are no more. */
const struct mapping *datamaps_next(struct datamaps *d, const struct mapping **file);

/* Is all of [lo, hi) mapped? Of any kind. */
bool datamaps_cover(const struct procmaps *maps, taddr lo, taddr hi);

/* Where the data of the file ends that begins with @m. */
taddr datamaps_end(const struct procmaps *maps, const struct mapping *m);

#endif
