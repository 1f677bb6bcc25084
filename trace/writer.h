/* SPDX-License-Identifier: MIT */
/*
 * writer: facts into trace files.
 *
 *	writer_open, writer_put..., writer_tick now and then, writer_close
 *
 * Facts gather in a block; a block goes to the file in one write when it is full, or most of a second after its first fact
 * (writer_tick). So who is killed loses a second at most.
 *
 * Events name stacks by number. The writer knows by @defs what they mean, and puts each definition into each
 * file before it is first needed there: every piece stands on its own. What else each piece has to begin with (run,
 * target, probes) the caller puts when @begin is called; what it has to end with (counters) when @finish is.
 *
 * A write that fails (disk full) takes back what was half written, so that the file ends with a whole block;
 * writer_put and writer_tick give the error, then and ever after, and nothing more is written.
 */
#ifndef MM_WRITER_H
#define MM_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/defs.h"
#include "trace/fact.h"

struct writer;

struct writer_options {
	const char *path;		/* a free name, or a regular file's, which is replaced */
	uint64_t rotate_bytes;		/* 0: one file; else pieces of about that: name.0001.mmt for name.mmt */
	bool stored;			/* do not compress */
	const struct defs *defs;	/* stays the caller's */
	uint32_t run_tag;
	/* A file has begun / is about to end: put what it must have. @piece: 1, 2, ...; 0 if there is no rotation. 0 or -errno. */
	int (*begin)(void *ctx, struct writer *w, uint32_t piece);
	int (*finish)(void *ctx, struct writer *w, uint32_t piece);
	void *ctx;
};

/*
 * Create the (first) file, 0600, never through a symbolic link that others could have laid. 0 or -errno. A trace
 * that grows is seen under its own name at once: it must be readable when we are killed.
 */
must_check int writer_open(const struct writer_options *opt, struct writer **out);

/* Finish: the last block is written. 0 or -errno of the first thing that failed. @w is gone in any case (NULL is taken). */
must_check int writer_close(struct writer *w);

/* 0 or -errno. */
must_check int writer_put(struct writer *w, const struct fact *f);

/* It is @now_us: write what has waited for most of a second: called every quarter of one, none is older than a second. 0 or -errno. */
must_check int writer_tick(struct writer *w, uint64_t now_us);

/*
 * What was written until now becomes the beginning of a new file @path, which is gone on with; the old one stays as it is. For
 * a copy of the process, whose memory and descriptors are its own; without rotation. 0 or -errno.
 */
must_check int writer_move(struct writer *w, const char *path);

/*
 * Put the names of frames, as far as @defs knows them, into every piece that mentions these frames: names are known only at
 * the end. A piece that was moved away or is no longer the same file is left alone. 0 or -errno of the first that failed.
 */
must_check int writer_put_names(struct writer *w);

/* Where the current file is, and what was written: for messages and tests. */
const char *writer_path(const struct writer *w);
bool writer_is_there(const struct writer *w);	/* false: somebody has removed or replaced the current file */
uint64_t writer_bytes(const struct writer *w);		/* of all files */
uint64_t writer_raw_bytes(const struct writer *w);	/* before compression */

#endif
