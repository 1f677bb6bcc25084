/* SPDX-License-Identifier: MIT */
/* recount: the counts of objects of our own are read. */
#include "attach/rules/ruletext.h"
#include "attach/watch/recount.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/control/planting.h"
#include "attach/events/recorder.h"
#include "report/ledger/objects.h"

#define PAGE 4096

struct thing {
	char rest[16];
	uint16_t count;
};

static struct rule rules[2];
static struct planting planting = { .rules = rules, .nrules = 2 };
static struct recorder recorder;

static int setup(void **state)
{
	const struct fact family = {
		.kind = MMT_INFO, .info = MMT_FAMILY_NAME,
		.family_name = { .number = 0, .name = "thing", .refs = true, .noun = "thing" },
	};

	(void)state;
	assert_int_equal(recorder_init(&recorder), 0);
	planting.mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(planting.mem >= 0);
	recorder_put(&recorder, &family);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	recorder_fini(&recorder);
	close(planting.mem);
	return 0;
}

static void use_rules(const char *ref, const char *unref)
{
	struct rule_error err;

	assert_int_equal(rule_parse(ref, &rules[0], &err), 0);
	assert_int_equal(rule_parse(unref, &rules[1], &err), 0);
}

static taddr address(const void *p)
{
	return (taddr)(uintptr_t)p;
}

static void was_counted(const void *object, uint64_t count)
{
	const struct fact f = {
		.kind = MMT_REF, .time_us = 1,
		.ref = { .addr = address(object), .stack = 0, .by = 1, .count = count + 1 },
	};

	recorder_put_event(&recorder, 0, &f);
}

/* 0: it is not in the ledger. */
static int64_t net(const void *object)
{
	const struct object *o = objects_get(recorder.ledger.books[0].objects, address(object));

	return o ? o->net : 0;
}

static void define_stack(void)
{
	const struct fact stack = { .kind = MMT_INFO, .info = MMT_STACK, .stack = { .number = 0 } };

	assert_int_equal(defs_take(&recorder.ledger.defs, &stack), 0);
}

static void what_differs_is_put(void **state)
{
	struct thing same = { .count = 3 }, more = { .count = 5 }, none = { .count = 0 }, all = {
		.count = 0xffff,
	};

	(void)state;
	define_stack();
	use_rules("ref get count=*u16(arg1+16)", "unref put");
	was_counted(&same, 3);
	was_counted(&more, 3);
	was_counted(&none, 3);
	was_counted(&all, 3);
	assert_int_equal(recount(&recorder, &planting, 7), 0);
	assert_int_equal(net(&same), 3);
	assert_int_equal(net(&more), 5);
	assert_int_equal(net(&none), 0);
	assert_int_equal(net(&all), 0xffff);
	assert_int_equal(objects_count(recorder.ledger.books[0].objects), 3);
}

/* Its memory is unmapped, or something else is there: whatever it was, it has no references. */
static void what_is_no_object_any_more(void **state)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t other[3] = { 0, 0, 0xdeadbeefdead };

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	munmap(pages + PAGE, PAGE);
	define_stack();
	use_rules("unref put", "ref make obj=ret count=*u64(ret+16)");
	was_counted(pages + PAGE, 2);
	was_counted(other, 2);
	assert_int_equal(recount(&recorder, &planting, 7), 0);
	assert_int_equal(objects_count(recorder.ledger.books[0].objects), 0);
	munmap(pages, PAGE);
}

/* If no rule gives the count's address, or only by something else than the object, nothing is read. */
static void where_nothing_says_so(void **state)
{
	struct thing one = { .count = 9 };

	(void)state;
	define_stack();
	was_counted(&one, 3);
	use_rules("ref get", "unref put obj=arg2 count=*u16(arg1+16)");
	assert_int_equal(recount(&recorder, &planting, 7), 0);
	use_rules("ref get count=arg2", "unref put obj=*arg1 count=*u16(arg1+16)");
	assert_int_equal(recount(&recorder, &planting, 7), 0);
	use_rules("ref get count=*u16(arg1+arg2*4+16)", "unref put");
	assert_int_equal(recount(&recorder, &planting, 7), 0);
	assert_int_equal(net(&one), 3);
	use_rules("ref get count=*u16(arg1+arg2*4+16)", "unref put obj=arg2 count=*u16(arg2+16)");
	assert_int_equal(recount(&recorder, &planting, 7), 0);
	assert_int_equal(net(&one), 9);
}

static void a_process_that_is_gone(void **state)
{
	struct thing one = { .count = 9 };
	int wait[2], mine = planting.mem;
	char path[64];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(wait), 0);
	child = fork();
	if (child == 0) {
		close(wait[1]);
		_exit(read(wait[0], path, 1) != 0);
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	planting.mem = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(planting.mem >= 0);
	close(wait[1]);
	waitpid(child, NULL, 0);
	define_stack();
	use_rules("ref get count=*u16(arg1+16)", "unref put");
	was_counted(&one, 3);
	assert_int_equal(recount(&recorder, &planting, 7), -ESRCH);
	assert_int_equal(net(&one), 3);
	close(planting.mem);
	close(wait[0]);
	planting.mem = mine;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_differs_is_put, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_object_any_more, setup, teardown),
		cmocka_unit_test_setup_teardown(where_nothing_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_that_is_gone, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
