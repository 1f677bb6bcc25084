/* SPDX-License-Identifier: MIT */
/*
 * writer: facts into trace files.
 *
 *	writer_open, writer_put..., writer_tick now and then, writer_close
 *
 * Facts are collected in a block; a block goes to the file in one write when it is full, or most of a second
 * after its first fact (writer_tick). So a writer that is killed loses a second at most.
 *
 * Events name stacks by number. The writer knows from @defs what they mean, and puts each definition into
 * each file before it is first needed there: every piece can be read alone. The other facts that each piece
 * has to begin with (run, target, probes) are put by the caller in @begin; those that it has to end with
 * (counters) in @finish.
 *
 * If a write fails (disk full), what was half written is cut off, so that the file ends with a whole block;
 * writer_put and writer_tick return the error, then and ever after, and nothing more is written.
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
	/* 0: one file; else pieces of about that: name.0001.mmt for name.mmt */
	uint64_t rotate_bytes;
	bool stored;			/* do not compress */
	const struct defs *defs;	/* the caller keeps it */
	uint32_t run_tag;
	/*
	 * A file has begun / is about to end: put what it must have. @piece: 1, 2, ...; 0 if there is no
	 * rotation. 0 or -errno.
	 */
	int (*begin)(void *ctx, struct writer *w, uint32_t piece);
	int (*finish)(void *ctx, struct writer *w, uint32_t piece);
	void *ctx;
};

/*
 * Create the (first) file, 0600, never through a symbolic link that another user could have made. 0 or
 * -errno. A growing trace has its own name from the start: it must be readable if we are killed.
 */
must_check int writer_open(const struct writer_options *opt, struct writer **out);

/*
 * Finish: the last block is written. 0 or -errno of the first thing that failed. @w is freed in any case
 * (NULL is allowed).
 */
must_check int writer_close(struct writer *w);

/* 0 or -errno. */
must_check int writer_put(struct writer *w, const struct fact *f);

/*
 * Write, at @now_us, what has waited for most of a second: if this is called every quarter of a second, no
 * fact waits longer than one. 0 or -errno.
 */
must_check int writer_tick(struct writer *w, uint64_t now_us);

/*
 * Copy what was written so far to a new file @path, and continue in that; the old file stays as it is. For a
 * forked copy of this process, which must not write to the file of its parent; not with rotation. 0 or
 * -errno.
 */
must_check int writer_move(struct writer *w, const char *path);

/*
 * Put the names of frames, as far as @defs knows them, into every piece that mentions these frames: names are
 * known only at the end. A piece that was moved away or is no longer the same file is left alone. 0 or -errno
 * of the first that failed.
 */
must_check int writer_put_names(struct writer *w);

/* Where the current file is, and what was written: for messages and tests. */
const char *writer_path(const struct writer *w);
bool writer_is_there(const struct writer *w);	/* false: the current file was removed or replaced */
uint64_t writer_bytes(const struct writer *w);		/* of all files */
uint64_t writer_raw_bytes(const struct writer *w);	/* before compression */

#endif
