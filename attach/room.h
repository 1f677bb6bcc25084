/* SPDX-License-Identifier: MIT */
/*
 * room: is there memory for a copy of a process? Asked before it is made: where there is none, the kernel would
 * kill somebody to make some, and that might be the process.
 */
#ifndef MM_ROOM_H
#define MM_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct room {
	uint64_t needed;	/* bytes: what the process has of its own, and what we need besides to judge it */
	uint64_t available;	/* on the machine, or in our control group if that has less */
};

/* true: there is, or it cannot be told. */
bool room_for_copy(pid_t pid, struct room *out);

/*
 * What our control group, or one above it, may still take; UINT64_MAX: as much as there is. The process may be in the same one (a container),
 * and a group that has no more may be killed as a whole.
 */
uint64_t room_in_our_group(void);

/* The same: @root is where groups are mounted, @self the text of /proc/self/cgroup. For the tests. */
uint64_t room_in_group(const char *root, const char *self);

/* "RssAnon:     1234 kB" in @text, as bytes; false if there is no such line. For the tests. */
bool room_find(const char *text, const char *key, uint64_t *bytes);

#endif
