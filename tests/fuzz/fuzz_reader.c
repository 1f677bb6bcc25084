/* SPDX-License-Identifier: MIT */
/*
 * reader: whatever the file contains, the facts that come out can be read to their last byte, taken as
 * definitions, and written again as the same facts; and the damage that is reported lies in the file, in
 * order.
 *
 * Changed bytes fail the checksums, so that no code behind these would see them. So each input is read twice:
 * as it is, and with the lengths and checksums of its blocks corrected.
 */
#include "trace/reader.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/fact_text.h"
#include "trace/block.h"
#include "trace/crc32.h"
#include "trace/decode.h"
#include "trace/defs.h"
#include "trace/encode.h"

/* A file of some bytes may unpack to gigabytes: that is slow, and not an error. */
#define FACTS_MAX 20000

struct run {
	struct defs defs;
	struct decoder decoder;
	struct strbuf text, again;
	uint8_t *payload;
	uint64_t nfacts, size, damaged_to;
};

static void check_stack(const struct defs *d, uint32_t index)
{
	uint32_t frames[16], n = defs_path(d, index, frames, 16);

	for (uint32_t i = 0; i < n && i < 16; i++)
		promised(frames[i] < d->nframes);
	promised(d->stacks[index].end <= MMT_END_ELSEWHERE && n <= DEFS_DEPTH_MAX);
}

/* A definition that was accepted is found by its number. */
static void check_taken(const struct defs *d, const struct fact *f)
{
	switch (f->info) {
	case MMT_FAMILY_NAME:
		promised(d->families[defs_family(d, f->family_name.number)].number == f->family_name.number);
		break;
	case MMT_MODULE:
		promised(d->modules[defs_module(d, f->module.number)].number == f->module.number);
		break;
	case MMT_FRAME:
		promised(d->frames[defs_frame(d, f->frame.number)].number == f->frame.number);
		break;
	case MMT_NODE:
		promised(d->nodes[defs_node(d, f->node.number)].number == f->node.number);
		break;
	case MMT_TAG:
		promised(d->tags[defs_tag(d, f->tag.number)].number == f->tag.number);
		break;
	case MMT_STACK:
		check_stack(d, defs_stack(d, f->stack.number));
		break;
	case MMT_NAMES:
		promised(d->frames[defs_frame(d, f->names.frame)].nnames == f->names.n);
		break;
	}
}

static void take_definition(struct defs *d, const struct fact *f)
{
	int err = defs_take(d, f);

	promised(err == 0 || err == -EINVAL || err == -ENOENT || err == -ENOMEM);
	if (!err)
		check_taken(d, f);
}

/*
 * Formatting the fact reads all of it. (A fact that nearly fills a block may not fit into the encoder's
 * block.)
 */
static void write_again(struct run *run, const struct fact *f)
{
	struct encoder e;
	struct fact copy;
	int err;

	strbuf_reset(&run->text);
	fact_text(&run->text, f);
	encoder_start(&e, run->payload);
	err = encoder_put(&e, f);
	promised(!err || (err == -ENOBUFS && run->text.len > MMT_BLOCK_MAX / 2));
	if (err)
		return;
	decoder_start(&run->decoder, run->payload, e.n);
	promised(decoder_next(&run->decoder, &copy) == 1);
	strbuf_reset(&run->again);
	fact_text(&run->again, &copy);
	promised(!strcmp(strbuf_str(&run->text), strbuf_str(&run->again)));
	promised(decoder_next(&run->decoder, &copy) == 0);
}

static int take(void *ctx, const struct fact *f)
{
	struct run *run = ctx;

	write_again(run, f);
	take_definition(&run->defs, f);
	return ++run->nfacts < FACTS_MAX ? 0 : -ECANCELED;
}

static void damaged(void *ctx, const struct reader_damage *d)
{
	struct run *run = ctx;

	promised(d->at >= run->damaged_to && d->at <= run->size && d->bytes <= run->size - d->at);
	promised(!d->at_end || d->at + d->bytes == run->size);
	promised(*d->why && strlen(d->why) < sizeof(d->why));
	run->damaged_to = d->at + d->bytes;
}

static void read_all(const uint8_t *data, size_t size)
{
	struct run run = { .payload = malloc(MMT_BLOCK_MAX), .size = size };
	struct reader *r;

	defs_init(&run.defs);
	if (run.payload && !decoder_init(&run.decoder) && !reader_open_memory(data, size, &r)) {
		int err = reader_run(r, take, damaged, &run);

		promised(err == 0 || err == -ENOMEM || (err == -ECANCELED && run.nfacts == FACTS_MAX));
		promised(reader_size(r) == size && (err ? reader_at(r) <= size : reader_at(r) == size));
		reader_close(r);
	}
	decoder_fini(&run.decoder);
	defs_fini(&run.defs);
	strbuf_fini(&run.text);
	strbuf_fini(&run.again);
	free(run.payload);
}

static uint32_t number_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The next offset with a block's magic, and enough bytes for a head. */
static size_t find_block(const uint8_t *data, size_t size, size_t at)
{
	while (at + MMT_BLOCK_HEAD <= size && number_at(data + at) != MMT_BLOCK_MAGIC)
		at++;
	return at + MMT_BLOCK_HEAD <= size ? at : size;
}

static void heal(uint8_t *data, size_t size)
{
	for (size_t at = find_block(data, size, 0), next; at < size; at = next) {
		uint8_t *p = data + at;

		next = find_block(data, size, at + MMT_BLOCK_HEAD);
		struct block_head h = {
			number_at(p + 4),  number_at(p + 8),  (uint32_t)(next - at - MMT_BLOCK_HEAD),
			number_at(p + 16), number_at(p + 20), 0
		};
		if (h.codec == MMT_CODEC_STORED)
			h.length = h.stored;
		h.crc = crc32_of(p + MMT_BLOCK_HEAD, h.stored);
		block_head_pack(&h, p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free uint8_t *healed = malloc(size ? size : 1);

	if (!healed)
		return 0;
	read_all(data, size);
	if (size)
		memcpy(healed, data, size);
	heal(healed, size);
	read_all(healed, size);
	return 0;
}
