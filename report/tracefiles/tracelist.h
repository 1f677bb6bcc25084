/* SPDX-License-Identifier: MIT */
/*
 * tracelist: trace files that are read as one run, in the order of their pieces. The head of each names the
 * run and the piece; all heads are read before anything else. A file in which nothing was written yet is left
 * out; a file that has lost its head is at least known by the tag of its blocks.
 */
#ifndef MM_TRACELIST_H
#define MM_TRACELIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct tracelist_file {
	const char *path;		/* the caller owns it */
	const char *name;		/* its last part */
	bool known;			/* a head was found; else id and pieces mean nothing */
	uint8_t id[16];
	uint32_t piece, last;		/* it holds these (several if concatenated); 0 and 0: the whole run */
	bool tagged;			/* a block was found; else the tag means nothing */
	uint32_t tag;
	bool empty;
	size_t given;			/* its position on the command line */
};

struct tracelist {
	struct tracelist_file *files;	/* those without a head last */
	size_t n;
};

/*
 * 0; -EINVAL or another -errno: logged, with the file. A single file is not examined. tracelist_fini in any
 * case.
 */
must_check int tracelist_make(const char *const *paths, size_t n, struct tracelist *out);
void tracelist_fini(struct tracelist *t);

/* Read the head of file->path. 0, also if there is none; -ESPIPE: it is not a regular file; -errno. Not logged. */
must_check int tracelist_peek(struct tracelist_file *file);

#endif
