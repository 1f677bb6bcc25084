/* SPDX-License-Identifier: MIT */
/*
 * paths: stacks as the report distinguishes them: by the code locations of their frames, wherever and in
 * whichever order their modules were loaded.
 *
 * Two frames have the same location if they name the same offset of the same file. Code that belongs to no
 * file is compared by name, since a JIT compiler may emit a function again elsewhere
 * (report/names/madecode.h). Of several frames of one location, the one with the lowest number represents
 * all, so the result does not depend on the order in which the run was read.
 */
#ifndef MM_PATHS_H
#define MM_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/defs.h"

struct path {
	uint32_t *frames;	/* leaf first; each represents its code location */
	uint32_t depth;
	uint32_t tag;		/* index or DEFS_NONE */
	uint8_t end;
};

/*
 * Set @same_as[f] for each frame f: the frame that represents its location; it has room for defs.nframes. 0
 * or -ENOMEM.
 */
must_check int paths_find_same(const struct defs *d, uint32_t *same_as);

/* The stack with index @stack. Free out->frames. 0 or -ENOMEM. */
must_check int path_read(const struct defs *d, const uint32_t *same_as, uint32_t stack, struct path *out);

/* Of the frames after the first @skip ones. */
uint64_t path_hash(const struct path *p, uint32_t skip);
bool path_same(const struct path *a, uint32_t skip_a, const struct path *b, uint32_t skip_b);

#endif
