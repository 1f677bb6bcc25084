/* SPDX-License-Identifier: MIT */
/*
 * nested: functions that free something inside of an allocation: a cache that evicts its old block, a child
 * that is created and releases its parent. Of 100 blocks one stays allocated, of 100 objects none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OUTSIDERS __attribute__((noinline, noclone))
#define ROUNDS 100

struct block {
	long n;
	char room[40];
};

struct object {
	int refs;
	char room[4092];
};

static struct block *cached;

OUTSIDERS void block_free(struct block *b)
{
	b->room[0] = 1;
	free(b);
}

OUTSIDERS struct block *block_new(long n)
{
	struct block *b;

	if (cached)
		block_free(cached);
	b = malloc(sizeof(*b));
	b->n = n;
	cached = b;
	return b;
}

OUTSIDERS void object_drop(struct object *o)
{
	if (--o->refs == 0)
		free(o);
}

OUTSIDERS struct object *object_new(struct object *parent)
{
	struct object *o = calloc(1, sizeof(*o));

	o->refs = 1;
	if (parent)
		object_drop(parent);
	return o;
}

int main(void)
{
	struct object *last = NULL;

	for (int i = 0; i < ROUNDS; i++) {
		block_new(i);
		last = object_new(last);
	}
	object_drop(last);
	return cached->n != ROUNDS - 1;
}
