/* SPDX-License-Identifier: MIT */
/*
 * repair: a forked child, idle in epoll_wait, gets int3 planted here and there. Afterwards its code must be
 * as before, and epoll_wait not interrupted.
 */
#include "attach/control/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"

/* Code to plant in; never called. Long enough for lone traps and a hook. */
void victim_function(unsigned *p);
void __attribute__((noinline, aligned(64))) victim_function(unsigned *p)
{
	for (unsigned i = 0; i < 64; i++)
		p[i] = (p[i] * 2654435761u) ^ (p[(i + 7) % 64] >> 3) ^ i;
	for (unsigned i = 0; i < 64; i++)
		p[i] += p[(i * 3 + 1) % 64] % 1000003u;
}

/* A function that ends before padding begins. */
extern const uint8_t victim_ret[];
asm(".pushsection .text\n.balign 16\n.globl victim_ret\n.type victim_ret,@function\n"
    "victim_ret: .cfi_startproc\n nop\n ret\n .cfi_endproc\n.size victim_ret,.-victim_ret\n.balign "
    "16\n.popsection\n");

struct victim {
	pid_t pid;
	int mem;
	int wake;	/* closing it ends the child: 0 if nothing interrupted it */
	char *text;	/* what repair printed */
	size_t text_len;
};

static void idle(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	_exit(epoll_wait(ep, &ev, 1, -1) == 1 ? 0 : 1);
}

static char state_of(pid_t pid)
{
	char path[32], *text, state;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	assert_int_equal(read_whole_file(path, 4096, &text, &n), 0);
	state = strrchr(text, ')')[2];
	free(text);
	return state;
}

static void victim_start(struct victim *v)
{
	int wake[2];
	char path[32];

	*v = (struct victim){ .mem = -1 };
	assert_int_equal(pipe(wake), 0);
	v->pid = fork();
	assert_true(v->pid >= 0);
	if (v->pid == 0) {
		close(wake[1]);
		idle(wake[0]);
	}
	close(wake[0]);
	v->wake = wake[1];
	while (state_of(v->pid) != 'S')
		sched_yield();
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)v->pid);
	v->mem = open(path, O_RDWR | O_CLOEXEC);
	assert_true(v->mem >= 0);
}

/* The child ends normally: this proves that it went on undisturbed. */
static void victim_end(struct victim *v)
{
	int status;

	assert_int_equal(state_of(v->pid), 'S');
	close(v->wake);
	close(v->mem);
	assert_int_equal(waitpid(v->pid, &status, 0), v->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	free(v->text);
}

static int victim_repair(struct victim *v)
{
	FILE *out;
	int status;

	free(v->text);
	v->text = NULL;
	out = open_memstream(&v->text, &v->text_len);
	assert_non_null(out);
	status = repair(v->pid, out);
	fclose(out);
	return status;
}

static void plant(const struct victim *v, const void *code, const char *bytes, size_t n)
{
	assert_int_equal(pwrite(v->mem, bytes, n, (off_t)(uintptr_t)code), n);
}

static void assert_code(const struct victim *v, const void *code, const void *expected, size_t n)
{
	uint8_t now[256];

	assert_true(n <= sizeof(now));
	assert_int_equal(pread(v->mem, now, n, (off_t)(uintptr_t)code), n);
	assert_memory_equal(now, expected, n);
}

static void assert_says(const struct victim *v, const char *what)
{
	if (!strstr(v->text, what))
		fail_msg("'%s' not in:\n%s", what, v->text);
}

static const uint8_t *code(void)
{
	return (const uint8_t *)victim_function;
}

static void test_nothing_to_do(void **state)
{
	struct victim v;

	(void)state;
	victim_start(&v);
	assert_int_equal(victim_repair(&v), 0);
	assert_says(&v, ": 0 traps taken out, 0 could not be, 0 other differences left alone");
	assert_null(strstr(v.text, "repaired"));
	victim_end(&v);
}

static void test_traps_are_taken_out(void **state)
{
	const uint8_t *in_libc = (const uint8_t *)hcreate_r;	/* not a function that a sanitizer wraps */
	struct victim v;

	(void)state;
	victim_start(&v);
	plant(&v, code(), "\xcc", 1);
	plant(&v, code() + 20, "\xcc", 1);
	plant(&v, code() + 22, "\xcc", 1);	/* close together, but only int3 */
	plant(&v, in_libc + 4, "\xcc", 1);
	assert_int_equal(victim_repair(&v), 0);
	assert_says(&v, ": 4 traps taken out");
	assert_says(&v, "(victim_function+0x0): int3");
	assert_says(&v, "(victim_function+0x14): int3");
	assert_says(&v, "(victim_function+0x16): int3");
	assert_says(&v, "repaired libc.so.6+0x");
	assert_code(&v, code(), code(), 128);
	assert_code(&v, in_libc, in_libc, 64);
	victim_end(&v);
}

/* e9 cc .. .. ..: a jump with 0xcc in its distance. Restoring that byte would send the jump elsewhere. */
static void test_hooks_are_left_alone(void **state)
{
	static const char hook[] = "\xe9\xcc\x01\x02\x03";
	struct victim v;

	(void)state;
	assert_true(code()[16] != 0xe9 && code()[18] != 1);
	victim_start(&v);
	plant(&v, code() + 16, hook, 5);
	plant(&v, code() + 40, "\xcc", 1);
	assert_int_equal(victim_repair(&v), 0);
	assert_says(&v, "left alone test_repair+0x");
	assert_says(&v, "int3 among them");
	assert_says(&v, ": 1 trap taken out, 0 could not be, 1 other difference left alone");
	assert_code(&v, code() + 16, hook, 5);
	assert_code(&v, code() + 21, code() + 21, 64);
	assert_code(&v, code(), code(), 16);
	victim_end(&v);
}

/*
 * What a killed keeper has left in the padding behind a `ret` does not make a trap on the `ret` look like a
 * hook.
 */
static void test_trap_beside_padding(void **state)
{
	struct victim v;

	(void)state;
	victim_start(&v);
	plant(&v, victim_ret + 1, "\xcc\x48\x89", 3);
	assert_int_equal(victim_repair(&v), 0);
	assert_says(&v, ": 1 trap taken out, 0 could not be, 1 other difference left alone");
	assert_code(&v, victim_ret + 1, "\xc3", 1);
	victim_end(&v);
}

/* An int3 that is in the file too is the program's own. */
void own_int3(void);
void own_int3(void)
{
	__asm__ volatile("int3");
}

static void test_its_own_int3_stays(void **state)
{
	const uint8_t *at = memchr((const void *)own_int3, 0xcc, 16);
	struct victim v;

	(void)state;
	assert_non_null(at);
	victim_start(&v);
	/* Makes the page the child's own, so that repair looks at it. */
	plant(&v, at, "\xcc", 1);
	assert_int_equal(victim_repair(&v), 0);
	assert_says(&v, ": 0 traps taken out, 0 could not be, 0 other");
	assert_code(&v, at, "\xcc", 1);
	victim_end(&v);
}

/* Forks a tracer called @comm of @pid; it runs until it is killed. */
static pid_t trace(pid_t pid, const char *comm)
{
	int done[2];
	char byte = 0;
	pid_t tracer;

	assert_int_equal(pipe(done), 0);
	tracer = fork();
	assert_true(tracer >= 0);
	if (tracer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, comm);
		byte = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
		if (write(done[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(done[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	close(done[0]);
	close(done[1]);
	return tracer;
}

static void expect_refused_while_traced(const char *comm)
{
	struct victim v;
	pid_t tracer;

	victim_start(&v);
	plant(&v, code(), "\xcc", 1);
	tracer = trace(v.pid, comm);
	assert_int_equal(victim_repair(&v), 1);
	assert_code(&v, code(), "\xcc", 1);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	assert_int_equal(victim_repair(&v), 0);
	assert_code(&v, code(), code(), 128);
	victim_end(&v);
}

static void test_refused_while_traced(void **state)
{
	(void)state;
	expect_refused_while_traced("mm-keeper");
	expect_refused_while_traced("gdb");
}

static void test_no_process(void **state)
{
	FILE *out = tmpfile();
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(repair(pid, out), 1);
	waitpid(pid, NULL, 0);
	assert_int_equal(repair(pid, out), 1);
	assert_int_equal(repair(getpid(), out), 1);
	assert_int_equal(ftell(out), 0);
	fclose(out);
}

static void test_write_as_tracer(void **state)
{
	struct victim v;

	(void)state;
	victim_start(&v);
	assert_int_equal(repair_write_as_tracer(v.pid, v.mem, (uintptr_t)code(), 0xcc), 0);
	assert_code(&v, code(), "\xcc", 1);
	assert_int_equal(repair_write_as_tracer(v.pid, v.mem, (uintptr_t)code(), code()[0]), 0);
	assert_code(&v, code(), code(), 128);
	assert_int_equal(repair_write_as_tracer(v.pid, v.mem, 0, 0), -EIO);
	victim_end(&v);
	assert_int_equal(repair_write_as_tracer(v.pid, -1, 0, 0), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_traps_are_taken_out),
		cmocka_unit_test(test_hooks_are_left_alone),
		cmocka_unit_test(test_trap_beside_padding),
		cmocka_unit_test(test_its_own_int3_stays),
		cmocka_unit_test(test_refused_while_traced),
		cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_write_as_tracer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
