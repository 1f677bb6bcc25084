/* SPDX-License-Identifier: MIT */
/*
 * exact [OPS]: eight threads that call every allocation function there is, and count their calls.
 *
 * The threads are hot from the start, so that mmattach attaches to a busy process. The order "go SEED" brings
 * them to rest, calls mm_mark_begin(), lets each thread do OPS operations drawn from SEED, brings them to
 * rest again, calls mm_mark_end() and prints what was done between:
 *
 *	{"allocs", "frees", "old_frees", "null_frees", "live_blocks",
 *	 "live_usable", "live_requested", "calls": {function: n}}
 *
 * The words are those of the report: a realloc of a live block is one free and one allocation, failed calls
 * are not counted, free(NULL) is only in null_frees; old_frees are those frees whose block is older than the
 * begin mark. "calls" counts the function that is called in the end: new and strdup are malloc, reallocarray
 * is realloc.
 *
 * The threads then rest, with the blocks they hold, until the order "churn" makes them hot again (answered
 * with {}) or the next "go" comes.
 *
 * Blocks move between threads through a mailbox, so one thread frees what another allocated. The operations
 * are in exact_ops.h; nothing else in this program may allocate between the marks.
 */
#include <atomic>
#include <malloc.h>
#include <pthread.h>

#include "exact_ops.h"
#include "victim.h"

#define THREADS 8

enum wish { REST, HOT, COUNT, END };

static struct worker workers[THREADS];
static pthread_barrier_t barrier;
static std::atomic<enum wish> wish{REST};
static unsigned ops = 1500;
static volatile int mark;

/* Different bodies: the linker may fold identical ones into one address. */
extern "C" __attribute__((noinline)) void mm_mark_begin(void);
extern "C" __attribute__((noinline)) void mm_mark_end(void);
void mm_mark_begin(void) { mark = 1; }
void mm_mark_end(void) { mark = 2; }

/*
 * If the last thing that a thread does were the free of an older block, it would be taken for one of those that glibc
 * makes when a thread ends (doc/limits.md), and not counted: one run in some hundred had one free too few.
 */
static void end_otherwise(void)
{
	void *block = malloc(24);

	escape(block);
	free(block);
}

/* Each round begins at rest; before the second barrier, main sets what to do next. */
static void *work(void *arg)
{
	struct worker *w = (struct worker *)arg;

	for (;;) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		if (wish == END) {
			end_otherwise();
			return NULL;
		}
		while (wish.load(std::memory_order_relaxed) == HOT)
			one_op(w);
		for (unsigned i = 0; wish == COUNT && i < ops; i++)
			one_op(w);
	}
}

/* Bring the threads to rest, if they are not. */
static void rest(void)
{
	if (wish != HOT)
		return;
	wish = REST;
	pthread_barrier_wait(&barrier);
}

/* Let the resting threads do @next. */
static void tell(enum wish next)
{
	wish = next;
	pthread_barrier_wait(&barrier);
}

static void begin_counting(uint64_t seed)
{
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].rng = seed * 2654435761u + i + 1;
		workers[i].tally = {};
		workers[i].counting = true;
	}
}

struct live {
	uint64_t blocks, usable, requested;
};

/* Add @h if it was allocated between the marks; from now on it is old. */
static void count_live(struct held *h, struct live *live)
{
	if (!h->block || !h->counted)
		return;
	live->blocks++;
	live->usable += malloc_usable_size(h->block);
	live->requested += h->requested;
	h->counted = false;
}

static void add(struct tally *sum, const struct tally *t)
{
	sum->allocs += t->allocs;
	sum->frees += t->frees;
	sum->old_frees += t->old_frees;
	sum->null_frees += t->null_frees;
	sum->failures_missed += t->failures_missed;
	for (unsigned c = 0; c < CALLS; c++)
		sum->calls[c] += t->calls[c];
}

static void end_counting(struct tally *sum, struct live *live)
{
	for (struct worker &w : workers) {
		add(sum, &w.tally);
		w.counting = false;
		for (struct held &h : w.slots)
			count_live(&h, live);
	}
	for (struct box &box : mailbox)
		count_live(&box.held, live);
}

static void print(const struct tally *t, const struct live *live)
{
	printf("{\"allocs\": %lu, \"frees\": %lu, \"old_frees\": %lu, \"null_frees\": %lu, \"failures_missed\": %lu, "
	       "\"live_blocks\": %lu, \"live_usable\": %lu, \"live_requested\": %lu, \"calls\": {",
	       t->allocs, t->frees, t->old_frees, t->null_frees, t->failures_missed, live->blocks, live->usable,
	       live->requested);
	for (unsigned c = 0; c < CALLS; c++)
		printf("%s\"%s\": %lu", c ? ", " : "", call_names[c], t->calls[c]);
	printf("}}\n");
	fflush(stdout);
}

static void go(uint64_t seed)
{
	struct tally sum = {};
	struct live live = {};

	rest();
	begin_counting(seed);
	mm_mark_begin();
	tell(COUNT);
	pthread_barrier_wait(&barrier);
	mm_mark_end();
	wish = REST;
	end_counting(&sum, &live);
	print(&sum, &live);
}

static void churn(void)
{
	rest();
	tell(HOT);
	puts("{}");
	fflush(stdout);
}

static void finish(void)
{
	rest();
	tell(END);
	for (struct worker &w : workers)
		pthread_join(w.thread, NULL);
	printf("{\"ended\": true}\n");
}

int main(int argc, char **argv)
{
	char line[ORDER_MAX];

	if (argc > 1)
		ops = (unsigned)atoi(argv[1]);
	/* A threshold set by hand stays: glibc's own grows with the sizes that are freed. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].rng = i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			victim_die("pthread_create");
	}
	pthread_barrier_wait(&barrier);
	tell(HOT);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		if (strncmp(line, "go ", 3) == 0)
			go(strtoull(line + 3, NULL, 10));
		else if (strcmp(line, "churn") == 0)
			churn();
	finish();
	return 0;
}
