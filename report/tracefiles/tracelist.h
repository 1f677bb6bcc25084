/* SPDX-License-Identifier: MIT */
/*
 * tracelist: trace files that are to be read as one run, in order of their pieces. What stands at the head of
 * each says which run it is of, and which piece; that is looked at before anything is read. A file in which nothing was
 * written yet is left out; one that has lost its head is at least known by the tag of its blocks.
 */
#ifndef MM_TRACELIST_H
#define MM_TRACELIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct tracelist_file {
	const char *path;		/* the caller's */
	const char *name;		/* its last part */
	bool known;			/* a head was found; else id and pieces mean nothing */
	uint8_t id[16];
	uint32_t piece, last;		/* it holds these; 0 and 0: it is the whole run. More if files were put behind one another */
	bool tagged;			/* a block was found; else the tag means nothing */
	uint32_t tag;
	bool empty;
	size_t given;			/* its place on the command line */
};

struct tracelist {
	struct tracelist_file *files;	/* those without a head last */
	size_t n;
};

/* 0; -EINVAL or another -errno: said, with the file. A single file is not looked at. tracelist_fini in any case. */
must_check int tracelist_make(const char *const *paths, size_t n, struct tracelist *out);
void tracelist_fini(struct tracelist *t);

#endif
