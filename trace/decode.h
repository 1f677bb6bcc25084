/* SPDX-License-Identifier: MIT */
/*
 * decode: records of a block's payload as facts.
 *
 * Nothing is trusted: what does not fit into its record, or into the type of its number, is -EPROTO, and the
 * rest of the block is void. Unknown kinds of information are skipped.
 */
#ifndef MM_DECODE_H
#define MM_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/fact.h"
#include "trace/wire.h"

#define DECODE_SUMS 8	/* verdicts that are distinguished */

struct decoder {
	struct cursor in;
	uint64_t time_us;
	taddr addr;
	uint32_t family;	/* of the next events */
	char *text;		/* the strings of the last fact: MMT_BLOCK_MAX bytes are enough for any */
	size_t ntext;
	void *list;		/* its array */
	size_t list_size;
	struct fact_verdicts look;	/* of MMT_VERDICTS: too large for every fact */
	struct fact_sum sums[DECODE_SUMS];
	struct fact_sample sample;	/* of MMT_SAMPLE, MMT_BUDGET: likewise */
	struct fact_budget budget;
	struct fact_process process;
	struct fact_merged merged;
	uint64_t points[MMT_SERIES_POINTS];	/* of MMT_MERGED */
	struct fact_sum bins[MMT_BINS_MAX];
};

must_check int decoder_init(struct decoder *d);		/* 0 or -ENOMEM */
void decoder_fini(struct decoder *d);

/*
 * A new block: @n bytes (at most MMT_BLOCK_MAX) at @payload, which the caller owns and which must stay valid.
 */
void decoder_start(struct decoder *d, const void *payload, size_t n);

/*
 * The next fact. 1; 0: there is none; -EPROTO: the record is invalid; -ENOTSUP: an event of an unknown kind;
 * -ENOMEM. Strings and arrays are valid until the next call.
 */
must_check int decoder_next(struct decoder *d, struct fact *f);

#endif
