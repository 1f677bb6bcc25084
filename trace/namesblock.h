/* SPDX-License-Identifier: MIT */
/* namesblock: blocks that contain only names, after the others: names are looked up at the very end. */
#ifndef MM_NAMESBLOCK_H
#define MM_NAMESBLOCK_H

#include <stdint.h>

#include "base/cleanup.h"
#include "trace/codec.h"
#include "trace/defined.h"
#include "trace/defs.h"
#include "trace/tracefile.h"

struct namesblock {
	struct tracefile *file;	/* open, at its end */
	struct packer *packer;	/* NULL: do not compress */
	uint32_t tag;
	uint64_t time_us;	/* of the file's last fact: names do not make a run longer */
};

/*
 * Append the names of these @frames (indices of @d), if they have any. The payload's bytes are added to
 * *@raw. 0, -ENOMEM, or -errno of the write that failed: the file ends with a whole block.
 */
must_check int namesblock_append(const struct namesblock *to, const struct defs *d, const struct bits *frames,
				 uint64_t *raw);

#endif
