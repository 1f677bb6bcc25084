/* SPDX-License-Identifier: MIT */
/*
 * look_pointers: --who-points-at of a watch: what points at a block at the moment of the last look, which is gone when the report is read.
 *
 * Asked for are addresses, or a verdict: then one block of each stack whose blocks got that, those of the largest blocks first.
 */
#ifndef MM_LOOK_POINTERS_H
#define MM_LOOK_POINTERS_H

#include "base/cleanup.h"
#include "base/strbuf.h"

struct judging;
struct ledger;
struct modules;
struct options;
struct snapshot;

struct look_asked {
	const struct options *opt;
	struct modules *modules;
	struct strbuf answer;		/* to be printed behind the report; "": nothing was asked */
};

/* 0 or -errno. */
must_check int look_pointers(struct look_asked *asked, struct judging *j, const struct snapshot *s, const struct ledger *l);

#endif
