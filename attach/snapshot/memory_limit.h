/* SPDX-License-Identifier: MIT */
/*
 * memory_limit: is there memory for a copy of a process? A heap that is copied is there twice. Checked before
 * the copy is made: if there is not enough, the kernel would kill a process, and it picks the largest one,
 * which is the target.
 */
#ifndef MM_MEMORY_LIMIT_H
#define MM_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct memory_limit {
	uint64_t needed;	/* bytes: the copy, and what is needed in addition to search it */
	/* that the machine can spare; or in our control group, if that has less. UINT64_MAX: not known */
	uint64_t available;
};

/* Is there memory for a copy of @bytes? true: there is, or that is not known. */
bool memory_limit_for_copy(uint64_t bytes, struct memory_limit *out);

/*
 * If memory runs out, the kernel is to kill this process first: neither the target, nor its keeper, which
 * leaves it then as ever. What this process forks from now on has the same rank (oom_score_adj 1000).
 */
void memory_limit_offer_ourselves(void);

/*
 * "takes 108 MiB, and 65 MiB of memory are available": the former rounded up and the latter down, so that
 * they are never the same.
 */
#define MEMORY_LIMIT_TEXT 96
const char *memory_limit_text(const struct memory_limit *room, char out[MEMORY_LIMIT_TEXT]);

/*
 * What a control group, or one above it, may still allocate; UINT64_MAX: no limit. @root: where groups are
 * mounted, @self: the text of /proc/self/cgroup. For the tests.
 */
uint64_t memory_limit_in_group(const char *root, const char *self);

/* "RssAnon:     1234 kB" in @text, as bytes; false if there is no such line. */
bool memory_limit_find(const char *text, const char *key, uint64_t *bytes);

#endif
