/* SPDX-License-Identifier: MIT */
/*
 * ruleset: the rules of a run: the families that --family names, from the packs
 * and the user's files, and the user's own rules. If nothing says what to watch: the family libc.
 */
#ifndef MM_RULESET_H
#define MM_RULESET_H

#include <stdbool.h>

#include "base/cleanup.h"

struct options;
struct ruleset;

/* All rules of all packs. 0 or -ENOMEM; call ruleset_fini in any case. */
must_check int ruleset_packs(struct ruleset *out);

/*
 * The rules of a run; call ruleset_fini. 0; -EINVAL (logged): the user's rules are wrong or cannot be read,
 * or there is no such family; -ENOMEM.
 */
must_check int ruleset_choose(const struct options *opt, struct ruleset *out);

/* Does a rule that is not from a pack say what to watch? (--from, --until and --in alone do not.) */
bool ruleset_is_own(const struct ruleset *rs);

#endif
