/* SPDX-License-Identifier: MIT */
/*
 * reader: see reader.h.
 *
 *	        ┌──────────────── a block is whole ───────────────┐
 *	        ▼                                                 │
 *	in order ── no block, or none that is whole ──▶ lost: looks for a block's magic, from here on
 *
 * While it is lost, a piece of damage is open: it grows until the next whole block (or the end), and is
 * reported there. A block that is whole but cannot be decoded opens one too, and so does one of another run.
 *
 * While it is lost, it may meet heads that are right but whose payload is not. Trying each costs the time of
 * a checksum over the length that it claims. A file made for that (a megabyte claimed every 32 bytes) would
 * take for ever; so when more bytes were checksummed in vain than were read, such a block is skipped as a
 * whole.
 */
#include "trace/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/block.h"
#include "trace/codec.h"
#include "trace/decode.h"
#include "trace/source.h"

#define AHEAD (MMT_BLOCK_HEAD + MMT_BLOCK_MAX)
#define IN_VAIN_MAX (64 << 20)	/* in addition to as much as was read */

struct reader {
	struct source in;
	struct unpacker *unpacker;
	struct decoder decoder;
	reader_take *take;
	reader_damaged *damaged;
	void *ctx;
	struct reader_damage open;	/* damage that is not reported yet */
	bool following;			/* the file is still being written */
	bool lost;			/* there is open damage */
	bool tagged;			/* the run's tag is known */
	uint32_t tag;
	uint32_t next;			/* the expected number of the next block */
	uint32_t part;			/* files that have begun */
	uint32_t family;		/* the one that was reported last */
	uint64_t in_vain;		/* bytes checksummed in vain */
};

/* --- damage --- */

static void open_damage(struct reader *r, const char *why)
{
	if (r->lost)
		return;
	r->lost = true;
	r->open = (struct reader_damage){ .at = source_at(&r->in) };
	snprintf(r->open.why, sizeof(r->open.why), "%s", why);
}

/* The open damage ends at the current position. */
static void report_damage(struct reader *r, bool at_end)
{
	if (!r->lost)
		return;
	r->lost = false;
	r->open.bytes = source_at(&r->in) - r->open.at;
	r->open.at_end = at_end;
	r->damaged(r->ctx, &r->open);
}

static void report_missing(struct reader *r, uint32_t from, uint32_t to)
{
	struct reader_damage d = { .at = source_at(&r->in) };

	if (to - from == 1)
		snprintf(d.why, sizeof(d.why), "block %u is missing", from);
	else
		snprintf(d.why, sizeof(d.why), "blocks %u to %u are missing", from, to - 1);
	r->damaged(r->ctx, &d);
}

/* --- a whole block --- */

/* A change of family is reported before the first fact that is of the new one. */
static int take(struct reader *r, const struct fact *f)
{
	if (r->family != r->decoder.family && f->kind != MMT_TIME) {
		const struct fact family = { .kind = MMT_FAMILY, .time_us = f->time_us,
					     .family = r->decoder.family };
		int err;

		r->family = r->decoder.family;
		err = r->take(r->ctx, &family);
		if (err)
			return err;
	}
	return f->kind == MMT_FAMILY ? 0 : r->take(r->ctx, f);
}

static int take_facts(struct reader *r, const void *payload, size_t n)
{
	struct fact f;
	int got;

	decoder_start(&r->decoder, payload, n);
	while ((got = decoder_next(&r->decoder, &f)) > 0) {
		int err = take(r, &f);
		if (err)
			return err;
	}
	if (got == -EPROTO)
		open_damage(r, "a block's checksum is right, but a part of it makes no sense");
	else if (got == -ENOTSUP)
		open_damage(r, "a block holds events that this version does not know; it was written by a "
			       "newer one");
	else
		return got;
	return 0;
}

static int take_block(struct reader *r, const struct block_head *h, const uint8_t *stored)
{
	const void *payload;
	int err = unpacker_unpack(r->unpacker, h->codec, stored, h->stored, h->length, &payload);

	if (err == -ENOTSUP)
		open_damage(r, "a block is packed in a way that this version does not know; it was written "
			       "by a newer one");
	else if (err)
		open_damage(r, "a block's checksum is right, but it cannot be unpacked");
	return err ? 0 : take_facts(r, payload, h->length);
}

/* Is this block the expected one, or a later one? Behind damage any may come. */
static bool in_order(struct reader *r, const struct block_head *h)
{
	if (!r->tagged) {
		r->tagged = true;
		r->tag = h->tag;
	}
	if (h->tag != r->tag) {
		open_damage(r, "a block is of another run");
		return false;
	}
	if (!r->lost && h->number < r->next) {
		open_damage(r, "a block came before");
		return false;
	}
	return true;
}

static int serve_whole(struct reader *r, const struct block_head *h, const uint8_t *p)
{
	bool was_lost = r->lost;
	int err;

	if (!in_order(r, h)) {
		source_pass(&r->in, MMT_BLOCK_HEAD + h->stored);
		return 0;
	}
	report_damage(r, false);
	if (!was_lost && h->number > r->next)
		report_missing(r, r->next, h->number);
	if (h->number < r->next) /* the damage contained the head of another file */
		r->part++;
	r->next = h->number + 1;
	err = take_block(r, h, p + MMT_BLOCK_HEAD);
	source_pass(&r->in, MMT_BLOCK_HEAD + h->stored);
	return err;
}

/* --- a block that is not whole --- */

/* Where a block may begin in these bytes, its magic perhaps cut off by their end; @end if nowhere. */
static const uint8_t *find_magic(const uint8_t *p, const uint8_t *end)
{
	static const uint8_t magic[4] = { MMT_BLOCK_MAGIC & 255, MMT_BLOCK_MAGIC >> 8 & 255,
					  MMT_BLOCK_MAGIC >> 16 & 255, MMT_BLOCK_MAGIC >> 24 };

	while ((p = memchr(p, magic[0], (size_t)(end - p)))) {
		size_t n = (size_t)(end - p);
		if (!memcmp(p, magic, n < sizeof(magic) ? n : sizeof(magic)))
			return p;
		p++;
	}
	return end;
}

static void serve_broken(struct reader *r, enum block_state state, const struct block_head *h,
			 const uint8_t *p, size_t n)
{
	static const char *const why[] = {
		[BLOCK_NONE] = "there should be a block here, and is none",
		[BLOCK_CUT] = "the file ends within a block",
		[BLOCK_DAMAGED] = "a block's checksum is wrong",
	};

	open_damage(r, source_at(&r->in) ? why[state] : "the file's head is damaged");
	if (state == BLOCK_DAMAGED) {
		r->in_vain += h->stored;
		if (r->in_vain > source_at(&r->in) + IN_VAIN_MAX) {
			source_pass(&r->in, MMT_BLOCK_HEAD + h->stored);
			return;
		}
	}
	source_pass(&r->in, (size_t)(find_magic(p + 1, p + n) - p));
}

/* At the beginning, and where another file of the run was appended. */
static bool serve_file_head(struct reader *r, const uint8_t *p, size_t n)
{
	uint16_t major, minor;

	if (!file_head_parse(p, n, &major, &minor) || major != MMT_MAJOR)
		return false;
	source_pass(&r->in, MMT_FILE_HEAD);
	r->next = 0;
	r->part++;
	return true;
}

/* May the rest of a block, or of a file's head, still be written? */
static bool is_begun(enum block_state state, size_t n)
{
	return state == BLOCK_CUT || (state == BLOCK_NONE && n < MMT_BLOCK_HEAD);
}

/* 0; what take returned, which may be any number; -errno. */
static int step(struct reader *r, bool *ended)
{
	const uint8_t *p;
	ssize_t got = source_look(&r->in, AHEAD, &p);
	struct block_head h;
	enum block_state state;
	int err = 0;

	*ended = got == 0;
	if (got <= 0)
		return (int)got;
	if (serve_file_head(r, p, (size_t)got))
		return 0;
	state = block_look(p, (size_t)got, &h);
	*ended = r->following && is_begun(state, (size_t)got);
	if (*ended)
		return 0;
	if (state == BLOCK_WHOLE)
		err = serve_whole(r, &h, p);
	else
		serve_broken(r, state, &h, p, (size_t)got);
	return err;
}

static int run(struct reader *r, reader_take *take_fact, reader_damaged *damaged, void *ctx)
{
	bool ended;
	int err;

	r->take = take_fact;
	r->damaged = damaged;
	r->ctx = ctx;
	do {
		err = step(r, &ended);
	} while (!err && !ended);
	return err;
}

int reader_follow(struct reader *r, reader_take *take_fact, reader_damaged *damaged, void *ctx)
{
	r->following = true;
	source_resume(&r->in);
	return run(r, take_fact, damaged, ctx);
}

int reader_run(struct reader *r, reader_take *take_fact, reader_damaged *damaged, void *ctx)
{
	int err = run(r, take_fact, damaged, ctx);

	if (!err)
		report_damage(r, true);
	return err;
}

/* --- open and close --- */

/* Is there a whole block in these bytes, which do not begin as a trace does? */
static bool has_block(const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;
	size_t in_vain = 0;
	struct block_head h;

	for (p = find_magic(p, end); p < end && in_vain <= IN_VAIN_MAX; p = find_magic(p + 1, end)) {
		enum block_state state = block_look(p, (size_t)(end - p), &h);
		if (state == BLOCK_WHOLE)
			return true;
		in_vain += state == BLOCK_DAMAGED ? h.stored : 0;
	}
	return false;
}

/* A file whose head is damaged may still be a trace. */
static int check_kind(struct reader *r)
{
	static const uint64_t magic = MMT_FILE_MAGIC;
	uint16_t major, minor;
	const uint8_t *p;
	ssize_t n = source_look(&r->in, 2 * AHEAD, &p);

	if (n < 0)
		return (int)n;
	if (file_head_parse(p, (size_t)n, &major, &minor) && major != MMT_MAJOR)
		return major > MMT_MAJOR ? -EPROTO : -EINVAL;
	if (n >= (ssize_t)sizeof(magic) && !memcmp(p, &magic, sizeof(magic)))
		return 0;
	return has_block(p, (size_t)n) ? 0 : -EINVAL;
}

static int open_with(struct reader *r, struct reader **out)
{
	int err = unpacker_new(&r->unpacker);

	if (!err)
		err = decoder_init(&r->decoder);
	if (!err)
		err = check_kind(r);
	if (err)
		reader_close(r);
	else
		*out = r;
	return err;
}

int reader_open(const char *path, struct reader **out)
{
	struct reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	err = source_open(&r->in, path, 2 * AHEAD);
	if (err) {
		free(r);
		return err;
	}
	return open_with(r, out);
}

int reader_open_memory(const void *data, size_t n, struct reader **out)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	source_memory(&r->in, data, n);
	return open_with(r, out);
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	source_close(&r->in);
	unpacker_free(r->unpacker);
	decoder_fini(&r->decoder);
	free(r);
}

bool reader_tag(const struct reader *r, uint32_t *tag)
{
	*tag = r->tag;
	return r->tagged;
}

uint32_t reader_part(const struct reader *r)
{
	return r->part;
}

uint64_t reader_at(const struct reader *r)
{
	return source_at(&r->in);
}

uint64_t reader_size(const struct reader *r)
{
	return r->in.size;
}
