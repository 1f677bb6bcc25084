/* SPDX-License-Identifier: MIT */
#include "attach/target/rehearse.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int check(const char *name, long r, const char **what)
{
	if (r >= 0)
		return 0;
	*what = name;
	return errno ? -errno : -EIO;
}

#define TRY(request, addr, data)                                                                             \
	do {                                                                                                 \
		int r_ = check("ptrace (" #request ")",                                                      \
			       ptrace(request, pid, (void *)(addr), (void *)(data)), what);                  \
		if (r_)                                                                                      \
			return r_;                                                                           \
	} while (0)

/* Interrupt the child, and wait until it is stopped. */
static int stop(pid_t pid, const char **what)
{
	int status;

	TRY(PTRACE_INTERRUPT, 0, 0);
	return check("waitpid", waitpid(pid, &status, __WALL), what);
}

static int try_requests(pid_t pid, const char **what)
{
	struct __ptrace_peeksiginfo_args peek = { .nr = 1 };
	struct user_regs_struct regs;
	unsigned long message;
	uint64_t mask, word;
	struct iovec here = { &word, sizeof(word) }, there = { &word, sizeof(word) };
	siginfo_t si;
	int r;

	/* a child that steps when we are killed would end by the SIGTRAP of its step, as a program that crashed */
	TRY(PTRACE_SEIZE, 0, PTRACE_O_EXITKILL);
	r = stop(pid, what);
	if (r)
		return r;
	TRY(PTRACE_GETREGS, 0, &regs);
	TRY(PTRACE_SETREGS, 0, &regs);
	TRY(PTRACE_POKEUSER, offsetof(struct user_regs_struct, rbx), regs.rbx);
	TRY(PTRACE_GETSIGINFO, 0, &si);
	TRY(PTRACE_PEEKSIGINFO, &peek, &si);
	TRY(PTRACE_GETSIGMASK, sizeof(mask), &mask);
	TRY(PTRACE_SETSIGMASK, sizeof(mask), &mask);
	TRY(PTRACE_GETEVENTMSG, 0, &message);
	r = check("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0), what);
	if (r == 0)
		r = check("process_vm_writev", process_vm_writev(pid, &here, 1, &there, 1, 0), what);
	if (r)
		return r;
	TRY(PTRACE_CONT, 0, 0);
	r = stop(pid, what);
	if (r)
		return r;
	TRY(PTRACE_SINGLESTEP, 0, 0);
	r = stop(pid, what);
	if (r)
		return r;
	TRY(PTRACE_DETACH, 0, 0);
	return 0;
}

int rehearse(const char **what)
{
	pid_t parent = getpid(), pid = fork();
	int r;

	*what = "fork";
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		/* if we are killed meanwhile, the child must end, too */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	r = try_requests(pid, what);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return r;
}
