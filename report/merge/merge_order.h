/* SPDX-License-Identifier: MIT */
/*
 * merge_order: in which order the parts of a merged ledger are gone through: as they are, or by their
 * content.
 */
#ifndef MM_MERGE_ORDER_H
#define MM_MERGE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* Indices of the ledger, each once. */
struct merge_order {
	uint32_t *families, *stacks, *processes, *groups;
	size_t nstacks;
};

/* 0 or -ENOMEM; merge_order_fini in any case. */
must_check int merge_order_as_is(const struct ledger *l, struct merge_order *out);
must_check int merge_order_by_content(const struct ledger *l, struct merge_order *out);
void merge_order_fini(struct merge_order *o);

#endif
