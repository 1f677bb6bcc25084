/* SPDX-License-Identifier: MIT */
/*
 * textlines: the lines of a text file of any size, one after the other, in memory of fixed size.
 */
#ifndef MM_TEXTLINES_H
#define MM_TEXTLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define TEXTLINES_MAX 16384	/* bytes of a line; a longer one is cut, and said to be */

struct textlines {
	int fd;			/* -1: from memory */
	const char *data;	/* from memory: what is still to come */
	size_t left;
	char *buf;		/* read, and not given out yet: [at, n) */
	size_t at, n;
	uint64_t number;
	bool skip;		/* the rest of a line that was too long is to be left out */
};

struct textline {
	char *text;		/* without its newline, with a NUL; valid until the next one; may be written to */
	size_t n;
	uint64_t number;	/* from 1 */
	bool too_long;		/* it is only the begin of it */
	bool cut;		/* the file ends within it */
};

/* A regular file, or a pipe. 0; -EINVAL: it is neither; -ENOMEM; -errno. */
must_check int textlines_open(const char *path, struct textlines *out);
/* From memory, which stays the caller's. 0 or -ENOMEM. */
must_check int textlines_open_memory(const char *text, size_t n, struct textlines *out);
void textlines_close(struct textlines *t);

/* 1; 0 at the end; -errno of read(2). */
must_check int textlines_next(struct textlines *t, struct textline *out);

#endif
