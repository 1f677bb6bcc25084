/* SPDX-License-Identifier: MIT */
/*
 * storm_sleeps: every way for storm.c to sleep that an interruption ends early with EINTR, and what wakes
 * each at the end: an event, a semaphore, a futex, the close of a pipe; never a signal.
 */
#ifndef STORM_SLEEPS_H
#define STORM_SLEEPS_H

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "victim.h"

#define SHORT_MS 70		/* a sleep that ends by its time limit */
#define LONG_MS 60000		/* a sleep that only the end wakes */
#define SIG_WAITED (SIGRTMIN + 3)	/* waited for, never sent */

static atomic_bool ending;
static int end_event, end_pipe[2], end_socket[2], end_sem;
static atomic_int end_futex;
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t end_cond = PTHREAD_COND_INITIALIZER;

struct sleeper {
	const char *name;
	/* One sleep of at most @ms; returns 0, or an error number. */
	int (*sleep)(int ms);
	bool woken;	/* the end wakes it: it may sleep long */
};

static struct timespec span(int ms)
{
	return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
}

static int sleep_epoll(int ms)
{
	struct epoll_event ev = { .events = EPOLLIN }, got;
	int epoll = epoll_create1(EPOLL_CLOEXEC), n, err;

	epoll_ctl(epoll, EPOLL_CTL_ADD, end_event, &ev);
	n = epoll_wait(epoll, &got, 1, ms);
	err = n < 0 ? errno : n ? 0 : ETIMEDOUT;
	close(epoll);
	return err;
}

static int sleep_poll(int ms)
{
	struct pollfd p = { .fd = end_event, .events = POLLIN };
	int n = poll(&p, 1, ms);

	return n < 0 ? errno : n ? 0 : ETIMEDOUT;
}

static int sleep_sem(int ms)
{
	struct sembuf take = { .sem_op = -1 };
	struct timespec t = span(ms);

	if (semtimedop(end_sem, &take, 1, &t) == 0)
		return 0;
	return errno == EAGAIN ? ETIMEDOUT : errno;
}

static int sleep_nano(int ms)
{
	struct timespec t = span(ms);

	return nanosleep(&t, NULL) == 0 ? ETIMEDOUT : errno;
}

static int sleep_clock(int ms)
{
	struct timespec t;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ms * 1000000L;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	err = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	return err ? err : ETIMEDOUT;
}

/* The bare call: the library's waits hide an EINTR. */
static int sleep_futex(int ms)
{
	struct timespec t = span(ms);

	if (syscall(SYS_futex, &end_futex, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0) == 0)
		return 0;
	return errno == EAGAIN ? 0 : errno;	/* the end came first */
}

static int sleep_cond(int ms)
{
	struct timespec t;
	int err;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000 + 1;
	pthread_mutex_lock(&end_lock);
	err = ending ? 0 : pthread_cond_timedwait(&end_cond, &end_lock, &t);
	pthread_mutex_unlock(&end_lock);
	return err;
}

static int sleep_read(int ms)
{
	char byte;
	ssize_t n = read(end_pipe[0], &byte, 1);

	(void)ms;	/* it has no time limit, only the end wakes it */
	return n < 0 ? errno : n ? EPROTO : 0;
}

static int sleep_recv(int ms)
{
	char byte;
	ssize_t n = recv(end_socket[0], &byte, 1, 0);

	(void)ms;	/* its limit is the socket's SO_RCVTIMEO */
	if (n < 0)
		return errno == EAGAIN ? ETIMEDOUT : errno;
	return n ? EPROTO : 0;
}

static int sleep_sigwait(int ms)
{
	struct timespec t = span(ms);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIG_WAITED);
	if (sigtimedwait(&set, NULL, &t) >= 0)
		return EPROTO;
	return errno == EAGAIN ? ETIMEDOUT : errno;
}

static const struct sleeper sleepers[] = {
	{ "epoll_wait", sleep_epoll, true },
	{ "semtimedop", sleep_sem, true },
	{ "nanosleep", sleep_nano, false },
	{ "futex", sleep_futex, true },
	{ "read", sleep_read, true },
	{ "sigtimedwait", sleep_sigwait, false },
	{ "clock_nanosleep", sleep_clock, false },
	{ "poll", sleep_poll, true },
	{ "recv", sleep_recv, true },
	{ "cond", sleep_cond, true },
};
#define KINDS (sizeof(sleepers) / sizeof(*sleepers))

static void prepare_sleeps(void)
{
	struct timeval t = { .tv_usec = SHORT_MS * 1000 };

	end_event = eventfd(0, EFD_CLOEXEC);
	end_sem = semget(IPC_PRIVATE, 1, 0600);
	if (end_event < 0 || end_sem < 0 || pipe(end_pipe) || socketpair(AF_UNIX, SOCK_DGRAM, 0, end_socket))
		victim_die("setting up");
	setsockopt(end_socket[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* Wake the sleepers, @n at the most, for good. */
static void wake_all(unsigned n)
{
	struct sembuf give = { .sem_op = (short)n };
	uint64_t one = 1;

	pthread_mutex_lock(&end_lock);
	ending = true;
	pthread_cond_broadcast(&end_cond);
	pthread_mutex_unlock(&end_lock);
	end_futex = 1;
	syscall(SYS_futex, &end_futex, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
	if (semop(end_sem, &give, 1) || write(end_event, &one, sizeof(one)) != sizeof(one))
		victim_die("waking");
	close(end_pipe[1]);
	shutdown(end_socket[0], SHUT_RDWR);
}

#endif
