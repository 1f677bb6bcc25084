/* SPDX-License-Identifier: MIT */
/*
 * traced_child: a child of the test's own, seized as the keeper seizes, that does one thing on order; and a
 * keeper of no threads, with a page of code that the child has a copy of.
 */
#ifndef TRACED_CHILD_H
#define TRACED_CHILD_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"
#include "attach/keeper/state.h"

#define PAGE 4096u
#define INT3 0xcc

struct board {
	atomic_int go;
	atomic_int child;
	atomic_int status;	/* how it has ended, */
	atomic_bool ended;	/* if it has */
};

static struct keeper *keeper;
static struct board *board;
/* the child's: leave() waits for any child of its own process, and would collect the child's end */
static pid_t parent;
static uint8_t *page;
static const uint8_t code[] = { 0x90, 0x90, 0xb8, 0x2a, 0, 0, 0, 0xc3 }; /* nop; nop; mov $42,%eax; ret */

static void *child_room(size_t n, int how)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* A keeper whose memory is @pid's. */
static void child_keeper(pid_t pid)
{
	struct shared *shared = child_room(sizeof(*shared), MAP_PRIVATE);

	keeper = child_room(sizeof(*keeper), MAP_PRIVATE);
	keeper->shared = shared;
	shared->bell = -1;
	ring_init(&shared->ring, shared->ring_bytes, SHARED_RING);
	calls_init(&keeper->calls);
	fair_init(&keeper->fair);
	keeper->read_mem = -1;
	keeper->mem = procfs_open_mem(pid);
	keeper->now_ns = keeper_clock_ns();
}

static void child_no_keeper(void)
{
	close(keeper->mem);
	munmap(keeper->shared, sizeof(*keeper->shared));
	munmap(keeper, sizeof(*keeper));
}

static pid_t child_of_parent(int (*body)(void))
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!board->go)
			;
		_exit(body());
	}
	return child;
}

/* The child runs @body when board->go is set, and ends with the result. It is seized here. */
static pid_t child_start(int (*body)(void))
{
	int status;

	memset(board, 0, sizeof(*board));
	parent = fork();
	if (parent == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		board->child = child_of_parent(body);
		waitpid(board->child, &status, 0);
		board->status = status;
		board->ended = true;
		for (;;)
			pause();
	}
	while (parent > 0 && !board->child)
		;
	if (parent < 0 || tracee_seize(board->child) < 0)
		abort();
	return board->child;
}

/* Its entry in the table: as if seen before, and running. */
static struct tracee *child_entry(pid_t tid)
{
	struct tracee *t = threads_add(&keeper->threads, tid);

	t->known = true;
	return t;
}

static struct site child_site(uint32_t offset)
{
	struct site s = { .addr = (taddr)(uintptr_t)page + offset, .nbytes = sizeof(code) - offset,
			  .emu = { .op = EMU_NONE, .len = 1 } };

	memcpy(s.bytes, code + offset, s.nbytes);
	return s;
}

/* How the child ends after the detach. */
static int child_verdict(void)
{
	while (!board->ended)
		;
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	return board->status;
}

static int child_prepare(void **state)
{
	(void)state;
	board = child_room(sizeof(*board), MAP_SHARED);
	page = child_room(PAGE, MAP_PRIVATE);
	memcpy(page, code, sizeof(code));
	return mprotect(page, PAGE, PROT_READ | PROT_EXEC);
}

/* Bodies. */

static inline int child_execs(void)
{
	execl("/bin/true", "true", NULL);
	return 9;
}

static inline void *child_thread_execs(void *arg)
{
	while (board->go < 2)
		;
	_exit(child_execs());
	return arg;
}

static inline int child_with_a_thread_that_execs(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, child_thread_execs, NULL))
		return 8;
	for (;;)
		;
}

static inline int child_calls(void)
{
	union {
		uint8_t *at;
		int (*call)(void);
	} f = { .at = page };

	return f.call();
}

/* Sleeps undisturbed, and calls. */
static inline int child_sleeps(void)
{
	struct timespec ms = { 0, 300000000 };

	board->go = 2;
	return nanosleep(&ms, NULL) ? 5 : child_calls();
}

/* Runs, and calls when the trap is out for certain. */
static inline int child_runs(void)
{
	while (board->go < 2)
		;
	return child_calls();
}

/* A copy of it makes the calls: 42, if that goes well. */
static inline int child_forks(void)
{
	pid_t copy = fork();
	int status = -1;

	if (copy == 0)
		_exit(child_calls());
	waitpid(copy, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

#endif
