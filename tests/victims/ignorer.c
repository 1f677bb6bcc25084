/* SPDX-License-Identifier: MIT */
/*
 * ignorer: waits without end in epoll_wait and semtimedop, while another process sends signals that it
 * ignores, by SIG_IGN and by default.
 *
 * Untraced it never sees EINTR. The order "end" gives {"waits", "eintr", "sent"}; every wait is ended by a
 * byte in a pipe, or a semaphore.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "victim.h"

#define WAKE_NS 20000000	/* the length of a wait */
/*
 * one signal at a time: of two, one thread takes both, and another woken thread gets an EINTR that no tracer
 * sees
 */
#define SIGNAL_NS 3000000

struct board {
	_Atomic uint64_t sent;
	atomic_bool ending;
};

static struct board *board;
static _Atomic uint64_t waits, eintr;
static int pipe_in, pipe_out, sem;

static void count(int result)
{
	waits++;
	eintr += result < 0 && errno == EINTR;
}

static void *in_epoll(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0);
	char byte;

	epoll_ctl(ep, EPOLL_CTL_ADD, pipe_in, &ev);
	while (!board->ending) {
		int n = epoll_wait(ep, &ev, 1, -1);

		count(n);
		if (n == 1 && read(pipe_in, &byte, 1) != 1)
			break;
	}
	return arg;
}

static void *in_semop(void *arg)
{
	struct sembuf down = { .sem_op = -1 };

	while (!board->ending)
		count(semtimedop(sem, &down, 1, NULL));
	return arg;
}

static void pause_ns(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

static void *waker(void *arg)
{
	struct sembuf up = { .sem_op = 1 };
	uint64_t rng = 77;

	while (!board->ending) {
		pause_ns(WAKE_NS);
		if (write(pipe_out, "x", 1) != 1 || semop(sem, &up, 1) < 0 || !victim_malloc_free(&rng))
			victim_die("wake");
	}
	return arg;
}

static void send_signals(pid_t target)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!board->ending) {
		kill(target, board->sent++ % 2 ? SIGWINCH : SIGPIPE);
		pause_ns(SIGNAL_NS);
	}
	_exit(0);
}

int main(void)
{
	pthread_t threads[3];
	int fds[2], status;
	char line[ORDER_MAX];
	pid_t sender;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem = semget(IPC_PRIVATE, 1, 0600);
	if (board == MAP_FAILED || sem < 0 || pipe(fds) < 0)
		victim_die("set up");
	pipe_in = fds[0];
	pipe_out = fds[1];
	signal(SIGPIPE, SIG_IGN);
	sender = fork();
	if (sender == 0)
		send_signals(getppid());
	pthread_create(&threads[0], NULL, in_epoll, NULL);
	pthread_create(&threads[1], NULL, in_semop, NULL);
	pthread_create(&threads[2], NULL, waker, NULL);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		;
	board->ending = true;
	waitpid(sender, &status, 0);
	pthread_join(threads[2], NULL);
	/* for a thread that began to wait after the last wakeup */
	semctl(sem, 0, IPC_RMID);
	close(pipe_out);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("{\"waits\": %llu, \"eintr\": %llu, \"sent\": %llu}\n", (unsigned long long)waits,
	       (unsigned long long)eintr, (unsigned long long)board->sent);
	return 0;
}
