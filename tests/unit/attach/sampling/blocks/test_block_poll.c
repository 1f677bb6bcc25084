/* SPDX-License-Identifier: MIT */
/*
 * block_poll: what looks find out about chunks in our own memory, which are made and freed by hand, word by
 * word as glibc does it.
 */
#include "attach/sampling/blocks/block_poll.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/sampling/heaps/glibc_heap.h"
#include "report/sampling/survival.h"

#define PAGE 4096u
#define PAGES 64u
#define KEY 0xfedcba9876543210u
#define MS 1000000ull
#define S 1000000000ull
#define TOLD 4096u

static unsigned char *memory;
static struct block_poll *f;
static struct block_heap *heap;
static struct { struct tracked b; enum fate fate; uint64_t now; } told[TOLD];
static size_t ntold;
static uint64_t rng;

static void over(void *ctx, const struct tracked *b, enum fate fate, uint64_t now_ns)
{
	assert_ptr_equal(ctx, &ntold);
	assert_true(ntold < TOLD);
	told[ntold].b = *b;
	told[ntold].fate = fate;
	told[ntold++].now = now_ns;
}

static int setup(void **state)
{
	(void)state;
	rng = 88172645463325252u;
	ntold = 0;
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
	assert_int_equal(glibc_heap_new(&heap), 0);
	return block_poll_new(getpid(), over, &ntold, &f);
}

static int teardown(void **state)
{
	(void)state;
	block_poll_free(f);
	block_heap_free(heap);
	return munmap(memory, PAGES * PAGE);
}

/* --- chunks --- */

/* The words of the block at @at: [-2] is prev_size, [-1] the head. */
static uint64_t *block(size_t at)
{
	return (uint64_t *)(memory + at);
}

static taddr addr(size_t at)
{
	return (uintptr_t)(memory + at);
}

/* A chunk of @size in use, one in use behind it, and @w0, @w1 in it. */
static void make(size_t at, uint64_t size, uint64_t w0, uint64_t w1)
{
	block(at)[-1] = size | 1;
	block(at)[0] = w0;
	block(at)[1] = w1;
	block(at + size)[-1] = 64 | 1;
}

static uint64_t link_to(size_t at, taddr to)
{
	return addr(at) >> 12 ^ to;
}

/* As a hit does. -EINVAL: it is no block. */
static int add(struct block_poll *to, taddr at, uint64_t head, const uint64_t words[2], uint32_t stack,
	       uint64_t birth_ns)
{
	struct block_hit hit = { .addr = at, .head = head, .has_head = true, .has_words = words };
	struct block_birth birth;

	if (words)
		memcpy(hit.words, words, sizeof(hit.words));
	return heap->born(heap, &hit, &birth) ? block_poll_add(to, &birth, stack, birth_ns) : -EINVAL;
}

static void follow(size_t at, uint32_t stack, uint64_t birth)
{
	assert_int_equal(add(f, addr(at), block(at)[-1], block(at), stack, birth), 0);
}

/* Do all looks that are due by @now, each at its time. */
static void until(uint64_t now)
{
	for (uint64_t next; (next = block_poll_next_ns(f)) <= now;)
		block_poll(f, next);
}

static void assert_fate(enum fate fate, taddr at)
{
	assert_int_equal(ntold, 1);
	assert_int_equal(told[0].fate, fate);
	assert_true(told[0].b.addr == at);
	ntold = 0;
}

static struct tracked get(size_t i)
{
	struct tracked b;

	block_poll_get(f, i, &b);
	return b;
}

/* --- what is certain --- */

static void stays(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	follow(64, 7, S);
	assert_true(block_poll_next_ns(f) == S + BLOCK_POLL_FIRST_NS);
	until(4000 * S);
	assert_int_equal(ntold, 0);
	assert_int_equal(block_poll_count(f), 1);
	assert_true(get(0).seen_ns > 3960 * S && get(0).seen_ns <= 4000 * S);
	assert_true(get(0).ended_ns == 0 && get(0).bytes == 48 && get(0).stack == 7);
	/* 23 looks in the first minute or so, and then one every half minute */
	assert_in_range(get(0).looks, 23 + 4000 / 30 - 4, 23 + 4000 / 30 + 1);
	block_poll_end(f, 4001 * S);
	assert_fate(FATE_SAME, addr(64));
	assert_true(told[0].b.seen_ns == 4001 * S);
	assert_true(block_poll_next_ns(f) == UINT64_MAX);
}

/* If the target ends by itself, a block that has lived for ten seconds must have been seen at that age. */
static void looks_at_the_steps_of_age(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	follow(64, 7, S);
	for (unsigned step = 1; survival_age_s(step) <= 30; step++) {
		const uint64_t age_ns = (uint64_t)(survival_age_s(step) * S);

		until(S + age_ns);
		assert_true(get(0).seen_ns == S + age_ns);
	}
}

static void another_size(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	follow(64, 7, 0);
	until(10 * MS);
	block(64)[-1] = 112 | 1;
	until(20 * MS);
	assert_fate(FATE_GONE, addr(64));
	assert_true(told[0].b.seen_ns < told[0].b.ended_ns && told[0].b.ended_ns == told[0].now);
	assert_int_equal(block_poll_sums(f)->gone_by[BLOCK_RESIZED], 1);
}

static void in_a_bin(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	follow(64, 7, 0);
	until(10 * MS);
	block(64 + 48)[-1] &= ~1ull;
	until(20 * MS);
	assert_fate(FATE_GONE, addr(64));
	assert_int_equal(block_poll_sums(f)->gone_by[BLOCK_FREED], 1);
}

/* The flags of the head may change when neighbours are allocated and freed. */
static void neighbours_come_and_go(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	make(256, 48, 1, 2);
	follow(256, 7, 0);
	until(10 * MS);
	block(256)[-1] = 48;
	block(256)[-2] = 256 - 64;
	block(64)[-1] = (256 - 64) | 1;
	until(10 * S);
	assert_int_equal(ntold, 0);
	assert_true(get(0).looks > 10);
	block(256)[-1] = 48 | 1;
	until(20 * S);
	assert_int_equal(ntold, 0);
}

/* Freed between two free chunks: its own head stays as it was, and so does that of the chunk behind. */
static void joined_with_both_neighbours(void **state)
{
	uint64_t since;

	(void)state;
	make(256, 48, 1, 2);
	block(256)[-1] = 48;
	block(256)[-2] = 256 - 64;
	block(64)[-1] = (256 - 64) | 1;
	follow(256, 7, 0);
	until(100 * MS);
	since = get(0).seen_ns;
	block(64)[-1] = (256 - 64 + 48 + 64) | 1;
	until(200 * MS);
	assert_int_equal(ntold, 0);	/* a thread may be about to write the head that leads here */
	assert_true(get(0).seen_ns == since);
	until(3 * S);
	assert_fate(FATE_GONE, addr(256));
	assert_int_equal(block_poll_sums(f)->gone_by[BLOCK_JOINED], 1);
}

static void joined_for_a_moment(void **state)
{
	(void)state;
	make(256, 48, 1, 2);
	block(256)[-1] = 48;
	block(256)[-2] = 256 - 64;
	block(64)[-1] = 32 | 1;		/* it is being cut off */
	follow(256, 7, 0);
	until(400 * MS);
	block(64)[-1] = (256 - 64) | 1;
	until(600 * MS);
	block(64)[-1] = 32 | 1;
	until(900 * MS);
	block(64)[-1] = (256 - 64) | 1;
	until(20 * S);
	assert_int_equal(ntold, 0);
}

static void in_a_tcache(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	make(1024, 48, 1, 2);
	follow(64, 7, 0);
	follow(1024, 7, 0);
	until(10 * MS);
	block(64)[0] = link_to(64, 0);
	block(64)[1] = KEY;
	until(20 * MS);
	assert_fate(FATE_GONE, addr(64));
	block(1024)[0] = link_to(1024, addr(64));
	until(40 * MS);
	assert_fate(FATE_GONE, addr(1024));
	assert_int_equal(block_poll_sums(f)->gone_by[BLOCK_LINKED], 2);
}

/*
 * A link leads only to a chunk of the same size: any other number that decodes to an address is not a link.
 */
static void what_only_looks_like_a_link(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	make(1024, 64, 1, 2);
	follow(64, 7, 0);
	until(10 * MS);
	block(64)[0] = link_to(64, addr(1024));
	until(20 * MS);
	block(64)[0] = link_to(64, 0x10);
	until(30 * MS);
	block(64)[0] = link_to(64, 0x5000000000);
	until(60 * S);
	assert_int_equal(ntold, 0);
}

/*
 * A block that was never written to has the link that was there before it was allocated; one from a fastbin
 * has the key, from a tcache that was emptied.
 */
static void what_was_left_from_before(void **state)
{
	(void)state;
	make(1024, 48, 1, 2);
	make(64, 48, link_to(64, addr(1024)), 0);
	make(512, 48, link_to(512, 0), KEY);
	follow(64, 7, 0);
	follow(512, 8, 0);
	until(60 * S);
	assert_int_equal(ntold, 0);
	assert_true(get(0).looks > 20 && get(1).looks > 20);
	/* written to for the first time, both words */
	block(64)[0] = 5;
	block(64)[1] = 6;
	until(200 * S);
	assert_int_equal(ntold, 0);
	assert_false(get(0).doubtful);
}

/*
 * Freed, and its link is again what it was: only the key shows it. The key is learned from blocks of several
 * stacks.
 */
static void the_key_is_learned(void **state)
{
	size_t before;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		make(64 + i * 256, 48, i, i);
		follow(64 + i * 256, i % 3, 0);
	}
	make(8192, 48, link_to(8192, 0), 0);
	follow(8192, 20, 0);
	until(10 * MS);
	for (unsigned i = 0; i < 12; i++) {
		block(64 + i * 256)[0] = link_to(64 + i * 256, 0);
		block(64 + i * 256)[1] = KEY;
	}
	until(20 * MS);
	assert_int_equal(ntold, 12);
	before = ntold;
	block(8192)[1] = KEY;
	until(60 * MS);
	assert_int_equal(ntold, before + 1);
	assert_int_equal(told[before].fate, FATE_GONE);
}

/* A mark of the program's own is not the key, even behind words that look like links. */
static void a_mark_is_no_key(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		make(64 + i * 256, 48, link_to(64 + i * 256, 0), 0);
		follow(64 + i * 256, i % 3, 0);
	}
	until(10 * MS);
	for (unsigned i = 0; i < 6; i++)
		block(64 + i * 256)[1] = KEY;
	until(20 * MS);
	block(64)[0] = link_to(64, 8); /* one value in sixteen would look like a link by chance */
	until(40 * MS);
	for (unsigned i = 6; i < 12; i++)
		block(64 + i * 256)[1] = KEY;
	until(20 * S);
	assert_int_equal(ntold, 0);
}

static void given_out_again(void **state)
{
	struct tracked b;

	(void)state;
	make(64, 48, 1, 2);
	follow(64, 7, 0);
	until(10 * MS);
	follow(64, 8, 11 * MS);
	assert_fate(FATE_GONE, addr(64));
	assert_int_equal(told[0].b.stack, 7);
	assert_true(told[0].b.ended_ns == 11 * MS);
	assert_int_equal(block_poll_count(f), 1);
	assert_false(block_poll_taken(f, addr(512), 12 * MS));
	assert_true(block_poll_taken(f, addr(64), 12 * MS));
	assert_fate(FATE_GONE, addr(64));
	assert_int_equal(told[0].b.stack, 8);
	follow(64, 9, 13 * MS);
	assert_true(block_poll_drop(f, addr(64), &b));
	assert_int_equal(b.stack, 9);
	assert_false(block_poll_drop(f, addr(64), NULL));
	assert_int_equal(ntold, 0);
}

/* --- what is not certain --- */

static void one_word_is_enough(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	follow(64, 7, 0);
	for (uint64_t t = 1; t < 60; t++) {
		block(64)[1] = t;	/* a count */
		block(64)[3] = t;
		until(t * S);
	}
	assert_int_equal(ntold, 0);
	assert_true(get(0).alike && !get(0).doubtful && get(0).seen_ns > 30 * S);
}

static void both_words_have_changed(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	make(512, 48, 1, 2);
	follow(64, 7, 0);
	follow(512, 7, 0);
	until(1 * S);
	block(64)[0] = block(512)[0] = 3;
	block(64)[1] = block(512)[1] = 4;
	until(2 * S);
	assert_int_equal(ntold, 0);
	assert_true(get(0).doubtful && get(0).seen_ns == 1 * S && get(0).ended_ns > 1 * S &&
		    get(0).ended_ns <= 2 * S);
	/* one is seen to be freed: so its earlier contents were those of another block */
	block(64 + 48)[-1] &= ~1ull;
	until(4 * S);
	assert_fate(FATE_GONE, addr(64));
	assert_true(told[0].b.ended_ns <= 2 * S);
	until(1000 * S);
	assert_fate(FATE_UNKNOWN, addr(512));
	assert_int_equal(block_poll_count(f), 0);
}

static void doubtful_at_the_end(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	follow(64, 7, 0);
	until(1 * S);
	block(64)[0] = 3;
	block(64)[1] = 4;
	block_poll_end(f, 2 * S);
	assert_fate(FATE_UNKNOWN, addr(64));
}

/*
 * A word that differs from block to block shows that a block is the same. A word that does not, or that is
 * the same when an address is allocated again, does not show it.
 */
static void words_that_differ_between_blocks(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		make(64 + i * 256, 48, 99, 1000 + i);
		follow(64 + i * 256, 1, 0);
		make(128 + i * 256, 48, 99, 1);
		follow(128 + i * 256, 2, 0);
	}
	until(1 * S);
	for (size_t i = 0; i < block_poll_count(f); i++)
		assert_int_equal(get(i).alike, get(i).stack == 2);
	/* addresses are allocated again, and have the same words */
	for (unsigned i = 0; i < 16; i++)
		follow(64 + i * 256, 1, 1 * S);
	until(2 * S);
	for (size_t i = 0; i < block_poll_count(f); i++)
		assert_true(get(i).alike);
}

/* --- pages --- */

static bool is_there(size_t at)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &entry, 8, (off_t)(addr(at) / PAGE * 8)), 8);
	close(fd);
	return entry >> 63;
}

static void no_page_is_made(void **state)
{
	(void)state;
	/*
	 * a large block: first the page of the next head is returned to the kernel, then that of its own head
	 */
	make(PAGE + 64, 3 * PAGE, 1, 2);
	follow(PAGE + 64, 7, 0);
	until(10 * MS);
	assert_true(is_there(4 * PAGE) && !is_there(2 * PAGE));
	assert_int_equal(madvise(memory + 4 * PAGE, PAGE, MADV_DONTNEED), 0);
	until(20 * MS);
	assert_false(is_there(4 * PAGE));
	assert_int_equal(ntold, 0);
	assert_int_equal(madvise(memory + PAGE, PAGE, MADV_DONTNEED), 0);
	until(60 * MS);
	assert_fate(FATE_GONE, addr(PAGE + 64));
	assert_int_equal(block_poll_sums(f)->gone_by[BLOCK_UNMAPPED], 1);
	assert_false(is_there(PAGE));
	assert_false(is_there(2 * PAGE));
}

/* A block whose head ends a page, and whose first page was never written to. */
static void a_page_between_head_and_words(void **state)
{
	(void)state;
	block(PAGE)[-1] = 2 * PAGE | 1;
	block(3 * PAGE)[-1] = 64 | 1;
	assert_int_equal(add(f, addr(PAGE), block(PAGE)[-1], NULL, 7, 0), 0);
	until(100 * MS);
	assert_false(is_there(PAGE));
	assert_int_equal(ntold, 0);
	block(PAGE)[0] = 1;
	until(10 * S);
	assert_int_equal(ntold, 0);
	block(3 * PAGE)[-1] = 64;
	until(20 * S);
	assert_fate(FATE_GONE, addr(PAGE));
}

static void a_mapping_of_its_own(void **state)
{
	(void)state;
	block(PAGE + 16)[-1] = 2 * PAGE | 2;
	follow(PAGE + 16, 7, 0);
	until(10 * S);
	assert_int_equal(ntold, 0);
	assert_true(get(0).looks > 10);
	assert_int_equal(munmap(memory + PAGE, 2 * PAGE), 0);
	until(30 * S);
	assert_fate(FATE_GONE, addr(PAGE + 16));
	assert_true(mmap(memory + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

/* A page that is there but cannot be read shows nothing; the other pages are read all the same. */
static void a_page_that_may_not_be_read(void **state)
{
	(void)state;
	make(64, 48, 1, 2);
	make(PAGE + 64, 48, 1, 2);
	make(2 * PAGE + 64, 48, 1, 2);
	for (unsigned i = 0; i < 3; i++)
		follow(i * PAGE + 64, i, 0);
	assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
	until(10 * S);
	assert_int_equal(ntold, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(get(i).looks > 0, get(i).stack != 1);
	assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	until(20 * S);
	for (unsigned i = 0; i < 3; i++)
		assert_true(get(i).seen_ns > 10 * S);
}

/* --- all together --- */

static void who_ends_has_not_given_back(void **state)
{
	struct block_poll *other;
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	make(64, 48, 1, 2);
	assert_int_equal(block_poll_new(pid, over, &ntold, &other), 0);
	assert_int_equal(add(other, addr(64), 48 | 1, NULL, 7, 0), 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	block_poll(other, 10 * MS);
	assert_int_equal(ntold, 0);
	assert_true(block_poll_lost(other));
	assert_true(block_poll_next_ns(other) == UINT64_MAX);
	block_poll_end(other, 20 * MS);
	assert_fate(FATE_SAME, addr(64));
	assert_true(told[0].b.seen_ns == 0);
	block_poll_free(other);
	assert_int_equal(block_poll_new(pid, over, &ntold, &other), -ESRCH);
}

static void what_is_no_chunk(void **state)
{
	(void)state;
	assert_int_equal(add(f, addr(64), 0, NULL, 7, 0), -EINVAL);
	assert_int_equal(add(f, addr(64), 16 | 1, NULL, 7, 0), -EINVAL);
	assert_int_equal(add(f, addr(64), 40 | 1, NULL, 7, 0), -EINVAL);
	assert_int_equal(add(f, addr(64), UINT64_MAX, NULL, 7, 0), -EINVAL);
	assert_int_equal(add(f, addr(64), 1ull << 46, NULL, 7, 0), -EINVAL);
	assert_int_equal(add(f, addr(65), 48 | 1, NULL, 7, 0), -EINVAL);
	assert_int_equal(add(f, 0, 48 | 1, NULL, 7, 0), -EINVAL);
	assert_int_equal(add(f, UINT64_MAX & ~15ull, 48 | 1, NULL, 7, 0), -EINVAL);
	assert_int_equal(block_poll_count(f), 0);
}

static uint64_t any(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

/*
 * Blocks are added, freed, dropped and taken in any order, as in a plain table; each is looked at when it is
 * due.
 */
static void as_a_plain_table(void **state)
{
	static struct { bool there; uint64_t birth; } model[500];
	const unsigned places = sizeof(model) / sizeof(*model);
	size_t there = 0, expected = 0;

	(void)state;
	memset(model, 0, sizeof(model));
	for (uint64_t now = 0; now < 20000; now++) {
		const unsigned i = (unsigned)any(places);
		const size_t at = 64 + 256 * i;

		if (any(3)) {
			make(at, 48, i, i);
			follow(at, i, now * MS);
			expected += model[i].there;
			there += !model[i].there;
			model[i].there = true;
			model[i].birth = now * MS;
		} else {
			const bool gone = any(2) ? block_poll_drop(f, addr(at), NULL)
						 : block_poll_taken(f, addr(at), now * MS) && ++expected;

			assert_int_equal(gone, model[i].there);
			there -= model[i].there;
			model[i].there = false;
		}
		until(now * MS);
		assert_int_equal(block_poll_count(f), there);
		assert_int_equal(ntold, expected);
		ntold = expected = 0;
	}
	for (size_t i = 0; i < block_poll_count(f); i++) {
		const struct tracked b = get(i);

		assert_true(model[b.stack].there && model[b.stack].birth == b.birth_ns);
		/* the last look is no longer ago than the distance to it */
		assert_true(20000 * MS - b.seen_ns <= 10 * MS + (b.seen_ns - b.birth_ns) * 8 / 10);
	}
	block_poll_end(f, 20000 * MS);
	assert_int_equal(ntold, there);
	assert_int_equal(block_poll_count(f), 0);
}

static void no_more_than_so_many(void **state)
{
	(void)state;
	for (unsigned i = 0; i < BLOCK_POLL_MAX; i++)
		assert_int_equal(add(f, 0x10000000 + 64 * i, 48 | 1, NULL, i, i), 0);
	assert_int_equal(add(f, 0x900000000, 48 | 1, NULL, 1, 1), -ENOSPC);
	assert_true(block_poll_drop(f, 0x10000000, NULL));
	assert_int_equal(add(f, 0x900000000, 48 | 1, NULL, 1, 1), 0);
	assert_int_equal(block_poll_count(f), BLOCK_POLL_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stays),
		TEST(looks_at_the_steps_of_age),
		TEST(another_size),
		TEST(in_a_bin),
		TEST(neighbours_come_and_go),
		TEST(joined_with_both_neighbours),
		TEST(joined_for_a_moment),
		TEST(in_a_tcache),
		TEST(what_only_looks_like_a_link),
		TEST(what_was_left_from_before),
		TEST(the_key_is_learned),
		TEST(a_mark_is_no_key),
		TEST(given_out_again),
		TEST(one_word_is_enough),
		TEST(both_words_have_changed),
		TEST(doubtful_at_the_end),
		TEST(words_that_differ_between_blocks),
		TEST(no_page_is_made),
		TEST(a_page_between_head_and_words),
		TEST(a_mapping_of_its_own),
		TEST(a_page_that_may_not_be_read),
		TEST(who_ends_has_not_given_back),
		TEST(what_is_no_chunk),
		TEST(as_a_plain_table),
		TEST(no_more_than_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
