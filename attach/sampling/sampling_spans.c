/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_spans.h"

#include <string.h>

#define FIRST_SPAN_NS 250000000ull
#define OVER 3u			/* times as long as any pause before */

static uint64_t span_ns(const struct sampling_spans *s)
{
	return FIRST_SPAN_NS << s->doubled;
}

static void twice_as_long(struct sampling_spans *s)
{
	for (uint32_t k = 0; k < SAMPLING_SPANS / 2; k++)
		s->at[k] = s->at[2 * k] + s->at[2 * k + 1];
	memset(&s->at[SAMPLING_SPANS / 2], 0, SAMPLING_SPANS / 2 * sizeof(*s->at));
	s->doubled++;
}

void sampling_spans_add(struct sampling_spans *s, uint64_t age_ns, uint64_t n)
{
	while (age_ns / span_ns(s) >= SAMPLING_SPANS)
		twice_as_long(s);
	s->at[age_ns / span_ns(s)] += n;
}

static double spans_in(const struct sampling_spans *s, uint64_t age_ns)
{
	return (double)age_ns / (double)span_ns(s);
}

double sampling_spans_late(const struct sampling_spans *s, uint64_t age_ns, double part)
{
	double end = spans_in(s, age_ns), from = end * (1 - part), sum = 0;

	for (uint32_t k = 0; k < SAMPLING_SPANS && k < end; k++) {
		double hi = k + 1 < end ? k + 1 : end, lo = k > from ? k : from;

		if (hi > lo)
			sum += (double)s->at[k] * (hi - lo) / (hi - k);
	}
	return sum;
}

uint64_t sampling_spans_surely_late(const struct sampling_spans *s, uint64_t age_ns, double part)
{
	double from = spans_in(s, age_ns) * (1 - part);
	uint64_t sum = 0;

	for (uint32_t k = 0; k < SAMPLING_SPANS; k++)
		sum += k >= from ? s->at[k] : 0;
	return sum;
}

bool sampling_spans_is_over(const struct sampling_spans *s, uint64_t age_ns)
{
	uint32_t since = 0, longest = 0;	/* the span behind the last one in which something came; the pauses before */

	for (uint32_t k = 0; k < SAMPLING_SPANS; k++) {
		if (!s->at[k])
			continue;
		if (since && k - since > longest)
			longest = k - since;
		since = k + 1;
	}
	return since && spans_in(s, age_ns) - since > OVER * longest;
}
