/* SPDX-License-Identifier: MIT */
/*
 * text_path: paths of source files, as debug information has them, for people:
 *
 *	./misc/./misc/clone3.S:81				misc/clone3.S:81
 *	/build/reproducible-path/svc-1.2/src/session.cc:120	/build/.../src/session.cc:120
 */
#ifndef MM_TEXT_PATH_H
#define MM_TEXT_PATH_H

#include <stddef.h>

#include "base/strbuf.h"

/*
 * Append @path, safe to print, and @line if it is known (else 0): in at most @width characters, if its first
 * directory and its name fit into that; what is left out is in the middle.
 */
void text_path(struct strbuf *sb, const char *path, int line, size_t width);

#endif
