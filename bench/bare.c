/* SPDX-License-Identifier: MIT */
/*
 * bare: the reference. The least a ptracer can do per stop, for the target's one hot thread in bare_hit():
 * wait, read the registers, write them, continue.
 *
 *	bare PID TID ADDRESS	prints "ready" when the trap is planted; SIGINT ends it,
 *				and it prints its counts
 *
 * The cost of a hit of mmattach is only ever given as a multiple of this, in the same run and on the same
 * target: microseconds differ by machine, by load and by the processors on which the two sides happen to run.
 * ADDRESS must be a one-byte nop, so that a thread gets past it by setting rip.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t over;

/* Again after a second: the signal may come just before waitpid begins to sleep. */
static void on_end(int sig)
{
	(void)sig;
	over = 1;
	alarm(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int write_byte(int mem, uint64_t addr, uint8_t byte)
{
	return pwrite(mem, &byte, 1, (off_t)addr) == 1 ? 0 : -errno;
}

/* The thread is stopped: set it to @pc. */
static int set_pc(pid_t tid, uint64_t pc)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs))
		return -errno;
	regs.rip = pc;
	return ptrace(PTRACE_SETREGS, tid, 0, &regs) ? -errno : 0;
}

/* true if the stop is the SIGTRAP of an int3. It is ours: the target has no other. */
static bool is_hit(int status)
{
	return WIFSTOPPED(status) && status >> 8 == SIGTRAP;
}

static int go_on(pid_t tid, int status)
{
	int sig = is_hit(status) || status >> 16 ? 0 : WSTOPSIG(status);

	return ptrace(PTRACE_CONT, tid, 0, sig) ? -errno : 0;
}

/* The measured loop; it runs until on_end. */
static int serve(pid_t tid, uint64_t addr, uint64_t *hits)
{
	int status, err;

	while (!over) {
		if (waitpid(tid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (is_hit(status)) {
			err = set_pc(tid, addr + 1);
			if (err)
				return err;
			++*hits;
		}
		err = go_on(tid, status);
		if (err)
			return err;
	}
	return 0;
}

static bool trap_pending(pid_t tid)
{
	struct __ptrace_peeksiginfo_args args = { .nr = 1 };
	siginfo_t si;

	return ptrace(PTRACE_PEEKSIGINFO, tid, &args, &si) == 1 && si.si_signo == SIGTRAP;
}

/*
 * The trap is lifted: stop the thread, and let it continue where it would be without us. A stop by
 * PTRACE_INTERRUPT can be reported while the SIGTRAP of a hit is still queued; if we detached then, the
 * SIGTRAP would kill the target.
 */
static int leave(pid_t tid, uint64_t addr)
{
	int status, err;

	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return -errno;
	for (;;) {
		if (waitpid(tid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (is_hit(status)) {
			err = set_pc(tid, addr);
			break;
		}
		err = 0;
		if (status >> 16 == PTRACE_EVENT_STOP && !trap_pending(tid))
			break;
		err = go_on(tid, status);
		if (err)
			return err;
	}
	return ptrace(PTRACE_DETACH, tid, 0, 0) ? -errno : err;
}

static int measure(int mem, pid_t tid, uint64_t addr)
{
	uint64_t hits = 0, start;
	uint8_t old;
	int err, undo;

	if (pread(mem, &old, 1, (off_t)addr) != 1)
		return -errno;
	if (old != 0x90)
		return -EINVAL;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0))
		return -errno;
	err = write_byte(mem, addr, 0xcc);
	if (err)
		return err;
	puts("ready");
	start = now_ns();
	err = serve(tid, addr, &hits);
	double seconds = (double)(now_ns() - start) / 1e9;
	undo = write_byte(mem, addr, old);
	err = err ? err : undo;
	undo = leave(tid, addr);
	printf("{\"hits\": %llu, \"seconds\": %.6f, \"ns_per_hit\": %.1f}\n", (unsigned long long)hits,
	       seconds, hits ? seconds * 1e9 / (double)hits : 0.0);
	return err ? err : undo;
}

int main(int argc, char **argv)
{
	struct sigaction end = { .sa_handler = on_end };
	char path[64];
	int mem, err;

	if (argc != 4) {
		fprintf(stderr, "usage: bare PID TID ADDRESS\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGALRM, &end, NULL);
	snprintf(path, sizeof(path), "/proc/%d/mem", atoi(argv[1]));
	mem = open(path, O_RDWR | O_CLOEXEC);
	err = mem < 0 ? -errno : measure(mem, atoi(argv[2]), strtoull(argv[3], NULL, 0));
	if (err) {
		errno = -err;
		perror("bare");
	}
	return err ? 1 : 0;
}
