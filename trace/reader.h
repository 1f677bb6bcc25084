/* SPDX-License-Identifier: MIT */
/*
 * reader: facts out of a trace file.
 *
 * Nothing in the file is trusted. A block whose checksums are right is decoded; what cannot be (cut off,
 * damaged, from a newer version) is damage: it is reported with its place, and reading goes on at the next
 * block that is whole. Events behind damage may name what was defined in the damaged part; the receiver of
 * the facts must check that.
 *
 * Several files of one run, one behind the other, are read as one.
 */
#ifndef MM_READER_H
#define MM_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/fact.h"

struct reader;

struct reader_damage {
	/*
	 * where in the file, and how much: bytes that were not read, or not all; 0 bytes: blocks are missing
	 * here
	 */
	uint64_t at, bytes;
	char why[120];		/* "the file ends within a block", ... */
	bool at_end;		/* nothing came after it */
};

/* Receives a fact; not 0: reading ends, and reader_run returns it. */
typedef int reader_take(void *ctx, const struct fact *f);
/* Receives a report of damage, in its place between the facts. */
typedef void reader_damaged(void *ctx, const struct reader_damage *d);

/*
 * Open @path for reading: a regular file, or what can be read to its end (a pipe). 0; -EINVAL: no trace
 * (neither a file head nor a block is found at its beginning); -EPROTO: of a newer major version; -errno.
 */
must_check int reader_open(const char *path, struct reader **out);
void reader_close(struct reader *r);

/* Read everything. 0; what @take returned; -ENOMEM; -EIO and such of read(2). */
must_check int reader_run(struct reader *r, reader_take *take, reader_damaged *damaged, void *ctx);

/*
 * Read what was appended since the last call, whole blocks only: one whose end is still missing is left for
 * the next call. Of a file that is still being written. 0 or as above.
 */
must_check int reader_follow(struct reader *r, reader_take *take, reader_damaged *damaged, void *ctx);

/* The tag of the run's blocks. False: no block was whole until now. */
bool reader_tag(const struct reader *r, uint32_t *tag);

/* If several files follow one another: which one is being read. A number that grows. */
uint32_t reader_part(const struct reader *r);

/* For a line of progress: how much of how much (0: not known) was read. */
uint64_t reader_at(const struct reader *r);
uint64_t reader_size(const struct reader *r);

/* The same from memory, for the fuzzer and tests. The caller keeps @data. */
must_check int reader_open_memory(const void *data, size_t n, struct reader **out);

#endif
