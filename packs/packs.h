/* SPDX-License-Identifier: MIT */
/*
 * packs: the rules that come with the program: the files *.probes of this folder,
 * as text. The Makefile embeds them; a new file needs nothing else. Their first line
 * is a comment that says what they are for.
 */
#ifndef MM_PACKS_H
#define MM_PACKS_H

#include <stddef.h>

struct pack {
	const char *name;	/* the file's, without .probes */
	const char *text;	/* a NUL follows */
	size_t len;
};

/* All of them: libc, then the others in the order of their names. */
const struct pack *packs_all(size_t *n);

#endif
