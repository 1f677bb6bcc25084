/* SPDX-License-Identifier: MIT */
/*
 * look: which of the watched blocks are still reachable at one moment of a watch.
 *
 *	look_take	the target is stopped once, copied, and let go (pause.h): the table of live blocks is
 *			brought to that moment
 *	look_judge	the copy is searched, as long as that takes, and the results become facts
 *			(MMT_VERDICTS, MMT_JUDGED)
 *
 * If there is no result, the report says why: that is a fact too.
 */
#ifndef MM_LOOK_H
#define MM_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/options/options.h"
#include "attach/snapshot/pause.h"
#include "base/cleanup.h"
#include "heap/snapshot/snapshot.h"

struct link;
struct look_asked;
struct recorder;

enum look_state {
	LOOK_NONE,		/* there was no look, and none was wanted */
	LOOK_TAKEN,
	LOOK_FAILED,
};

struct look {
	enum look_state state;
	struct snapshot snapshot;	/* of LOOK_TAKEN */
	struct pause_had had;
	char why_not[240];		/* of LOOK_FAILED */
};

struct look_wish {
	enum verdicts_wish verdicts;
	uint64_t max_pause_ns;		/* of VERDICTS_AUTO */
	void (*meanwhile)(void *ctx);	/* as in struct pause_wish */
	void *ctx;
};

/* Stop and copy process @pid, or say why not, in @out. look_fini in any case. */
void look_take(struct look *out, struct link *l, pid_t pid, const struct look_wish *wish);

/* There are no verdicts, for this reason. */
void look_fail(struct look *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Judge what @r's ledger holds, and write the results to @r; or the reason why there are none. @exact: the
 * ledger's sizes are those that were requested. @asked: what else to answer from the copy; NULL: nothing.
 */
void look_judge(struct look *look, struct recorder *r, bool exact, struct look_asked *asked);

void look_fini(struct look *look);

#endif
