/* SPDX-License-Identifier: MIT */
/* suppress_parse: reads files of suppressions, entry by entry. report/suppress/suppress.h has the syntax. */
#ifndef MM_SUPPRESS_PARSE_H
#define MM_SUPPRESS_PARSE_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/suppress/suppress_entry.h"

/*
 * Give each entry of @text to @take, in order; @take then owns it, also if it fails. 0; what @take returned;
 * -EINVAL with @why "@name:line: what is wrong"; -ENOMEM.
 */
must_check int suppress_parse(const char *name, const char *text, size_t n, char *why, size_t why_size,
			      int (*take)(void *ctx, struct suppress_entry *e), void *ctx);

#endif
