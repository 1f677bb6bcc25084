/* SPDX-License-Identifier: MIT */
/*
 * tracefile: a trace file that is being written. It appears with its head under its own name, and grows by
 * whole blocks: one that cannot be written whole is cut off again. If that is not possible (a FIFO, a
 * device), half of it stays, and a reader sees the damage. A FIFO or device may also stop accepting data: the
 * writer has a target to serve, and gives up after a second.
 */
#ifndef MM_TRACEFILE_H
#define MM_TRACEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "trace/codec.h"

struct tracefile {
	int fd;			/* -1: not open */
	bool in_place;		/* nothing can be cut off again */
	uint64_t bytes;		/* written, heads included */
	uint32_t blocks;	/* the number of the next one */
	dev_t dev;		/* its identity, whatever its name will be */
	ino_t ino;
};

#define TRACEFILE_INIT { .fd = -1 }

/*
 * Create it, as base/fdio.h's outfile does, with its head. 0 or -errno; on failure there is nothing to close.
 */
must_check int tracefile_create(struct tracefile *t, const char *path);

/* Open the closed file again, to append. -ESTALE: @path is another file now; -errno. */
must_check int tracefile_reopen(struct tracefile *t, const char *path);

/*
 * Go on in a new file @to that begins with the present content of @t, whose name is @from; @from stays as it
 * is. 0 or -errno: then @t is closed.
 */
must_check int tracefile_move(struct tracefile *t, const char *from, const char *to);

/*
 * Append a block. @packer NULL: do not compress. 0 or -errno: the file ends where it ended before.
 * -ETIMEDOUT: a file written in place has accepted nothing for a second.
 */
must_check int tracefile_append(struct tracefile *t, struct packer *packer, uint32_t tag, const void *payload,
				size_t n);

/* 0 or -errno, also of a delayed write. Not open: 0. */
must_check int tracefile_close(struct tracefile *t);

#endif
