/* SPDX-License-Identifier: MIT */
/*
 * sampled: a service that allocates and frees 200,000 blocks a second at 53 allocation sites
 * (sampled_places.h), three of which leak.
 *
 *	-t THREADS	that do the work (1)
 *	-r RATE		pairs a second, of all threads together (200000)
 *	-f		work without pause instead, so that the pairs done show the speed; each pair is
 *			followed by some other work
 *	-b SECONDS	silent for so long, then 50,000 pairs at once, again and again
 *	-i SECONDS	idle for so long at first
 *	-d SECONDS	end by itself after so long
 *	-s SEED		of what is random (1)
 *	-w		the leak of 160 bytes lies behind the wrapper
 *	-k KIND		how blocks begin: alike, differ, or mixed (by site)
 *	-u		live blocks are written to now and then
 *	-m MIB		of memory besides, which takes time to copy
 *
 *	truth		of each site: allocations, frees, what is live; and what malloc itself has in use
 *	pairs		{"pairs", "now_ns", and of all working: "wall_ns", "cpu_ns", "waited_ns", "stood_ns",
 *			"stood_cpu_ns", "stops" (sampled_clock.h)}
 *	gaps		the same second by second, and gaps
 *	end		the truth once more
 *
 * Threads share nothing: each has its own rings and counters, and a lock that only it uses, except while the
 * truth is printed.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "sampled_clock.h"
#include "sampled_places.h"
#include "victim.h"

#define MAX_THREADS 64
#define RING 256		/* short-lived blocks that wait to be freed */
#define HELD 4096		/* entries of a cache, of the table, of a request */
#define TICK_NS 1000000u
#define BURST 50000u
#define MIX 1024		/* sites to draw from, each as often as its weight */
/* rounds of work after a pair, with -f: a thread then makes about 200,000 pairs a second */
#define CPU_WORK 2600
#define TABLE_ENTRIES 2000u

struct block {
	void *at;
	uint64_t until_ns;	/* until when it lives: for a cache, a request */
	unsigned site, size;
};

/* What one thread has done at one site. */
struct count {
	uint64_t allocs, frees, bytes, freed_bytes, usable_bytes, first_ns;
};

/* Live blocks, the oldest first: at [tail, head) modulo HELD. */
struct held {
	struct block v[HELD];
	unsigned head, tail;
	double due;		/* blocks that are due, and not allocated yet */
};

struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	uint64_t rng, pairs, sum;
	struct clock_log clock;
	struct count counts[NSITES];
	struct block ring[RING], arrays[NSITES];
	struct held held[NSITES];
};

static struct {
	unsigned threads, rate, idle_s, seconds;
	double burst_s;
	bool full, touched;
	const char *begin;
	uint64_t seed;
} opt = { .threads = 1, .rate = 200000, .begin = "mixed", .seed = 1 };

static struct worker *workers;
static uint16_t mix[MIX];
static atomic_bool ending, telling;
static uint64_t start_ns;
static size_t in_use_before;

/* By malloc's own count; musl has none. */
static size_t in_use(void)
{
#ifdef __GLIBC__
	return mallinfo2().uordblks + mallinfo2().hblkhd;
#else
	return 0;
#endif
}


/* --- one block --- */

static bool begins_alike(unsigned site)
{
	return opt.begin[0] == 'a' || (opt.begin[0] == 'm' && site % 3 == 0);
}

/* As real objects begin: a pointer that all of the kind share, or a value of their own. */
static void fill(struct worker *w, struct block *b)
{
	uint64_t head[2] = { (uint64_t)(uintptr_t)&sites[b->site], 1 };

	if (!begins_alike(b->site)) {
		head[0] = victim_random(&w->rng);
		head[1] = w->pairs;
	}
	memcpy(b->at, head, sizeof(head));
}

static struct block take(struct worker *w, unsigned site, unsigned size, struct block old)
{
	struct block b = { .at = sites[site].take(size, old.at), .site = site, .size = size };
	struct count *c = &w->counts[site];

	if (!b.at)
		victim_die("malloc");
	if (!c->first_ns)
		c->first_ns = now_ns();
	c->allocs++;
	c->bytes += size;
	c->usable_bytes += malloc_usable_size(b.at) + 8;
	w->pairs++;
	fill(w, &b);
	return b;
}

static void forget(struct worker *w, const struct block *b, size_t usable)
{
	struct count *c = &w->counts[b->site];

	c->frees++;
	c->freed_bytes += b->size;
	c->usable_bytes -= usable + 8;
}

static void give(struct worker *w, struct block *b)
{
	if (!b->at)
		return;
	forget(w, b, malloc_usable_size(b->at));
	free(b->at);
	b->at = NULL;
}

/* --- what becomes of a block --- */

static unsigned any_size(struct worker *w, unsigned site)
{
	return sites[site].bytes + (unsigned)(victim_random(&w->rng) % 4 * (sites[site].bytes / 8));
}

static void do_short(struct worker *w, unsigned site)
{
	struct block b = take(w, site, any_size(w, site), (struct block){ 0 }),
		     *slot = &w->ring[victim_random(&w->rng) % RING];

	if (site & 1) {
		give(w, &b);
		return;
	}
	give(w, slot);
	*slot = b;
}

static void do_array(struct worker *w, unsigned site)
{
	struct block *a = &w->arrays[site], old = *a;
	size_t usable = old.at ? malloc_usable_size(old.at) : 0;

	if (old.at && old.size >= 64 * sites[site].bytes) {
		give(w, a);
		return;
	}
	*a = take(w, site, old.at ? 2 * old.size : sites[site].bytes, old);
	if (old.at)
		forget(w, &old, usable);
}

static struct block *held_at(struct held *h, unsigned i)
{
	return &h->v[i % HELD];
}

static void give_old(struct worker *w, struct held *h, uint64_t now)
{
	while (h->tail != h->head && held_at(h, h->tail)->until_ns <= now)
		give(w, held_at(h, h->tail++));
}

static uint64_t lives_until(const struct site *s, uint64_t now)
{
	uint64_t life = (uint64_t)s->x * 1000000000u;

	if (s->kind == TABLE)
		return UINT64_MAX;
	return s->kind == CACHE ? now + life : (now / life + 1) * life;
}

static void keep(struct worker *w, unsigned site, uint64_t now)
{
	struct held *h = &w->held[site];
	struct block b = take(w, site, sites[site].bytes, (struct block){ 0 });

	if (sites[site].kind == LEAK)
		return;
	if (h->head - h->tail == HELD) /* the thread did not run for seconds, and catches up */
		give(w, held_at(h, h->tail++));
	b.until_ns = lives_until(&sites[site], now);
	*held_at(h, h->head++) = b;
}

static void touch(struct worker *w, struct held *h)
{
	struct block *b =
		h->head != h->tail
			? held_at(h, h->tail + (unsigned)(victim_random(&w->rng) % (h->head - h->tail)))
			: NULL;

	if (b && b->at)
		++*((uint64_t *)b->at + 1);
}

static bool is_full(const struct worker *w, unsigned site)
{
	return sites[site].kind == TABLE && w->counts[site].allocs >= TABLE_ENTRIES / opt.threads;
}

/* What a site with a rate of its own does in @s seconds. */
static void do_rated(struct worker *w, unsigned site, double s, uint64_t now)
{
	struct held *h = &w->held[site];

	give_old(w, h, now);
	if (is_full(w, site))
		return;
	/* a thread that did not run for a while has several due */
	for (h->due += s * sites[site].rate / opt.threads; h->due >= 1 && !is_full(w, site); h->due--)
		keep(w, site, now);
	if (opt.touched)
		touch(w, h);
}

static void do_all_rated(struct worker *w, double s, uint64_t now)
{
	for (unsigned i = 0; i < NSITES; i++) {
		if (sites[i].rate)
			do_rated(w, i, s, now);
	}
}

static void do_one(struct worker *w)
{
	unsigned site = mix[victim_random(&w->rng) % MIX];

	if (sites[site].kind == ARRAY)
		do_array(w, site);
	else
		do_short(w, site);
}

static void work(struct worker *w, unsigned turns)
{
	for (unsigned i = 0; i < turns; i++)
		w->sum += victim_random(&w->rng);
}

/* --- the threads --- */

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* How many pairs are due. */
static unsigned due(uint64_t now, uint64_t since)
{
	if (opt.burst_s > 0)
		return BURST / opt.threads;
	return (unsigned)((double)(now - since) * opt.rate / opt.threads / 1e9);
}

/* One piece of work: what is due since @since, or with -f a millisecond's worth. */
static void piece(struct worker *w, uint64_t since, uint64_t now)
{
	uint64_t before = w->pairs, end = now + TICK_NS;

	do_all_rated(w, (double)(now - since) / 1e9, now);
	if (opt.full) {
		do {
			do_one(w);
			work(w, CPU_WORK);
		} while (clock_look(&w->clock) < end);
	} else {
		for (unsigned n = due(now, since); w->pairs - before < n;) {
			do_one(w);
			clock_look(&w->clock);
		}
	}
	clock_end(&w->clock);
}

/*
 * Wait until the next piece is due, and the truth is not being printed. Returns true if that took any time.
 */
static bool rest(uint64_t next)
{
	bool slept = telling || !opt.full || opt.burst_s > 0;

	if (!opt.full || opt.burst_s > 0)
		sleep_until(next);
	while (telling)
		usleep(100);
	return slept;
}

static void *worker(void *arg)
{
	const uint64_t period = opt.burst_s > 0 ? (uint64_t)(opt.burst_s * 1e9) : TICK_NS;
	uint64_t since = start_ns + opt.idle_s * 1000000000ull, next = since + period;
	struct worker *w = arg;

	clock_open(&w->clock);
	if (opt.idle_s)
		sleep_until(since);
	clock_begin(&w->clock);
	for (uint64_t now; !ending; since = now, next += period) {
		bool rested = rest(next);

		pthread_mutex_lock(&w->lock);
		if (rested)
			clock_begin(&w->clock);
		now = now_ns();
		piece(w, since, now);
		pthread_mutex_unlock(&w->lock);
	}
	return NULL;
}

/* --- answers --- */

/* No thread works while all are locked. */
static void lock_all(bool lock)
{
	if (lock)
		telling = true;
	for (unsigned i = 0; i < opt.threads; i++)
		(lock ? pthread_mutex_lock : pthread_mutex_unlock)(&workers[i].lock);
	if (!lock)
		telling = false;
}

static struct count total_of(unsigned site)
{
	struct count sum = { 0 };

	for (unsigned i = 0; i < opt.threads; i++) {
		const struct count *c = &workers[i].counts[site];

		sum.allocs += c->allocs;
		sum.frees += c->frees;
		sum.bytes += c->bytes;
		sum.freed_bytes += c->freed_bytes;
		sum.usable_bytes += c->usable_bytes;
		if (c->first_ns && (!sum.first_ns || c->first_ns < sum.first_ns))
			sum.first_ns = c->first_ns;
	}
	return sum;
}

static uint64_t all_pairs(void)
{
	uint64_t pairs = 0;

	for (unsigned i = 0; i < opt.threads; i++)
		pairs += workers[i].pairs;
	return pairs;
}

static void tell_site(unsigned i, const struct count *c)
{
	printf("%s{\"name\": \"site_%s\", \"kind\": \"%s\", \"call\": \"%s\", \"size\": %u, \"allocs\": %lu, "
	       "\"frees\": %lu, \"bytes\": %lu, "
	       "\"live\": %lu, \"live_bytes\": %lu, \"first_ns\": %lu}",
	       i ? ", " : "", sites[i].name, kind_names[sites[i].kind], sites[i].call, sites[i].bytes,
	       c->allocs, c->frees, c->bytes, c->allocs - c->frees, c->bytes - c->freed_bytes, c->first_ns);
}

/*
 * "grown": by how many bytes malloc's chunks in use have grown since the start; "chunks": the same as counted
 * here.
 */
static void tell_truth(void)
{
	struct count c[NSITES];
	uint64_t pairs, chunks = 0, now;
	size_t grown;

	lock_all(true);
	for (unsigned i = 0; i < NSITES; i++)
		c[i] = total_of(i);
	pairs = all_pairs();
	grown = in_use() - in_use_before;
	now = now_ns();
	lock_all(false);
	for (unsigned i = 0; i < NSITES; i++)
		chunks += c[i].usable_bytes;
	printf("{\"start_ns\": %lu, \"now_ns\": %lu, \"pairs\": %lu, \"grown\": %zu, \"chunks\": %lu, "
	       "\"sites\": [",
	       start_ns, now, pairs, grown, chunks);
	for (unsigned i = 0; i < NSITES; i++)
		tell_site(i, &c[i]);
	printf("]}\n");
}

/*
 * This stops no thread, for that would disturb the measurement: at worst, of the millisecond's piece that
 * ends just now, only half is included.
 */
static void tell_pairs(void)
{
	struct clock_second sum = { 0 };

	for (unsigned i = 0; i < opt.threads; i++)
		clock_add(&workers[i].clock, &sum);
	printf("{\"pairs\": %lu, \"now_ns\": %lu, \"wall_ns\": %lu, \"cpu_ns\": %lu, \"waited_ns\": %lu, "
	       "\"stood_ns\": %lu, "
	       "\"stood_cpu_ns\": %lu, \"stops\": %u}\n",
	       all_pairs(), now_ns(), sum.wall_ns, sum.cpu_ns, sum.waited_ns, sum.stood_ns, sum.stood_cpu_ns,
	       sum.stops);
}

static void tell_gaps(void)
{
	printf("{\"threads\": [");
	for (unsigned i = 0; i < opt.threads; i++) {
		printf("%s", i ? ", " : "");
		clock_tell(&workers[i].clock);
	}
	printf("]}\n");
}

/* --- start and end --- */

/* Each site as often as its weight says. */
static void make_mix(void)
{
	unsigned sum = 0, at = 0, upto = 0;

	for (unsigned i = 0; i < NSITES; i++)
		sum += sites[i].rate ? 0 : sites[i].x;
	for (unsigned i = 0; i < NSITES; i++) {
		if (sites[i].rate)
			continue;
		for (upto += sites[i].x; at * sum < upto * MIX; at++)
			mix[at] = (uint16_t)i;
	}
}

static void wrap_leak(void)
{
	for (unsigned i = 0; i < NSITES; i++) {
		if (!strcmp(sites[i].name, "leak_middle")) {
			sites[i].name = "leak_wrapped";
			sites[i].call = "victim_alloc";
			sites[i].take = site_leak_wrapped;
		}
	}
}

/* Not by malloc, in which nothing but the sites' blocks is to be. */
static void use_memory(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		victim_die("mmap");
	memset(at, 1, bytes);
}

static bool parse(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "t:r:fb:i:d:s:wk:um:")) != -1;) {
		switch (c) {
		case 't': opt.threads = (unsigned)atoi(optarg); break;
		case 'r': opt.rate = (unsigned)atoi(optarg); break;
		case 'f': opt.full = true; break;
		case 'b': opt.burst_s = atof(optarg); break;
		case 'i': opt.idle_s = (unsigned)atoi(optarg); break;
		case 'd': opt.seconds = (unsigned)atoi(optarg); break;
		case 's': opt.seed = strtoull(optarg, NULL, 10); break;
		case 'w': wrap_leak(); break;
		case 'k': opt.begin = optarg; break;
		case 'u': opt.touched = true; break;
		case 'm': use_memory((size_t)atoi(optarg) << 20); break;
		default: return false;
		}
	}
	return opt.threads >= 1 && opt.threads <= MAX_THREADS && opt.seed && optind == argc;
}

/* Threads that all began with nothing due would leak their blocks at the same moment, for ever. */
static void stagger(struct worker *w)
{
	for (unsigned i = 0; i < NSITES; i++)
		w->held[i].due = (double)(victim_random(&w->rng) % 1000) / 1000;
}

static void start(void)
{
	workers = mmap(NULL, opt.threads * sizeof(*workers), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (workers == MAP_FAILED)
		victim_die("mmap");
	start_ns = now_ns();
	in_use_before = in_use();
	for (unsigned i = 0; i < opt.threads; i++) {
		workers[i].rng = opt.seed * 0x9e3779b97f4a7c15u ^ (i + 1);
		stagger(&workers[i]);
		pthread_mutex_init(&workers[i].lock, NULL);
		if (pthread_create(&workers[i].thread, NULL, worker, &workers[i]))
			victim_die("pthread_create");
	}
}

int main(int argc, char **argv)
{
	static char in[4096], out[1 << 16];
	char line[ORDER_MAX];

	if (!parse(argc, argv))
		return 2;
	setvbuf(stdin, in, _IOFBF, sizeof(in));
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	make_mix();
	if (opt.seconds)
		alarm(opt.seconds);
	start();
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (!strcmp(line, "truth"))
			tell_truth();
		else if (!strcmp(line, "pairs"))
			tell_pairs();
		else if (!strcmp(line, "gaps"))
			tell_gaps();
		fflush(stdout);
	}
	ending = true;
	for (unsigned i = 0; i < opt.threads; i++)
		pthread_join(workers[i].thread, NULL);
	tell_truth();
	return 0;
}
