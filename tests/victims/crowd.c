/* SPDX-License-Identifier: MIT */
/*
 * crowd IDLE [BUSY [MB]]: IDLE threads that sleep and never wake, BUSY threads of three kinds in turn, and MB
 * of touched memory.
 *
 *	spins		computes, and writes all over the memory
 *	naps		as a worker of a pool does: woken again and again for a little work
 *	talks		sends through a socket and receives what it has sent, 64 KiB at a time
 *
 *	end		{"eintr": calls that failed with it, "short": calls with MSG_WAITALL that moved less
 *			than asked}
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "victim.h"

#define PIECE 65536

static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *memory;
static size_t memory_size;
static atomic_ulong eintr, cut;

static void *idle(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&never);
	return NULL;
}

static void work(uint64_t *rng, int n)
{
	for (int i = 0; i < n; i++)
		if (memory_size)
			memory[victim_random(rng) % memory_size]++;
		else
			victim_random(rng);
}

static void *spins(void *arg)
{
	uint64_t rng = 88172645463325252ull + (uintptr_t)arg;

	for (;;)
		work(&rng, 1000);
	return NULL;
}

static void *naps(void *arg)
{
	const struct timespec t = { 0, 100000 };
	uint64_t rng = 88172645463325252ull + (uintptr_t)arg;

	for (;;) {
		if (nanosleep(&t, NULL) < 0 && errno == EINTR)
			eintr++;
		work(&rng, 2000);
	}
	return NULL;
}

static void *talks(void *arg)
{
	static _Thread_local char piece[PIECE];
	int ends[2];

	(void)arg;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		victim_die("socketpair");
	for (;;) {
		ssize_t n = send(ends[0], piece, PIECE, 0), got;

		if (n < 0)
			eintr++;
		got = n > 0 ? recv(ends[1], piece, (size_t)n, MSG_WAITALL) : 0;
		cut += n != PIECE || got != n;
	}
	return NULL;
}

static void start(int n, void *(*const bodies[])(void *), int nbodies)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (int i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, &attr, bodies[i % nbodies], (void *)(uintptr_t)(i + 1)))
			victim_die("pthread_create");
	}
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	static void *(*const sleepers[])(void *) = { idle };
	static void *(*const workers[])(void *) = { spins, naps, talks };
	char line[ORDER_MAX];

	if (argc < 2)
		return 2;
	memory_size = argc > 3 ? (size_t)atoi(argv[3]) << 20 : 0;
	memory = malloc(memory_size + 1);
	if (!memory)
		victim_die("malloc");
	memset(memory, 1, memory_size);
	pthread_mutex_lock(&never);
	start(atoi(argv[1]), sleepers, 1);
	start(argc > 2 ? atoi(argv[2]) : 0, workers, 3);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		;
	printf("{\"eintr\": %lu, \"short\": %lu}\n", (unsigned long)eintr, (unsigned long)cut);
	fflush(stdout);
	_exit(0);
}
