/* SPDX-License-Identifier: MIT */
/*
 * groups: the places that keep blocks, as groups of the report.
 *
 * Two stacks are one group if they name the same places of the same files: a
 * module that was unloaded and came back elsewhere has other addresses, and is
 * the same code.
 */
#ifndef MM_GROUPS_H
#define MM_GROUPS_H

#include <stdint.h>

#include "attach/live.h"
#include "attach/modules.h"
#include "attach/naming.h"
#include "attach/stacks.h"
#include "attach/targetfs.h"
#include "base/cleanup.h"
#include "report/summary.h"

struct groups_from {
	const struct live *live;
	const struct stacks *stacks;
	const struct modules *modules;
	const struct targetfs *fs;
	const char *family;
	uint64_t end_ns;		/* CLOCK_MONOTONIC: ages are as of then */
	struct naming_options naming;
};

/* Add a group to @s for each stack that keeps blocks, with names, sorted. 0 or -ENOMEM. */
must_check int groups_add(const struct groups_from *from, struct summary *s);

#endif
