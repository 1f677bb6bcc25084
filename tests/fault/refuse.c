/* SPDX-License-Identifier: MIT */
/*
 * refuse WHAT... -- PROGRAM ARG...: run PROGRAM with some system calls failing, as in a sandbox, on an old
 * kernel, or when a resource is used up.
 *
 *	WHAT		CALL[:ARGUMENT=VALUE]:ERRNO
 *	kcmp:38			kcmp always fails with ENOSYS
 *	ptrace:0=16902:1	ptrace with first argument 0x4206 fails with EPERM
 *	ptrace:0=17:0		a process that calls ptrace with first argument 17 is killed
 *
 * It is a seccomp filter, so it applies to every process and thread that PROGRAM starts, too. It cannot
 * count: a refused call fails from the first time on.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RULES 16
#define ANY (-1)

static const struct {
	const char *name;
	uint32_t nr;
} calls[] = {
#define CALL(name) { #name, SYS_##name }
	CALL(ptrace),	    CALL(process_vm_readv), CALL(process_vm_writev),
	CALL(kcmp),	    CALL(pidfd_open),	    CALL(pidfd_send_signal),
	CALL(memfd_create), CALL(eventfd2),	    CALL(signalfd4),
	CALL(timer_create), CALL(timer_settime),    CALL(mlockall),
	CALL(setpriority),  CALL(close_range),	    CALL(clone),
	CALL(openat),	    CALL(pwrite64),	    CALL(prctl),
	CALL(setsid),	    CALL(sched_yield),	    CALL(chdir),
	CALL(pipe2),	    CALL(getrandom),	    CALL(sched_setattr),
	CALL(clone3),
};

struct refusal {
	uint32_t nr, value, err;	/* without an error: the process is killed */
	int argument;			/* or ANY */
};

static void usage(const char *what)
{
	fprintf(stderr, "refuse: cannot read '%s': CALL[:ARGUMENT=VALUE]:ERRNO\n", what);
	exit(125);
}

static uint32_t call_number(const char *name, size_t n, const char *what)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == n && !memcmp(calls[i].name, name, n))
			return calls[i].nr;
	usage(what);
	return 0;
}

static struct refusal parse(const char *what)
{
	const char *colon = strchr(what, ':');
	struct refusal r = { .argument = ANY };

	if (!colon)
		usage(what);
	r.nr = call_number(what, (size_t)(colon - what), what);
	if (sscanf(colon, ":%d=%u:%u", &r.argument, &r.value, &r.err) == 3 && r.argument >= 0 && r.argument < 6)
		return r;
	r.argument = ANY;
	if (sscanf(colon, ":%u", &r.err) != 1)
		usage(what);
	return r;
}

static uint32_t action_of(const struct refusal *r)
{
	return r->err ? SECCOMP_RET_ERRNO | r->err : SECCOMP_RET_KILL_PROCESS;
}

/*
 * The call, the low half of its argument, the result; after these instructions the call number is in the
 * accumulator again.
 */
static size_t filter_of(const struct refusal *r, struct sock_filter *f)
{
	const uint32_t argument =
		offsetof(struct seccomp_data, args) + 8 * (r->argument == ANY ? 0 : r->argument);
	const struct sock_filter with_argument[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action_of(r)),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	}, always[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action_of(r)),
	};
	const size_t n = r->argument == ANY ? sizeof(always) : sizeof(with_argument);

	memcpy(f, r->argument == ANY ? always : with_argument, n);
	return n / sizeof(*f);
}

static int install(const struct refusal *refusals, size_t n)
{
	struct sock_filter f[5 * RULES + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .len = 1, .filter = f };

	for (size_t i = 0; i < n; i++)
		program.len += filter_of(&refusals[i], f + program.len);
	f[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char **argv)
{
	struct refusal refusals[RULES];
	size_t n = 0;
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") && n < RULES; i++)
		refusals[n++] = parse(argv[i]);
	if (i + 1 >= argc || strcmp(argv[i], "--"))
		usage("no -- PROGRAM");
	if (install(refusals, n)) {
		perror("refuse: seccomp");
		return 125;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 126;
}
