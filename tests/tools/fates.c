/* SPDX-License-Identifier: MIT */
/*
 * fates: how often attach/sampling/blocks/block_poll is right, on a child that notes when each block was
 * truly allocated and freed (fates_child.h).
 *
 *	fates [-s SECONDS] [-t THREADS] [-S SEED] [-a] [-m MALLOC] [-x PROGRAM]
 *
 * The blocks are glibc's, or (-m) those of another malloc: one that is in LD_PRELOAD, or that of a program
 * (tests/victims/fates_child.c).
 *
 * The blocks that the child reports are tracked, at most FOLLOW at a time per place. Once three blocks of a
 * place were still the same at an age of 3 s, the child reports all its allocations (-a: not). It ends after SECONDS
 * (20), or later, when a verdict is known of most places: on a busy machine less is seen in a second. Each fate, and
 * whether blocks were still the same at some ages, is compared with the truth. One line of JSON:
 *
 *	followed, unknown	blocks; of those with the fate unknown, unknown_alive were still allocated
 *	gone, gone_wrong	blocks reported as freed; gone_wrong: free had not even been called by then
 *	by			what showed that they were freed
 *	begins			for each way to begin: "same": at about each age, how many looks found the
 *				block the same, and how many of them were wrong; "gone", "unknown"
 *	lives			for each way to live, how many places got which verdict
 *				(report/sampling/survival)
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "attach/sampling/blocks/block_poll.h"
#include "attach/sampling/heaps/glibc_heap.h"
#include "attach/sampling/heaps/jemalloc_heap.h"
#include "attach/sampling/heaps/mimalloc_heap.h"
#include "attach/sampling/heaps/musl_heap.h"
#include "attach/sampling/heaps/tcmalloc_heap.h"
#include "base/addrmap.h"
#include "report/sampling/survival.h"

#include "fates_child.h"

#define FOLLOW 200u
#define AGES 4u
#define LATEST 5u	/* times the seconds */

static const double ages_s[AGES] = { 0.1, 1, 10, 30 };

static const char *const begins_names[] = {
#define X(lower, upper) #lower,
	BEGINS(X)
#undef X
};

static const char *const lives_names[] = {
#define X(lower, upper, ms, rate) #lower,
	LIVES(X)
#undef X
};

struct result {
	uint64_t tracked, gone, gone_wrong, unknown, unknown_alive, seen;
	uint64_t same[AGES], wrong[AGES];
	struct survival_step steps[SURVIVAL_STEPS];
	unsigned now;
};

static struct result results[PLACES];
static struct addrmap truths;	/* address -> index of the truth of the block tracked there */
static struct block_heap *heap;
static uint32_t heard;		/* how many reports have been read */

static struct truth *truth_of(const struct tracked *b)
{
	const uint32_t *i = addrmap_get(&truths, b->addr);

	if (!i || told->all[*i].birth_ns != b->birth_ns)
		abort();
	return &told->all[*i];
}

static double age_s(const struct tracked *b, uint64_t at_ns)
{
	return (double)(at_ns - b->birth_ns) / 1e9;
}

static bool had_died(const struct truth *t, uint64_t at_ns)
{
	const uint64_t death = atomic_load(&t->death_ns);

	return death && death <= at_ns;
}

static void over(void *ctx, const struct tracked *b, enum fate fate, uint64_t now)
{
	const struct truth *t = truth_of(b);
	struct result *r = &results[t->place];

	(void)ctx;
	(void)now;
	r->now--;
	r->gone += fate == FATE_GONE;
	r->gone_wrong += fate == FATE_GONE && !atomic_load(&t->dying_ns);
	r->unknown += fate == FATE_UNKNOWN;
	r->unknown_alive += fate == FATE_UNKNOWN && !had_died(t, b->ended_ns);
	survival_count(r->steps, age_s(b, fate == FATE_SAME ? b->seen_ns : b->ended_ns),
		       fate == FATE_GONE      ? SURVIVAL_GONE
		       : fate == FATE_UNKNOWN ? SURVIVAL_LOST
					      : SURVIVAL_STILL);
}

static bool describe(const struct truth *t, struct block_birth *out)
{
	const struct block_hit hit = { .addr = t->addr, .head = t->head,
				       .words = { t->words[0], t->words[1] },
				       .has_head = true, .has_words = true };

	return heap->born(heap, &hit, out);
}

/*
 * Track the blocks reported since the last call, if there is room for more of their place; else only report
 * that the address now belongs to another block.
 */
static void hear(struct block_poll *f)
{
	for (const uint32_t n = atomic_load(&told->n); heard < n; heard++) {
		const struct truth *t = &told->all[heard];
		struct result *r = &results[t->place];
		struct block_birth birth;

		r->seen++;
		block_poll_taken(f, t->addr, t->birth_ns);
		if (r->now >= FOLLOW || addrmap_put(&truths, t->addr, &heard) < 0 ||
		    !describe(t, &birth) || block_poll_add(f, &birth, t->place, t->birth_ns) < 0)
			continue;
		r->now++;
		r->tracked++;
	}
}

static void check_one(const struct tracked *b)
{
	for (unsigned i = 0; i < AGES; i++) {
		struct result *r = &results[b->stack];

		if (age_s(b, b->seen_ns) < ages_s[i] / 1.3 || age_s(b, b->seen_ns) >= ages_s[i] * 1.3)
			continue;
		r->same[i]++;
		/* seen_ns is rounded down to milliseconds */
		r->wrong[i] += had_died(truth_of(b), b->seen_ns);
	}
}

/* Check the blocks that were found the same since @since. */
static void check(const struct block_poll *f, uint64_t since)
{
	for (size_t i = 0; i < block_poll_count(f); i++) {
		struct tracked b;

		block_poll_get(f, i, &b);
		if (b.seen_ns > since && b.looks >= 2 && !b.doubtful)
			check_one(&b);
	}
}

static void find_standing(const struct block_poll *f)
{
	unsigned old[PLACES] = { 0 };

	for (size_t i = 0; i < block_poll_count(f); i++) {
		struct tracked b;

		block_poll_get(f, i, &b);
		if (age_s(&b, b.seen_ns) > 3 && ++old[b.stack] == 3)
			atomic_store(&told->stands[b.stack], true);
	}
}

static enum survival_kind kind_of(uint32_t place)
{
	struct survival s;

	survival_conclude(results[place].steps, 0, results[place].seen, 0, &s);
	return s.kind;
}

/* What lives for ever, or for five seconds, may remain unknown. */
static bool is_decided(void)
{
	unsigned brief = 0, unknown = 0;

	for (uint32_t i = 0; i < PLACES; i++) {
		if (lives_of(i) == SECONDS || lives_of(i) == FOREVER)
			continue;
		brief++;
		unknown += kind_of(i) == SURVIVAL_UNKNOWN;
	}
	return unknown * 30 <= brief;
}

static void follow(struct block_poll *f, double seconds, bool standing)
{
	const struct timespec pause = { 0, 500000 };
	const uint64_t start = now_ns(), least = (uint64_t)(seconds * 1e9);
	uint64_t checked = 0, found = 0, end = start + least;

	for (uint64_t now = start;; now = now_ns()) {
		if (now >= end && (now - start >= LATEST * least || is_decided()))
			break;
		if (now >= end)
			end = now + 250000000;
		hear(f);
		block_poll(f, now);
		check(f, checked);
		checked = now;
		if (standing && now - found > 250000000) {
			find_standing(f);
			found = now;
		}
		nanosleep(&pause, NULL);
	}
	block_poll_end(f, now_ns());
}

/* --- results --- */

static struct result sum_of(int begins)
{
	struct result sum = { 0 };

	for (uint32_t i = 0; i < PLACES; i++) {
		if (begins >= 0 && begins_of(i) != (enum begins)begins)
			continue;
		sum.tracked += results[i].tracked;
		sum.gone += results[i].gone;
		sum.gone_wrong += results[i].gone_wrong;
		sum.unknown += results[i].unknown;
		sum.unknown_alive += results[i].unknown_alive;
		for (unsigned j = 0; j < AGES; j++) {
			sum.same[j] += results[i].same[j];
			sum.wrong[j] += results[i].wrong[j];
		}
	}
	return sum;
}

static void print_begins(void)
{
	printf("\"begins\": {");
	for (int b = 0; b < BEGINS_N; b++) {
		const struct result r = sum_of(b);

		printf("%s\"%s\": {\"gone\": %lu, \"unknown\": %lu, \"same\": {", b ? ", " : "",
		       begins_names[b], r.gone, r.unknown);
		for (unsigned j = 0; j < AGES; j++)
			printf("%s\"%g\": [%lu, %lu]", j ? ", " : "", ages_s[j], r.same[j], r.wrong[j]);
		printf("}}");
	}
	printf("}, ");
}

static void print_lives(void)
{
	unsigned kinds[LIVES_N][SURVIVAL_KIND_COUNT] = { { 0 } };

	for (uint32_t i = 0; i < PLACES; i++)
		kinds[lives_of(i)][kind_of(i)]++;
	printf("\"lives\": {");
	for (unsigned l = 0; l < LIVES_N; l++) {
		printf("%s\"%s\": {", l ? ", " : "", lives_names[l]);
		for (unsigned k = 0; k < SURVIVAL_KIND_COUNT; k++)
			printf("%s\"%s\": %u", k ? ", " : "", survival_name(k), kinds[l][k]);
		printf("}");
	}
	printf("}");
}

static void print(const struct block_poll_sums *s)
{
	const struct result r = sum_of(-1);

	printf("{\"told\": %u, \"followed\": %lu, \"gone\": %lu, \"gone_wrong\": %lu, \"unknown\": %lu, "
	       "\"unknown_alive\": %lu, ",
	       told->n, r.tracked, r.gone, r.gone_wrong, r.unknown, r.unknown_alive);
	printf("\"by\": {\"freed\": %lu, \"resized\": %lu, \"joined\": %lu, \"linked\": %lu, \"unmapped\": "
	       "%lu, \"taken\": %lu}, ",
	       s->gone_by[BLOCK_FREED], s->gone_by[BLOCK_RESIZED], s->gone_by[BLOCK_JOINED],
	       s->gone_by[BLOCK_LINKED], s->gone_by[BLOCK_UNMAPPED], s->gone_taken);
	printf("\"looks\": %lu, \"alike\": %lu, \"calls\": %lu, \"busy_us\": %lu, ", s->looks, s->alike,
	       s->calls, s->busy_ns / 1000);
	print_begins();
	print_lives();
	printf("}\n");
}

/*
 * The heap of process @pid, once it has reported a block: a child that was just forked has no TLS to be
 * found.
 */
static int open_heap(pid_t pid, const char *name)
{
	const struct timespec pause = { 0, 1000000 };
	struct block_heap_found found = { 0 };
	int r = -1;

	for (unsigned i = 0; i < 5000 && !atomic_load(&told->n); i++)
		nanosleep(&pause, NULL);
	if (!strcmp(name, "glibc"))
		return glibc_heap_new(&heap);
	for (unsigned i = 0; i < 100 && r < 0; i++) {
		nanosleep(&pause, NULL);
		if (!strcmp(name, "jemalloc"))
			r = jemalloc_heap_open(pid, &found);
		if (!strcmp(name, "tcmalloc"))
			r = tcmalloc_heap_open(pid, &found);
		if (!strcmp(name, "mimalloc"))
			r = mimalloc_heap_open(pid, &found);
		if (!strcmp(name, "musl"))
			r = musl_heap_open(pid, &found);
	}
	if (r < 0)
		fprintf(stderr, "fates: %d %s\n", r, found.why);
	heap = found.heap;
	return r;
}

/* In the child. */
static int be_child(const char *program, int fd, unsigned threads, uint64_t seed)
{
	char file[32], t[16], s[24];

	if (!program)
		return run_child(threads, seed);
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	snprintf(t, sizeof(t), "%u", threads);
	snprintf(s, sizeof(s), "%lu", seed);
	execl(program, program, file, t, s, NULL);
	return 2;
}

int main(int argc, char **argv)
{
	double seconds = 20;
	unsigned threads = 1;
	uint64_t seed = 1;
	const char *name = "glibc", *program = NULL;
	const int fd = memfd_create("fates", 0);
	bool standing = true;
	struct block_poll *f;
	pid_t pid;

	for (int c; (c = getopt(argc, argv, "s:t:S:am:x:")) != -1;) {
		if (c == 's')
			seconds = atof(optarg);
		else if (c == 't')
			threads = (unsigned)atoi(optarg);
		else if (c == 'S')
			seed = (uint64_t)atoi(optarg);
		else if (c == 'a')
			standing = false;
		else if (c == 'm')
			name = optarg;
		else if (c == 'x')
			program = optarg;
		else
			return 2;
	}
	if (fd < 0 || ftruncate(fd, sizeof(*told)) < 0)
		return 3;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	addrmap_init(&truths, sizeof(uint32_t));
	pid = told != MAP_FAILED && threads ? fork() : -1;
	if (pid == 0)
		_exit(be_child(program, fd, threads, seed));
	if (pid < 0 || open_heap(pid, name) < 0 || block_poll_new(pid, over, NULL, &f) < 0) {
		if (pid > 0)
			kill(pid, SIGKILL);
		return 3;
	}
	follow(f, seconds, standing);
	print(block_poll_sums(f));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	block_poll_free(f);
	block_heap_free(heap);
	addrmap_fini(&truths);
	return 0;
}
