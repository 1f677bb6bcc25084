/* SPDX-License-Identifier: MIT */
/*
 * room: is there memory for a copy of a process? A heap that is copied is there twice. Asked before it is made: where there is none, the kernel would
 * kill somebody to make some, and it looks for the largest process, which is that one.
 */
#ifndef MM_ROOM_H
#define MM_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct room {
	uint64_t needed;	/* bytes: the copy, and what we need besides to judge it */
	uint64_t available;	/* that nobody on the machine misses; or in our control group, if that has less. UINT64_MAX: it cannot be told */
};

/* Is there room for a copy of @bytes? true: there is, or it cannot be told. */
bool room_for_copy(uint64_t bytes, struct room *out);

/* "takes 108 MiB, and 65 MiB of memory are available": the former rounded up and the latter down, so that they are never the same. */
#define ROOM_TEXT 96
const char *room_text(const struct room *room, char out[ROOM_TEXT]);

/* What a control group, or one above it, may still take; UINT64_MAX: as much as there is. @root: where groups are mounted, @self: the text of /proc/self/cgroup. For the tests. */
uint64_t room_in_group(const char *root, const char *self);

/* "RssAnon:     1234 kB" in @text, as bytes; false if there is no such line. For the tests. */
bool room_find(const char *text, const char *key, uint64_t *bytes);

#endif
