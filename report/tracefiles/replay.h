/* SPDX-License-Identifier: MIT */
/*
 * replay: from trace files to a ledger. Pieces of one run are put in order; missing pieces, damage, and a run
 * without an end become notes and gaps of the ledger. Files of different runs are refused. Pieces that were
 * concatenated into one file (cat) count as separate files, but must be in order.
 */
#ifndef MM_REPLAY_H
#define MM_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

struct replay_options {
	bool keep_orphans;
};

/*
 * Fill @l (initialised here; ledger_fini in any case) from @paths. 0; -ENOMEM; -EINVAL and other -errno:
 * logged (log_error), with the file and what to do. A file that is a trace but damaged is no error.
 */
must_check int replay_files(const char *const *paths, size_t n, const struct replay_options *opt,
			    struct ledger *l);

#endif
