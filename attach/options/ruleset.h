/* SPDX-License-Identifier: MIT */
/*
 * ruleset: which rules a run goes by: the families that --family names, out of the packs
 * and the user's files, and the user's own rules; the family libc where nothing says what to watch.
 */
#ifndef MM_RULESET_H
#define MM_RULESET_H

#include <stdbool.h>

#include "base/cleanup.h"

struct options;
struct ruleset;

/* All rules of all packs; ruleset_fini whatever comes back. 0 or -ENOMEM. */
must_check int ruleset_packs(struct ruleset *out);

/*
 * The rules of a run (ruleset_fini). 0; -EINVAL: the user's rules are wrong, or cannot be read, or there is no such
 * family: that is said already; -ENOMEM.
 */
must_check int ruleset_choose(const struct options *opt, struct ruleset *out);

/* Does one of the rules that are not from a pack say what to watch? (--from, --until and --in alone do not.) */
bool ruleset_is_own(const struct ruleset *rs);

#endif
