/* SPDX-License-Identifier: MIT */
/*
 * python_version: which CPython has run in a process, by the text that it composes when it begins, and that
 * stays in its data (sys.version): "3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]". No symbol is needed,
 * so stripped and static interpreters, and cores, have it, too.
 */
#ifndef MM_PYTHON_VERSION_H
#define MM_PYTHON_VERSION_H

#include <stdbool.h>

#include "heap/snapshot/snapshot.h"

struct python_version {
	unsigned minor;			/* 11 */
	char text[24];			/* "3.11.2"; "": there is no interpreter */
	bool freethreaded;		/* a build without the interpreter's lock */
	bool release;			/* no preview: "3.13.0b1" is one */
	const struct mapping *file;	/* the last mapping of the file whose data has the text */
};

/* The first that is found. false: there is none. */
bool python_version_find(const struct snapshot *s, struct python_version *out);

/* Is @text, which may have no end within @n bytes, such a text? Pure. */
bool python_version_parse(const char *text, size_t n, struct python_version *out);

#endif
