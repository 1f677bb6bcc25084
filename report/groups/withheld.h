/* SPDX-License-Identifier: MIT */
/*
 * withheld: indirectly lost blocks that are lost with a block whose leak is suppressed: they are suppressed
 * with it, by the same entry. Without the leak they would not be lost, and valgrind and LeakSanitizer report
 * neither.
 *
 * A run records for each of these blocks one lost block with which it is counted (MMT_JUDGED); if that one is
 * older than the watch, nothing is known of its leak. What an entry matches by itself is left to that entry.
 */
#ifndef MM_WITHHELD_H
#define MM_WITHHELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "report/suppress/suppress.h"

/* Of a group of a merged ledger. */
struct withheld_part {
	struct summary_sum sum;
	size_t entry;			/* that which suppresses most of it */
	uint64_t most;
};

struct withheld {
	struct suppressions *suppressions;	/* NULL: nothing is withheld */
	struct addrmap *blocks;		/* for each family: address -> the entry */
	size_t nfamilies;
	struct withheld_part *parts;	/* for each group of a merged ledger */
};

/*
 * @same_as as in groups_add_family. @suppressions may be NULL, and is used until withheld_fini. 0 or -ENOMEM;
 * withheld_fini in any case.
 */
must_check int withheld_find(struct withheld *w, const struct ledger *l, const uint32_t *same_as,
			     struct suppressions *suppressions);
void withheld_fini(struct withheld *w);

/* Is the block withheld? Then *@entry is which of the suppressions is the reason. @w may be NULL. */
bool withheld_has(const struct withheld *w, uint32_t family, taddr addr, size_t *entry);

/* What is withheld of group @i of a merged ledger; NULL: nothing. @w may be NULL. */
const struct withheld_part *withheld_of(const struct withheld *w, size_t i);

#endif
