/* SPDX-License-Identifier: MIT */
/*
 * refowners: the module to which a call site belongs. It is that of the first frame after the wrappers that
 * is not in the library with the watched functions: loc_copy() of libglusterfs acquires for the translator
 * that calls it, and loc_wipe() releases for it. So what one translator acquired can be compared with what it
 * released.
 *
 * If all of a stack is in that library, or in one program with it, the call site belongs to that file.
 */
#ifndef MM_REFOWNERS_H
#define MM_REFOWNERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "report/model/summary.h"

struct refowners {
	const struct ledger *ledger;
	uint32_t family;		/* index */
	const char **all;		/* paths by number; NULL: the module is not known */
	size_t n;
};

void refowners_init(struct refowners *o, const struct ledger *l, uint32_t family);
void refowners_fini(struct refowners *o);

/*
 * The number of the module to which this call site belongs, in @out. The texts of @stack's frames must
 * outlive @o. 0 or -ENOMEM.
 */
must_check int refowners_find(struct refowners *o, const struct stack_view *stack, uint32_t *out);

#endif
