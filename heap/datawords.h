/* SPDX-License-Identifier: MIT */
/*
 * datawords: what a snapshot has of the data of the program and its libraries, piece by piece: an
 * allocator's own variables are found by what they look like. What was never written is not in the
 * snapshot.
 */
#ifndef MM_DATAWORDS_H
#define MM_DATAWORDS_H

#include "heap/datamaps.h"
#include "heap/snapshot/snapshot.h"

struct datawords {
	const struct snapshot *s;
	struct datamaps maps;
	const struct mapping *m;
	size_t piece;
	/* the bytes at [lo, hi), and the last mapping of the file whose data it is */
	taddr lo, hi;
	const uint8_t *bytes;
	const struct mapping *file;
};

static inline struct datawords datawords_of(const struct snapshot *s)
{
	return (struct datawords){ .s = s, .maps = datamaps_of(&s->maps) };
}

/* The next piece. false: there are no more. */
bool datawords_next(struct datawords *d);

#endif
