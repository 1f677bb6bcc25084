/* SPDX-License-Identifier: MIT */
/*
 * defined: which definitions a trace file has already, and which it therefore still needs before an event: a
 * stack's nodes from the outermost one inward, each with its frame, each frame with its module; and its tag.
 */
#ifndef MM_DEFINED_H
#define MM_DEFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/defs.h"
#include "trace/fact.h"

/* A set of indices. */
struct bits {
	uint8_t *bytes;
	size_t size;
};

struct defined {
	struct bits families, modules, frames, nodes, tags, stacks;
	uint32_t *path;		/* nodes that are to be defined, the innermost first */
	size_t path_size;
};

/* Receives definitions. 0 or -errno, which is passed back. */
typedef int defined_put(void *ctx, const struct fact *f);

void defined_fini(struct defined *df);		/* afterwards it is as new: a file without any definition */

bool bits_has(const struct bits *b, uint32_t i);
void bits_fini(struct bits *b);

/*
 * Put the definitions that @f needs: the stacks that it names (all its fields of that type), a family, the
 * parts of a definition. 0; -EINVAL: it names a stack that @d does not know; -ENOMEM; what @put returned.
 */
must_check int defined_before(struct defined *df, const struct defs *d, const struct fact *f,
			      defined_put *put, void *ctx);

/*
 * For a definition @f: does the file have it already? If not, it counts as defined from now on. A family and
 * a module may be put again, with what has become known.
 */
must_check int defined_already(struct defined *df, const struct defs *d, const struct fact *f, bool *already);

#endif
