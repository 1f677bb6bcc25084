/* SPDX-License-Identifier: MIT */
#include "attach/sampling/blocks/block_poll.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "attach/sampling/blocks/block_fate.h"
#include "base/addrmap.h"
#include "base/grow.h"
#include "base/minheap.h"

#define ON_ITS_WAY_NS 5000000000ull	/* until a block that is on its way, as a message, has come to its end */
#define MS 1000000u
#define AGES 23u /* looks at increasing ages; after them, looks are BLOCK_POLL_LONGEST_NS apart */

struct block_poll {
	block_poll_over *over;
	void *ctx;
	struct remote_read read;
	struct block_fate_decide judge;
	struct addrmap index;		/* address -> number of its block */
	struct tracked_block *blocks;
	uint32_t *queue; /* numbers of blocks: a heap, ordered by when they are to be looked at */
	size_t n, room, queue_room;
	uint64_t ages_ns[AGES];
	bool lost;
	struct block_poll_sums sums;
	struct block_look looked[BLOCK_LOOKS];
};

/* --- when to look --- */

/*
 * From BLOCK_POLL_FIRST_NS on; also at each step of age up to 30 s (survival.h): if the target ends by itself,
 * a block is as old as it was at its last look.
 */
static void make_ages(struct block_poll *f)
{
	static const double parts[] = { 1, 1.7, 3, 4.5, 6.7 };
	double tenfold = MS;

	for (unsigned i = 1; i <= AGES; i++) {
		f->ages_ns[i - 1] = (uint64_t)(tenfold * parts[i % 5]);
		tenfold *= i % 5 == 4 ? 10 : 1;
	}
}

static uint64_t age_ns(const struct block_poll *f, uint32_t look)
{
	return look < AGES ? f->ages_ns[look]
			   : f->ages_ns[AGES - 1] + (look - AGES + 1) * (uint64_t)BLOCK_POLL_LONGEST_NS;
}

static uint64_t due_ns(const struct block_poll *f, uint32_t number)
{
	return f->blocks[number].birth_ns + age_ns(f, f->blocks[number].next);
}

static bool before(const void *ctx, uint32_t a, uint32_t b)
{
	return due_ns(ctx, a) < due_ns(ctx, b);
}

static void moved(void *ctx, uint32_t number, uint32_t place)
{
	((struct block_poll *)ctx)->blocks[number].place = place;
}

static void settle(struct block_poll *f, uint32_t place)
{
	minheap_settle(&(struct minheap){ f->queue, (uint32_t)f->n, before, moved, f }, place);
}

/* --- the table --- */

static struct tracked_block *block_at(const struct block_poll *f, taddr addr)
{
	const uint32_t *number = addrmap_get(&f->index, addr);

	return number ? &f->blocks[*number] : NULL;
}

static void describe(const struct tracked_block *b, struct tracked *out)
{
	*out = (struct tracked){
		.addr = b->addr, .bytes = tracked_bytes(b), .birth_ns = b->birth_ns,
		.seen_ns = b->birth_ns + (uint64_t)b->seen_ms * MS,
		.stack = b->stack, .looks = b->looks, .alike = b->flags & TRACKED_ALIKE,
		.doubtful = b->flags & TRACKED_DOUBTFUL, .searched = b->flags & TRACKED_SEARCHED,
		.lost = (b->flags & TRACKED_JUDGED) == TRACKED_JUDGED,
		.unsure = (b->flags & TRACKED_JUDGED) == TRACKED_LOST,
		.ended_ns = b->flags & TRACKED_DOUBTFUL ? b->birth_ns + (uint64_t)b->doubt_ms * MS : 0,
	};
}

static void remove_block(struct block_poll *f, struct tracked_block *b)
{
	const uint32_t number = (uint32_t)(b - f->blocks), last = (uint32_t)--f->n, place = b->place;

	addrmap_del(&f->index, b->addr, NULL);
	if (place != last) {
		f->queue[place] = f->queue[last];
		settle(f, place);
	}
	if (number == last)
		return;
	*b = f->blocks[last];
	f->queue[b->place] = number;
	*(uint32_t *)addrmap_get(&f->index, b->addr) = number;
}

static void end(struct block_poll *f, struct tracked_block *b, enum fate fate, uint64_t now_ns)
{
	struct tracked what;

	describe(b, &what);
	if (fate == FATE_GONE && !what.doubtful)
		what.ended_ns = now_ns;
	remove_block(f, b);
	f->sums.gone += fate == FATE_GONE;
	f->sums.unknown += fate == FATE_UNKNOWN;
	f->sums.dropped += fate == FATE_SAME;
	f->over(f->ctx, &what, fate, now_ns);
}

static int make_room(struct block_poll *f)
{
	int r = grow_for(&f->blocks, f->n, &f->room, sizeof(*f->blocks));

	return r < 0 ? r : grow_for(&f->queue, f->n, &f->queue_room, sizeof(*f->queue));
}

static void begin(struct tracked_block *b, const struct block_birth *birth, uint32_t stack, uint64_t birth_ns)
{
	*b = (struct tracked_block){
		.heap = birth->heap, .addr = birth->addr, .birth_ns = birth_ns, .stack = stack,
		.units = (uint32_t)(birth->bytes / TRACKED_UNIT), .mark = birth->mark, .state = birth->words,
		.flags = birth->mapped ? TRACKED_MAPPED : 0,
	};
}

/*
 * The block that had this address is gone. If it was of the same stack, what the two have in common shows how
 * alike such blocks are.
 */
static void succeed(struct block_poll *f, struct tracked_block *old, struct tracked_block *b)
{
	if (old->stack == b->stack && old->flags & TRACKED_LOOKED && old->state.nwords >= 2) {
		b->flags |= TRACKED_HEIR;
		b->was[0] = old->state.hashes[0];
		b->was[1] = old->state.hashes[1];
	}
	f->sums.gone_taken++;
	end(f, old, FATE_GONE, b->birth_ns);
}

int block_poll_add(struct block_poll *f, const struct block_birth *birth, uint32_t stack, uint64_t birth_ns)
{
	struct tracked_block fresh, *old = block_at(f, birth->addr);
	uint32_t number;
	int r;

	if (birth->bytes / TRACKED_UNIT > UINT32_MAX)
		return -EINVAL;
	begin(&fresh, birth, stack, birth_ns);
	if (old)
		succeed(f, old, &fresh);
	if (f->n >= BLOCK_POLL_MAX)
		return -ENOSPC;
	number = (uint32_t)f->n;
	r = make_room(f);
	if (r == 0)
		r = addrmap_put(&f->index, birth->addr, &number);
	if (r < 0)
		return r;
	f->blocks[number] = fresh;
	f->queue[f->n++] = number;
	settle(f, number);
	f->sums.added++;
	return 0;
}

bool block_poll_taken(struct block_poll *f, taddr addr, uint64_t now_ns)
{
	struct tracked_block *b = block_at(f, addr);

	if (!b)
		return false;
	f->sums.gone_taken++;
	end(f, b, FATE_GONE, now_ns);
	return true;
}

bool block_poll_drop(struct block_poll *f, taddr addr, struct tracked *out)
{
	struct tracked_block *b = block_at(f, addr);

	if (!b)
		return false;
	if (out)
		describe(b, out);
	remove_block(f, b);
	f->sums.dropped++;
	return true;
}

void block_poll_judge(struct block_poll *f, taddr addr, const struct block_judged *its)
{
	struct tracked_block *b = block_at(f, addr);

	if (!b || b->birth_ns >= its->at_ns || (b->flags & TRACKED_JUDGED) == TRACKED_JUDGED)
		return;
	b->flags &= ~TRACKED_JUDGED;
	if (verdict_is_lost(its->verdict))
		b->flags |= TRACKED_JUDGED;
	else if (its->verdict == VERDICT_UNKNOWN)
		b->flags |= TRACKED_LOST;
	else if (its->last || its->at_ns - b->birth_ns >= ON_ITS_WAY_NS)
		b->flags |= TRACKED_SEARCHED;
}

void block_poll_judge_anew(struct block_poll *f)
{
	for (size_t i = 0; i < f->n; i++)
		f->blocks[i].flags &= ~TRACKED_JUDGED;
}

size_t block_poll_count(const struct block_poll *f)
{
	return f->n;
}

void block_poll_get(const struct block_poll *f, size_t i, struct tracked *out)
{
	describe(&f->blocks[i], out);
}

bool block_poll_lost(const struct block_poll *f)
{
	return f->lost;
}

const struct block_poll_sums *block_poll_sums(const struct block_poll *f)
{
	return &f->sums;
}

uint64_t block_poll_next_ns(const struct block_poll *f)
{
	return f->n && !f->lost ? due_ns(f, f->queue[0]) : UINT64_MAX;
}

/* --- looking --- */

/* An age of more than 49 days is cut to that. */
static uint32_t age_of(const struct tracked_block *b, uint64_t now_ns)
{
	const uint64_t age_ms = now_ns > b->birth_ns ? (now_ns - b->birth_ns) / MS : 0;

	return age_ms < UINT32_MAX ? (uint32_t)age_ms : UINT32_MAX;
}

/* Have @h look at its own of f->looked. */
static int ask_heap(struct block_poll *f, struct block_heap *h, size_t n)
{
	struct block_look *own[BLOCK_LOOKS];
	size_t nown = 0;

	for (size_t i = 0; i < n; i++)
		if (f->looked[i].b->heap == h) {
			f->looked[i].asked = true;
			own[nown++] = &f->looked[i];
		}
	return h->look(h, &f->read, own, nown);
}

/* Have their heaps look at the @n blocks whose addresses are in f->looked. */
static int ask_heaps(struct block_poll *f, size_t n, uint64_t now_ns)
{
	int r = f->lost ? -ESRCH : 0;

	for (size_t i = 0; i < n; i++) {
		struct tracked_block *b = block_at(f, f->looked[i].addr);

		f->looked[i] = (struct block_look){ .b = b, .addr = b->addr, .age_ms = age_of(b, now_ns) };
	}
	for (size_t i = 0; i < n && r == 0; i++)
		if (!f->looked[i].asked)
			r = ask_heap(f, f->looked[i].b->heap, n);
	return r;
}

/* Look at the @n blocks whose addresses are in f->looked. @last: report their fate, whatever it is. */
static void look_at(struct block_poll *f, size_t n, bool last, uint64_t now_ns)
{
	const int r = ask_heaps(f, n, now_ns);

	f->lost = f->lost || r == -ESRCH || r == -EPERM;
	for (size_t i = 0; i < n; i++) {
		struct tracked_block *b = block_at(f, f->looked[i].addr);
		enum fate fate = r < 0 ? FATE_SAME : block_fate_decide(&f->judge, b, &f->looked[i]);

		f->sums.looks += r == 0;
		if (last && fate == FATE_SAME && b->flags & TRACKED_DOUBTFUL)
			fate = FATE_UNKNOWN;
		if (fate != FATE_SAME || last)
			end(f, b, fate, now_ns);
	}
	f->sums.calls = f->read.calls;
}

static uint64_t busy_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Take the first block that is due, and put it back for its next look. Looks that were missed are not made up
 * for.
 */
static taddr take_due(struct block_poll *f, uint64_t now_ns)
{
	struct tracked_block *b = &f->blocks[f->queue[0]];

	while (b->birth_ns + age_ns(f, b->next) <= now_ns)
		b->next++;
	settle(f, 0);
	return b->addr;
}

void block_poll(struct block_poll *f, uint64_t now_ns)
{
	const uint64_t start = busy_ns();

	while (block_poll_next_ns(f) <= now_ns) {
		size_t n = 0;

		while (n < BLOCK_LOOKS && block_poll_next_ns(f) <= now_ns)
			f->looked[n++].addr = take_due(f, now_ns);
		look_at(f, n, false, now_ns);
	}
	f->sums.busy_ns += busy_ns() - start;
}

void block_poll_end(struct block_poll *f, uint64_t now_ns)
{
	const uint64_t start = busy_ns();

	while (f->n) {
		size_t n = 0;

		for (; n < BLOCK_LOOKS && n < f->n; n++)
			f->looked[n].addr = f->blocks[f->n - 1 - n].addr;
		look_at(f, n, true, now_ns);
	}
	f->sums.busy_ns += busy_ns() - start;
}

/* --- all of it --- */

int block_poll_new(pid_t pid, block_poll_over *over, void *ctx, struct block_poll **out)
{
	struct block_poll *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->over = over;
	f->ctx = ctx;
	f->judge.sums = &f->sums;
	addrmap_init(&f->index, sizeof(uint32_t));
	block_identity_init(&f->judge.identity);
	make_ages(f);
	r = remote_read_open(&f->read, pid);
	if (r < 0) {
		block_poll_free(f);
		return r;
	}
	*out = f;
	return 0;
}

void block_poll_free(struct block_poll *f)
{
	if (!f)
		return;
	remote_read_close(&f->read);
	block_identity_fini(&f->judge.identity);
	addrmap_fini(&f->index);
	free(f->blocks);
	free(f->queue);
	free(f);
}
