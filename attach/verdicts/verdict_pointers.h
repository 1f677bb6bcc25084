/* SPDX-License-Identifier: MIT */
/*
 * verdict_pointers: --who-points-at of a watch: what points at a block in the last snapshot. It is answered
 * then, since the snapshot is not kept.
 *
 * The user asks for addresses, or for a verdict: then for the oldest block of each stack whose blocks got
 * that verdict, those stacks first that have the most memory. When the report has been made, its groups have
 * numbers, and the answers are printed with these.
 */
#ifndef MM_VERDICT_POINTERS_H
#define MM_VERDICT_POINTERS_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/taddr.h"
#include "report/model/scan.h"

struct verdicts;
struct ledger;
struct lookup;
struct modules;
struct options;
struct snapshot;

struct verdict_asked {
	const struct options *opt;
	struct modules *modules;
	struct scan_report report;	/* its answers; the caller inits and finis it */
	bool answered;
};

/* Find the answers. 0 or -errno. */
must_check int verdict_pointers(struct verdict_asked *asked, struct verdicts *j, const struct snapshot *s,
				const struct ledger *l);

/* The addresses of the blocks in the answers, which the caller frees. 0 or -ENOMEM. */
must_check int verdict_pointers_addrs(const struct verdict_asked *asked, taddr **out, size_t *n);

/*
 * Append the answers. @s is the report of the watch, and @groups says in which of its groups the addresses
 * are, in the order of verdict_pointers_addrs. 0 or -ENOMEM.
 */
must_check int verdict_pointers_put(struct verdict_asked *asked, const struct summary *s,
				    const struct lookup *groups, struct strbuf *sb);

#endif
