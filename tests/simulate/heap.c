/* SPDX-License-Identifier: MIT */
#include "tests/simulate/heap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attach/sampling/sampling_heaps.h"
#include "base/grow.h"
#include "tests/simulate/clock.h"

#define CLASSES 64u
#define FIRST 0x100000ull
#define APART 0x10000ull		/* two addresses: no block is larger */
#define SPARE 16u			/* addresses of a class that are free at any time, at least */
#define NONE UINT32_MAX
#define OFTEN 300u			/* so often was an address given out: when it was first does not matter */

/* An address. */
struct cell {
	uint32_t class;
	uint32_t owner;			/* the spot whose block it has, or had last */
	uint16_t words[2];		/* what that begins with */
	bool asked, inherited;		/* it is decided whether the owner's heir gets it; and it does */
	uint64_t freed_ns;		/* when it is freed; UINT64_MAX: never */
	uint64_t known_ns;		/* until then it is known what became of it */
};

/* From when on the allocations of a spot are seen, or not. */
struct turn {
	uint64_t at_ns, unseen_ns;	/* for how long they were not, until then */
	bool sees;
};

struct turns {
	struct turn *all;
	size_t n, room;
};

struct class {
	unsigned bytes;
	double again_s;			/* after how long an address that is free is given out again, on average */
	uint32_t *seen;			/* addresses whose block was seen, and is not known to be free: cells */
	uint32_t nseen;
	size_t seen_room;
	uint32_t *free;			/* those that were, when they were looked at last */
	uint32_t nfree;
	size_t free_room;
};

static struct {
	const struct spot *spots;
	const struct spot_state *states;
	size_t n;
	uint64_t begin_ns;
	struct class classes[CLASSES];
	uint32_t nclasses;
	uint32_t class_of[CLASSES];	/* of each spot */
	uint32_t heir_of[CLASSES];	/* likewise; itself: none */
	struct turns turns[CLASSES];	/* likewise */
	struct cell *cells;
	size_t ncells, room;
} heap;

static struct block_heap ours;

static uint64_t now(void)
{
	return clock_now_ns - heap.begin_ns;
}

/* --- classes --- */

static uint32_t class_for(unsigned bytes)
{
	for (uint32_t i = 0; i < heap.nclasses; i++)
		if (heap.classes[i].bytes == bytes)
			return i;
	heap.classes[heap.nclasses].bytes = bytes;
	return heap.nclasses++;
}

static uint32_t heir_of(const struct spot *spots, size_t n, uint32_t i)
{
	for (uint32_t k = 0; spots[i].heir && k < n; k++)
		if (!strcmp(spots[k].name, spots[i].heir))
			return k;
	return i;
}

void heap_begin(const struct spot *spots, const struct spot_state *states, size_t n, uint64_t begin_ns)
{
	double rates[CLASSES] = { 0 };

	if (n > CLASSES)
		abort();
	memset(&heap, 0, sizeof(heap));
	heap.spots = spots;
	heap.states = states;
	heap.n = n;
	heap.begin_ns = begin_ns;
	for (size_t i = 0; i < n; i++) {
		const uint32_t class = class_for(spots[i].bytes);

		heap.class_of[i] = class;
		heap.heir_of[i] = heir_of(spots, n, (uint32_t)i);
		rates[class] += states[i].rate * states[i].together;
	}
	for (uint32_t i = 0; i < heap.nclasses; i++)
		heap.classes[i].again_s = SPARE / rates[i];
	for (size_t i = 0; i < n; i++)
		heap_see(i, false);
}

void heap_end(void)
{
	for (uint32_t i = 0; i < heap.nclasses; i++) {
		free(heap.classes[i].seen);
		free(heap.classes[i].free);
	}
	for (size_t i = 0; i < heap.n; i++)
		free(heap.turns[i].all);
	free(heap.cells);
}

/* --- blocks --- */

static void own(struct cell *c, uint32_t spot, uint64_t t_ns)
{
	const struct spot *p = &heap.spots[spot];

	c->owner = spot;
	c->freed_ns = spot_freed_ns(p, t_ns);
	c->asked = false;
	for (unsigned i = 0; i < 2; i++)
		c->words[i] = (uint16_t)(p->alike ? 7 * spot + i : spots_below(UINT16_MAX));
}

/* --- what is not seen --- */

void heap_see(size_t i, bool sees)
{
	struct turns *its = &heap.turns[i];
	const struct turn *last = its->n ? &its->all[its->n - 1] : NULL;
	struct turn next = { .at_ns = now(), .sees = sees };

	if (last && last->sees == sees)
		return;
	if (last)
		next.unseen_ns = last->unseen_ns + (last->sees ? 0 : next.at_ns - last->at_ns);
	if (grow_for(&its->all, its->n, &its->room, sizeof(*its->all)) < 0)
		abort();
	its->all[its->n++] = next;
}

/* The last turn at or before @t_ns; or, by unseen time, the last one before @unseen_ns. */
static const struct turn *turn_at(const struct turns *its, uint64_t t_ns, uint64_t unseen_ns)
{
	size_t lo = 0, hi = its->n;

	while (hi - lo > 1) {
		const size_t mid = (lo + hi) / 2;

		if (its->all[mid].at_ns <= t_ns && its->all[mid].unseen_ns < unseen_ns)
			lo = mid;
		else
			hi = mid;
	}
	return &its->all[lo];
}

/* When the spot has allocated unseen for @more_ns since @t_ns; UINT64_MAX: it has not. */
static uint64_t after_unseen(uint32_t spot, uint64_t t_ns, uint64_t more_ns)
{
	const struct turns *its = &heap.turns[spot];
	const struct turn *then = turn_at(its, t_ns, UINT64_MAX), *in;
	const uint64_t target = then->unseen_ns + (then->sees ? 0 : t_ns - then->at_ns) + more_ns;

	in = turn_at(its, UINT64_MAX, target);
	return in->sees ? UINT64_MAX : in->at_ns + (target - in->unseen_ns);
}

static bool is_active(uint32_t spot, uint64_t t_ns)
{
	const struct spot *p = &heap.spots[spot];

	return (double)t_ns >= p->from_s * 1e9 && (p->until_s <= 0 || (double)t_ns < p->until_s * 1e9);
}

/* Which spot is given the address next, after @t_ns and unseen, and when. UINT64_MAX: none so far. */
static uint64_t next_unseen(uint32_t class, uint64_t t_ns, uint32_t *spot)
{
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t i = 0; i < heap.n; i++) {
		const double rate = heap.states[i].rate * heap.states[i].together;
		uint64_t at_ns, from_ns = (uint64_t)(heap.spots[i].from_s * 1e9);

		if (heap.class_of[i] != class)
			continue;
		from_ns = from_ns > t_ns ? from_ns : t_ns;
		at_ns = after_unseen(i, from_ns,
				     1 + (uint64_t)(spots_exponential(SPARE / rate) * 1e9));
		if (at_ns >= first_ns || !is_active(i, at_ns))
			continue;
		first_ns = at_ns;
		*spot = i;
	}
	return first_ns;
}

/* Does the heir of the address's owner get it, unseen? Decided once, when its block was freed. */
static bool inherit(struct cell *c)
{
	const uint32_t heir = heap.heir_of[c->owner];
	const double inherits = heap.spots[c->owner].inherits;

	if (c->asked || heir == c->owner || turn_at(&heap.turns[heir], c->freed_ns, UINT64_MAX)->sees)
		return false;
	c->asked = true;
	c->inherited = spots_uniform() < inherits;
	if (!c->inherited)
		return false;
	own(c, heir, c->freed_ns + (uint64_t)(spots_exponential(1 / heap.states[heir].rate) * 1e9));
	return true;
}

/*
 * What became of the address until @t_ns, from when its block was freed. After so many times that it was given
 * out it does not matter any more when the first was: then the last ones are as good as any.
 */
static void go_on(struct cell *c, uint64_t t_ns)
{
	const struct class *class = &heap.classes[c->class];
	const uint64_t long_ns = (uint64_t)(OFTEN * class->again_s * 1e9);

	if (t_ns > long_ns && c->freed_ns < t_ns - long_ns)
		c->freed_ns = t_ns - long_ns;
	while (c->freed_ns <= t_ns) {
		const uint64_t from_ns = c->freed_ns > c->known_ns ? c->freed_ns : c->known_ns;
		uint32_t spot = 0;
		uint64_t at_ns;

		if (inherit(c))
			continue;
		at_ns = next_unseen(c->class, from_ns, &spot);
		if (at_ns > t_ns)
			break;
		own(c, spot, at_ns);
	}
	c->known_ns = t_ns;
}

static uint32_t new_cell(uint32_t class)
{
	if (grow_for(&heap.cells, heap.ncells, &heap.room, sizeof(*heap.cells)) < 0)
		abort();
	heap.cells[heap.ncells] = (struct cell){ .class = class };
	return (uint32_t)heap.ncells++;
}

static void add(uint32_t **list, uint32_t *n, size_t *room, uint32_t cell)
{
	if (grow_for(list, *n, room, sizeof(**list)) < 0)
		abort();
	(*list)[(*n)++] = cell;
}

/* Move those that are free by now to the free ones. */
static void sweep(struct class *class)
{
	for (uint32_t i = 0; i < class->nseen;) {
		const uint32_t cell = class->seen[i];

		if (heap.cells[cell].freed_ns > now()) {
			i++;
			continue;
		}
		class->seen[i] = class->seen[--class->nseen];
		add(&class->free, &class->nfree, &class->free_room, cell);
	}
}

/*
 * An address that is free now: any of the class; mostly one whose block was never seen, and which is new here.
 * One that was free when it was looked at last may have been given out meanwhile.
 */
static uint32_t free_cell(uint32_t number)
{
	struct class *class = &heap.classes[number];

	sweep(class);
	for (uint32_t at; (at = spots_below(class->nfree > SPARE ? class->nfree : SPARE)) < class->nfree;) {
		const uint32_t cell = class->free[at];

		class->free[at] = class->free[--class->nfree];
		go_on(&heap.cells[cell], now());
		if (heap.cells[cell].freed_ns <= now())
			return cell;
		add(&class->seen, &class->nseen, &class->seen_room, cell);
	}
	return new_cell(number);
}

/* Was it freed by a spot with an heir, while all that this one allocates is seen? Then it is decided who is next. */
static bool waits(struct cell *c)
{
	const uint32_t heir = heap.heir_of[c->owner];

	if (heir == c->owner || c->freed_ns > now() || !turn_at(&heap.turns[heir], c->freed_ns, UINT64_MAX)->sees)
		return false;
	if (!c->asked)
		c->inherited = spots_uniform() < heap.spots[c->owner].inherits;
	c->asked = true;
	return true;
}

/* Of those that wait, the address that was freed last and goes to @i: as its heir, or not. NONE: there is none. */
static uint32_t waiting_for(struct class *class, uint32_t i)
{
	uint32_t last = NONE, cell;

	sweep(class);
	for (uint32_t k = 0; k < class->nfree; k++) {
		struct cell *c = &heap.cells[class->free[k]];

		if (waits(c) && c->inherited == (heap.heir_of[c->owner] == i) &&
		    (last == NONE || c->freed_ns > heap.cells[class->free[last]].freed_ns))
			last = k;
	}
	if (last == NONE)
		return NONE;
	cell = class->free[last];
	class->free[last] = class->free[--class->nfree];
	return cell;
}

taddr heap_alloc(size_t i)
{
	const uint32_t number = heap.class_of[i];
	struct class *class = &heap.classes[number];
	uint32_t cell = waiting_for(class, (uint32_t)i);

	if (cell == NONE)
		cell = free_cell(number);
	own(&heap.cells[cell], (uint32_t)i, now());
	add(&class->seen, &class->nseen, &class->seen_room, cell);
	return FIRST + cell * APART;
}

/* --- what the watch asks --- */

static struct cell *cell_at(taddr addr)
{
	return &heap.cells[(addr - FIRST) / APART];
}

/* What leaks is lost, a table is not, and what will be freed is not either. */
bool heap_is_live(taddr addr, bool *lost)
{
	struct cell *c = cell_at(addr);

	go_on(c, now());
	*lost = c->freed_ns == UINT64_MAX && heap.spots[c->owner].life != TABLE;
	return c->freed_ns > now();
}

static void read_words(const struct cell *c, struct chunkstate *out)
{
	*out = (struct chunkstate){ .hashes = { c->words[0], c->words[1] }, .nwords = 2 };
}

static bool born(struct block_heap *h, const struct block_hit *hit, struct block_birth *out)
{
	const struct cell *c = cell_at(hit->addr);
	const unsigned bytes = heap.classes[c->class].bytes;

	*out = (struct block_birth){ .heap = h, .addr = hit->addr, .bytes = bytes, .usable = bytes - 8 };
	return true;
}

static int look(struct block_heap *h, struct remote_read *g, struct block_look *const *looks, size_t n)
{
	(void)h;
	(void)g;
	for (size_t i = 0; i < n; i++) {
		struct cell *c = cell_at(looks[i]->addr);

		go_on(c, now());
		looks[i]->sign = c->freed_ns > now() ? BLOCK_IN_USE : BLOCK_FREED;
		read_words(c, &looks[i]->now);
	}
	return 0;
}

static void keep(struct block_heap *h)
{
	(void)h;
}

static struct block_heap ours = { born, look, keep };

/* --- instead of attach/sampling/sampling_heaps.c --- */

int sampling_heaps_open(pid_t pid, const struct modules *ms, struct sampling_heaps *out)
{
	(void)pid;
	(void)ms;
	*out = (struct sampling_heaps){ .glibc = &ours };
	return 0;
}

void sampling_heaps_close(struct sampling_heaps *h)
{
	(void)h;
}

struct block_heap *sampling_heaps_of_malloc(pid_t pid, const struct modules *ms)
{
	(void)pid;
	(void)ms;
	return NULL;
}

bool sampling_heaps_born(struct sampling_heaps *h, const struct block_hit *hit, struct block_birth *out)
{
	return born(h->glibc, hit, out);
}

void sampling_heaps_again(struct sampling_heaps *h, pid_t pid)
{
	(void)h;
	(void)pid;
}
