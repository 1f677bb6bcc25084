/* SPDX-License-Identifier: MIT */
/*
 * leaky_refs: the target of doc/references.md. A service that looks up connections and counts references to
 * them: conn_new returns one with a reference, conn_get acquires another, conn_put releases one and frees the
 * connection when it was the last. A worker opens a connection, handles some requests on it and closes it;
 * every 20th connection gets an answer that is too long, and answer_long forgets its reference.
 *
 * Prints "ready PID"; ends on SIGTERM and then prints, as one JSON line, how many references were forgotten.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS 4	/* for each connection */
#define LONG_ONES 20
#define PAUSE_NS 2000000

/* neither inlined nor cloned: rules and reports have the names that are here */
#define noinline __attribute__((noipa))

struct conn {
	atomic_uint refs;
	char buffer[1020];
};

static atomic_bool ending;
static atomic_ulong forgotten;

noinline struct conn *conn_new(void)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		abort();
	conn->refs = 1;
	return conn;
}

noinline struct conn *conn_get(struct conn *conn)
{
	conn->refs++;
	return conn;
}

noinline void conn_put(struct conn *conn)
{
	if (--conn->refs == 0)
		free(conn);
}

noinline static void answer(struct conn *conn)
{
	conn_get(conn);
	conn->buffer[0]++;
	conn_put(conn);
	__asm__ volatile("");	/* no jump instead of the call: it is to be in stacks */
}

/* The leak: it returns early, and does not release what it has acquired. */
noinline static void answer_long(struct conn *conn)
{
	conn_get(conn);
	conn->buffer[0]++;
	forgotten++;
}

noinline static void serve(unsigned long number)
{
	struct conn *conn = conn_new();

#pragma GCC unroll 1
	for (int i = 0; i < REQUESTS; i++)
		answer(conn);
	if (number % LONG_ONES == 0)
		answer_long(conn);
	conn_put(conn);
	__asm__ volatile("");
}

static void *worker(void *arg)
{
	for (unsigned long number = 1; !ending; number++) {
		struct timespec pause = { 0, PAUSE_NS };
		serve(number);
		nanosleep(&pause, NULL);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	sigset_t end;
	int sig;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
	if (pthread_create(&thread, NULL, worker, NULL))
		return 1;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);

	sigwait(&end, &sig);
	ending = true;
	pthread_join(thread, NULL);
	printf("{\"forgotten\": %lu}\n", forgotten);
	return 0;
}
