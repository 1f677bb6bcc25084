/* SPDX-License-Identifier: MIT */
/*
 * addrmap: see addrmap.h. Three arrays side by side (keys, values, a bit for
 * "used"), so that probing walks over keys alone.
 */
#include "base/addrmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define SLOTS_FIRST 16

static uint64_t fresh_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)now.tv_sec;
}

void addrmap_init(struct addrmap *m, size_t value_size)
{
	*m = (struct addrmap){ .stride = value_size, .seed = fresh_seed() };
}

void addrmap_fini(struct addrmap *m)
{
	free(m->keys);
	free(m->values);
	free(m->used);
	*m = (struct addrmap){ .stride = m->stride, .seed = m->seed };
}

size_t addrmap_count(const struct addrmap *m)
{
	return m->count;
}

static size_t slots(const struct addrmap *m)
{
	return m->keys ? m->mask + 1 : 0;
}

size_t addrmap_memory(const struct addrmap *m)
{
	return slots(m) * (sizeof(*m->keys) + m->stride) + slots(m) / 8;
}

/* The preferred slot of @key (the finalizer of splitmix64). */
static size_t home(const struct addrmap *m, uint64_t key)
{
	uint64_t x = key ^ m->seed;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (size_t)(x ^ x >> 31) & m->mask;
}

static bool is_used(const struct addrmap *m, size_t slot)
{
	return m->used[slot / 8] >> slot % 8 & 1;
}

static void set_used(struct addrmap *m, size_t slot)
{
	m->used[slot / 8] |= (uint8_t)(1 << slot % 8);
}

static void *value_at(const struct addrmap *m, size_t slot)
{
	return m->stride ? m->values + slot * m->stride : (unsigned char *)&m->keys[slot];
}

/* The slot that holds @key, or the free one where it belongs. There is always a free one. */
static size_t find(const struct addrmap *m, uint64_t key)
{
	size_t slot = home(m, key);

	while (is_used(m, slot) && m->keys[slot] != key)
		slot = (slot + 1) & m->mask;
	return slot;
}

static int allocate(struct addrmap *m, size_t n)
{
	m->mask = n - 1;
	m->keys = malloc(n * sizeof(*m->keys));
	m->values = m->stride ? reallocarray(NULL, n, m->stride) : NULL;
	m->used = calloc(n / 8, 1);
	if (m->keys && (m->values || !m->stride) && m->used)
		return 0;
	addrmap_fini(m);
	return -ENOMEM;
}

static int grow(struct addrmap *m)
{
	struct addrmap bigger = { .stride = m->stride, .seed = m->seed };
	size_t old = slots(m);

	int err = allocate(&bigger, old ? old * 2 : SLOTS_FIRST);
	if (err)
		return err;
	for (size_t i = 0; i < old; i++) {
		if (!is_used(m, i))
			continue;
		size_t to = find(&bigger, m->keys[i]);
		set_used(&bigger, to);
		bigger.keys[to] = m->keys[i];
		if (m->stride)
			memcpy(value_at(&bigger, to), value_at(m, i), m->stride);
	}
	bigger.count = m->count;
	addrmap_fini(m);
	*m = bigger;
	return 0;
}

void *addrmap_slot(struct addrmap *m, uint64_t key, bool *fresh)
{
	size_t slot = m->keys ? find(m, key) : 0;
	bool found = m->keys && is_used(m, slot);

	if (fresh)
		*fresh = !found;
	if (found)
		return value_at(m, slot);
	if (m->count + 1 > slots(m) / 4 * 3) {
		if (grow(m))
			return NULL;
		slot = find(m, key);
	}
	set_used(m, slot);
	m->keys[slot] = key;
	m->count++;
	if (m->stride)
		memset(value_at(m, slot), 0, m->stride);
	return value_at(m, slot);
}

int addrmap_put(struct addrmap *m, uint64_t key, const void *value)
{
	void *slot = addrmap_slot(m, key, NULL);

	if (!slot)
		return -ENOMEM;
	if (m->stride && value)
		memcpy(slot, value, m->stride);
	else if (m->stride)
		memset(slot, 0, m->stride);
	return 0;
}

void *addrmap_get(const struct addrmap *m, uint64_t key)
{
	if (!m->count)
		return NULL;
	size_t slot = find(m, key);
	return is_used(m, slot) ? value_at(m, slot) : NULL;
}

/*
 * Close the gap at @hole: a later entry that was displaced past it from its home slot moves into it and
 * leaves a gap of its own, until a free slot is met.
 */
static void shift_back(struct addrmap *m, size_t hole)
{
	for (size_t i = (hole + 1) & m->mask; is_used(m, i); i = (i + 1) & m->mask) {
		size_t passed = (i - home(m, m->keys[i])) & m->mask;
		if (passed < ((i - hole) & m->mask))
			continue;
		m->keys[hole] = m->keys[i];
		if (m->stride)
			memcpy(value_at(m, hole), value_at(m, i), m->stride);
		hole = i;
	}
	m->used[hole / 8] &= (uint8_t)~(1 << hole % 8);
}

bool addrmap_del(struct addrmap *m, uint64_t key, void *value)
{
	if (!m->count)
		return false;
	size_t slot = find(m, key);
	if (!is_used(m, slot))
		return false;
	if (value && m->stride)
		memcpy(value, value_at(m, slot), m->stride);
	shift_back(m, slot);
	m->count--;
	return true;
}

void addrmap_clear(struct addrmap *m)
{
	if (m->used)
		memset(m->used, 0, slots(m) / 8);
	m->count = 0;
}

bool addrmap_next(const struct addrmap *m, size_t *i, uint64_t *key, void **value)
{
	while (*i < slots(m) && !is_used(m, *i))
		++*i;
	if (*i >= slots(m))
		return false;
	*key = m->keys[*i];
	if (value)
		*value = value_at(m, *i);
	++*i;
	return true;
}
