/* SPDX-License-Identifier: MIT */
/*
 * routecache: memory that grows although all of it is reachable: a hash table from which nothing is removed.
 * Two workers answer requests, in each of which
 *
 *	route_add	every 4th request: a route to a client that never comes back, in the table
 *	route_find	follows one chain of the table
 *	reply_put	replaces the reply in one of a few slots: these blocks are reachable and young
 *
 * The table is so large that it lies in the memory behind the mappings of the file (.bss).
 *
 * Usage: routecache [BITS]	the table has 2^BITS chains, 14 if that is not given; 0: one chain with all routes
 *
 * Prints "ready PID" when the workers run; ends on SIGTERM and then prints how many routes there are.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 2
#define BUCKETS 16384	/* as many as 14 bits of a hash have values */
#define REPLIES 64
#define REPLY_BYTES 3000
#define PAUSE_NS 2000000	/* between two requests of a worker */

/* neither inlined nor cloned: the name in the report is the one here */
#define noinline __attribute__((noipa))

struct route {
	struct route *next;
	uint64_t client;
	char name[200];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct route *table[BUCKETS];
static char *replies[REPLIES];
static atomic_bool ending;
static unsigned long routes;
static unsigned bits = 14;

static struct route **bucket_of(uint64_t client)
{
	return &table[bits ? (client + 1) * 0x9e3779b97f4a7c15ull >> (64 - bits) : 0];
}

noinline static void route_add(uint64_t client)
{
	struct route *r = malloc(sizeof(*r)), **bucket = bucket_of(client);

	if (!r)
		return;
	r->client = client;
	snprintf(r->name, sizeof(r->name), "client %lu", (unsigned long)client);
	r->next = *bucket;
	*bucket = r;
	routes++;
}

noinline static struct route *route_find(uint64_t client)
{
	struct route *r = *bucket_of(client);

	while (r && r->client != client)
		r = r->next;
	return r;
}

noinline static void reply_put(uint64_t request)
{
	char **slot = &replies[request % REPLIES];

	free(*slot);
	*slot = malloc(REPLY_BYTES);
	if (*slot)
		memset(*slot, 'r', REPLY_BYTES);
}

noinline static void handle_request(uint64_t request)
{
	pthread_mutex_lock(&lock);
	if (request % 4 == 0 && !route_find(request))
		route_add(request);
	reply_put(request);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("");
}

static void *worker(void *arg)
{
	uint64_t request = (uintptr_t)arg << 40;

	for (; !ending; request++) {
		struct timespec pause = { 0, PAUSE_NS };

		handle_request(request);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];
	sigset_t end;
	int sig;

	if (argc > 1)
		bits = (unsigned)atoi(argv[1]) % 15;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)i))
			return 1;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);

	sigwait(&end, &sig);
	ending = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"routes\": %lu}\n", routes);
	return 0;
}
