/* SPDX-License-Identifier: MIT */
/*
 * progress: a line on the terminal that shows how much of a large file has been read (base/statusline.h).
 * progress_reading may be called at any rate.
 */
#ifndef MM_PROGRESS_H
#define MM_PROGRESS_H

#include <stdint.h>

#include "base/statusline.h"

struct progress {
	struct statusline_work work;
	uint64_t calls;
};

/* "reading NAME: 45 %, 3.2 million events"; @size 0: not known. */
void progress_reading(struct progress *p, const char *name, uint64_t at, uint64_t size, uint64_t events);

#endif
