/* SPDX-License-Identifier: MIT */
/* watch_cost: the time that a thread was slowed in ends with the thread, and not with the watch. */
#include "attach/watch/watch_cost.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/control/link.h"
#include "attach/watch/watch.h"

static struct shared shared;
static struct link its_link = { .shared = &shared };

static void slowed(uint32_t tid)
{
	atomic_store(&shared.counts.worst.ns, 5);
	atomic_store(&shared.counts.worst.since_ns, 10);
	atomic_store(&shared.counts.worst.last_ns, 20);
	atomic_store(&shared.counts.worst.tid, tid);
}

static void *tell_tid(void *out)
{
	*(uint32_t *)out = (uint32_t)gettid();
	return NULL;
}

static void until_the_thread_has_ended(void **state)
{
	struct watch w = { .link = &its_link, .pid = getpid() };
	pthread_t thread;
	uint32_t tid = 0;

	(void)state;
	watch_cost_see(&w);
	slowed((uint32_t)getpid());
	watch_cost_see(&w);
	assert_int_equal(watch_cost_until(&w, 100), 100);
	assert_int_equal(pthread_create(&thread, NULL, tell_tid, &tid), 0);
	pthread_join(thread, NULL);
	slowed(tid);
	assert_int_equal(watch_cost_until(&w, 100), 100);	/* not looked at yet */
	watch_cost_see(&w);
	assert_int_equal(watch_cost_until(&w, 100), 20);
	/* the process has ended since: so much is known of the thread all the same */
	w.pid = 0;
	watch_cost_see(&w);
	assert_int_equal(watch_cost_until(&w, 100), 20);
	slowed((uint32_t)getpid());
	assert_int_equal(watch_cost_until(&w, 100), 100);
}

/* All threads end with the process, until then. */
static void until_the_process_has_ended(void **state)
{
	struct watch w = { .link = &its_link, .pid = (pid_t)0x7ffffffe };

	(void)state;
	slowed(0x7ffffffe);
	watch_cost_see(&w);
	assert_int_equal(watch_cost_until(&w, 100), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(until_the_thread_has_ended),
		cmocka_unit_test(until_the_process_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
