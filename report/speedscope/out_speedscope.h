/* SPDX-License-Identifier: MIT */
/*
 * out_speedscope: a report for speedscope (https://www.speedscope.app), in its own format: a JSON object with one
 * table of frames and several profiles, which it shows as a menu: bytes in use, blocks in use, bytes allocated,
 * calls, and what is definitely or possibly lost, if there are verdicts.
 *
 * Groups without the value of a profile are not in it. References are left out.
 */
#ifndef MM_OUT_SPEEDSCOPE_H
#define MM_OUT_SPEEDSCOPE_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

must_check int out_speedscope(const struct summary *s, size_t top, struct strbuf *sb);

#endif
