/* SPDX-License-Identifier: MIT */
/* objects: compared with a simple table, with few uses and many; and how much memory it takes. */
#include "report/ledger/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ADDRESSES 200
#define STACKS 300

static struct { bool there; uint32_t nuses; uint64_t taken[STACKS]; bool used[STACKS]; } model[ADDRESSES];
static uint64_t rng = 88172645463325252u;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

static taddr address(uint64_t k)
{
	return k ? 0x7f0000000000 + 48 * k : 0;
}

static void add_use(struct objects *os, uint64_t k, uint32_t stack)
{
	struct object *o = objects_get(os, address(k));
	struct object_use *u;

	assert_int_equal(o != NULL, model[k].there);
	if (!o) {
		o = objects_add(os, address(k));
		assert_int_equal(o->nuses + o->birth_us, 0);
		model[k].there = true;
	}
	u = objects_use(os, o, stack);
	assert_int_equal(u->stack, stack);
	assert_int_equal(u->acquired, model[k].taken[stack]);
	u->acquired = model[k].taken[stack] = rnd(1000000);
	model[k].nuses += !model[k].used[stack];
	model[k].used[stack] = true;
}

static void remove_object(struct objects *os, uint64_t k)
{
	assert_int_equal(objects_remove(os, address(k)), model[k].there);
	memset(&model[k], 0, sizeof(model[k]));
}

static void assert_uses(const struct object *o, uint64_t k)
{
	assert_int_equal(o->nuses, model[k].nuses);
	for (uint32_t i = 0; i < o->nuses; i++) {
		assert_true(model[k].used[o->uses[i].stack]);
		assert_int_equal(o->uses[i].acquired, model[k].taken[o->uses[i].stack]);
		assert_true(!i || o->uses[i - 1].stack < o->uses[i].stack);
	}
}

static void assert_all(const struct objects *os)
{
	const struct object *o;
	size_t n = 0;
	taddr addr;

	for (size_t at = 0; objects_next(os, &at, &addr, &o); n++)
		assert_uses(o, addr ? (addr - 0x7f0000000000) / 48 : 0);
	assert_int_equal(n, objects_count(os));
	for (uint64_t k = 0; k < ADDRESSES; k++)
		n -= model[k].there;
	assert_int_equal(n, 0);
}

static void agrees_with_a_table(void **state)
{
	struct objects *os;

	(void)state;
	assert_int_equal(objects_new(&os), 0);
	for (int i = 0; i < 300000; i++) {
		uint64_t k = rnd(ADDRESSES);

		if (rnd(1 + k) == 0 || rnd(2000) == 0)
			remove_object(os, k);
		else
			add_use(os, k, (uint32_t)rnd(k % 3 ? STACKS : 10));
		if (i % 10000 == 0)
			assert_all(os);
	}
	assert_all(os);
	objects_free(os);
}

/* Arrays that become free are used again; the large ones are freed. */
static void memory_is_used_again(void **state)
{
	struct objects *os;
	size_t most = 0;

	(void)state;
	assert_int_equal(objects_new(&os), 0);
	for (int round = 0; round < 50; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			struct object *o = objects_add(os, 16 * i);
			uint32_t uses = i % 100 ? 1 + i % 5 : 1000;

			for (uint32_t s = uses; s > 0; s--)
				assert_non_null(objects_use(os, o, s));
		}
		most = round ? most : objects_memory(os);
		assert_int_equal(objects_memory(os), most);
		for (uint32_t i = 0; i < 5000; i++)
			assert_true(objects_remove(os, 16 * i));
		assert_true(objects_memory(os) + 50 * 1000 * sizeof(struct object_use) < most);
	}
	objects_free(os);
}

static void none_at_all(void **state)
{
	const struct object *o;
	size_t at = 0;
	taddr addr;

	(void)state;
	assert_int_equal(objects_count(NULL) + objects_memory(NULL), 0);
	assert_null(objects_get(NULL, 5));
	assert_false(objects_next(NULL, &at, &addr, &o));
	objects_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_table),
		cmocka_unit_test(memory_is_used_again),
		cmocka_unit_test(none_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
