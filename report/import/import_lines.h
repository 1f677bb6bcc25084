/* SPDX-License-Identifier: MIT */
/*
 * import_lines: passes each line of the files to the function that understands the format. Lines that it does
 * not understand, and lines that are cut off, become a note.
 */
#ifndef MM_IMPORT_LINES_H
#define MM_IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/import/importer.h"
#include "report/import/textlines.h"

/* Returns 0 for a line of the format, -EINVAL for any other; another -errno ends the import. */
typedef int import_lines_take(void *ctx, char *text, size_t n);

/*
 * Read all lines of @t; @name is for notes. 0, also if there are none; -EINVAL: no line is of the format;
 * -errno.
 */
must_check int import_lines_read(struct importer *im, struct textlines *t, const char *name,
				 import_lines_take *line, void *ctx);

/*
 * The same for the files @paths, in their order; -EINVAL also if all of them are empty. Failures are logged.
 */
must_check int import_lines_files(struct importer *im, const char *const *paths, size_t n,
				  import_lines_take *line, void *ctx);

/*
 * Parse a number: "0x" and hexadecimal digits, all of @text up to @end. False if it is not one, or too large.
 */
bool import_lines_hex(const char *text, const char *end, uint64_t *value);

#endif
