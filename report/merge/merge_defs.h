/* SPDX-License-Identifier: MIT */
/*
 * merge_defs: definitions of one ledger (families, modules, frames, stacks) as those of another, by what they
 * are and not by their numbers.
 *
 *	family	by its name
 *	module	by its build id, else by its path; its load bias becomes 0
 *	frame	by module and offset; without a module by its name (report/names/madecode.h). Code that has
 *		neither is one place: an address in one process is nothing in another
 *	stack	by its frames, its end and its tag
 *
 * Where equal things differ in what is known of them (names, paths), the choice does not depend on the order
 * in which they come.
 */
#ifndef MM_MERGE_DEFS_H
#define MM_MERGE_DEFS_H

#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* What the receiving ledger has. It must outlive this. */
struct merge_defs {
	struct ledger *into;
	struct addrmap modules, frames, nodes, tags, stacks;	/* key of the content -> index */
};

void merge_defs_init(struct merge_defs *d, struct ledger *into);
void merge_defs_fini(struct merge_defs *d);

/* From the indices of one ledger to those of the other; made when they are asked for. */
struct merge_map {
	struct merge_defs *to;
	const struct ledger *from;
	uint32_t *modules, *frames, *stacks, *families;	/* DEFS_NONE: not asked for yet */
};

must_check int merge_map_init(struct merge_map *m, struct merge_defs *to, const struct ledger *from);
void merge_map_fini(struct merge_map *m);

/*
 * The index in the other ledger; @index DEFS_NONE becomes DEFS_NONE. 0; -ENOMEM; -EINVAL: too many families.
 */
must_check int merge_map_family(struct merge_map *m, uint32_t index, uint32_t *out);
must_check int merge_map_stack(struct merge_map *m, uint32_t index, uint32_t *out);

#endif
