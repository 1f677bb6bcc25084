/* SPDX-License-Identifier: MIT */
/*
 * link: what is restored after the keeper was killed, on memory of our own. Each test compares the whole
 * page: no tracer watches the threads there any more, and a byte too many is as bad as one too few. And which
 * copies a watch goes on with: here we are their keeper.
 */
#include "attach/control/link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attach/keeper/traps/trap.h"
#include "tests/unit/code_page.h"

static struct link l;

static void *room(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static int setup(void **state)
{
	(void)state;
	memset(&l, 0, sizeof(l));
	l.shared = room(sizeof(*l.shared));
	l.shared->gdb = -1;
	l.traps = room(sizeof(*l.traps));
	new_file(11);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap(l.shared, sizeof(*l.shared));
	munmap(l.traps, sizeof(*l.traps));
	return 0;
}

/* A site at @offset, with the keeper's int3 in place. */
static struct site *planted(uint32_t i, uint32_t offset)
{
	struct site *s = &l.shared->sites[i];

	*s = (struct site){ .addr = at(offset), .nbytes = SITE_BYTES, .emu = { .op = EMU_NOP, .len = 1 } };
	memcpy(s->bytes, file + offset, SITE_BYTES);
	assert_int_equal(pwrite(mem, &(uint8_t){ INT3 }, 1, (off_t)s->addr), 1);
	l.planted[i] = true;
	l.nsites = i + 1 > l.nsites ? i + 1 : l.nsites;
	return s;
}

static void assert_lifts(uint32_t lifted, uint32_t left, const uint8_t *then)
{
	uint32_t stand;

	assert_int_equal(link_emergency_lift(&l, mem, &stand), lifted);
	assert_int_equal(stand, left);
	if (then)
		assert_memory_equal(page, then, PAGE);
}

/* Nothing in @there is ours. */
static void assert_left_alone(const uint8_t *there)
{
	map_page(there);
	assert_lifts(0, 0, there);
}

static void what_stands(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		planted(3 * i, 64 + i % 3 + 9 * i);
	assert_lifts(100, 0, file);
	assert_lifts(0, 0, file);
}

/* Lifted already, or refused: an int3 there may be another program's. */
static void what_does_not(void **state)
{
	uint8_t theirs[PAGE];

	(void)state;
	planted(0, 100);
	planted(1, 200);
	l.planted[1] = false;
	memcpy(theirs, file, PAGE);
	theirs[200] = INT3;
	assert_left_alone(theirs);
}

/* The instruction that was written into padding, right behind the trap, stays: a thread may be in it. */
static void with_a_step_behind_it(void **state)
{
	uint8_t then[PAGE];
	struct site *s;

	(void)state;
	s = planted(0, 100);
	s->emu = (struct emu){ .op = EMU_NONE, .len = 15 };
	s->scratch = s->addr + 1;
	s->step_len = 15;
	memcpy(s->scratch_bytes, file + 101, 15);
	memset(s->step, 0x90, 15);
	assert_int_equal(pwrite(mem, s->step, 15, (off_t)s->scratch), 15);
	memcpy(then, file, PAGE);
	memset(then + 101, 0x90, 15);
	assert_lifts(1, 0, then);
}

/*
 * Unmapped, and now something else is mapped there: code with an int3 at that very address, or nothing but
 * int3 (the padding between functions).
 */
static void something_else_by_now(void **state)
{
	uint8_t other[PAGE];

	(void)state;
	planted(0, 100);
	for (uint32_t i = 0; i < PAGE; i++)
		other[i] = ~file[i];
	other[100] = INT3;
	assert_left_alone(other);
	memset(other, INT3, PAGE);
	assert_left_alone(other);
	assert_int_equal(munmap(page, PAGE), 0);
	assert_lifts(0, 0, NULL);
	assert_left_alone(file);
}

/* Another program has changed the code nearby: our trap is lifted all the same. */
static void changed_nearby(void **state)
{
	uint8_t then[PAGE];

	(void)state;
	planted(0, 100);
	memcpy(then, file, PAGE);
	memset(then + 109, INT3, 7);
	assert_int_equal(pwrite(mem, then + 109, 7, (off_t)(uintptr_t)page + 109), 7);
	assert_lifts(1, 0, then);
}

static void not_to_be_written(void **state)
{
	int reads = open("/proc/self/mem", O_RDONLY), writes = mem;
	uint8_t then[PAGE];

	(void)state;
	planted(0, 100);
	planted(1, 300);
	memcpy(then, page, PAGE);
	mem = reads;
	assert_lifts(0, 2, then);
	mem = writes;
	close(reads);
	assert_lifts(2, 0, file);
}

static void what_is_gdbs(void **state)
{
	uint8_t then[PAGE];

	(void)state;
	planted(0, 100);
	memcpy(then, page, PAGE);
	l.shared->gdb = 5;
	assert_lifts(0, 0, then);
}

/* A process that waits, or has ended. */
static pid_t process(bool ended)
{
	const pid_t pid = fork();
	siginfo_t si;

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);	/* if a test fails */
	if (pid == 0 && !ended)
		pause();
	if (pid == 0)
		_exit(0);
	if (ended)
		assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED), 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int open_slot(struct slot *s, pid_t pid, pid_t keeper)
{
	s->pid = pid;
	s->keeper = keeper;
	return link_open_slot(&l, s);
}

static void a_copy_that_its_keeper_traces(void **state)
{
	struct slot *s = room(sizeof(*s));
	const pid_t copy = process(false);
	sigset_t mail;

	(void)state;
	sigemptyset(&mail);
	sigaddset(&mail, KEEPER_MAIL);
	sigprocmask(SIG_BLOCK, &mail, NULL);
	assert_int_equal(ptrace(PTRACE_SEIZE, copy, NULL, NULL), 0);
	assert_int_equal(open_slot(s, copy, getpid()), 0);
	assert_ptr_equal(l.shared, &s->shared);
	link_close(&l);
	assert_true(atomic_load(&s->closed));
	end(copy);
	munmap(s, sizeof(*s));
}

/* Its keeper has ended, or its number is another process's; or the copy is not traced by it any more. */
static void a_copy_that_is_another_process_by_now(void **state)
{
	struct slot *s = room(sizeof(*s));
	const pid_t copy = process(false), other = process(false), dead = process(true);

	(void)state;
	assert_int_equal(open_slot(s, copy, dead), -ESRCH);
	assert_int_equal(open_slot(s, copy, getpid()), -ESRCH);
	assert_int_equal(open_slot(s, dead, getpid()), -ESRCH);
	assert_int_equal(ptrace(PTRACE_SEIZE, copy, NULL, NULL), 0);
	assert_int_equal(open_slot(s, copy, other), -ESRCH);
	assert_null(l.shared);
	assert_null(l.slot);
	assert_false(atomic_load(&s->closed));
	end(copy);
	end(other);
	munmap(s, sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_stands, setup, teardown),
		cmocka_unit_test_setup_teardown(what_does_not, setup, teardown),
		cmocka_unit_test_setup_teardown(with_a_step_behind_it, setup, teardown),
		cmocka_unit_test_setup_teardown(something_else_by_now, setup, teardown),
		cmocka_unit_test_setup_teardown(changed_nearby, setup, teardown),
		cmocka_unit_test_setup_teardown(not_to_be_written, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_gdbs, setup, teardown),
		cmocka_unit_test(a_copy_that_its_keeper_traces),
		cmocka_unit_test(a_copy_that_is_another_process_by_now),
	};

	return cmocka_run_group_tests(tests, open_page, close_page);
}
