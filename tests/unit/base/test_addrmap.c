/* SPDX-License-Identifier: MIT */
/* addrmap: compared with a plain array, under growth, deletion and reuse. */
#include "base/addrmap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void put_get_del(void **state)
{
	struct addrmap m;
	uint64_t v = 7, out = 0;

	(void)state;
	addrmap_init(&m, sizeof(v));
	assert_null(addrmap_get(&m, 1));
	assert_false(addrmap_del(&m, 1, NULL));
	assert_int_equal(addrmap_put(&m, 1, &v), 0);
	assert_int_equal(addrmap_put(&m, 0, NULL), 0);
	assert_int_equal(*(uint64_t *)addrmap_get(&m, 1), 7);
	assert_int_equal(*(uint64_t *)addrmap_get(&m, 0), 0);
	v = 8;
	assert_int_equal(addrmap_put(&m, 1, &v), 0);
	assert_int_equal(addrmap_count(&m), 2);
	assert_true(addrmap_del(&m, 1, &out));
	assert_int_equal(out, 8);
	assert_null(addrmap_get(&m, 1));
	assert_non_null(addrmap_get(&m, 0));
	assert_int_equal(addrmap_count(&m), 1);
	addrmap_fini(&m);
}

static void slot_says_fresh(void **state)
{
	struct addrmap m;
	bool fresh;

	(void)state;
	addrmap_init(&m, sizeof(uint64_t));
	uint64_t *v = addrmap_slot(&m, 5, &fresh);
	assert_true(fresh);
	assert_int_equal(*v, 0);
	*v = 9;
	assert_int_equal(*(uint64_t *)addrmap_slot(&m, 5, &fresh), 9);
	assert_false(fresh);
	assert_true(addrmap_del(&m, 5, NULL));
	assert_int_equal(*(uint64_t *)addrmap_slot(&m, 5, &fresh), 0);
	assert_true(fresh);
	addrmap_fini(&m);
}

static void works_as_set(void **state)
{
	struct addrmap m;

	(void)state;
	addrmap_init(&m, 0);
	for (uint64_t k = 0; k < 1000; k++)
		assert_int_equal(addrmap_put(&m, k * 4096, NULL), 0);
	assert_non_null(addrmap_get(&m, 999 * 4096));
	assert_null(addrmap_get(&m, 1));
	assert_true(addrmap_del(&m, 0, NULL));
	assert_int_equal(addrmap_count(&m), 999);
	addrmap_fini(&m);
}

#define KEYS 4096

/* Keys as allocators return them: multiples of 16. A model keeps what must be in the map. */
static void agrees_with_a_model(void **state)
{
	static uint32_t model[KEYS];
	struct addrmap m;
	size_t present = 0;

	(void)state;
	addrmap_init(&m, sizeof(uint32_t));
	srandom(1);
	for (uint32_t step = 1; step < 300000; step++) {
		size_t k = (size_t)random() % KEYS;
		uint64_t key = 0x7f0000000000 + k * 16;

		if (random() % 2) {
			present += !model[k];
			model[k] = step;
			assert_int_equal(addrmap_put(&m, key, &step), 0);
		} else {
			uint32_t was = 0;
			assert_int_equal(addrmap_del(&m, key, &was), model[k] != 0);
			assert_int_equal(was, model[k]);
			present -= model[k] != 0;
			model[k] = 0;
		}
		assert_int_equal(addrmap_count(&m), present);
	}
	for (size_t k = 0; k < KEYS; k++) {
		uint32_t *v = addrmap_get(&m, 0x7f0000000000 + k * 16);
		assert_int_equal(v ? *v : 0, model[k]);
	}
	addrmap_fini(&m);
}

/* A table that lives for days: deleted entries must leave nothing behind that makes it grow. */
static void churn_does_not_grow_it(void **state)
{
	struct addrmap m;

	(void)state;
	addrmap_init(&m, sizeof(uint64_t));
	for (uint64_t k = 0; k < 100; k++)
		assert_int_equal(addrmap_put(&m, k, &k), 0);
	size_t before = addrmap_memory(&m);
	for (uint64_t k = 100; k < 200000; k++) {
		assert_true(addrmap_del(&m, k - 100, NULL));
		assert_int_equal(addrmap_put(&m, k, &k), 0);
	}
	assert_int_equal(addrmap_memory(&m), before);
	assert_int_equal(addrmap_count(&m), 100);
	addrmap_fini(&m);
}

static void visits_each_once(void **state)
{
	struct addrmap m;
	uint64_t sum = 0, key;
	void *value;
	size_t n = 0;

	(void)state;
	addrmap_init(&m, sizeof(uint64_t));
	for (uint64_t k = 1; k <= 500; k++)
		assert_int_equal(addrmap_put(&m, k, &k), 0);
	for (size_t i = 0; addrmap_next(&m, &i, &key, &value); n++) {
		assert_int_equal(*(uint64_t *)value, key);
		sum += key;
	}
	assert_int_equal(n, 500);
	assert_int_equal(sum, 500 * 501 / 2);
	addrmap_clear(&m);
	size_t i = 0;
	assert_false(addrmap_next(&m, &i, &key, NULL));
	assert_null(addrmap_get(&m, 3));
	addrmap_fini(&m);
}

static void no_memory_is_told(void **state)
{
	struct addrmap m;

	(void)state;
	addrmap_init(&m, SIZE_MAX / 4);
	assert_int_equal(addrmap_put(&m, 1, NULL), -ENOMEM);
	assert_null(addrmap_slot(&m, 1, NULL));
	assert_null(addrmap_get(&m, 1));
	assert_int_equal(addrmap_count(&m), 0);
	addrmap_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_get_del),
		cmocka_unit_test(slot_says_fresh),
		cmocka_unit_test(works_as_set),
		cmocka_unit_test(agrees_with_a_model),
		cmocka_unit_test(churn_does_not_grow_it),
		cmocka_unit_test(visits_each_once),
		cmocka_unit_test(no_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
