/* SPDX-License-Identifier: MIT */
/*
 * progress: a line on the terminal (stderr) that shows how much of a large file has been read. It overwrites
 * itself, and is erased at the end. It is written five times a second at most, so progress_reading may be
 * called at any rate.
 */
#ifndef MM_PROGRESS_H
#define MM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on;
	bool shown;
	uint64_t calls, last_ns;
};

/* "reading NAME: 45 %, 3.2 million events"; @size 0: not known. */
void progress_reading(struct progress *p, const char *name, uint64_t at, uint64_t size, uint64_t events);

/* Erase the line, before anything else is printed. */
void progress_clear(struct progress *p);

#endif
