/* SPDX-License-Identifier: MIT */
/* random: pseudo-random numbers (xorshift64), the same for the same seed; not for secrets. */
#ifndef MM_RANDOM_H
#define MM_RANDOM_H

#include <stdint.h>

#define RANDOM_SEED 88172645463325252ull	/* replaces a state of zero: the generator would stay there */

/* The next number below @n, which is not 0. */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t x = *state ? *state : RANDOM_SEED;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return (uint64_t)((unsigned __int128)x * n >> 64);
}

#endif
