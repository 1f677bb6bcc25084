/* SPDX-License-Identifier: MIT */
/*
 * look_pointers: --who-points-at of a watch: what points at a block at the moment of the last look. When the
 * report is read, that memory is gone.
 *
 * The user asks for addresses, or for a verdict: then for one block of each stack whose blocks got that
 * verdict, those of the largest blocks first.
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
	struct strbuf answer;		/* printed after the report; "": nothing was asked */
};

/* 0 or -errno. */
must_check int look_pointers(struct look_asked *asked, struct judging *j, const struct snapshot *s, const struct ledger *l);

#endif
