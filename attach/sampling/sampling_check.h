/* SPDX-License-Identifier: MIT */
/*
 * sampling_check: what a watch with a budget can do, and what it must refuse, with the reason and what to do
 * instead.
 *
 * Such a watch sees blocks where calls of allocators return, and asks their heap what becomes of them
 * (sampling_heaps.h). So it cannot track blocks of other heaps, nor see single events (a free, a reference,
 * the beginning of a scope).
 */
#ifndef MM_SAMPLING_CHECK_H
#define MM_SAMPLING_CHECK_H

#include <stdbool.h>

#include "base/cleanup.h"

struct rule;
struct ruleset;

/* Can blocks of this rule be seen behind its calls: is it an allocation that needs nothing but the result? */
bool sampling_check_can_sample(const struct rule *rule);

/* 0, or -EINVAL (logged): these rules cannot be watched with a budget. */
must_check int sampling_check_rules(const struct ruleset *set);

#endif
