/* SPDX-License-Identifier: MIT */
/*
 * aborts [N]: a service whose requests end in three ways, two of which free them. Of 100 requests
 *
 *	finish	70	frees, through release(), a wrapper of free
 *	reject	20	the same
 *	reuse	 5	moves it by realloc, which frees the old block, and frees the new one
 *	abort	 5	forgets it
 *
 * With N: N hundreds of requests, as fast as it can, then it ends. Without: one a millisecond, until SIGTERM.
 * Prints "ready PID" first, and at the end how many it forgot.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* neither inlined nor cloned: the name in the report is the one here */
#define noinline __attribute__((noipa))

#define BYTES 120
#define MOVED 4000

static volatile sig_atomic_t ending;
static unsigned long forgotten;
static void *volatile sink;

static void on_term(int sig)
{
	(void)sig;
	ending = 1;
}

noinline static char *request_new(void)
{
	char *r = malloc(BYTES);

	if (!r)
		exit(1);
	memset(r, 'r', BYTES);
	return r;
}

noinline static void release(void *p)
{
	free(p);
	sink = NULL;
}

noinline static void request_finish(char *r)
{
	release(r);
	sink = NULL;
}

noinline static void request_reject(char *r)
{
	release(r);
	sink = NULL;
}

noinline static void request_reuse(char *r)
{
	char *moved;

	sink = malloc(1);	/* the block cannot grow in place, if this one is behind it */
	moved = realloc(r, MOVED);
	release(sink);
	release(moved);
}

noinline static void request_abort(char *r)
{
	memset(r, 'a', BYTES);
	forgotten++;
	sink = NULL;
}

noinline static void request(unsigned long i)
{
	char *r = request_new();

	if (i % 100 < 70)
		request_finish(r);
	else if (i % 100 < 90)
		request_reject(r);
	else if (i % 100 < 95)
		request_reuse(r);
	else
		request_abort(r);
	r = NULL;
	sink = r;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? 100 * strtoul(argv[1], NULL, 10) : 0;

	signal(SIGTERM, on_term);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (unsigned long i = 0; (!n || i < n) && !ending; i++) {
		request(i);
		if (!n)
			usleep(1000);
	}
	printf("{\"forgotten\": %lu}\n", forgotten);
	return 0;
}
