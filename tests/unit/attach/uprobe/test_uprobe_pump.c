/* SPDX-License-Identifier: MIT */
/*
 * uprobe_pump: how many processes run in the target's memory, from a ring that is written here as the BPF
 * programs write it, and from the number that they keep. Of uprobe_kernel there is what it is asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/uprobe/uprobe_parts.h"

#define HEADER 8	/* of a record: its length, and where its page is */
#define KERNELS 4096	/* the kernel's ring, */
#define OURS 4096	/* and ours */

static struct uprobe u;
static struct uprobe_control control;
static struct uprobe_hint hints[UPROBE_HINTS];
static uint64_t consumer, producer;
static _Alignas(8) uint8_t records[KERNELS];

struct uprobe_control *uprobe_kernel_control(struct uprobe_kernel *k)
{
	(void)k;
	return &control;
}

volatile struct uprobe_hint *uprobe_kernel_hints(struct uprobe_kernel *k)
{
	(void)k;
	return hints;
}

static int setup(void **state)
{
	(void)state;
	control = (struct uprobe_control){ 0 };
	consumer = producer = 0;
	u = (struct uprobe){
		.pid = getpid(), .pidfd = -1,
		.reader = { &consumer, &producer, records, KERNELS },
	};
	u.shared = mmap(NULL, sizeof(*u.shared), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(u.shared, MAP_FAILED);
	ring_init(&u.shared->ring, u.shared->ring_bytes, OURS);
	uprobe_calls_init(&u.calls);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	uprobe_calls_fini(&u.calls);
	munmap(u.shared, sizeof(*u.shared));
	return 0;
}

/* The kernel's record that @n do now. */
static void put(uint32_t n)
{
	const struct uprobe_head h = { .site = n, .kind = UPROBE_SHARERS, .time_ns = 5 };
	const uint64_t length = sizeof(h);

	memcpy(records + producer, &length, HEADER);
	memcpy(records + producer + HEADER, &h, sizeof(h));
	producer += HEADER + sizeof(h);
}

static void assert_next(int64_t n)
{
	const struct record *rec = ring_peek(&u.shared->ring);

	assert_non_null(rec);
	assert_int_equal(rec->kind, RECORD_SHARERS);
	assert_int_equal(rec->value, n);
	ring_consume(&u.shared->ring, rec);
}

static void assert_no_more(void)
{
	assert_null(ring_peek(&u.shared->ring));
}

/* So much was lost until the kernel's next record, that of a thread's end. */
static void put_after_loss(uint32_t lost)
{
	const struct uprobe_head h = { .tid = 7, .kind = UPROBE_THREAD_END, .time_ns = 5, .lost = lost };
	const uint64_t length = sizeof(h);

	memcpy(records + producer, &length, HEADER);
	memcpy(records + producer + HEADER, &h, sizeof(h));
	producer += HEADER + sizeof(h);
}

static void assert_lost(int64_t n, uint32_t unseen_ends)
{
	const struct record *rec = ring_peek(&u.shared->ring);

	assert_non_null(rec);
	assert_int_equal(rec->kind, RECORD_LOST);
	assert_int_equal(rec->value, n);
	assert_int_equal(rec->site, unseen_ends);
	ring_consume(&u.shared->ring, rec);
}

static void assert_thread_ends(void)
{
	const struct record *rec = ring_peek(&u.shared->ring);

	assert_non_null(rec);
	assert_int_equal(rec->kind, RECORD_THREAD_END);
	ring_consume(&u.shared->ring, rec);
}

/* Each loss is a record of its own, in its place, however soon it follows another one. */
static void each_loss(void **state)
{
	(void)state;
	control.unfollowed = 0;
	put_after_loss(0);
	put_after_loss(3);
	put_after_loss(3);
	put_after_loss(4);
	uprobe_pump(&u, UPROBE_ALL);
	assert_thread_ends();
	assert_lost(3, 0);
	assert_thread_ends();
	assert_thread_ends();
	assert_lost(1, 0);
	assert_thread_ends();
	control.unfollowed = 1; /* a call whose end will not be seen */
	put_after_loss(5);
	uprobe_pump(&u, UPROBE_ALL);
	assert_lost(1, 1);
	assert_thread_ends();
	assert_no_more();
}

static void as_the_kernel_reports_them(void **state)
{
	(void)state;
	put(1);
	put(2);
	put(1);
	put(0);
	uprobe_pump(&u, UPROBE_ALL);
	for (const int *n = (const int[]){ 1, 2, 1, 0, -1 }; *n >= 0; n++)
		assert_next(*n);
	uprobe_pump(&u, UPROBE_ALL);
	assert_no_more();
}

/* The record of a beginning, and that of an end, found no space in the kernel's ring. */
static void when_records_are_lost(void **state)
{
	(void)state;
	control.sharers = 1;
	uprobe_pump(&u, UPROBE_ALL);
	assert_next(1);
	uprobe_pump(&u, UPROBE_ALL);
	assert_no_more();
	put(2);
	control.sharers = 0;
	uprobe_pump(&u, UPROBE_ALL);
	assert_next(2);
	assert_next(0);
	assert_no_more();
}

/* Two processors: each counts, and then writes. */
static void when_they_come_in_another_order(void **state)
{
	(void)state;
	put(2);
	put(1);
	control.sharers = 2;
	uprobe_pump(&u, UPROBE_ALL);
	for (const int *n = (const int[]){ 2, 1, 2, -1 }; *n >= 0; n++)
		assert_next(*n);
	assert_no_more();
}

/* The number is of a later time than what is not read yet. */
static void not_before_all_is_read(void **state)
{
	(void)state;
	put(1);
	put(0);
	uprobe_pump(&u, 1);
	assert_next(1);
	assert_no_more();
	uprobe_pump(&u, UPROBE_ALL);
	assert_next(0);
	assert_no_more();
}

static void once_there_is_space(void **state)
{
	unsigned n = 0;

	(void)state;
	while (ring_reserve(&u.shared->ring, sizeof(struct record))) {
		put(++n);
		control.sharers = n;
		uprobe_pump(&u, UPROBE_ALL);
		producer = consumer = 0;
	}
	control.sharers = 0;
	uprobe_pump(&u, UPROBE_ALL);
	for (unsigned i = 1; i <= n; i++)
		assert_next(i);
	assert_no_more();
	uprobe_pump(&u, UPROBE_ALL);
	assert_next(0);
	assert_no_more();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_the_kernel_reports_them, setup, teardown),
		cmocka_unit_test_setup_teardown(when_records_are_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(when_they_come_in_another_order, setup, teardown),
		cmocka_unit_test_setup_teardown(not_before_all_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(each_loss, setup, teardown),
		cmocka_unit_test_setup_teardown(once_there_is_space, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
