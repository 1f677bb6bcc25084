/* SPDX-License-Identifier: MIT */
/* ring: its edges by hand, compared with a model, and between two processes. */
#include "attach/keeper/shared/ring.h"

#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SMALL 512u
#define HEAD ((uint32_t)sizeof(struct record))
#define GUARD 0xa5

static struct ring ring;
static uint8_t bytes[SMALL + 64] __attribute__((aligned(64)));

static int setup(void **state)
{
	(void)state;
	memset(bytes, GUARD, sizeof(bytes));
	ring_init(&ring, bytes, SMALL);
	return 0;
}

static void put(uint32_t size, int64_t value)
{
	struct record *rec = ring_reserve(&ring, size);

	assert_non_null(rec);
	assert_true((uint8_t *)rec >= bytes && (uint8_t *)rec + size <= bytes + SMALL);
	rec->kind = RECORD_HIT;
	rec->value = value;
	ring_commit(&ring, rec, size);
}

static void take(uint32_t size, int64_t value)
{
	const struct record *rec = ring_peek(&ring);

	assert_non_null(rec);
	assert_int_equal(rec->kind, RECORD_HIT);
	assert_int_equal(rec->size, size);
	assert_int_equal(rec->value, value);
	ring_consume(&ring, rec);
}

static void one_in_one_out(void **state)
{
	struct record *rec;

	(void)state;
	assert_null(ring_peek(&ring));
	assert_int_equal(ring_used(&ring), 0);
	rec = ring_reserve(&ring, 64);
	assert_non_null(rec);
	rec->kind = RECORD_THREAD;
	assert_null(ring_peek(&ring)); /* not before the commit */
	ring_commit(&ring, rec, 64);
	assert_int_equal(ring_used(&ring), 64);
	assert_ptr_equal(ring_peek(&ring), rec);
	assert_ptr_equal(ring_peek(&ring), rec); /* peeking does not consume */
	ring_consume(&ring, rec);
	assert_null(ring_peek(&ring));
	assert_int_equal(ring_used(&ring), 0);
}

static void less_may_be_committed_than_was_reserved(void **state)
{
	struct record *rec = ring_reserve(&ring, 256);

	(void)state;
	rec->kind = RECORD_HIT;
	rec->value = 1;
	ring_commit(&ring, rec, HEAD + 3); /* a slice that was cut at an odd length */
	assert_int_equal(ring_used(&ring), HEAD + 8);
	put(64, 2);
	take(HEAD + 8, 1);
	take(64, 2);
}

static void a_reservation_that_is_given_up_leaves_nothing(void **state)
{
	(void)state;
	put(64, 1);
	assert_non_null(ring_reserve(&ring, 128));
	take(64, 1);
	assert_null(ring_peek(&ring));
	put(32, 2);
	take(32, 2);
	assert_null(ring_peek(&ring));
}

static void full_to_the_last_byte(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		put(64, i);
	assert_int_equal(ring_used(&ring), SMALL);
	assert_null(ring_reserve(&ring, HEAD));
	take(64, 0);
	assert_null(ring_reserve(&ring, 72));
	assert_int_equal(ring_used(&ring), SMALL - 64);
	put(64, 8);
	assert_null(ring_reserve(&ring, HEAD));
	for (int i = 1; i <= 8; i++)
		take(64, i);
	assert_null(ring_peek(&ring));
}

/*
 * A record that is too long for the rest of the buffer begins at its start. The rest is filled with padding,
 * which no reader sees.
 */
static void wraps_with_padding(void **state)
{
	(void)state;
	for (int i = 0; i < 7; i++)
		put(64, i);
	for (int i = 0; i < 7; i++)
		take(64, i);
	assert_ptr_equal(ring_reserve(&ring, 128), bytes); /* 64 left at the end */
	put(128, 7);
	assert_int_equal(ring_used(&ring), 64 + 128);
	take(128, 7);
	assert_int_equal(ring_used(&ring), 0);
	assert_null(ring_peek(&ring));
}

/* Padding counts: 64 at the end and 64 at the start are not enough for 128. */
static void no_room_behind_the_padding(void **state)
{
	(void)state;
	put(64, 0);
	put(384, 1);
	take(64, 0);
	assert_null(ring_reserve(&ring, 128));
	assert_int_equal(ring_used(&ring), 384); /* and nothing was begun */
	assert_non_null(ring_reserve(&ring, 64));
	take(384, 1);
	put(128, 2);
	take(128, 2);
}

/* The smallest padding has room only for its size and kind. */
static void padding_of_eight_bytes(void **state)
{
	(void)state;
	put(64, 0);
	put(SMALL - 64 - 8, 1);
	take(64, 0);
	take(SMALL - 64 - 8, 1);
	put(HEAD, 2);
	assert_int_equal(ring_used(&ring), 8 + HEAD);
	take(HEAD, 2);
	assert_int_equal(bytes[SMALL], GUARD);
}

static void only_padding_is_nothing(void **state)
{
	(void)state;
	put(448, 0);
	take(448, 0);
	assert_non_null(ring_reserve(&ring, 128)); /* fills the end, and is not committed */
	assert_null(ring_peek(&ring));
	put(128, 1);
	take(128, 1);
}

static void a_record_as_large_as_the_ring(void **state)
{
	(void)state;
	assert_null(ring_reserve(&ring, SMALL + 8));
	put(SMALL, 1);
	assert_null(ring_reserve(&ring, HEAD));
	take(SMALL, 1);
	put(SMALL, 2);
	take(SMALL, 2);
}

static void positions_may_pass_32_bits(void **state)
{
	(void)state;
	atomic_store(&ring.head, (1ull << 32) - 64);
	atomic_store(&ring.tail, (1ull << 32) - 64);
	for (int i = 0; i < 8; i++)
		put(64, i);
	assert_null(ring_reserve(&ring, HEAD));
	for (int i = 0; i < 8; i++)
		take(64, i);
	assert_null(ring_peek(&ring));
}

/* Only an empty ring gets smaller. From then on its first bytes are used, wherever the position was. */
static void a_smaller_one(void **state)
{
	(void)state;
	put(320, 0);
	assert_false(ring_shrink(&ring, SMALL / 4));
	take(320, 0);
	assert_true(ring_shrink(&ring, SMALL / 4));
	memset(bytes + SMALL / 4, GUARD, SMALL - SMALL / 4);
	assert_null(ring_reserve(&ring, SMALL / 4 + 8));
	for (int i = 0; i < 40; i++) {
		put(64, 2 * i);
		put(HEAD, 2 * i + 1);
		assert_null(ring_reserve(&ring, 64));
		take(64, 2 * i);
		take(HEAD, 2 * i + 1);
	}
	for (size_t i = SMALL / 4; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], GUARD);
}

static void the_bell(void **state)
{
	(void)state;
	assert_false(ring_wants_bell(&ring));
	put(SMALL / 4, 0);
	assert_false(ring_wants_bell(&ring)); /* a quarter, not more */
	put(HEAD, 1);
	assert_true(ring_wants_bell(&ring));
	take(SMALL / 4, 0);
	assert_false(ring_wants_bell(&ring));
	atomic_store(&ring.sleeping, 1);
	assert_true(ring_wants_bell(&ring));
	take(HEAD, 1);
	assert_true(ring_wants_bell(&ring));
	atomic_store(&ring.sleeping, 0);
	assert_false(ring_wants_bell(&ring));
}

/* --- compared with a queue --- */

static uint8_t pattern(uint64_t seq, uint32_t i)
{
	return (seq * 131 + i * 7) ^ (seq >> 8);
}

static void fill(struct record *rec, uint32_t size, uint64_t seq)
{
	uint8_t *payload = (uint8_t *)(rec + 1);

	rec->kind = RECORD_HIT;
	rec->value = seq;
	rec->site = size;
	for (uint32_t i = 0; i < size - HEAD; i++)
		payload[i] = pattern(seq, i);
}

static bool intact(const struct record *rec, uint64_t seq)
{
	const uint8_t *payload = (const uint8_t *)(rec + 1);
	uint32_t size = rec->site;

	if (rec->kind != RECORD_HIT || (uint64_t)rec->value != seq || rec->size != ((size + 7) & ~7u))
		return false;
	for (uint32_t i = 0; i < size - HEAD; i++)
		if (payload[i] != pattern(seq, i))
			return false;
	return true;
}

static void agrees_with_a_queue(void **state)
{
	uint64_t in = 0, out = 0, refused = 0;

	(void)state;
	srandom(2);
	for (int step = 0; step < 400000; step++) {
		uint32_t size = HEAD + random() % 150;

		if (random() % 2) {
			uint32_t reserved = size + random() % 20;
			struct record *rec = ring_reserve(&ring, reserved);

			/*
			 * refused only if the record, with the padding that it may need, really does not fit
			 */
			if (!rec) {
				assert_true(ring_used(&ring) + 2 * reserved > SMALL);
				refused++;
				continue;
			}
			assert_true((uint8_t *)rec + reserved <= bytes + SMALL);
			fill(rec, size, in++);
			ring_commit(&ring, rec, size);
		} else {
			const struct record *rec = ring_peek(&ring);

			assert_int_equal(rec != NULL, in != out);
			if (!rec)
				continue;
			assert_true(intact(rec, out++));
			ring_consume(&ring, rec);
		}
		assert_true(ring_used(&ring) <= SMALL);
	}
	assert_true(in > 100000 && refused > 1000);
	for (size_t i = SMALL; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], GUARD);
}

/* --- two processes --- */

#define SOAK_RING 16384u
#define SOAK_RECORDS 400000u
#define SOAK_MAX 1500u
#define WAKE_MS 20000	/* the bell did not ring: longer than any slow machine takes */

struct soak {
	struct ring ring;
	_Atomic uint32_t rung;
	_Alignas(64) uint8_t bytes[SOAK_RING];
};

static uint64_t soak_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* As notify_bell does. */
static void ring_the_bell(struct soak *s, int bell)
{
	const uint64_t one = 1;

	if (!ring_wants_bell(&s->ring) || !atomic_exchange(&s->ring.sleeping, 0))
		return;
	atomic_fetch_add(&s->rung, 1);
	if (write(bell, &one, sizeof(one)) != sizeof(one))
		_exit(3);
}

_Noreturn static void produce(struct soak *s, int bell)
{
	uint64_t x = 88172645463325252ull;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t seq = 0; seq < SOAK_RECORDS;) {
		uint64_t r = soak_random(&x);
		uint32_t size = HEAD + r % (SOAK_MAX - HEAD);
		struct record *rec;

		if (seq == SOAK_RECORDS / 2 && s->ring.size == SOAK_RING)
			while (!ring_shrink(&s->ring, SOAK_RING / 4))
				sched_yield();
		/* now and then the writer lets the reader fall asleep, so that this record must wake it */
		while (seq % 1024 == 0 && !atomic_load(&s->ring.sleeping))
			sched_yield();
		rec = ring_reserve(&s->ring, SOAK_MAX);
		if (!rec) {
			sched_yield();
			continue;
		}
		fill(rec, size, seq++);
		ring_commit(&s->ring, rec, size);
		ring_the_bell(s, bell);
	}
	_exit(0);
}

/* Sleep as the controller does: set the flag, look once more, wait. false: the bell did not ring. */
static bool sleep_until_bell(struct soak *s, int bell)
{
	struct pollfd p = { .fd = bell, .events = POLLIN };
	bool rang = true;
	uint64_t n;

	atomic_store(&s->ring.sleeping, 1);
	if (!ring_peek(&s->ring))
		rang = poll(&p, 1, WAKE_MS) == 1;
	atomic_store(&s->ring.sleeping, 0);
	if (poll(&p, 1, 0) == 1 && read(bell, &n, sizeof(n)) != sizeof(n))
		return false;
	return rang;
}

static void between_two_processes(void **state)
{
	struct soak *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int bell = eventfd(0, EFD_NONBLOCK), status;
	uint64_t slept = 0;
	pid_t child;

	(void)state;
	assert_ptr_not_equal(s, MAP_FAILED);
	ring_init(&s->ring, s->bytes, SOAK_RING);
	child = fork();
	if (child == 0)
		produce(s, bell);
	for (uint64_t seq = 0; seq < SOAK_RECORDS;) {
		const struct record *rec = ring_peek(&s->ring);

		if (!rec) {
			slept++;
			assert_true(sleep_until_bell(s, bell));
			continue;
		}
		if (!intact(rec, seq))
			fail_msg("record %llu is damaged", (unsigned long long)seq);
		ring_consume(&s->ring, rec);
		seq++;
	}
	assert_null(ring_peek(&s->ring));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(slept >= SOAK_RECORDS / 1024);
	/* not each time: the reader may see the record before it sleeps */
	assert_true(atomic_load(&s->rung) >= SOAK_RECORDS / 1024 / 8);
	close(bell);
	munmap(s, sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_in_one_out, setup),
		cmocka_unit_test_setup(less_may_be_committed_than_was_reserved, setup),
		cmocka_unit_test_setup(a_reservation_that_is_given_up_leaves_nothing, setup),
		cmocka_unit_test_setup(full_to_the_last_byte, setup),
		cmocka_unit_test_setup(wraps_with_padding, setup),
		cmocka_unit_test_setup(no_room_behind_the_padding, setup),
		cmocka_unit_test_setup(padding_of_eight_bytes, setup),
		cmocka_unit_test_setup(only_padding_is_nothing, setup),
		cmocka_unit_test_setup(a_record_as_large_as_the_ring, setup),
		cmocka_unit_test_setup(positions_may_pass_32_bits, setup),
		cmocka_unit_test_setup(a_smaller_one, setup),
		cmocka_unit_test_setup(the_bell, setup),
		cmocka_unit_test_setup(agrees_with_a_queue, setup),
		cmocka_unit_test(between_two_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
