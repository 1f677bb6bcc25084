/* SPDX-License-Identifier: MIT */
/*
 * duration: lengths of time as people write them: 30s, 10m, 1h30m, 200ms, 1.5s,
 * and a plain number is seconds.
 *
 * Units: d h m s ms us ns, each at most once, from large to small. Pure.
 */
#ifndef MM_DURATION_H
#define MM_DURATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Enough for any duration_format. */
#define DURATION_TEXT 40

/*
 * Parse all of @text. 0; -EINVAL if it is no duration (empty, negative, unknown or
 * repeated unit, blanks, something behind it); -ERANGE if it does not fit (about
 * 292 years). @ns is set only on success.
 */
must_check int duration_parse(const char *text, uint64_t *ns);

/* "1h30m", "10s", "1.5s", "200ms", "0s": at most two units, the rest is cut off. Returns @buf. */
char *duration_format(uint64_t ns, char *buf, size_t n);

#endif
