/* SPDX-License-Identifier: MIT */
/*
 * progress: a line on the terminal (stderr) that says how far the reading of a large file has come; it overwrites itself, and
 * is gone at the end. Five times a second at most, so it may be called as often as one likes.
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

/* Before anything else is printed. */
void progress_clear(struct progress *p);

#endif
