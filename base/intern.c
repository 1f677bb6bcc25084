/* SPDX-License-Identifier: MIT */
/*
 * intern: see intern.h. The map has 64-bit keys: the hash of a string, and if another string has that key,
 * the next number. The strings may be chosen by a hostile target, so the hash begins with the map's own
 * secret seed.
 */
#include "base/intern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void intern_init(struct intern *t)
{
	*t = (struct intern){ 0 };
	addrmap_init(&t->index, sizeof(size_t));
}

void intern_fini(struct intern *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->all[i]);
	free(t->all);
	addrmap_fini(&t->index);
	intern_init(t);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t hash(uint64_t seed, const char *text, size_t n)
{
	uint64_t h = mix(seed + n), word;

	for (; n >= sizeof(word); n -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		h = mix(h ^ word) + seed;
	}
	word = 0;
	memcpy(&word, text, n);
	return mix(h ^ word);
}

static const char *add(struct intern *t, const char *text, size_t n, uint64_t key)
{
	size_t at = t->n;
	char *copy;

	if (grow_for(&t->all, t->n, &t->size, sizeof(*t->all)))
		return NULL;
	copy = strdup(text);
	if (!copy || addrmap_put(&t->index, key, &at)) {
		free(copy);
		return NULL;
	}
	t->all[t->n++] = copy;
	t->bytes += n + 1;
	return copy;
}

const char *intern_text(struct intern *t, const char *text)
{
	size_t n;

	if (!text)
		return NULL;
	n = strlen(text);
	for (uint64_t key = hash(t->index.seed, text, n);; key++) {
		const size_t *at = addrmap_get(&t->index, key);
		if (!at)
			return add(t, text, n, key);
		if (!strcmp(t->all[*at], text))
			return t->all[*at];
	}
}

size_t intern_memory(const struct intern *t)
{
	return t->size * sizeof(*t->all) + t->bytes + addrmap_memory(&t->index);
}
