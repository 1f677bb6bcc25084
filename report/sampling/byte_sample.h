/* SPDX-License-Identifier: MIT */
/*
 * byte_sample: what a block of a sample by bytes (--sample) stands for.
 *
 * A point is chosen at random among all bytes that are allocated, one in @interval on average (a Poisson process);
 * a block is in the sample if there is a point in it. So a block of s bytes is with probability
 *
 *	share = 1 - exp(-s / interval)
 *
 * and stands for 1 / share blocks of its size (Horvitz and Thompson): sums over the sample are unbiased estimates of
 * the sums over all blocks, whatever the sizes. A weight is a whole number: 1 / share is rounded up or down at
 * random, so that its mean is right. The same block always has the same weight: what was added when it was
 * allocated can be subtracted when it is freed.
 */
#ifndef MM_BYTE_SAMPLE_H
#define MM_BYTE_SAMPLE_H

#include <stdint.h>

#include "base/taddr.h"

/* A block counts with so many bytes at least: it takes that much memory, and must be found sometimes. */
#define BYTE_SAMPLE_LEAST 16u

double byte_sample_share(uint64_t interval, uint64_t size);

/* 1 if @interval is 0: there is no sampling. */
uint64_t byte_sample_weight(uint64_t interval, uint64_t size, taddr addr, uint64_t birth_us);

/* The blocks of a sum, and how far it may be from the truth: the variances of both estimates. */
struct byte_sample {
	uint64_t seen;			/* blocks in the sample */
	uint64_t bytes;			/* their own bytes, which are certain */
	double blocks_variance, bytes_variance;
};

void byte_sample_add(struct byte_sample *to, uint64_t interval, uint64_t size);
void byte_sample_merge(struct byte_sample *to, const struct byte_sample *from);

/* The 95 % interval of an @estimated number with @variance, of which @seen are certain. */
void byte_sample_interval(double estimated, double variance, double seen, double *low, double *high);

#endif
