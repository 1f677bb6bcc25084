/* SPDX-License-Identifier: MIT */
/*
 * follow: a trace that is still being written, read into a ledger as it grows; of a rotated trace from the piece
 * that was named on through all later ones. The ledger is not settled, since it takes further facts.
 *
 * A piece is left for the next one when that exists and is of the same run: the writer has finished the one
 * before by then. Pieces that were moved away before they were read are counted.
 */
#ifndef MM_FOLLOW_H
#define MM_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "trace/reader.h"

struct follow {
	char **paths;			/* of the pieces; the last one is being read */
	size_t npaths;
	int fd;				/* of that one; -1: it is not open */
	struct reader *reader;		/* NULL: likewise */
	struct ledger ledger;
	uint64_t facts;			/* that were taken until now */
	uint64_t damages;		/* parts of the files that could not be read */
	uint64_t missed;		/* pieces that were gone */
};

/* 0 or -ENOMEM; follow_close in any case. */
must_check int follow_open(struct follow *f, const char *path);
void follow_close(struct follow *f);

/*
 * Take what was appended. 0, also if there is nothing yet; -ESPIPE: it is no file, but a pipe or a device;
 * -EINVAL: it is no trace; -EPROTO: of a newer version; other -errno.
 */
must_check int follow_more(struct follow *f);

/*
 * Has a process the file open to write it, or the next piece? True, too, if that cannot be known: of another user's
 * file, or on a file system without leases, as NFS. Between two pieces a writer has none open for a moment.
 */
bool follow_is_written(const struct follow *f);

/* Logs why follow_more has failed, and what to do. */
void follow_log(const struct follow *f, int err);

#endif
