/* SPDX-License-Identifier: MIT */
#include "report/sampling/byte_sample.h"

#include <math.h>

#include "report/sampling/quantile.h"

#define LOW 0.025
#define HIGH 0.975
/* With so many blocks the distribution is a normal one, and the quantiles of gamma need not be computed. */
#define MANY 1e5

double byte_sample_share(uint64_t interval, uint64_t size)
{
	const uint64_t counts = size < BYTE_SAMPLE_LEAST ? BYTE_SAMPLE_LEAST : size;

	return interval ? -expm1(-(double)counts / (double)interval) : 1;
}

/* Between 0 and 1, evenly: the finalizer of splitmix64. */
static double at_random(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (double)(x >> 11) * 0x1p-53;
}

uint64_t byte_sample_weight(uint64_t interval, uint64_t size, taddr addr, uint64_t birth_us)
{
	const double stands_for = 1 / byte_sample_share(interval, size);

	if (!interval)
		return 1;
	return (uint64_t)(stands_for + at_random(addr ^ size << 48 ^ birth_us << 20));
}

void byte_sample_add(struct byte_sample *to, uint64_t interval, uint64_t size)
{
	const double w = 1 / byte_sample_share(interval, size), s = (double)size;

	to->seen++;
	to->bytes += size;
	to->blocks_variance += w * (w - 1);
	to->bytes_variance += w * (w - 1) * s * s;
}

void byte_sample_merge(struct byte_sample *to, const struct byte_sample *from)
{
	to->seen += from->seen;
	to->bytes += from->bytes;
	to->blocks_variance += from->blocks_variance;
	to->bytes_variance += from->bytes_variance;
}

/*
 * As if it were a number of equal blocks that are counted: that number is the one which has the same relative
 * variance. With few blocks the interval is far from symmetric (Jeffreys).
 */
void byte_sample_interval(double estimated, double variance, double seen, double *low, double *high)
{
	const double n = variance > 0 ? estimated * estimated / variance : INFINITY;

	if (n < MANY && n > 0) {
		*low = estimated * quantile_gamma(LOW, n + 0.5) / n;
		*high = estimated * quantile_gamma(HIGH, n + 0.5) / n;
	} else {
		const double wide = variance > 0 ? quantile_normal(HIGH) * sqrt(variance) : 0;

		*low = estimated - wide;
		*high = estimated + wide;
	}
	*low = fmax(*low, seen);
	*high = fmax(*high, fmax(estimated, seen));
}
