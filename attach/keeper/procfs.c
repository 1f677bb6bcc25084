/* SPDX-License-Identifier: MIT */
#include "attach/keeper/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * No stdio in the keeper: paths ("/proc/", number, rest) are put together here, in a buffer of at least 64
 * bytes.
 */
static char *put(char *p, const char *s)
{
	size_t n = strlen(s);

	memcpy(p, s, n + 1);
	return p + n;
}

static char *put_number(char *p, unsigned long v)
{
	char digits[24];
	int n = 0;

	do {
		digits[n++] = '0' + v % 10;
		v /= 10;
	} while (v);
	while (n)
		*p++ = digits[--n];
	*p = '\0';
	return p;
}

static void task_path(char *buf, pid_t pid, pid_t tid, const char *file)
{
	char *p = put_number(put(buf, "/proc/"), pid);

	p = put_number(put(p, "/task/"), tid);
	put(p, file);
}

static ssize_t slurp(const char *path, char *buf, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, buf, n - 1);
	if (got < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		return got;
	buf[got] = '\0';
	return got;
}

static long parse_number(const char **p, int base)
{
	unsigned long v = 0;

	for (;; ++*p) {
		unsigned int c = **p, digit = c >= 'a' ? c - 'a' + 10 : c - '0';

		if (c < '0' || (c > '9' && c < 'a') || digit >= (unsigned int)base)
			return v;
		v = v * base + digit;
	}
}

#define RUNNING -2

#define ARGS 6

/*
 * The system call that a thread is blocked in, and its arguments; RUNNING; or -1 if it sleeps outside of a
 * call, or that is not known. /proc/.../syscall is "running", or the call's number and arguments, or -1.
 */
static long blocked_in(pid_t pid, pid_t tid, unsigned long arg[ARGS])
{
	char path[64], buf[256] = "";
	const char *p = buf;
	long nr;

	task_path(path, pid, tid, "/syscall");
	if (slurp(path, buf, sizeof(buf)) <= 0 || buf[0] < '0' || buf[0] > '9')
		return buf[0] == 'r' ? RUNNING : -1;
	nr = parse_number(&p, 10);
	for (int i = 0; i < ARGS; i++) {
		arg[i] = 0;
		if (p[0] == ' ' && p[1] == '0' && p[2] == 'x') {
			p += 3;
			arg[i] = parse_number(&p, 16);
		}
	}
	return nr;
}

/*
 * Is the thread blocked in the middle of fork, vfork or clone? The child's copy of the memory may be under
 * way. A thread that was blocked a moment ago and runs by now was perhaps there.
 */
static bool making_a_process(pid_t pid, pid_t tid)
{
	unsigned long arg[ARGS];
	long nr = blocked_in(pid, tid, arg);

	return nr == RUNNING || nr == SYS_clone || nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone3;
}

bool procfs_in_vfork(pid_t pid, pid_t tid, int mem)
{
	unsigned long arg[ARGS];
	uint64_t flags = 0;

	switch (blocked_in(pid, tid, arg)) {
	case SYS_vfork:
		return true;
	case SYS_clone:
		return arg[0] & CLONE_VFORK;
	case SYS_clone3:
		/* struct clone_args begins with the flags */
		return pread(mem, &flags, sizeof(flags), (off_t)arg[0]) == sizeof(flags) &&
		       (flags & CLONE_VFORK);
	default:
		return false;
	}
}

bool procfs_in_exec(pid_t pid, pid_t tid)
{
	unsigned long arg[ARGS];
	long nr = blocked_in(pid, tid, arg);

	return nr == SYS_execve || nr == SYS_execveat;
}

enum waiting procfs_waits(pid_t pid, pid_t tid)
{
	unsigned long arg[ARGS];

	switch (blocked_in(pid, tid, arg)) {
	case RUNNING:
		return WAITS_NOT;
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_copy_file_range:
	case SYS_recvmmsg:
		return WAITS_MOVING;
	case SYS_recvfrom:
		return arg[3] & MSG_WAITALL ? WAITS_MOVING : WAITS;
	case SYS_recvmsg:
		return arg[2] & MSG_WAITALL ? WAITS_MOVING : WAITS;
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return arg[1] > 1 ? WAITS_MOVING : WAITS; /* the least number of events */
	default:
		return WAITS;
	}
}

#define UNKNOWN '?'	/* not known: no memory, no descriptors */

/*
 * What follows the name in /proc/PID/task/TID/stat, from the state on; in @buf of @size bytes. NULL: *@error
 * says why.
 */
static const char *read_stat(pid_t pid, pid_t tid, char *buf, size_t size, ssize_t *error)
{
	char path[64];
	const char *p;

	task_path(path, pid, tid, "/stat");
	*error = slurp(path, buf, size);
	if (*error <= 0)
		return NULL;
	/* the name, in parentheses, may have any character; it has at most 15, so the last ')' was read */
	p = strrchr(buf, ')');
	return p && p[1] ? p + 2 : NULL;
}

char procfs_state(pid_t pid, pid_t tid)
{
	char buf[256];
	ssize_t error;
	const char *p = read_stat(pid, tid, buf, sizeof(buf), &error);

	if (!p && error <= 0)
		return error == -ENOENT || error == -ESRCH ? 'X' : UNKNOWN;
	return p ? *p : 'X';
}

pid_t procfs_parent(pid_t pid)
{
	char buf[256];
	ssize_t error;
	const char *p = read_stat(pid, pid, buf, sizeof(buf), &error);

	if (!p || p[1] != ' ')
		return 0;
	p += 2;
	return (pid_t)parse_number(&p, 10);
}

#define STAT_STATE 3		/* number of the field in proc(5) */
#define STAT_PROCESSOR 39

int procfs_processor(pid_t tid)
{
	char buf[1024];
	ssize_t error;
	const char *p = read_stat(tid, tid, buf, sizeof(buf), &error);

	for (int field = STAT_STATE; p && field < STAT_PROCESSOR; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return p && *p >= '0' && *p <= '9' ? (int)parse_number(&p, 10) : -1;
}

enum activity procfs_activity(pid_t pid, pid_t tid)
{
	switch (procfs_state(pid, tid)) {
	case 'S':
	case 'I':
		return ACTIVITY_ASLEEP;
	case 'D':
		return making_a_process(pid, tid) ? ACTIVITY_BUSY : ACTIVITY_ASLEEP;
	case 'Z':
	case 'X':
		return ACTIVITY_GONE;
	default: /* not known: assume the worse */
		return ACTIVITY_BUSY;
	}
}

bool procfs_stopped(pid_t pid)
{
	return procfs_state(pid, pid) == 'T';
}

bool procfs_uninterruptible(pid_t pid, pid_t tid)
{
	return procfs_state(pid, tid) == 'D';
}

/* The mask behind @key in /proc/TID/status. */
static uint64_t signal_set(const char *status, const char *key)
{
	const char *p = strstr(status, key);

	if (!p)
		return 0;
	p += strlen(key);
	while (*p == '\t' || *p == ' ')
		p++;
	return parse_number(&p, 16);
}

int procfs_signals(pid_t tid, struct procfs_signals *out)
{
	const uint64_t harmless = 1ull << (SIGCHLD - 1) | 1ull << (SIGURG - 1) | 1ull << (SIGWINCH - 1) |
				  1ull << (SIGCONT - 1);
	char path[64], buf[4096];
	ssize_t n;

	put(put_number(put(path, "/proc/"), tid), "/status");
	n = slurp(path, buf, sizeof(buf));
	if (n < 0)
		return n;
	out->blocked = signal_set(buf, "\nSigBlk:");
	out->handled = signal_set(buf, "\nSigIgn:") | signal_set(buf, "\nSigCgt:");
	out->ignored = signal_set(buf, "\nSigIgn:") | (harmless & ~signal_set(buf, "\nSigCgt:"));
	return 0;
}

uint64_t procfs_sleeps(pid_t tid)
{
	static const char key[] = "\nvoluntary_ctxt_switches:\t";
	char path[64], buf[4096];
	const char *p;

	put(put_number(put(path, "/proc/"), tid), "/status");
	if (slurp(path, buf, sizeof(buf)) < 0)
		return 0;
	p = strstr(buf, key);
	if (!p)
		return 0;
	p += sizeof(key) - 1;
	return parse_number(&p, 10);
}

bool procfs_slices_at(int fd, struct procfs_slices *out)
{
	char text[128];
	const char *p = text;
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	out->ran_ns = parse_number(&p, 10);
	p += *p == ' ';
	out->waited_ns = parse_number(&p, 10);
	p += *p == ' ';
	out->n = parse_number(&p, 10);
	/* zeros: the kernel does not count */
	return out->n > 0;
}

bool procfs_slices(pid_t pid, pid_t tid, struct procfs_slices *out)
{
	char path[64];
	bool found;
	int fd;

	task_path(path, pid, tid, "/schedstat");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	found = procfs_slices_at(fd, out);
	if (fd >= 0)
		close(fd);
	return found;
}

struct linux_dirent64 {
	uint64_t d_ino;
	int64_t d_off;
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

static int each_entry(const char *buf, long n, int (*each)(void *ctx, pid_t tid), void *ctx)
{
	int sum = 0;

	for (long at = 0; at < n;) {
		const struct linux_dirent64 *d = (const void *)(buf + at);
		long v = 0;

		at += d->d_reclen;
		for (const char *c = d->d_name; *c >= '0' && *c <= '9'; c++)
			v = v * 10 + (*c - '0');
		if (v > 0) {
			int r = each(ctx, v);

			if (r < 0)
				return r;
			sum += r;
		}
	}
	return sum;
}

int procfs_each_task(pid_t pid, int (*each)(void *ctx, pid_t tid), void *ctx)
{
	_Alignas(8) char buf[8192];
	char path[64];
	int fd, sum = 0;
	long n;

	put(put_number(put(path, "/proc/"), pid), "/task");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		int r = each_entry(buf, n, each, ctx);

		if (r < 0) {
			sum = r;
			break;
		}
		sum += r;
	}
	close(fd);
	return sum;
}

int procfs_each_child(pid_t pid, pid_t tid, int (*each)(void *ctx, pid_t child), void *ctx)
{
	char path[64], buf[4096];
	int fd, sum = 0;
	ssize_t n;
	long v = 0;

	task_path(path, pid, tid, "/children");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* numbers, each followed by a blank; one may be split between two reads */
	while (sum >= 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; sum >= 0 && i < n; i++) {
			if (buf[i] >= '0' && buf[i] <= '9') {
				v = v * 10 + (buf[i] - '0');
			} else if (v > 0) {
				int r = each(ctx, v);

				sum = r < 0 ? r : sum + r;
				v = 0;
			}
		}
	}
	close(fd);
	return sum;
}

/* Negative, to stop at this thread. */
static int if_living(void *ctx, pid_t tid)
{
	pid_t pid = *(pid_t *)ctx;

	return procfs_activity(pid, tid) == ACTIVITY_GONE ? 0 : -tid;
}

pid_t procfs_living_thread(pid_t pid)
{
	int r;

	if (procfs_activity(pid, pid) != ACTIVITY_GONE)
		return pid;
	r = procfs_each_task(pid, if_living, &pid);
	return r < 0 && r != -ENOENT ? -r : 0;
}

static int open_file(pid_t pid, const char *name, int how)
{
	pid_t tid = procfs_living_thread(pid);
	char path[64];
	int fd;

	if (!tid)
		return -ENOENT;
	put(put_number(put(path, "/proc/"), tid), name);
	fd = open(path, how | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int procfs_open_mem(pid_t pid)
{
	return open_file(pid, "/mem", O_RDWR);
}

int procfs_open_maps(pid_t pid)
{
	return open_file(pid, "/maps", O_RDONLY);
}
