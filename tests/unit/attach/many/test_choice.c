/* SPDX-License-Identifier: MIT */
/* choice: which processes of a made-up /proc are handed out, and when. */
#include "attach/many/choice.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull
#define KTHREAD 0x00200000ul
#define SELF 100

static char proc[64];

static void write_file(int pid, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

struct made {
	int pid, parent, session;
	const char *comm;
	uint64_t start_s;
	unsigned long flags;
	char state;
};

static void make(struct made m)
{
	char text[256];
	const long hz = sysconf(_SC_CLK_TCK);

	snprintf(text, sizeof(text), "%d (%s) %c %d 1 %d 0 -1 %lu 0 0 0 0 1 2 3 4 20 0 1 0 %llu 1000 10 9 1 1 0\n",
		 m.pid, m.comm, m.state ? m.state : 'S', m.parent, m.session, m.flags,
		 (unsigned long long)m.start_s * (unsigned long)hz);
	write_file(m.pid, "stat", text);
}

static void end(int pid)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s/%d", proc, pid);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(proc, "/tmp/test_choice-XXXXXX");
	assert_non_null(mkdtemp(proc));
	make((struct made){ .pid = 1, .comm = "init", .session = 1 });
	make((struct made){ .pid = 2, .comm = "kthreadd", .flags = KTHREAD });
	make((struct made){ .pid = SELF, .comm = "mmattach", .parent = 1, .session = 1 });
	make((struct made){ .pid = 101, .comm = "mm-keeper", .parent = SELF, .session = 101 });
	make((struct made){ .pid = 10, .comm = "master", .parent = 1, .session = 10 });
	make((struct made){ .pid = 11, .comm = "worker) S", .parent = 10, .session = 10 });
	make((struct made){ .pid = 9, .comm = "worker", .parent = 11, .session = 10 });
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", proc);
	return system(command);
}

static struct choice opened(struct choice_wish wish)
{
	struct choice c;

	wish.self = SELF;
	wish.least_age_ns = SECOND / 5;
	assert_int_equal(choice_open(&c, proc, &wish), 0);
	return c;
}

/* Look at second @now: these and no others are handed out. @...: in ascending order, 0 ends them. */
static void look(struct choice *c, double now, ...)
{
	va_list ap;
	int pid;
	size_t n = 0;

	assert_int_equal(choice_look(c, (uint64_t)(now * 1e9)), 0);
	va_start(ap, now);
	while ((pid = va_arg(ap, int)) != 0) {
		bool found = false;

		for (size_t i = 0; i < c->nfound; i++)
			found |= c->found[i].pid == pid;
		if (!found)
			fail_msg("%d is not chosen", pid);
		n++;
	}
	va_end(ap);
	assert_int_equal(c->nfound, n);
}

static void test_a_list_and_new_children(void **state)
{
	const pid_t pids[] = { 10 };
	struct choice c = opened((struct choice_wish){ .pids = pids, .npids = 1, .follow = true });

	(void)state;
	look(&c, 100, 10, 0);
	look(&c, 100.1, 0);
	/* young: later; one that ends before is counted; what was there before is not followed */
	make((struct made){ .pid = 20, .comm = "new", .parent = 10, .session = 10, .start_s = 101 });
	make((struct made){ .pid = 21, .comm = "brief", .parent = 10, .session = 10, .start_s = 101 });
	make((struct made){ .pid = 22, .comm = "other", .parent = 1, .session = 1, .start_s = 101 });
	look(&c, 101.1, 0);
	end(21);
	look(&c, 101.3, 20, 0);
	assert_true(c.found[0].later && c.found[0].inherits);
	assert_int_equal(c.found[0].start_ns, 101 * SECOND);
	assert_int_equal(c.brief, 1);
	/* a grandchild whose parent is gone is known by its session */
	make((struct made){ .pid = 23, .comm = "orphan", .parent = 1, .session = 10, .start_s = 102 });
	look(&c, 103, 23, 0);
	/* a zombie has ended */
	make((struct made){ .pid = 24, .comm = "z", .parent = 10, .session = 10, .start_s = 104, .state = 'Z' });
	look(&c, 105, 0);
	/* the same number again, of another process */
	end(20);
	look(&c, 106, 0);
	make((struct made){ .pid = 20, .comm = "again", .parent = 10, .session = 10, .start_s = 106 });
	look(&c, 107, 20, 0);
	choice_again(&c, 20, false);
	look(&c, 107.1, 20, 0);
	assert_true(c.found[0].inherits);
	/* what it has after an exec is its own */
	choice_again(&c, 20, true);
	look(&c, 107.2, 20, 0);
	assert_false(c.found[0].inherits);
	choice_close(&c);
}

/* Only a copy of a process that is watched has the int3s of its watch. */
static void test_who_inherits(void **state)
{
	struct choice c = opened((struct choice_wish){ .name = "worker", .follow = true });

	(void)state;
	look(&c, 100, 9, 0);
	assert_false(c.found[0].inherits);
	make((struct made){ .pid = 20, .comm = "worker", .parent = 1, .session = 1, .start_s = 101 });
	look(&c, 102, 20, 0);
	assert_true(c.found[0].later && !c.found[0].inherits);
	make((struct made){ .pid = 21, .comm = "worker", .parent = 20, .session = 1, .start_s = 102 });
	look(&c, 103, 21, 0);
	assert_true(c.found[0].inherits);
	choice_close(&c);
}

static void test_a_tree(void **state)
{
	const pid_t pids[] = { 10 }, all[] = { 1 };
	struct choice c = opened((struct choice_wish){ .pids = pids, .npids = 1, .descend = true });

	(void)state;
	look(&c, 100, 9, 10, 11, 0);	/* 9 is a child of 11 */
	make((struct made){ .pid = 20, .comm = "new", .parent = 10, .session = 10, .start_s = 101 });
	look(&c, 110, 0);		/* without follow */
	choice_close(&c);
	/* of everything: not kernel threads, not mmattach and what it has started */
	c = opened((struct choice_wish){ .pids = all, .npids = 1, .descend = true });
	look(&c, 110, 1, 9, 10, 11, 20, 0);
	choice_close(&c);
}

static void test_a_name(void **state)
{
	struct choice c = opened((struct choice_wish){ .name = "worker", .follow = true });

	(void)state;
	write_file(11, "cmdline", "/usr/bin/worker");
	write_file(10, "cmdline", "/usr/bin/master");
	look(&c, 100, 9, 11, 0);
	/* an exec gives a name */
	make((struct made){ .pid = 20, .comm = "sh", .parent = 1, .session = 1, .start_s = 101 });
	look(&c, 101.3, 0);
	make((struct made){ .pid = 20, .comm = "worker", .parent = 1, .session = 1, .start_s = 101 });
	look(&c, 101.4, 20, 0);
	choice_close(&c);
	c = opened((struct choice_wish){ .name = "mm-keeper" });
	look(&c, 102, 0);
	choice_close(&c);
}

static void test_a_cgroup(void **state)
{
	struct choice c = opened((struct choice_wish){ .cgroup.path = "/s", .follow = true });

	(void)state;
	write_file(10, "cgroup", "0::/s/a\n");
	write_file(11, "cgroup", "0::/t\n");
	look(&c, 100, 10, 0);
	/* an older process that is moved into it is found within ten looks; a child outside of it is none of it */
	write_file(11, "cgroup", "0::/s\n");
	make((struct made){ .pid = 20, .comm = "out", .parent = 10, .session = 10, .start_s = 100 });
	write_file(20, "cgroup", "0::/t\n");
	for (int i = 1; i < 10; i++)
		look(&c, 100 + i / 10.0, 0);
	look(&c, 101, 11, 0);
	choice_close(&c);
}

static void test_the_program_that_mmattach_starts(void **state)
{
	struct choice c = opened((struct choice_wish){ .follow = true });

	(void)state;
	make((struct made){ .pid = 102, .comm = "mmattach", .parent = SELF, .session = 1, .start_s = 100 });
	make((struct made){ .pid = 103, .comm = "make", .parent = 102, .session = 1, .start_s = 100 });
	look(&c, 100, 0);
	assert_int_equal(choice_adopt(&c, 103), 0);
	make((struct made){ .pid = 104, .comm = "cc", .parent = 103, .session = 1, .start_s = 101 });
	make((struct made){ .pid = 105, .comm = "mm-keeper", .parent = 102, .session = 1, .start_s = 101 });
	look(&c, 102, 104, 0);
	choice_close(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_list_and_new_children),
		TEST(test_who_inherits),
		TEST(test_a_tree),
		TEST(test_a_name),
		TEST(test_a_cgroup),
		TEST(test_the_program_that_mmattach_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
