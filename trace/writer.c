/* SPDX-License-Identifier: MIT */
/*
 * writer: see writer.h.
 *
 *	writer_put ── what it needs (defined) ──▶ record (encode) ──▶ block (tracefile) ──▶ next piece
 *
 * A piece ends between two facts, never between a definition and the event that needs it. So a piece that has
 * grown large enough is followed by the next one at the beginning of the next writer_put.
 */
#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/defined.h"
#include "trace/encode.h"
#include "base/grow.h"
#include "trace/namesblock.h"
#include "trace/rotate_names.h"
#include "trace/tracefile.h"

/* size of a block: damage costs a part of a second, and larger blocks do not compress better */
#define BLOCK_FULL (256 << 10)
/* if writer_tick is called every quarter of a second, a kill loses less than a second */
#define BLOCK_AGE_US 700000

/* A file that is finished. */
struct piece {
	char *path;
	struct tracefile file;	/* closed */
	struct bits frames;	/* that are defined in it */
	uint64_t last_us;
};

struct writer {
	struct writer_options opt;
	char *base;		/* opt.path */
	struct tracefile file;
	char *path;
	uint32_t piece;		/* 0: no rotation */
	struct packer *packer;	/* NULL: stored */
	struct encoder block;
	uint64_t first_us;	/* of the block */
	uint64_t last_us;	/* of the last fact */
	uint32_t family;	/* of the next events */
	struct defined defined;	/* in this piece */
	struct piece *done;
	size_t ndone, done_size;
	uint64_t bytes_done, raw;
	bool fresh;		/* nothing was put yet, except by begin */
	bool turning;		/* begin or finish puts facts now */
	int err;		/* sticky */
	uint8_t payload[MMT_BLOCK_MAX];
};

static int failed(struct writer *w, int err)
{
	if (err && !w->err)
		w->err = err;
	return err;
}

/* --- blocks --- */

static int flush(struct writer *w)
{
	size_t n = w->block.n;
	int err;

	if (!n)
		return 0;
	err = tracefile_append(&w->file, w->packer, w->opt.run_tag, w->payload, n);
	encoder_start(&w->block, w->payload);
	if (!err)
		w->raw += n;
	return failed(w, err);
}

/* A record, and before it the family if it is not the block's current one. */
static int try_record(struct writer *w, const struct fact *f)
{
	bool first = !w->block.n;
	int err = 0;

	if (w->block.family != w->family) {
		const struct fact family = { .kind = MMT_FAMILY, .time_us = f->time_us, .family = w->family };
		err = encoder_put(&w->block, &family);
	}
	if (!err)
		err = encoder_put(&w->block, f);
	if (!err && first)
		w->first_us = f->time_us;
	return err;
}

static int put_record(void *ctx, const struct fact *f)
{
	struct writer *w = ctx;
	struct fact later;
	int err;

	if (f->time_us < w->last_us) {
		later = *f;
		later.time_us = w->last_us;
		f = &later;
	}
	err = try_record(w, f);
	if (err == -ENOBUFS) {
		err = flush(w);
		if (err)
			return err;
		err = try_record(w, f);
		if (err == -ENOBUFS)
			return -EMSGSIZE;
	}
	if (err)
		return err;
	w->last_us = f->time_us;
	return w->block.n >= BLOCK_FULL ? flush(w) : 0;
}

static int put_fact(struct writer *w, const struct fact *f)
{
	bool already;
	int err = defined_before(&w->defined, w->opt.defs, f, put_record, w);

	if (err)
		return err;
	if (f->kind == MMT_FAMILY) {
		w->family = f->family;
		return 0;
	}
	err = defined_already(&w->defined, w->opt.defs, f, &already);
	return err || already ? err : put_record(w, f);
}

/* --- pieces --- */

static int turn(struct writer *w, int (*callback)(void *ctx, struct writer *w, uint32_t piece))
{
	int err;

	if (!callback)
		return 0;
	w->turning = true;
	err = callback(w->opt.ctx, w, w->piece);
	w->turning = false;
	return err;
}

static int begin_piece(struct writer *w)
{
	int err = w->piece ? rotate_name(w->base, w->piece, &w->path) : 0;

	if (err)
		return err;
	if (!w->piece)
		w->path = strdup(w->base);
	if (!w->path)
		return -ENOMEM;
	encoder_start(&w->block, w->payload);
	err = tracefile_create(&w->file, w->path);
	w->fresh = true;
	return err ? err : turn(w, w->opt.begin);
}

/* Whatever fails, what was put before that is written. */
static int finish_piece(struct writer *w)
{
	int err = turn(w, w->opt.finish), flushed = w->err ? w->err : flush(w),
	    closed = tracefile_close(&w->file);

	if (err || flushed)
		return err ? err : flushed;
	return closed;
}

/* Remember what is needed of a piece later: where it is, and which frames need names. */
static int keep_piece(struct writer *w)
{
	if (grow_for(&w->done, w->ndone, &w->done_size, sizeof(*w->done)))
		return -ENOMEM;
	w->done[w->ndone++] = (struct piece){ w->path, w->file, w->defined.frames, w->last_us };
	w->path = NULL;
	w->bytes_done += w->file.bytes;
	w->file = (struct tracefile)TRACEFILE_INIT;
	w->defined.frames = (struct bits){ 0 };
	defined_fini(&w->defined);
	return 0;
}

static int next_piece(struct writer *w)
{
	int err = finish_piece(w);

	if (!err)
		err = keep_piece(w);
	if (err)
		return err;
	w->piece++;
	return begin_piece(w);
}

static bool is_due(const struct writer *w)
{
	return w->piece && !w->turning && !w->fresh && w->file.bytes >= w->opt.rotate_bytes;
}

/* --- from outside --- */

static void writer_free(struct writer *w)
{
	for (size_t i = 0; i < w->ndone; i++) {
		free(w->done[i].path);
		bits_fini(&w->done[i].frames);
	}
	free(w->done);
	defined_fini(&w->defined);
	packer_free(w->packer);
	free(w->path);
	free(w->base);
	free(w);
}

int writer_open(const struct writer_options *opt, struct writer **out)
{
	struct writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->opt = *opt;
	w->file = (struct tracefile)TRACEFILE_INIT;
	w->base = strdup(opt->path);
	w->piece = opt->rotate_bytes && rotate_possible(opt->path);
	err = w->base ? 0 : -ENOMEM;
	if (!err && !opt->stored)
		err = packer_new(&w->packer);
	if (!err)
		err = begin_piece(w);
	if (err) {
		int closed = tracefile_close(&w->file);
		(void)closed;
		writer_free(w);
		return err;
	}
	*out = w;
	return 0;
}

int writer_close(struct writer *w)
{
	int err, closed;

	if (!w)
		return 0;
	err = w->err ? w->err : finish_piece(w);
	closed = tracefile_close(&w->file);
	writer_free(w);
	return err ? err : closed;
}

int writer_put(struct writer *w, const struct fact *f)
{
	if (w->err)
		return w->err;
	if (is_due(w)) {
		int err = failed(w, next_piece(w));
		if (err)
			return err;
	}
	w->fresh &= w->turning;
	return put_fact(w, f);
}

int writer_tick(struct writer *w, uint64_t now_us)
{
	if (w->err)
		return w->err;
	if (!w->block.n || now_us < w->first_us || now_us - w->first_us < BLOCK_AGE_US)
		return 0;
	return flush(w);
}

int writer_move(struct writer *w, const char *path)
{
	char *name = strdup(path);
	int err = name ? w->err : -ENOMEM;

	if (!err)
		err = tracefile_move(&w->file, w->path, path);
	if (err) {
		free(name);
		return failed(w, err);
	}
	free(w->path);
	w->path = name;
	return 0;
}

/* --- names --- */

static int put_names(struct writer *w, struct tracefile *file, const struct bits *frames, uint64_t time_us)
{
	const struct namesblock to = { file, w->packer, w->opt.run_tag, time_us };

	return namesblock_append(&to, w->opt.defs, frames, &w->raw);
}

static int put_names_into_piece(struct writer *w, struct piece *p)
{
	uint64_t before = p->file.bytes;
	int err = tracefile_reopen(&p->file, p->path);

	if (err == -ESTALE)
		return 0;
	if (!err)
		err = put_names(w, &p->file, &p->frames, p->last_us);
	int closed = tracefile_close(&p->file);
	w->bytes_done += p->file.bytes - before;
	return err ? err : closed;
}

int writer_put_names(struct writer *w)
{
	int err = w->err ? w->err : flush(w), first = 0;

	if (err)
		return err;
	for (size_t i = 0; i < w->ndone; i++) {
		err = put_names_into_piece(w, &w->done[i]);
		first = first ? first : err;
	}
	err = failed(w, put_names(w, &w->file, &w->defined.frames, w->last_us));
	return first ? first : err;
}

const char *writer_path(const struct writer *w)
{
	return w->path;
}

bool writer_is_there(const struct writer *w)
{
	struct stat st;

	return w->file.in_place ||
	       (stat(w->path, &st) == 0 && st.st_dev == w->file.dev && st.st_ino == w->file.ino);
}

uint64_t writer_bytes(const struct writer *w)
{
	return w->bytes_done + w->file.bytes;
}

uint64_t writer_raw_bytes(const struct writer *w)
{
	return w->raw;
}
