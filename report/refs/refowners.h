/* SPDX-License-Identifier: MIT */
/*
 * refowners: whose place is it? The module that a place belongs to is that of its first frame, behind wrappers, that
 * is not in the library with the watched functions: loc_copy() of libglusterfs takes for the translator that calls it,
 * and loc_wipe() drops for it. So what one translator took can be compared with what it dropped.
 *
 * Where all of a stack is in that library, or in one program with it, the place belongs to that.
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
	const char **all;		/* path; NULL: not known. By number */
	size_t n;
};

void refowners_init(struct refowners *o, const struct ledger *l, uint32_t family);
void refowners_fini(struct refowners *o);

/* The number of whose place this is, in @out: the same for the same module. @frames' texts must outlive @o. 0 or -ENOMEM. */
must_check int refowners_find(struct refowners *o, const struct stack_view *stack, uint32_t *out);

#endif
