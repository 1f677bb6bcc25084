/* SPDX-License-Identifier: MIT */
#include "trace/namesblock.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/encode.h"

struct work {
	const struct namesblock *to;
	const struct defs *defs;
	uint64_t *raw;
	struct encoder block;
	uint8_t payload[MMT_BLOCK_MAX];
	struct fact_name names[DEFS_NAMES_MAX];
};

static int flush(struct work *w)
{
	const struct namesblock *to = w->to;
	size_t n = w->block.n;
	int err = n ? tracefile_append(to->file, to->packer, to->tag, w->payload, n) : 0;

	encoder_start(&w->block, w->payload);
	*w->raw += err ? 0 : n;
	return err;
}

/* Names that do not fit into a block are left out. */
static int put(struct work *w, uint32_t frame)
{
	struct fact f;
	int err;

	defs_names_fact(w->defs, frame, w->names, &f);
	f.time_us = w->to->time_us;
	err = encoder_put(&w->block, &f);
	if (err != -ENOBUFS)
		return err;
	err = flush(w);
	if (!err)
		err = encoder_put(&w->block, &f);
	return err == -ENOBUFS ? 0 : err;
}

int namesblock_append(const struct namesblock *to, const struct defs *d, const struct bits *frames,
		      uint64_t *raw)
{
	cleanup_free struct work *w = malloc(sizeof(*w));
	int err = 0;

	if (!w)
		return -ENOMEM;
	w->to = to;
	w->defs = d;
	w->raw = raw;
	encoder_start(&w->block, w->payload);
	for (uint32_t i = 0; i < d->nframes && !err; i++)
		if (d->frames[i].nnames && bits_has(frames, i))
			err = put(w, i);
	return err ? err : flush(w);
}
