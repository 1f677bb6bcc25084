/* SPDX-License-Identifier: MIT */
/*
 * scope: threads by number and name, tested on our own threads; callers behind wrappers, in a ledger made by
 * hand.
 */
#include "attach/events/scope.h"
#include "attach/options/options.h"
#include "report/ledger/ledger.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND 1000000000ull

static const struct option_list none;
static struct scope s;

static void want(const struct option_list *threads, const struct option_list *modules)
{
	scope_init(&s, getpid(), NULL, threads, modules);
}

static int teardown(void **state)
{
	(void)state;
	scope_fini(&s);
	return 0;
}

/* --- threads --- */

static uint32_t self(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void call_us(const char *name)
{
	assert_int_equal(prctl(PR_SET_NAME, name), 0);
}

static void everybody(void **state)
{
	(void)state;
	want(&none, &none);
	assert_int_equal(scope_has_thread(&s, 1, 0), SCOPE_YES);
}

static void by_number(void **state)
{
	char number[16];
	const struct option_list list = { .all = (const char *[]){ number }, .n = 1 };

	(void)state;
	snprintf(number, sizeof(number), "%u", self());
	want(&list, &none);
	assert_int_equal(scope_has_thread(&s, self(), 0), SCOPE_YES);
	/* a thread that does not exist still has another number */
	assert_int_equal(scope_has_thread(&s, 0x7fffffff, 0), SCOPE_NO);
}

static void by_name_looked_up_each_second(void **state)
{
	const struct option_list list = { .all = (const char *[]){ "12", "wor?er*" }, .n = 2 };

	(void)state;
	call_us("other");
	want(&list, &none);
	assert_int_equal(scope_has_thread(&s, self(), 0), SCOPE_NO);
	call_us("worker/7");
	assert_int_equal(scope_has_thread(&s, self(), SECOND), SCOPE_NO);
	assert_int_equal(scope_has_thread(&s, self(), SECOND + 1), SCOPE_YES);
	call_us("worms");
	assert_int_equal(scope_has_thread(&s, self(), 2 * SECOND), SCOPE_YES);
	assert_int_equal(scope_has_thread(&s, self(), 3 * SECOND), SCOPE_NO);
}

static void *store_number(void *number)
{
	call_us("worker");
	*(uint32_t *)number = self();
	return NULL;
}

static uint32_t one_that_has_ended(void)
{
	uint32_t number;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, store_number, &number), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	return number;
}

static void gone_before_it_was_asked(void **state)
{
	const struct option_list list = { .all = (const char *[]){ "worker" }, .n = 1 };

	(void)state;
	want(&list, &none);
	assert_int_equal(scope_has_thread(&s, one_that_has_ended(), 0), SCOPE_UNKNOWN);
}

struct waiting {
	pthread_barrier_t named, end;
	uint32_t number;
};

static void *wait_to_end(void *arg)
{
	struct waiting *w = arg;

	store_number(&w->number);
	pthread_barrier_wait(&w->named);
	pthread_barrier_wait(&w->end);
	return NULL;
}

/*
 * When a thread has ended, the last name read for it counts: it is still the same thread. Its number may
 * belong to another thread by then.
 */
static void gone_since_it_was_asked(void **state)
{
	const struct option_list list = { .all = (const char *[]){ "worker" }, .n = 1 };
	struct waiting w;
	pthread_t t;

	(void)state;
	pthread_barrier_init(&w.named, NULL, 2);
	pthread_barrier_init(&w.end, NULL, 2);
	want(&list, &none);
	assert_int_equal(pthread_create(&t, NULL, wait_to_end, &w), 0);
	pthread_barrier_wait(&w.named);
	assert_int_equal(scope_has_thread(&s, w.number, 0), SCOPE_YES);
	pthread_barrier_wait(&w.end);
	pthread_join(t, NULL);
	assert_int_equal(scope_has_thread(&s, w.number, 5 * SECOND), SCOPE_YES);
	scope_thread_end(&s, w.number);
	assert_int_equal(scope_has_thread(&s, w.number, 5 * SECOND), SCOPE_UNKNOWN);
}

/* --- callers --- */

static struct ledger l;

static void take(const struct fact *f)
{
	assert_int_equal(defs_take(&l.defs, f), 0);
}

/*
 * Frame 1 is in libwrap.so and skipped by a rule if @skip, frame 2 in service; stack 1 is both, stack 2 is
 * empty.
 */
static void make_stacks(bool skip)
{
	assert_int_equal(ledger_init(&l), 0);
	take(&(struct fact){
		.kind = MMT_INFO, .info = MMT_MODULE, .module = { .number = 0, .path = "/lib/libwrap.so" },
	});
	take(&(struct fact){
		.kind = MMT_INFO, .info = MMT_MODULE,
		.module = { .number = 1, .file = 1, .path = "/bin/service" },
	});
	take(&(struct fact){
		.kind = MMT_INFO, .info = MMT_FRAME,
		.frame = { .number = 0, .module = 1, .pc = 0x10, .skip = skip },
	});
	take(&(struct fact){
		.kind = MMT_INFO, .info = MMT_FRAME, .frame = { .number = 1, .module = 2, .pc = 0x20 },
	});
	take(&(struct fact){ .kind = MMT_INFO, .info = MMT_NODE, .node = { .number = 1, .frame = 1 } });
	take(&(struct fact){
		.kind = MMT_INFO, .info = MMT_NODE, .node = { .number = 2, .caller = 1, .frame = 0 },
	});
	take(&(struct fact){ .kind = MMT_INFO, .info = MMT_STACK, .stack = { .number = 0, .node = 2 } });
	take(&(struct fact){ .kind = MMT_INFO, .info = MMT_STACK, .stack = { .number = 1 } });
}

static bool counts_from(const char *module, bool skip)
{
	const struct option_list list = { .all = &module, .n = 1 };
	bool yes;

	make_stacks(skip);
	want(&none, &list);
	yes = scope_has_caller(&s, &l, 0);
	assert_int_equal(scope_has_caller(&s, &l, 0), yes);
	assert_false(scope_has_caller(&s, &l, 1));
	ledger_fini(&l);
	scope_fini(&s);
	return yes;
}

static void by_caller(void **state)
{
	(void)state;
	assert_true(counts_from("libwrap*", false));
	assert_false(counts_from("service", false));
	assert_false(counts_from("libwrap*", true));
	assert_true(counts_from("serv?ce", true));
	assert_false(counts_from("/bin/service", true));
	want(&none, &none);
	assert_true(scope_has_caller(&s, &l, 99));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(everybody, teardown),
		cmocka_unit_test_teardown(by_number, teardown),
		cmocka_unit_test_teardown(by_name_looked_up_each_second, teardown),
		cmocka_unit_test_teardown(gone_before_it_was_asked, teardown),
		cmocka_unit_test_teardown(gone_since_it_was_asked, teardown),
		cmocka_unit_test_teardown(by_caller, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
