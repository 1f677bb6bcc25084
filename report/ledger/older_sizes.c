/* SPDX-License-Identifier: MIT */
#include "report/ledger/older_sizes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define STEP 8u			/* the classes up to FINE */
#define FINE 1024u		/* from here on classes are parts of a power of two */
#define FINE_LOG 10u
#define PARTS_LOG 3u		/* eight of them */
#define FIRST_COARSE (FINE / STEP + 1)

#define CHUNK_STEP 16u		/* glibc's sizes are 24, 40, 56, ... */
#define CHUNK_LEAST 24u
#define LINEAR 128u		/* until here other allocators have steps of 16, then four classes for each power of two */
#define LINEAR_STEP 16u

static uint64_t round_up(uint64_t size)
{
	const uint64_t most = UINT64_MAX / 2, n = size < most ? size : most;

	return n <= STEP ? STEP : (n + STEP - 1) & ~(uint64_t)(STEP - 1);
}

static uint32_t log_of(uint64_t n)
{
	return 63 - (uint32_t)__builtin_clzll(n);
}

/* A number that all sizes of a class have in common. */
static uint32_t class_of(uint64_t size)
{
	const uint64_t n = round_up(size);
	uint32_t log;

	if (n <= FINE)
		return (uint32_t)(n / STEP);
	log = log_of(n - 1);
	return FIRST_COARSE + ((log - FINE_LOG) << PARTS_LOG) +
	       ((uint32_t)((n - 1) >> (log - PARTS_LOG)) & ((1u << PARTS_LOG) - 1));
}

static uint64_t largest(uint32_t class)
{
	const uint32_t part = (class - FIRST_COARSE) & ((1u << PARTS_LOG) - 1),
		       log = FINE_LOG + ((class - FIRST_COARSE) >> PARTS_LOG);

	if (class < FIRST_COARSE)
		return (uint64_t)class * STEP;
	return (uint64_t)((1u << PARTS_LOG) + part + 1) << (log - PARTS_LOG);
}

/* Is it a size that glibc gives? Those of other allocators are multiples of 16, or as small. */
static bool is_chunk(uint64_t size)
{
	return size % CHUNK_STEP == STEP && size >= CHUNK_LEAST;
}

/* The requests for which a block of @size is given are larger than it less this. */
static uint64_t rounded_by(uint64_t size)
{
	if (is_chunk(size))
		return size == CHUNK_LEAST ? CHUNK_LEAST + 1 : size <= FINE ? CHUNK_STEP : 0;
	return size <= LINEAR ? LINEAR_STEP : ((uint64_t)2 << log_of(size - 1)) >> PARTS_LOG;
}

void older_sizes_fini(struct older_sizes *s)
{
	for (size_t i = 0; i < s->n; i++)
		series_fini(&s->all[i].series);
	free(s->all);
	*s = (struct older_sizes){ 0 };
}

/* The first one whose class is not before @class. */
static size_t find(const struct older_sizes *s, uint32_t class)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (class_of(s->all[middle].size) < class)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t older_sizes_find(const struct older_sizes *s, uint64_t size)
{
	const size_t i = find(s, class_of(size));

	if (i < s->n && (class_of(s->all[i].size) == class_of(size) ||
			 size + rounded_by(s->all[i].size) > s->all[i].size))
		return i;
	return SIZE_MAX;
}

/* The size that stands for the class: as glibc gives it, if all were such. */
static uint64_t size_of(uint32_t class, bool chunks)
{
	return class >= FIRST_COARSE && chunks ? largest(class) - STEP : largest(class);
}

/* That of the class of @size, made if there was none. NULL: out of memory. */
static struct older_size *slot(struct older_sizes *s, uint64_t size)
{
	const uint32_t class = class_of(size);
	const size_t i = find(s, class);

	if (i < s->n && class_of(s->all[i].size) == class) {
		s->all[i].size = size_of(class, is_chunk(s->all[i].size) && is_chunk(size));
		return &s->all[i];
	}
	if (grow_for(&s->all, s->n, &s->room, sizeof(*s->all)) < 0)
		return NULL;
	memmove(&s->all[i + 1], &s->all[i], (s->n - i) * sizeof(*s->all));
	s->n++;
	s->all[i] = (struct older_size){ .size = size_of(class, is_chunk(size)) };
	series_init(&s->all[i].series);
	return &s->all[i];
}

int older_sizes_add(struct older_sizes *s, uint64_t now_us, const struct older_freed *freed)
{
	struct older_size *its = slot(s, freed->size);
	int r = its ? series_advance(&its->series, now_us, its->bytes) : -ENOMEM;

	if (r == 0 && freed->n)
		r = series_add(&its->series, freed->span_us, freed->points, freed->n);
	if (r < 0)
		return r;
	its->blocks += freed->blocks;
	its->bytes += freed->bytes;
	return 0;
}

int older_sizes_pass(struct older_sizes *s, uint64_t now_us)
{
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++)
		r = series_advance(&s->all[i].series, now_us, s->all[i].bytes);
	return r;
}

uint64_t older_sizes_blocks(const struct older_sizes *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->all[i].blocks;
	return sum;
}

size_t older_sizes_memory(const struct older_sizes *s)
{
	size_t sum = s->room * sizeof(*s->all);

	for (size_t i = 0; i < s->n; i++)
		if (s->all[i].series.points)
			sum += MMT_SERIES_POINTS * sizeof(*s->all[i].series.points);
	return sum;
}
