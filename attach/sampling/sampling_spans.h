/* SPDX-License-Identifier: MIT */
/*
 * sampling_spans: when in a run something was counted: in twenty spans of equal length. When the run has
 * become longer than all of them together, the length of a span doubles. Pure.
 */
#ifndef MM_SAMPLING_SPANS_H
#define MM_SAMPLING_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLING_SPANS 20u
#define SAMPLING_LATE 0.2	/* the last fifth of the run is late; */
#define SAMPLING_LATE_MOST 0.5	/* or its last half */

/* Begins all zero. */
struct sampling_spans {
	uint32_t doubled;
	uint64_t at[SAMPLING_SPANS];
};

/* @n more, @age_ns after the run began. */
void sampling_spans_add(struct sampling_spans *s, uint64_t age_ns, uint64_t n);

/*
 * How much came in the last part (@part of 1) of a run that is @age_ns old. A span that is only partly in it counts in
 * proportion.
 */
double sampling_spans_late(const struct sampling_spans *s, uint64_t age_ns, double part);

/*
 * Nothing comes any more: the time since the last of it is more than three times as long as any before in which
 * nothing came. false if nothing ever did.
 */
bool sampling_spans_is_over(const struct sampling_spans *s, uint64_t age_ns);

/* How much came in it at least: a span that is only partly in it does not count. */
uint64_t sampling_spans_surely_late(const struct sampling_spans *s, uint64_t age_ns, double part);

#endif
