/* SPDX-License-Identifier: MIT */
/*
 * live: see live.h.
 *
 *	hash of the address = table (8 bits), position in it (32 bits)
 *
 * A table has any number of slots. The home of an address is the hash scaled to that number, so that a table
 * that grows by a fourth keeps the order of its blocks, and is copied from one end to the other. Linear
 * probing; a deletion shifts back what was displaced. Tables of several pages are mappings of their own: on
 * the heap, hundreds of sizes that grow side by side would leave holes as large as themselves.
 *
 * A table that is 27/32 full grows by a fourth, one that is less than 63 % full shrinks: 23.7 to 31.7 bytes
 * per block.
 */
#include "report/ledger/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "base/addrmap.h"

#define TABLE_BITS 8
#define TABLES (1u << TABLE_BITS)
#define SLOTS_FIRST 6
#define PAGE 4096u

#define BIRTH_BITS 45		/* a year in microseconds; the verdict has the three bits above */

_Static_assert(VERDICT_COUNT <= 8, "a verdict has three bits");

/* Twenty bytes; all zero: free. */
struct slot {
	uint32_t addr_low;
	uint16_t addr_high;
	uint16_t birth_high : BIRTH_BITS - 32, verdict : 48 - BIRTH_BITS;
	uint32_t birth_low, size, stack;
};

#define MAPPED (4 * PAGE / sizeof(struct slot))	/* tables of so many slots and more are mappings */

struct table {
	struct slot *slots;
	uint32_t n, count;
};

struct live {
	struct table tables[TABLES];
	struct addrmap beside;	/* address -> struct live_block */
	uint64_t seed;
	size_t count;		/* in the tables */
	size_t bytes;		/* of the slots */
};

/* --- the slot --- */

static taddr slot_addr(const struct slot *s)
{
	return (taddr)s->addr_high << 32 | s->addr_low;
}

static void unpack(const struct slot *s, struct live_block *b)
{
	*b = (struct live_block){
		.size = s->size, .birth_us = (uint64_t)s->birth_high << 32 | s->birth_low, .stack = s->stack,
		.verdict = s->verdict,
	};
}

static struct slot pack(taddr addr, const struct live_block *b)
{
	return (struct slot){
		.addr_low = (uint32_t)addr, .addr_high = (uint16_t)(addr >> 32), .size = (uint32_t)b->size,
		.birth_low = (uint32_t)b->birth_us,
		.birth_high = b->birth_us >> 32 & ((1u << (BIRTH_BITS - 32)) - 1),
		.verdict = b->verdict & 7, .stack = b->stack,
	};
}

static bool addr_fits(taddr addr)
{
	return addr && addr >> 48 == 0;
}

static bool fits(taddr addr, const struct live_block *b)
{
	return addr_fits(addr) && b->size >> 32 == 0 && b->birth_us >> BIRTH_BITS == 0;
}

/* --- a table --- */

/* The finalizer of splitmix64. The seed is random, so that addresses cannot be chosen to collide. */
static uint64_t hash(const struct live *l, taddr addr)
{
	uint64_t x = addr ^ l->seed;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static struct table *table_of(const struct live *l, uint64_t h)
{
	return (struct table *)&l->tables[h >> (64 - TABLE_BITS)];
}

static uint32_t home(const struct table *t, uint64_t h)
{
	return (uint32_t)(((h << TABLE_BITS >> 32) * t->n) >> 32);
}

static uint32_t next(const struct table *t, uint32_t i)
{
	return i + 1 == t->n ? 0 : i + 1;
}

/* The slot that holds @addr, or the free one where it belongs. There is always a free one. */
static uint32_t find(const struct table *t, uint64_t h, taddr addr)
{
	uint32_t i = home(t, h);

	while (slot_addr(&t->slots[i]) && slot_addr(&t->slots[i]) != addr)
		i = next(t, i);
	return i;
}

/* The same in the table of @addr, or NULL if it is not there. @h is its hash. */
static struct slot *look_up(const struct table *t, uint64_t h, taddr addr)
{
	struct slot *s;

	if (!t->count || !addr_fits(addr))
		return NULL;
	s = &t->slots[find(t, h, addr)];
	return slot_addr(s) ? s : NULL;
}

/* Close the gap at @hole: a block that was displaced past it moves into it, and leaves a gap of its own. */
static void shift_back(const struct live *l, struct table *t, uint32_t hole)
{
	for (uint32_t i = next(t, hole); slot_addr(&t->slots[i]); i = next(t, i)) {
		uint32_t at_home = home(t, hash(l, slot_addr(&t->slots[i])));
		uint32_t passed = i >= at_home ? i - at_home : i + t->n - at_home;
		uint32_t behind = i >= hole ? i - hole : i + t->n - hole;

		if (passed < behind)
			continue;
		t->slots[hole] = t->slots[i];
		hole = i;
	}
	t->slots[hole] = (struct slot){ 0 };
}

/* --- growing and shrinking --- */

static bool is_mapped(uint32_t n)
{
	return n >= MAPPED;
}

static size_t bytes_of(uint32_t n)
{
	size_t bytes = n * sizeof(struct slot);

	return is_mapped(n) ? (bytes + PAGE - 1) / PAGE * PAGE : bytes;
}

/* About @n slots: whole pages if the table has several, and never a page that is half used. */
static uint32_t rounded(uint64_t n)
{
	if (n >= MAPPED)
		n = n * sizeof(struct slot) / PAGE * PAGE / sizeof(struct slot);
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static struct slot *allocate(uint32_t n)
{
	void *p;

	if (!is_mapped(n))
		return calloc(n, sizeof(struct slot));
	p = mmap(NULL, bytes_of(n), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void release(struct table *t)
{
	if (is_mapped(t->n))
		munmap(t->slots, bytes_of(t->n));
	else
		free(t->slots);
}

static int resize(struct live *l, struct table *t, uint32_t n)
{
	struct table to = { .slots = allocate(n), .n = n, .count = t->count };

	if (!to.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		taddr addr = slot_addr(&t->slots[i]);

		if (addr)
			to.slots[find(&to, hash(l, addr), addr)] = t->slots[i];
	}
	l->bytes += bytes_of(to.n) - bytes_of(t->n);
	release(t);
	*t = to;
	return 0;
}

static bool is_full(const struct table *t)
{
	return ((uint64_t)t->count + 1) * 32 > (uint64_t)t->n * 27;
}

/* By a fourth, but at least by a page if the table has pages, and by two slots. */
static int grow(struct live *l, struct table *t)
{
	uint32_t least = is_mapped(t->n) ? PAGE / sizeof(struct slot) + 1 : 2;
	uint32_t n = t->n ? rounded((uint64_t)t->n + (t->n / 4 > least ? t->n / 4 : least)) : SLOTS_FIRST;

	return n > t->n ? resize(l, t, n) : -ENOMEM;
}

/* Shrink a table from which many blocks are gone. Without memory for that, the table stays as it is. */
static void maybe_shrink(struct live *l, struct table *t)
{
	uint32_t n;

	if ((uint64_t)t->count * 100 >= (uint64_t)t->n * 63)
		return;
	n = rounded((uint64_t)t->count * 27 / 20 + 2);
	if (n >= SLOTS_FIRST && n < t->n - t->n / 16)
		(void)!resize(l, t, n);
}

/* --- interface --- */

static uint64_t fresh_seed(void)
{
	uint64_t seed;
	struct timespec now;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)now.tv_sec;
}

int live_new(struct live **out)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->seed = fresh_seed();
	addrmap_init(&l->beside, sizeof(struct live_block));
	*out = l;
	return 0;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < TABLES; i++)
		release(&l->tables[i]);
	addrmap_fini(&l->beside);
	free(l);
}

/* @addr is not in @t. */
static int insert(struct live *l, struct table *t, uint64_t h, taddr addr, const struct live_block *b)
{
	int err = is_full(t) ? grow(l, t) : 0;

	if (err < 0)
		return err;
	t->slots[find(t, h, addr)] = pack(addr, b);
	t->count++;
	l->count++;
	return 0;
}

static int put_in_table(struct live *l, taddr addr, const struct live_block *b, struct live_block *old)
{
	uint64_t h = hash(l, addr);
	struct table *t = table_of(l, h);
	uint32_t i = t->n ? find(t, h, addr) : 0;
	int err;

	if (t->n && slot_addr(&t->slots[i])) {
		unpack(&t->slots[i], old);
		t->slots[i] = pack(addr, b);
		return 1;
	}
	err = insert(l, t, h, addr, b);
	if (err < 0 || !addrmap_count(&l->beside))
		return err;
	return addrmap_del(&l->beside, addr, old);
}

static bool take_from_table(struct live *l, taddr addr, struct live_block *out)
{
	uint64_t h = hash(l, addr);
	struct table *t = table_of(l, h);
	struct slot *s = look_up(t, h, addr);

	if (!s)
		return false;
	if (out)
		unpack(s, out);
	shift_back(l, t, (uint32_t)(s - t->slots));
	t->count--;
	l->count--;
	maybe_shrink(l, t);
	return true;
}

int live_put(struct live *l, taddr addr, const struct live_block *b, struct live_block *old)
{
	struct live_block was;
	bool fresh;
	struct live_block *slot;

	if (fits(addr, b))
		return put_in_table(l, addr, b, old ? old : &was);
	slot = addrmap_slot(&l->beside, addr, &fresh);
	if (!slot)
		return -ENOMEM;
	was = *slot;
	*slot = *b;
	if (fresh && !take_from_table(l, addr, &was))
		return 0;
	if (old)
		*old = was;
	return 1;
}

bool live_get(const struct live *l, taddr addr, struct live_block *out)
{
	uint64_t h = hash(l, addr);
	const struct slot *s = look_up(table_of(l, h), h, addr);
	const struct live_block *b;

	if (s) {
		if (out)
			unpack(s, out);
		return true;
	}
	b = addrmap_get(&l->beside, addr);
	if (b && out)
		*out = *b;
	return b;
}

bool live_take(struct live *l, taddr addr, struct live_block *out)
{
	return take_from_table(l, addr, out) || addrmap_del(&l->beside, addr, out);
}

/* --- verdicts --- */

bool live_set_verdict(struct live *l, taddr addr, enum verdict verdict)
{
	uint64_t h = hash(l, addr);
	struct slot *s = look_up(table_of(l, h), h, addr);
	struct live_block *b = s ? NULL : addrmap_get(&l->beside, addr);

	if (s)
		s->verdict = verdict & 7;
	else if (b)
		b->verdict = (uint8_t)verdict;
	return s || b;
}

void live_forget_verdicts(struct live *l)
{
	uint64_t key;
	void *value;

	for (unsigned i = 0; i < TABLES; i++)
		for (uint32_t k = 0; k < l->tables[i].n; k++)
			l->tables[i].slots[k].verdict = VERDICT_UNKNOWN;
	for (size_t at = 0; addrmap_next(&l->beside, &at, &key, &value);)
		((struct live_block *)value)->verdict = VERDICT_UNKNOWN;
}

/* --- all of them --- */

size_t live_count(const struct live *l)
{
	return l->count + addrmap_count(&l->beside);
}

size_t live_memory(const struct live *l)
{
	return sizeof(*l) + l->bytes + addrmap_memory(&l->beside);
}

/* *at: the table and the slot in it; after the tables, the position in the map beside them. */
bool live_next(const struct live *l, size_t *at, taddr *addr, struct live_block *out)
{
	size_t beside;
	uint64_t key;
	void *value;

	for (; *at >> 32 < TABLES; *at = ((*at >> 32) + 1) << 32) {
		const struct table *t = &l->tables[*at >> 32];

		for (; (uint32_t)*at < t->n; ++*at) {
			const struct slot *s = &t->slots[(uint32_t)*at];

			if (!slot_addr(s))
				continue;
			*addr = slot_addr(s);
			unpack(s, out);
			++*at;
			return true;
		}
	}
	beside = *at - ((size_t)TABLES << 32);
	if (!addrmap_next(&l->beside, &beside, &key, &value))
		return false;
	*at = ((size_t)TABLES << 32) + beside;
	*addr = key;
	*out = *(const struct live_block *)value;
	return true;
}
