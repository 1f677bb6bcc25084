/* SPDX-License-Identifier: MIT */
/* jail: see jail.h. */
#include "symbolize/jail.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fdio.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SHADOW 1
#endif
#endif
#ifndef HAS_SHADOW
#define HAS_SHADOW 0
#endif

/* The caller's handlers must not run here, and signals of the terminal are for the caller. */
static void reset_signals(void)
{
	static const int terminal[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	for (size_t i = 0; i < sizeof(terminal) / sizeof(terminal[0]); i++)
		signal(terminal[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t jail_fork(const char *name)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;
	int err;

	/* signals are blocked meanwhile: the caller's handlers must not run in the new process */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		prctl(PR_SET_NAME, name);
		reset_signals();
		return 0;
	}
	err = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return pid;
}

static int limit(int what, uint64_t soft)
{
	struct rlimit l;

	if (getrlimit(what, &l))
		return -errno;
	l.rlim_cur = soft < l.rlim_max ? soft : l.rlim_max;
	return setrlimit(what, &l) ? -errno : 0;
}

/* Address space in use, in bytes; 0 if not known. */
static uint64_t address_space(void)
{
	cleanup_free char *text = NULL;
	size_t n;

	if (read_whole_file("/proc/self/statm", 4096, &text, &n))
		return 0;
	return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The address sanitizer's terabytes of shadow are address space too: then there is no limit. */
int jail_limit(uint64_t memory_bytes, uint64_t cpu_seconds)
{
	uint64_t now = address_space();
	int rc = limit(RLIMIT_CORE, 0);

	if (!rc)
		rc = limit(RLIMIT_CPU, cpu_seconds);
	if (!rc && now && memory_bytes < UINT64_MAX - now && !HAS_SHADOW)
		rc = limit(RLIMIT_AS, now + memory_bytes);
	return rc;
}

#define ALLOW(name)								\
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),			\
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* On each line: if it is that call, allow it, else continue. */
static const struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(read),
	ALLOW(pread64),
	ALLOW(write),
	ALLOW(writev),
	ALLOW(lseek),
	ALLOW(fstat),
	ALLOW(newfstatat),
	ALLOW(mmap),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(mprotect),
	ALLOW(madvise),
	ALLOW(brk),
	ALLOW(close),
	ALLOW(futex),
	ALLOW(rt_sigaction),
	ALLOW(rt_sigprocmask),
	ALLOW(rt_sigreturn),
	ALLOW(sigaltstack),
	ALLOW(getpid),
	ALLOW(gettid),
	ALLOW(getrandom),
	ALLOW(clock_gettime),
	ALLOW(sched_yield),
	ALLOW(exit),
	ALLOW(exit_group),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

void jail_close(void)
{
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), (struct sock_filter *)filter };

	(void)limit(RLIMIT_NOFILE, 0);
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
