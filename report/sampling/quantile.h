/* SPDX-License-Identifier: MIT */
/* quantile: of the distributions used for intervals. @p is between 0 and 1, both excluded. */
#ifndef MM_QUANTILE_H
#define MM_QUANTILE_H

/* Of the normal distribution with mean 0 and variance 1. */
double quantile_normal(double p);

/* Of the gamma distribution with @shape > 0 and scale 1. */
double quantile_gamma(double p, double shape);

/* 95 % interval (Wilson) of a share, @hits of @n. Neither need be whole; @n > 0. */
void quantile_share(double hits, double n, double *low, double *high);

#endif
