/* SPDX-License-Identifier: MIT */
/* top_names: looks up the names of what is shown, each once: also those of which there are none. */
#ifndef MM_TOP_NAMES_H
#define MM_TOP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/top/top.h"
#include "base/cleanup.h"

struct top_names {
	bool *asked;		/* of frames */
	size_t n;
};

void top_names_fini(struct top_names *names);	/* one that is all zero is empty */

/* Of @n rows, or with @rows NULL of all frames. 0 or -errno. */
must_check int top_names_look_up(struct top_names *names, struct ledger *l, const struct top_row *rows, size_t n);

#endif
