/* SPDX-License-Identifier: MIT */
/*
 * trace_image: a trace file in memory, block by block, valid or invalid as the test wants it. It does not use
 * the writer: the tests of the reader should not depend on that.
 */
#ifndef TRACE_IMAGE_H
#define TRACE_IMAGE_H

#include <stdint.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "trace/block.h"
#include "trace/crc32.h"
#include "trace/encode.h"

#define IMAGE_TAG 0x600df00d
#define IMAGE_BLOCKS 64

struct image {
	struct strbuf bytes;
	size_t start[IMAGE_BLOCKS];	/* of each block */
	uint32_t nblocks;
	uint8_t *payload;
};

static inline void image_init(struct image *m)
{
	*m = (struct image){ .payload = malloc(MMT_BLOCK_MAX) };
}

static inline void image_fini(struct image *m)
{
	strbuf_fini(&m->bytes);
	free(m->payload);
}

static inline void image_head(struct image *m)
{
	uint8_t head[MMT_FILE_HEAD];

	file_head_pack(head);
	strbuf_append(&m->bytes, head, sizeof(head));
}

/* With correct checksums. */
static inline void image_block(struct image *m, struct block_head h, const void *payload)
{
	uint8_t head[MMT_BLOCK_HEAD];

	h.crc = crc32_of(payload, h.stored);
	block_head_pack(&h, head);
	m->start[m->nblocks++] = m->bytes.len;
	strbuf_append(&m->bytes, head, sizeof(head));
	strbuf_append(&m->bytes, payload, h.stored);
}

/* An ordinary block with this number and these facts. */
static inline void image_facts(struct image *m, uint32_t number, const struct fact *facts, size_t n)
{
	struct encoder e;

	encoder_start(&e, m->payload);
	for (size_t i = 0; i < n; i++)
		if (encoder_put(&e, &facts[i]))
			abort();
	image_block(m,
		    (struct block_head){ number, (uint32_t)e.n, (uint32_t)e.n, MMT_CODEC_STORED, IMAGE_TAG,
					 0 },
		    m->payload);
}

/* Where block @i ends. */
static inline size_t image_end(const struct image *m, uint32_t i)
{
	return i + 1 < m->nblocks ? m->start[i + 1] : m->bytes.len;
}

#endif
