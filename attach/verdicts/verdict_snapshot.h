/* SPDX-License-Identifier: MIT */
/*
 * verdict_snapshot: which of the watched blocks are still reachable at one moment of a watch.
 *
 *	verdict_snapshot_take	the target is stopped once, copied, and resumed (pause.h); then the caller
 *				reads the events up to that moment, so that the ledger has the live blocks
 *				of that moment
 *	verdict_snapshot_judge	the copy is searched, as long as that takes, and the results become facts
 *				(MMT_VERDICTS, MMT_JUDGED)
 *
 * If there is no result, the reason becomes a fact, for the report.
 */
#ifndef MM_VERDICT_SNAPSHOT_H
#define MM_VERDICT_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/options/options.h"
#include "attach/snapshot/pause.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "base/verdict.h"
#include "heap/snapshot/snapshot.h"

struct ledger;
struct link;
struct verdict_asked;
struct recorder;

enum verdict_snapshot_state {
	SNAPSHOT_NONE,		/* none was taken, nor was one wanted */
	SNAPSHOT_TAKEN,
	SNAPSHOT_FAILED,
};

struct verdict_snapshot {
	enum verdict_snapshot_state state;
	struct snapshot memory;		/* of SNAPSHOT_TAKEN */
	struct pause_had had;
	char why_not[240];		/* of SNAPSHOT_FAILED */
};

struct verdict_snapshot_wish {
	enum verdicts_wish verdicts;
	uint64_t max_pause_ns;		/* of VERDICTS_AUTO */
	bool budget;			/* that is what a budget leaves, and less than --max-pause */
	uint64_t limit_ns;		/* as in struct pause_wish */
	bool (*meanwhile)(void *ctx);	/* as in struct pause_wish */
	void *ctx;
};

/* Stop and copy process @pid; if that fails, @out has the reason. verdict_snapshot_fini in any case. */
void verdict_snapshot_take(struct verdict_snapshot *out, struct link *l, pid_t pid,
			   const struct verdict_snapshot_wish *wish);

/* There are no verdicts, for this reason. */
void verdict_snapshot_fail(struct verdict_snapshot *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Find the verdicts of the live blocks of @r's ledger, and write them to @r; or the reason why there are
 * none. @exact: the ledger's sizes are those that were requested. @asked: what else to answer from the copy;
 * NULL: nothing.
 */
void verdict_snapshot_judge(struct verdict_snapshot *taken, struct recorder *r, bool exact,
			    struct verdict_asked *asked);

/*
 * The same for a watch that records no verdicts: @tracked is called for all live blocks of @l that have one, and @any
 * for each lost block of the process. Returns 1; 0: the blocks of the heap are not known, and @any was not called;
 * -ENODATA: not all was seen that may point to them, so of those that seem lost the verdict is VERDICT_UNKNOWN, and
 * @any was not called; or another -errno, or theirs.
 */
struct verdict_snapshot_see {
	int (*tracked)(void *ctx, taddr addr, enum verdict verdict);
	int (*any)(void *ctx, taddr addr, uint64_t size);
	void *ctx;
};

must_check int verdict_snapshot_each(const struct verdict_snapshot *taken, const struct ledger *l,
				     const struct verdict_snapshot_see *see);

void verdict_snapshot_fini(struct verdict_snapshot *taken);

#endif
