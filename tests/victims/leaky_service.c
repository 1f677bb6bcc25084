/* SPDX-License-Identifier: MIT */
/*
 * leaky_service [mended | calm]: the demo's target. A small fake service: four workers answer requests (fewer if it is
 * "calm"), most of what they allocate they also free, and three functions do not; one of these does if it is "mended":
 *
 *	session_open      every 10th request    a session record that is never closed
 *	cache_insert      every 25th request    a cache entry under a key that never comes back
 *	log_context       every 100th request   a copied string, forgotten
 *
 * Prints "ready PID" when the workers run; ends on SIGTERM and then prints how often each function leaked,
 * one JSON line, so that what is expected and what happened cannot drift apart.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define SESSION_BYTES 512
#define ENTRY_BYTES 2000
static long pause_ns = 1000000;	/* between two requests of a worker */

/* neither inlined nor cloned: the name in the report is the one here */
#define noinline __attribute__((noipa))

static atomic_bool ending, mended;
static atomic_ulong sessions, entries, contexts;

/* Keeps the compiler from seeing that @p is not used, and from turning the call into a jump. */
static void used(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

noinline static void session_open(unsigned long request)
{
	unsigned long *session = calloc(1, SESSION_BYTES);

	if (session)
		session[0] = request;
	used(session);
	sessions++;
}

noinline static void cache_insert(unsigned long request)
{
	unsigned long *entry = malloc(ENTRY_BYTES);

	if (entry)
		entry[0] = request;
	used(entry);
	if (mended)
		free(entry);
	else
		entries++;
}

noinline static void log_context(unsigned long request)
{
	char text[64];

	snprintf(text, sizeof(text), "request %lu: took too long", request);
	used(strdup(text));
	contexts++;
}

/* What a healthy part of a service does: it frees everything it allocates. */
noinline static void parse_request(unsigned long request)
{
	char *header = malloc(64 + request % 512);
	char *body = malloc(1024);

	used(header);
	body = realloc(body, 4096);
	used(body);
	free(body);
	free(header);
}

noinline static void handle_request(unsigned long request)
{
	parse_request(request);
	if (request % 10 == 0)
		session_open(request);
	if (request % 25 == 0)
		cache_insert(request);
	if (request % 100 == 0)
		log_context(request);
	__asm__ volatile("");
}

static void *worker(void *arg)
{
	pthread_barrier_wait(arg);
	for (unsigned long request = 1; !ending; request++) {
		struct timespec pause = { 0, pause_ns };
		handle_request(request);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];
	pthread_barrier_t barrier;
	sigset_t end;
	int sig;

	mended = argc > 1 && !strcmp(argv[1], "mended");
	if (argc > 1 && !strcmp(argv[1], "calm"))
		pause_ns *= 8;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	pthread_sigmask(SIG_BLOCK, &end, NULL);

	pthread_barrier_init(&barrier, NULL, WORKERS + 1);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, worker, &barrier))
			return 1;
	pthread_barrier_wait(&barrier);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);

	sigwait(&end, &sig);
	ending = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"sessions\": %lu, \"entries\": %lu, \"contexts\": %lu}\n", sessions, entries, contexts);
	return 0;
}
