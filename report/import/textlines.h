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

#define TEXTLINES_MAX 16384	/* bytes of a line; a longer one is cut, and marked as too long */

struct textlines {
	int fd;			/* -1: from memory */
	const char *data;	/* from memory: what is not read yet */
	size_t left;
	char *buf;		/* read, and not returned yet: [at, n) */
	size_t at, n;
	uint64_t number;
	bool skip;		/* the rest of a line that was too long is to be skipped */
};

struct textline {
	/* Without its newline, NUL-terminated; valid until the next line; may be written to. */
	char *text;
	size_t n;
	uint64_t number;	/* from 1 */
	bool too_long;		/* it is only the beginning of the line */
	bool cut;		/* the file ends within the line */
};

/* A regular file, or a pipe. 0; -EINVAL: it is neither; -ENOMEM; -errno. */
must_check int textlines_open(const char *path, struct textlines *out);
/* From memory, which stays the caller's. 0 or -ENOMEM. */
must_check int textlines_open_memory(const char *text, size_t n, struct textlines *out);
void textlines_close(struct textlines *t);

/* 1; 0 at the end; -errno of read(2). */
must_check int textlines_next(struct textlines *t, struct textline *out);

#endif
