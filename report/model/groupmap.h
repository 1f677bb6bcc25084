/* SPDX-License-Identifier: MIT */
/* groupmap: which group of the report the blocks of a stack are in, by their verdict. */
#ifndef MM_GROUPMAP_H
#define MM_GROUPMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "base/verdict.h"

struct groupmap {
	struct addrmap of;
	/* for each of @nfamilies, addresses of blocks that are in none, whatever their stack; not owned */
	const struct addrmap *apart;
	size_t nfamilies;
};

void groupmap_init(struct groupmap *m);
void groupmap_fini(struct groupmap *m);

/*
 * Note that blocks of stack index @stack in family index @family with this verdict are in the group with this
 * serial number. 0 or -ENOMEM.
 */
must_check int groupmap_note(struct groupmap *m, uint32_t family, uint32_t stack, enum verdict verdict,
			     size_t serial);

/* Is this block in no group, unlike others of its stack and verdict? */
bool groupmap_is_apart(const struct groupmap *m, uint32_t family, taddr addr);

/* The group's serial number, or NULL: the blocks are in no group. */
const size_t *groupmap_find(const struct groupmap *m, uint32_t family, uint32_t stack, enum verdict verdict);

#endif
