// SPDX-License-Identifier: MIT
/*
 * loser: loses and keeps blocks on order, so that some are older than a watch and others are not.
 *
 *	lose N, keep N, inside N	N blocks: with no pointer to them; live; with only a pointer to their
 *					inside
 *	chain N				N lost blocks that each point to another one
 *	either N			the same, but the first, third, ... of the N are of another stack: those
 *					that they point to are all of one
 *	ends N, hangs N			N blocks that only lost blocks of `head`, or live blocks of `keep`,
 *					point to
 *	head N				N blocks for `ends`, one each, with a hidden pointer: lost once `ends`
 *					has used it
 *	threads N			N threads that each have a pointer to a block on their stack, and
 *					sleep
 *	exit, abort, leave		the end: exit(5), abort(), the main thread's pthread_exit while others
 *					go on
 *	exec				this program again
 *
 * Each has functions of its own for a stack: at_NAME. Answers {"ok": 1}.
 */
#include "victim.h"

#include <pthread.h>

#define NOINLINE __attribute__((noinline, noclone, no_icf))
#define MANY 200000
#define SECRET 0x5a5a5a5a5a5a5a5aull

struct node {
	struct node *next;
	long pad[4];
};

static struct node *kept;
static char *volatile insides[MANY];
static uint64_t heads[MANY];	/* masked addresses, until `ends` has put a block behind them */
static int ninsides, nheads;
static uint64_t rng = 88172645463325252u;	/* sizes differ, so that a trace does not pack too well */

#define SITE(name)						\
	static NOINLINE struct node *at_##name(void)		\
	{							\
		struct node *n = calloc(1, sizeof(*n) + victim_random(&rng) % 400); \
								\
		if (!n)						\
			victim_die("calloc");			\
		escape(n);					\
		return n;					\
	}

SITE(lose)
SITE(keep)
SITE(inside)
SITE(chain)
SITE(link)
SITE(known)
SITE(news)
SITE(both)
SITE(head)
SITE(ends)
SITE(hangs)
SITE(thread)

static void lose(void)
{
	at_lose()->pad[0] = 1;
}

static void keep(void)
{
	struct node *n = at_keep();

	n->next = kept;
	kept = n;
}

static void inside(void)
{
	if (ninsides < MANY)
		insides[ninsides++] = (char *)at_inside() + 8;
}

static void chain(void)
{
	struct node *n = at_chain();

	n->next = at_link();
}

static void either(void)
{
	static bool news;
	struct node *n = (news = !news) ? at_known() : at_news();

	n->next = at_both();
}

static void head(void)
{
	if (nheads < MANY)
		heads[nheads++] = (uint64_t)(uintptr_t)at_head() ^ SECRET;
}

static void ends(void)
{
	if (nheads)
		((struct node *)(uintptr_t)(heads[--nheads] ^ SECRET))->next = at_ends();
}

static void hangs(void)
{
	if (kept)
		kept->pad[1] = (long)(intptr_t)at_hangs();
}

static void *sleeper(void *ready)
{
	struct node *volatile mine = at_thread();

	pthread_barrier_wait(ready);
	for (;;)
		pause();
	return mine;
}

static void threads(int n)
{
	/* static: threads may still be inside pthread_barrier_wait when this function returns */
	static pthread_barrier_t ready;
	pthread_t t;

	pthread_barrier_init(&ready, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, NULL, sleeper, &ready))
			victim_die("pthread_create");
	pthread_barrier_wait(&ready);
}

/* Functions that have returned leave stale values on the stack and in registers. */
static NOINLINE void scrub(void)
{
	volatile char room[16384];

	memset((void *)room, 0, sizeof(room));
	__asm__ volatile("" : : : "rbx", "r12", "r13", "r14", "r15", "memory");
}

static NOINLINE void repeat(void (*run)(void), int n)
{
	while (n-- > 0)
		run();
}

static NOINLINE void obey(const char *line)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} orders[] = {
		{ "lose", lose }, { "keep", keep }, { "inside", inside }, { "chain", chain },
		{ "either", either }, { "head", head }, { "ends", ends }, { "hangs", hangs },
	};
	char name[ORDER_MAX];
	int n;

	if (sscanf(line, "%127s %d", name, &n) != 2)
		return;
	if (!strcmp(name, "threads"))
		threads(n);
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (!strcmp(name, orders[i].name))
			repeat(orders[i].run, n);
}

int main(void)
{
	char line[ORDER_MAX];

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (!strcmp(line, "exit"))
			exit(5);
		if (!strcmp(line, "abort"))
			abort();
		if (!strcmp(line, "exec"))
			execl("/proc/self/exe", "loser", NULL);
		if (!strcmp(line, "leave"))
			pthread_exit(NULL);
		obey(line);
		scrub();
		printf("{\"ok\": 1}\n");
		fflush(stdout);
	}
	printf("{\"ok\": 1}\n");
	return 0;
}
