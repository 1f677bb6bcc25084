/* SPDX-License-Identifier: MIT */
/*
 * paths: stacks as the report tells them apart: by the places that they name, in whichever order and wherever their
 * modules were loaded.
 *
 * Two frames are of the same place if they name the same offset of the same file; where code is of no file, if it has the same
 * name, as a JIT compiler makes a function again elsewhere (report/names/madecode.h). Of several frames of one place
 * the one with the lowest number stands for all: so the result is the same whichever way the run came.
 */
#ifndef MM_PATHS_H
#define MM_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/defs.h"

struct path {
	uint32_t *frames;	/* leaf first; each the one that stands for its place */
	uint32_t depth;
	uint32_t tag;		/* index or DEFS_NONE */
	uint8_t end;
};

/* For each frame the one that stands for its place; @same_as has room for defs.nframes. 0 or -ENOMEM. */
must_check int paths_find_same(const struct defs *d, uint32_t *same_as);

/* The stack with index @stack. Free out->frames. 0 or -ENOMEM. */
must_check int path_read(const struct defs *d, const uint32_t *same_as, uint32_t stack, struct path *out);

/* Of what is behind the first @skip frames. */
uint64_t path_hash(const struct path *p, uint32_t skip);
bool path_same(const struct path *a, uint32_t skip_a, const struct path *b, uint32_t skip_b);

#endif
