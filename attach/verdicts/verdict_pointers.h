/* SPDX-License-Identifier: MIT */
/*
 * verdict_pointers: --who-points-at of a watch: what points at a block in the last snapshot. It is answered
 * then, since the snapshot is not kept.
 *
 * The user asks for addresses, or for a verdict: then for one block of each stack whose blocks got that
 * verdict, those of the largest blocks first.
 */
#ifndef MM_VERDICT_POINTERS_H
#define MM_VERDICT_POINTERS_H

#include "base/cleanup.h"
#include "base/strbuf.h"

struct verdicts;
struct ledger;
struct modules;
struct options;
struct snapshot;

struct verdict_asked {
	const struct options *opt;
	struct modules *modules;
	struct strbuf answer;		/* printed after the report; "": nothing was asked */
};

/* 0 or -errno. */
must_check int verdict_pointers(struct verdict_asked *asked, struct verdicts *j, const struct snapshot *s,
				const struct ledger *l);

#endif
