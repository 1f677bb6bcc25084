/* SPDX-License-Identifier: MIT */
/*
 * The flood over a synthetic heap: @blocks blocks in @bytes of memory. Each word is with a probability of one
 * in eight a pointer to a random block (one in sixteen of those points inside it); one block in a thousand is
 * a root. So nearly every step is a cache miss.
 *
 *	flood BLOCKS MEBIBYTES THREADS		one line of JSON
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "heap/reach/reach.h"

#define HEAP 0x7f0000000000u
#define DATA 0x600000u

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t any_below(uint64_t n)
{
	return (uint64_t)((unsigned __int128)any() * n >> 64);
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("flood: mmap");
		exit(1);
	}
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

/*
 * Sizes as in glibc: 24, 40, 56, ...; many small ones and a few large ones, with a mean that uses all of the
 * memory.
 */
static size_t make_blocks(struct block *blocks, size_t n, uint64_t bytes)
{
	const uint64_t mean = bytes / n;
	taddr at = HEAP + 16;
	size_t i;

	for (i = 0; i < n; i++) {
		const uint64_t most = any() & 1 ? mean : mean * 3,
			       chunk = (32 + any_below(most > 48 ? most - 47 : 1)) & ~UINT64_C(15);

		if (at + chunk >= HEAP + bytes)
			break;
		blocks[i] = (struct block){ at, chunk - 8 };
		at += chunk;
	}
	return i;
}

static uint64_t any_word(const struct block *blocks, size_t n)
{
	const struct block *b;

	if (any() % 8)
		return any_below(100000);
	b = &blocks[any_below(n)];
	return any() % 16 ? b->addr : b->addr + any_below(b->size);
}

static void fill(uint64_t *heap, const struct block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t w = 0; w < blocks[i].size / 8; w++)
			heap[(blocks[i].addr - HEAP) / 8 + w] = any_word(blocks, n);
}

static int report(const struct reach_input *in, size_t bytes)
{
	struct reach r;
	int err = reach_run(in, &r);

	if (err < 0) {
		fprintf(stderr, "flood: %s\n", strerror(-err));
		return 1;
	}
	printf("{\"blocks\": %zu, \"bytes\": %zu, \"seconds\": %.3f, \"words\": %llu, \"bytes_a_block\": "
	       "%.1f, \"reachable\": %llu, "
	       "\"possible\": %llu, \"indirect\": %llu, \"definite\": %llu}\n",
	       r.nblocks, bytes, r.seconds, (unsigned long long)r.words,
	       sizeof(struct block) + (double)r.memory / (double)r.nblocks,
	       (unsigned long long)r.sums[VERDICT_REACHABLE].blocks,
	       (unsigned long long)r.sums[VERDICT_POSSIBLE].blocks,
	       (unsigned long long)r.sums[VERDICT_INDIRECT].blocks,
	       (unsigned long long)r.sums[VERDICT_DEFINITE].blocks);
	reach_fini(&r);
	return 0;
}

static int run(size_t want, uint64_t bytes, unsigned threads)
{
	struct block *blocks = map(want * sizeof(*blocks));
	uint64_t *heap = map(bytes);
	const size_t n = make_blocks(blocks, want, bytes), nroots = n / 1000 + 1;
	uint64_t *data = map((nroots * 8 + 4095) & ~UINT64_C(4095));
	struct census_area area = { HEAP, HEAP + bytes, 0 };
	struct census census = { .known = true, .blocks = blocks, .nblocks = n, .areas = &area, .nareas = 1 };
	struct snapshot s;
	struct reach_input in = { .snapshot = &s, .census = &census, .blocks = blocks, .nblocks = n,
				  .heuristics = REACH_ALL,
				  .threads = threads };

	fill(heap, blocks, n);
	for (size_t i = 0; i < nroots; i++)
		data[i] = blocks[any_below(n)].addr;
	snapshot_init(&s);
	if (snapshot_add_piece(&s, DATA, nroots * 8, data) < 0 ||
	    snapshot_add_piece(&s, HEAP, bytes, heap) < 0 || snapshot_seal(&s) < 0)
		return 1;
	return report(&in, bytes);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: flood BLOCKS MEBIBYTES THREADS\n");
		return 2;
	}
	return run(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0) << 20,
		   (unsigned)strtoul(argv[3], NULL, 0));
}
