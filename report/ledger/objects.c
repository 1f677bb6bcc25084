/* SPDX-License-Identifier: MIT */
/*
 * objects: see objects.h. An object's uses are an array of 2^k: small arrays are cut from chunks, and a free
 * one is put on the list for its size; large ones are allocations of their own. The size follows from the
 * number of uses.
 */
#include "report/ledger/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addrmap.h"

#define CHUNK_USES 1024		/* per chunk */
#define SMALL_BITS 6		/* arrays of up to 2^6 uses are cut from chunks */

struct chunk {
	struct chunk *next;
	struct object_use uses[CHUNK_USES];
};

/* The contents of a free array. */
struct spare {
	struct spare *next;
};

struct objects {
	struct addrmap map;		/* address -> struct object */
	struct chunk *chunks;		/* arrays are cut from the first one */
	uint32_t cut;			/* uses of the first one that are cut */
	struct spare *spare[SMALL_BITS + 1];
	size_t large;			/* uses in arrays of their own */
	size_t nchunks;
};

/* --- arrays --- */

/* Returns k: an array of @n uses has 2^k elements. */
static unsigned int bits_of(uint32_t n)
{
	return n > 1 ? 32 - (unsigned int)__builtin_clz(n - 1) : 0;
}

static struct object_use *cut(struct objects *os, uint32_t n)
{
	struct chunk *chunk = os->chunks;

	if (!chunk || CHUNK_USES - os->cut < n) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return NULL;
		chunk->next = os->chunks;
		os->chunks = chunk;
		os->cut = 0;
		os->nchunks++;
	}
	os->cut += n;
	return &chunk->uses[os->cut - n];
}

static struct object_use *take_array(struct objects *os, unsigned int bits)
{
	struct object_use *array;

	if (bits > SMALL_BITS) {
		array = reallocarray(NULL, (size_t)1 << bits, sizeof(*array));
		os->large += array ? (size_t)1 << bits : 0;
		return array;
	}
	if (!os->spare[bits])
		return cut(os, 1u << bits);
	array = (struct object_use *)os->spare[bits];
	os->spare[bits] = os->spare[bits]->next;
	return array;
}

static void give_array(struct objects *os, struct object_use *array, unsigned int bits)
{
	struct spare *spare = (struct spare *)array;

	if (bits > SMALL_BITS) {
		os->large -= (size_t)1 << bits;
		free(array);
		return;
	}
	spare->next = os->spare[bits];
	os->spare[bits] = spare;
}

static void give_uses(struct objects *os, const struct object *o)
{
	if (o->nuses)
		give_array(os, o->uses, bits_of(o->nuses));
}

/* --- the table --- */

int objects_new(struct objects **out)
{
	struct objects *os = calloc(1, sizeof(*os));

	if (!os)
		return -ENOMEM;
	addrmap_init(&os->map, sizeof(struct object));
	*out = os;
	return 0;
}

void objects_free(struct objects *os)
{
	struct chunk *next;
	uint64_t key;
	void *value;

	if (!os)
		return;
	for (size_t i = 0; addrmap_next(&os->map, &i, &key, &value);)
		give_uses(os, value);
	for (struct chunk *chunk = os->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	addrmap_fini(&os->map);
	free(os);
}

size_t objects_count(const struct objects *os)
{
	return os ? addrmap_count(&os->map) : 0;
}

size_t objects_memory(const struct objects *os)
{
	if (!os)
		return 0;
	return sizeof(*os) + addrmap_memory(&os->map) + os->nchunks * sizeof(struct chunk) +
	       os->large * sizeof(struct object_use);
}

struct object *objects_get(const struct objects *os, taddr addr)
{
	return os ? addrmap_get(&os->map, addr) : NULL;
}

bool objects_next(const struct objects *os, size_t *at, taddr *addr, const struct object **out)
{
	void *value;

	if (!os || !addrmap_next(&os->map, at, addr, &value))
		return false;
	*out = value;
	return true;
}

struct object *objects_add(struct objects *os, taddr addr)
{
	return addrmap_slot(&os->map, addr, NULL);
}

bool objects_remove(struct objects *os, taddr addr)
{
	struct object o;

	if (!addrmap_del(&os->map, addr, &o))
		return false;
	give_uses(os, &o);
	return true;
}

/* --- uses --- */

/* The index of @stack among the uses, or where it belongs. */
static uint32_t place_of(const struct object *o, uint32_t stack)
{
	uint32_t low = 0, high = o->nuses;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (o->uses[middle].stack < stack)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Room for one more use. */
static int make_room(struct objects *os, struct object *o)
{
	unsigned int bits = bits_of(o->nuses + 1);
	struct object_use *bigger;

	if (o->nuses && bits == bits_of(o->nuses))
		return 0;
	bigger = take_array(os, bits);
	if (!bigger)
		return -ENOMEM;
	if (o->nuses)
		memcpy(bigger, o->uses, o->nuses * sizeof(*bigger));
	give_uses(os, o);
	o->uses = bigger;
	return 0;
}

struct object_use *objects_use(struct objects *os, struct object *o, uint32_t stack)
{
	uint32_t i = place_of(o, stack);

	if (i < o->nuses && o->uses[i].stack == stack)
		return &o->uses[i];
	if (make_room(os, o) < 0)
		return NULL;
	memmove(&o->uses[i + 1], &o->uses[i], (o->nuses - i) * sizeof(*o->uses));
	o->uses[i] = (struct object_use){ .stack = stack };
	o->nuses++;
	return &o->uses[i];
}
