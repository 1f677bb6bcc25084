/* SPDX-License-Identifier: MIT */
/* ruleset: which rules a run goes by: the user's, or the family libc where none of them says what to watch. */
#ifndef MM_RULESET_H
#define MM_RULESET_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/options.h"
#include "attach/probes/rule.h"
#include "base/cleanup.h"

/* Do the user's rules say what to watch? (--from and --until alone do not.) */
bool ruleset_is_own(const struct options *opt);

/* @out is freed by the caller. 0 or -ENOMEM. */
must_check int ruleset_choose(const struct options *opt, struct rule **out, size_t *n);

#endif
