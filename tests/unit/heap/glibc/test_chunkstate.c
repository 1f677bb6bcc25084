/* SPDX-License-Identifier: MIT */
/* chunkstate, tcachekey, block_identity: what the words around a block show, in one look or two. */
#include "heap/glibc/chunkstate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "attach/sampling/blocks/block_identity.h"
#include "heap/glibc/tcachekey.h"

#define AT 0x55555575a2c0ull
#define RANDOM 0x9c3fd1e277aa5b01ull

static struct chunkstate_look a_look(void)
{
	return (struct chunkstate_look){
		.block = AT, .prev_size = 64, .head = 48 | 1, .words = { 1, 2, 3, 4, 5 }, .next_head = 32 | 1,
		.nwords = 5, .has_head = true,
		.has_prev_size = true, .has_next = true,
	};
}

static void heads(void **state)
{
	(void)state;
	assert_int_equal(chunkstate_size(48 | 7), 48);
	assert_int_equal(chunkstate_size(16 | 1), 0);
	assert_int_equal(chunkstate_size(40), 0);
	assert_int_equal(chunkstate_size(RANDOM), 0);
	assert_true(chunkstate_mapped(4096 | 2));
	assert_false(chunkstate_mapped(4096 | 5));
}

static void in_use_or_not(void **state)
{
	struct chunkstate_look l = a_look();

	(void)state;
	assert_int_equal(chunkstate_use(&l, 48 | 1), CHUNKSTATE_IN_USE);
	assert_int_equal(chunkstate_use(&l, 48 | 5), CHUNKSTATE_IN_USE);
	assert_int_equal(chunkstate_use(&l, 64 | 1), CHUNKSTATE_RESIZED);
	assert_int_equal(chunkstate_use(&l, 48 | 2), CHUNKSTATE_RESIZED);
	l.next_head = 32;
	assert_int_equal(chunkstate_use(&l, 48 | 1), CHUNKSTATE_FREE);
	l.has_next = false;
	assert_int_equal(chunkstate_use(&l, 48 | 1), CHUNKSTATE_UNSEEN);
	/* a mapped chunk has no chunk behind it */
	l.head = 4096 | 2;
	assert_int_equal(chunkstate_use(&l, 4096 | 2), CHUNKSTATE_IN_USE);
	l.has_head = false;
	assert_int_equal(chunkstate_use(&l, 4096 | 2), CHUNKSTATE_UNSEEN);
}

static void the_chunk_before(void **state)
{
	struct chunkstate_look l = a_look();

	(void)state;
	/* in use, and prev_size belongs to that chunk's block */
	assert_true(chunkstate_before(&l) == 0);
	l.head = 48;
	assert_true(chunkstate_before(&l) == AT - 8 - 64);
	assert_true(chunkstate_led(&l, 64 | 1) && chunkstate_led(&l, 64 | 5));
	assert_false(chunkstate_led(&l, 112 | 1));
	for (size_t i = 0; i < 4; i++) {
		l.prev_size = (uint64_t[]){ 0, 16, 72, AT }[i];
		assert_true(chunkstate_before(&l) == 0);
	}
}

static void links(void **state)
{
	struct chunkstate_look l = a_look();
	taddr to;

	(void)state;
	l.words[0] = AT >> 12;
	assert_true(chunkstate_link(&l, &to) && to == 0);
	l.words[0] = AT >> 12 ^ (AT + 64);
	assert_true(chunkstate_link(&l, &to) && to == AT + 64);
	for (size_t i = 0; i < 4; i++) {
		l.words[0] = AT >> 12 ^ (uint64_t[]){ AT + 8, 16, 1ull << 47, RANDOM }[i];
		assert_false(chunkstate_link(&l, &to));
	}
	l.nwords = 0;
	assert_false(chunkstate_link(&l, &to));
}

static void two_looks(void **state)
{
	struct chunkstate_look l = a_look();
	struct chunkstate a, b;

	(void)state;
	chunkstate_keep(&l, &a);
	assert_false(a.link || a.blank);
	for (unsigned i = 0; i < 5; i++) {
		l = a_look();
		l.words[i] ^= 1ull << 63;
		chunkstate_keep(&l, &b);
		assert_int_equal(chunkstate_changed(&a, &b), 1u << i);
	}
	/* words that only one of the two has are not compared */
	l.nwords = 3;
	chunkstate_keep(&l, &b);
	assert_int_equal(chunkstate_common(&a, &b), 3);
	assert_int_equal(chunkstate_changed(&a, &b), 0);
	l.words[0] = AT >> 12;
	l.words[1] = 0;
	chunkstate_keep(&l, &b);
	assert_true(b.link && b.blank);
	l.words[1] = 1;
	chunkstate_keep(&l, &b);
	assert_true(b.link && !b.blank);
}

/* --- the key --- */

static struct chunkstate_look with_key(uint64_t word0, uint64_t key)
{
	struct chunkstate_look l = a_look();

	l.words[0] = word0;
	l.words[1] = key;
	return l;
}

static void a_key_of_several_stacks(void **state)
{
	const struct chunkstate_look l = with_key(AT >> 12, RANDOM), other = with_key(AT >> 12, RANDOM + 1),
				     address = with_key(AT >> 12, AT);
	struct tcachekey k = { 0 };

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		tcachekey_see(&k, &l, true, 1);
		tcachekey_see(&k, &address, true, i);
		assert_false(tcachekey_is(&k, &l));
	}
	tcachekey_see(&k, &other, true, 2);
	tcachekey_see(&k, &l, false, 2);
	assert_false(tcachekey_is(&k, &l));
	for (unsigned i = 0; i < 2; i++)
		tcachekey_see(&k, &l, true, 2);
	assert_true(tcachekey_is(&k, &l));
	assert_false(tcachekey_is(&k, &other) || tcachekey_is(&k, &address));
}

static void a_key_that_was_none(void **state)
{
	const struct chunkstate_look l = with_key(AT >> 12, RANDOM), plain = with_key(AT + 8, RANDOM);
	struct tcachekey k = { 0 }, given = { .value = RANDOM, .given = true };

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		tcachekey_see(&k, &l, true, i);
	assert_true(tcachekey_is(&k, &l));
	tcachekey_see(&k, &plain, false, 1);
	assert_false(tcachekey_is(&k, &l));
	for (unsigned i = 0; i < 20; i++)
		tcachekey_see(&k, &l, true, i);
	assert_false(tcachekey_is(&k, &l));
	tcachekey_see(&given, &plain, false, 1);
	assert_true(tcachekey_is(&given, &l));
}

/* --- which words tell blocks apart --- */

static struct chunkstate state_of(uint64_t word0, uint64_t word1)
{
	const struct chunkstate_look l = with_key(word0, word1);
	struct chunkstate out;

	chunkstate_keep(&l, &out);
	return out;
}

static void words_that_tell_apart(void **state)
{
	const struct chunkstate a = state_of(7, 100), count = state_of(7, 101), type = state_of(9, 100),
				other = state_of(9, 101);
	struct block_identity k;

	(void)state;
	block_identity_init(&k);
	/* nothing is known yet */
	assert_int_equal(block_identity_compare(&k, 1, &a, &a), IDENTITY_ALIKE);
	for (uint64_t i = 0; i < 10; i++) {
		const struct chunkstate one = state_of(7, 1000 + i), same = state_of(7, 1);

		block_identity_learn(&k, 1, &one, NULL);
		block_identity_learn(&k, 2, &same, NULL);
		block_identity_learn(&k, 3, &one, i > 5 ? &one : NULL);
	}
	assert_int_equal(block_identity_compare(&k, 1, &a, &a), IDENTITY_SAME);
	/* word 1 differs between blocks, and is the same here */
	assert_int_equal(block_identity_compare(&k, 1, &a, &type), IDENTITY_SAME);
	assert_int_equal(block_identity_compare(&k, 1, &a, &count), IDENTITY_ALIKE);
	assert_int_equal(block_identity_compare(&k, 1, &a, &other), IDENTITY_DIFFERENT);
	assert_int_equal(block_identity_compare(&k, 2, &a, &a), IDENTITY_ALIKE);
	/* blocks at the same address had the same word */
	assert_int_equal(block_identity_compare(&k, 3, &a, &a), IDENTITY_ALIKE);
	block_identity_fini(&k);
}

static void what_nobody_has_written_to(void **state)
{
	const struct chunkstate blank = state_of(AT >> 12, 0), written = state_of(7, 8);
	struct block_identity k;

	(void)state;
	block_identity_init(&k);
	assert_int_equal(block_identity_compare(&k, 1, &blank, &written), IDENTITY_ALIKE);
	assert_int_equal(block_identity_compare(&k, 1, &written, &blank), IDENTITY_DIFFERENT);
	for (uint64_t i = 0; i < 10; i++)
		block_identity_learn(&k, 1, &(struct chunkstate){ .hashes = { (uint16_t)i }, .nwords = 5 },
				     NULL);
	/* a link that was left there shows nothing, although it differs from block to block */
	assert_int_equal(block_identity_compare(&k, 1, &blank, &blank), IDENTITY_ALIKE);
	block_identity_fini(&k);
}

/* Old observations are forgotten. */
static void stacks_change(void **state)
{
	const struct chunkstate a = state_of(7, 100);
	struct block_identity k;

	(void)state;
	block_identity_init(&k);
	for (uint64_t i = 0; i < 1000; i++)
		block_identity_learn(&k, 1, &a, NULL);
	assert_int_equal(block_identity_compare(&k, 1, &a, &a), IDENTITY_ALIKE);
	for (uint64_t i = 0; i < 1000; i++) {
		const struct chunkstate one = state_of(7, i);

		block_identity_learn(&k, 1, &one, NULL);
	}
	assert_int_equal(block_identity_compare(&k, 1, &a, &a), IDENTITY_SAME);
	block_identity_fini(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads),
		cmocka_unit_test(in_use_or_not),
		cmocka_unit_test(the_chunk_before),
		cmocka_unit_test(links),
		cmocka_unit_test(two_looks),
		cmocka_unit_test(a_key_of_several_stacks),
		cmocka_unit_test(a_key_that_was_none),
		cmocka_unit_test(words_that_tell_apart),
		cmocka_unit_test(what_nobody_has_written_to),
		cmocka_unit_test(stacks_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
