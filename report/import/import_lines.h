/* SPDX-License-Identifier: MIT */
/*
 * import_lines: the lines of files, each given to the function that understands the format; what it does
 * not understand, and what is cut off, becomes a note.
 */
#ifndef MM_IMPORT_LINES_H
#define MM_IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/import/importer.h"
#include "report/import/textlines.h"

/* A line of the format: 0; -EINVAL: it is none; other -errno: all ends. */
typedef int import_lines_take(void *ctx, char *text, size_t n);

/* All lines of @t; @name is for notes. 0, also if there are none; -EINVAL: no line is of the format; -errno. */
must_check int import_lines_read(struct importer *im, struct textlines *t, const char *name, import_lines_take *line,
				 void *ctx);

/* The same for the files @paths, in their order; all of them empty is -EINVAL too. Failures are said (log_error). */
must_check int import_lines_files(struct importer *im, const char *const *paths, size_t n, import_lines_take *line,
				  void *ctx);

/* Take a number: "0x" and hexadecimal digits, all of @text up to @end. false if it is none, or too large. */
bool import_lines_hex(const char *text, const char *end, uint64_t *value);

#endif
