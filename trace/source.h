/* SPDX-License-Identifier: MIT */
/*
 * source: the bytes of a file from its beginning to its end, through a window: bytes ahead can be looked at
 * without consuming them. Memory can be read like a file, too. A pipe is as good as a file.
 */
#ifndef MM_SOURCE_H
#define MM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct source {
	int fd;			/* -1: memory */
	const uint8_t *window;
	uint8_t *buffer;	/* the window of a file */
	size_t room;		/* bytes of it */
	size_t at, have;	/* in the window: the current position, and its end */
	uint64_t passed;	/* bytes of the file before the window */
	uint64_t size;		/* of the file; 0: not known */
	bool ended;		/* nothing comes behind the window */
};

/* Up to @ahead bytes can be looked at. 0 or -errno. */
must_check int source_open(struct source *s, const char *path, size_t ahead);
void source_memory(struct source *s, const void *data, size_t n);
void source_close(struct source *s);

/*
 * Look ahead: at least @n bytes (not more than @ahead) at *@p, fewer only at the end of the file. Their
 * number, or -errno.
 */
must_check ssize_t source_look(struct source *s, size_t n, const uint8_t **p);

/* The file may have grown: bytes behind the end that was met are looked at, too. Of a file. */
void source_resume(struct source *s);

/* Consume @n bytes that were looked at. */
void source_pass(struct source *s, size_t n);

uint64_t source_at(const struct source *s);

#endif
