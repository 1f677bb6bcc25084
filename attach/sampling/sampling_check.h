/* SPDX-License-Identifier: MIT */
/*
 * sampling_check: what a watch with a budget can do, and what it must refuse, with the reason and what to do instead.
 *
 * It sees blocks where calls of allocators return, and what becomes of them in the headers that glibc's malloc keeps: so what is
 * not in that heap it cannot follow, nor what happens at a moment (a release, a reference, the beginning of something).
 */
#ifndef MM_SAMPLING_CHECK_H
#define MM_SAMPLING_CHECK_H

#include <stdbool.h>

#include "base/cleanup.h"

struct modules;
struct rule;
struct ruleset;

/* Can blocks of this rule be seen behind its calls: is it an allocation, and the result all that it needs? */
bool sampling_check_follows(const struct rule *rule);

/* 0, or -EINVAL (said): these rules cannot be watched so. */
must_check int sampling_check_rules(const struct ruleset *set);

/* 0, or -ENOTSUP (said): the target's memory is not glibc's malloc's. */
must_check int sampling_check_allocator(const struct modules *ms);

#endif
