/* SPDX-License-Identifier: MIT */
/*
 * minheap: numbers are taken out in order, whatever was removed or changed meanwhile, and the position of
 * each is known.
 */
#include "base/minheap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 200

struct queue {
	uint32_t items[MOST], n;
	uint32_t place[MOST];
	uint64_t key[MOST];
};

static bool before(const void *ctx, uint32_t a, uint32_t b)
{
	const struct queue *q = ctx;

	return q->key[a] < q->key[b];
}

static void moved(void *ctx, uint32_t item, uint32_t place)
{
	((struct queue *)ctx)->place[item] = place;
}

static void settle(struct queue *q, uint32_t place)
{
	minheap_settle(&(struct minheap){ q->items, q->n, before, moved, q }, place);
}

static void add(struct queue *q, uint32_t item, uint64_t key)
{
	q->key[item] = key;
	q->items[q->n++] = item;
	settle(q, q->n - 1);
}

static void take_out(struct queue *q, uint32_t place)
{
	q->items[place] = q->items[--q->n];
	if (place < q->n)
		settle(q, place);
}

static void assert_places(const struct queue *q)
{
	for (uint32_t i = 0; i < q->n; i++)
		assert_int_equal(q->place[q->items[i]], i);
}

static void empties_in_order(struct queue *q)
{
	for (uint64_t last = 0; q->n; take_out(q, 0)) {
		assert_true(q->key[q->items[0]] >= last);
		last = q->key[q->items[0]];
	}
}

static void in_order(void **state)
{
	static struct queue q;

	(void)state;
	srandom(7);
	for (int round = 0; round < 200; round++) {
		for (uint32_t i = 0; i < MOST; i++)
			add(&q, i, (uint64_t)random() % 50);
		assert_places(&q);
		/* remove from anywhere, and change keys to earlier or later */
		for (int i = 0; i < 40; i++)
			take_out(&q, (uint32_t)random() % q.n);
		for (int i = 0; i < 40; i++) {
			uint32_t place = (uint32_t)random() % q.n;

			q.key[q.items[place]] = (uint64_t)random() % 50;
			settle(&q, place);
		}
		assert_places(&q);
		empties_in_order(&q);
	}
}

/* Positions are optional. */
static void without_places(void **state)
{
	struct queue q = { .items = { 2, 1, 0 }, .n = 3, .key = { 1, 5, 9 } };

	(void)state;
	minheap_settle(&(struct minheap){ q.items, q.n, before, NULL, &q }, 2);
	assert_int_equal(q.items[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(without_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
