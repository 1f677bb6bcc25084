/* SPDX-License-Identifier: MIT */
#include "report/sampling/quantile.h"

#include <math.h>

#define STEPS 200		/* of bisection: more than enough for a double */
#define NORMAL_SHAPE 1e6	/* beyond this, Wilson and Hilferty's cube is exact enough */
#define Z95 1.959963984540054

double quantile_normal(double p)
{
	double lo = -40, hi = 40;

	for (int i = 0; i < STEPS; i++) {
		const double mid = (lo + hi) / 2;

		if (erfc(-mid / M_SQRT2) / 2 < p)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

/* The share of the gamma distribution below @x, by its power series: for x < shape + 1. */
static double gamma_series(double shape, double x)
{
	double term = 1 / shape, sum = term;

	for (double a = shape + 1; term > sum * 1e-16; a++) {
		term *= x / a;
		sum += term;
	}
	return sum * exp(-x + shape * log(x) - lgamma(shape));
}

/* The share above @x, by Legendre's continued fraction, evaluated from its end: for x >= shape + 1. */
static double gamma_fraction(double shape, double x)
{
	double f = 0;

	for (int i = 100 + (int)(8 * sqrt(shape)); i >= 1; i--)
		f = i * (i - shape) / (x + 2 * i + 1 - shape - f);
	return exp(-x + shape * log(x) - lgamma(shape)) / (x + 1 - shape - f);
}

static double gamma_below(double shape, double x)
{
	if (x <= 0)
		return 0;
	return x < shape + 1 ? gamma_series(shape, x) : 1 - gamma_fraction(shape, x);
}

static double wilson_hilferty(double p, double shape)
{
	const double c = 1 / (9 * shape), cube = 1 - c + quantile_normal(p) * sqrt(c);

	return cube > 0 ? shape * cube * cube * cube : 0;
}

double quantile_gamma(double p, double shape)
{
	double lo = 0, hi = shape + 1;

	if (shape > NORMAL_SHAPE)
		return wilson_hilferty(p, shape);
	while (gamma_below(shape, hi) < p)
		hi *= 2;
	for (int i = 0; i < STEPS && hi - lo > hi * 1e-12; i++) {
		const double mid = (lo + hi) / 2;

		if (gamma_below(shape, mid) < p)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

void quantile_share(double hits, double n, double *low, double *high)
{
	const double p = hits / n, z2 = Z95 * Z95, middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	const double half = Z95 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));

	*low = hits > 0 && middle > half ? middle - half : 0;
	*high = hits < n && middle + half < 1 ? middle + half : 1;
}
