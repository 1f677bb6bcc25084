/* SPDX-License-Identifier: MIT */
/*
 * trace_cut: a trace of more than a megabyte that ends at every byte of its last megabyte (with MM_FULL=1; else at
 * every seventh), and with bytes overwritten all over: all whole blocks before the damage are delivered, the
 * damage is reported with its offset.
 *
 * Reading anew from the start for each of a million cuts would take an hour. The contents of a block do not
 * depend on earlier blocks, so each time only the file's head and the last blocks before the cut are read;
 * for some hundred cuts, from the start.
 */
#include "trace/reader.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/block.h"
#include "trace/crc32.h"
#include "trace/encode.h"

#define MEGABYTE 1048576u
#define FACTS 60		/* in a block */
#define BLOCKS_MAX 8192

static uint8_t *file;
static size_t size;
static size_t start[BLOCKS_MAX + 1];	/* of each block; the last: the end */
static uint32_t nblocks;

/* Between two cuts: a prime number, so that all fields are cut at each of their bytes. */
static size_t step(void)
{
	const char *full = getenv("MM_FULL");

	return full && !strcmp(full, "1") ? 1 : 7;
}

static uint64_t seed = 88172645463325252ull;

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Fact i of the run: the address shows which one it is. */
static struct fact fact_at(uint64_t i)
{
	return (struct fact){
		.kind = i % 2 ? MMT_FREE : MMT_ALLOC, .time_us = i,
		.block = { .addr = 0x7f0000000000 + 16 * i, .size = 24 + i % 400, .stack = i % 100 },
	};
}

static void add_block(uint8_t *payload)
{
	struct block_head h = { .number = nblocks, .tag = 7 };
	struct encoder e;

	encoder_start(&e, payload);
	for (uint64_t i = 0; i < FACTS; i++) {
		struct fact f = fact_at((uint64_t)nblocks * FACTS + i);

		assert_int_equal(encoder_put(&e, &f), 0);
	}
	h.length = h.stored = (uint32_t)e.n;
	h.crc = crc32_of(payload, e.n);
	block_head_pack(&h, file + size);
	memcpy(file + size + MMT_BLOCK_HEAD, payload, e.n);
	start[nblocks++] = size;
	size += MMT_BLOCK_HEAD + e.n;
	start[nblocks] = size;
}

static int make_file(void **state)
{
	uint8_t *payload = malloc(MMT_BLOCK_MAX);

	(void)state;
	file = malloc(2 * MEGABYTE);
	file_head_pack(file);
	size = MMT_FILE_HEAD;
	while (size < MEGABYTE + MEGABYTE / 8 && nblocks < BLOCKS_MAX)
		add_block(payload);
	free(payload);
	return size > MEGABYTE ? 0 : -1;
}

static int free_file(void **state)
{
	(void)state;
	free(file);
	return 0;
}

struct seen {
	uint64_t facts, last;	/* number of the last fact, + 1 */
	bool in_order;
	uint32_t ndamages;
	struct reader_damage last_damage;
};

static int take(void *ctx, const struct fact *f)
{
	struct seen *s = ctx;
	uint64_t i = (f->block.addr - 0x7f0000000000) / 16;

	s->in_order &= i >= s->last && f->time_us == i && f->kind == (i % 2 ? MMT_FREE : MMT_ALLOC);
	s->last = i + 1;
	s->facts++;
	return 0;
}

static void damaged(void *ctx, const struct reader_damage *d)
{
	struct seen *s = ctx;

	s->ndamages++;
	s->last_damage = *d;
}

static struct seen read_bytes(const uint8_t *p, size_t n)
{
	struct seen s = { .in_order = true };
	struct reader *r;

	assert_int_equal(reader_open_memory(p, n, &r), 0);
	assert_int_equal(reader_run(r, take, damaged, &s), 0);
	reader_close(r);
	return s;
}

/* The file's head, and blocks @from up to byte @cut. */
static struct seen read_tail(uint32_t from, size_t cut)
{
	static uint8_t part[1 << 16];
	size_t n = cut - start[from];

	memcpy(part, file, MMT_FILE_HEAD);
	memcpy(part + MMT_FILE_HEAD, file + start[from], n);
	return read_bytes(part, MMT_FILE_HEAD + n);
}

static void cut_at_every_byte_of_the_last_megabyte(void **state)
{
	uint32_t b = 0;

	(void)state;
	for (size_t cut = size - MEGABYTE; cut < size; cut += step()) {
		struct seen s;
		uint32_t from;

		while (start[b + 1] <= cut)
			b++; /* the cut is in block b, or at its beginning */
		from = b > 0 ? b - 1 : 0;
		s = read_tail(from, cut);
		if (s.facts != (uint64_t)(b - from) * FACTS || !s.in_order)
			fail_msg("cut at %zu: %llu facts", cut, (unsigned long long)s.facts);
		if (cut != start[b] && (!s.last_damage.at_end || s.last_damage.bytes != cut - start[b]))
			fail_msg("cut at %zu: damage of %llu bytes", cut,
				 (unsigned long long)s.last_damage.bytes);
		/* a file that does not begin with the first block counts as damaged too */
		if (s.ndamages != (uint32_t)(from > 0) + (cut != start[b]))
			fail_msg("cut at %zu: %u damages", cut, s.ndamages);
	}
}

static void whole_files_cut_somewhere(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		size_t cut = MMT_FILE_HEAD + random_number() % (size - MMT_FILE_HEAD);
		struct seen s = read_bytes(file, cut);
		uint32_t whole = 0;

		while (start[whole + 1] <= cut)
			whole++;
		assert_int_equal(s.facts, (uint64_t)whole * FACTS);
		assert_true(s.in_order);
		assert_int_equal(s.ndamages, cut != start[whole]);
		if (s.ndamages)
			assert_int_equal(s.last_damage.at, start[whole]);
	}
}

/* Blocks that are not hit are delivered; blocks that are hit are not. */
static void bytes_overwritten_anywhere(void **state)
{
	uint8_t *copy = malloc(size);
	static bool hit[BLOCKS_MAX];

	(void)state;
	for (int round = 0; round < 300; round++) {
		uint32_t hits = 0;
		struct seen s;

		memcpy(copy, file, size);
		memset(hit, 0, sizeof(hit));
		for (uint64_t i = 0; i < 1 + random_number() % 40; i++) {
			size_t at = MMT_FILE_HEAD + random_number() % (size - MMT_FILE_HEAD);
			uint32_t b = 0;

			copy[at] ^= (uint8_t)(1 + random_number() % 255);
			while (start[b + 1] <= at)
				b++;
			/*
			 * a second change may restore a byte: then the block is intact, unless another byte
			 * of it is hit
			 */
			hit[b] = memcmp(copy + start[b], file + start[b], start[b + 1] - start[b]) != 0;
		}
		for (uint32_t b = 0; b < nblocks; b++)
			hits += hit[b];
		s = read_bytes(copy, size);
		assert_int_equal(s.facts, (uint64_t)(nblocks - hits) * FACTS);
		assert_true(s.in_order);
		assert_true(hits ? s.ndamages >= 1 : s.ndamages == 0);
	}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte_of_the_last_megabyte),
		cmocka_unit_test(whole_files_cut_somewhere),
		cmocka_unit_test(bytes_overwritten_anywhere),
	};

	/* a million readers: malloc should reuse their buffers, not map them anew each time */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	return cmocka_run_group_tests(tests, make_file, free_file);
}
