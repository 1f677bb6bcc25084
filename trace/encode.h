/* SPDX-License-Identifier: MIT */
/*
 * encode: facts as records, one behind the other, in a block's payload.
 *
 * A record contains differences to the one before: so an encoder has a state, and starts afresh with each
 * block.
 */
#ifndef MM_ENCODE_H
#define MM_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/fact.h"
#include "trace/format.h"

struct encoder {
	uint8_t *payload;	/* room for MMT_BLOCK_MAX bytes; owned by the caller */
	size_t n;
	uint64_t time_us;	/* of the last record */
	taddr addr;		/* the last one written */
	uint32_t family;	/* of the next events */
};

/* A new block in @payload, which has MMT_BLOCK_MAX bytes. */
void encoder_start(struct encoder *e, uint8_t *payload);

/*
 * Append @f. A time before that of the last record is written as the same. 0; -ENOBUFS: it does not fit any
 * more, the block is unchanged; -EINVAL: the kind is unknown, or it has more points than a series, or steps
 * than a sample, may have.
 */
must_check int encoder_put(struct encoder *e, const struct fact *f);

#endif
