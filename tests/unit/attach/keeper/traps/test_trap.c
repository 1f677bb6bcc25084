/* SPDX-License-Identifier: MIT */
/*
 * trap: planted, lifted, refused, and found again, in a page of our own (code_page.h). For forked copies see
 * test_trap_copy.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "tests/unit/trap_page.h"

static void planted_and_lifted(void **state)
{
	(void)state;
	assert_int_equal(plant(3, 100, 16), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_int_equal(trap_find(&traps, at(100)), 3);
	assert_int_equal(trap_find(&traps, at(101)), NO_TRAP);
	assert_int_equal(traps.all[3].state, TRAP_PLANTED);
	assert_int_equal(trap_lift(&traps, mem, 3), 0);
	assert_page(file, NULL, 0);
	/* still known: a thread may have run into it just before */
	assert_int_equal(trap_find(&traps, at(100)), 3);
	assert_int_equal(traps.all[3].state, TRAP_LIFTED);
}

static void lifting_twice_is_nothing(void **state)
{
	uint8_t theirs[PAGE];

	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	/* an int3 that another program wrote there since is not ours to lift */
	memcpy(theirs, file, PAGE);
	theirs[100] = INT3;
	map_page(theirs);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_page(theirs, NULL, 0);
	assert_int_equal(trap_lift(&traps, mem, 1), 0); /* never planted */
	assert_page(theirs, NULL, 0);
}

static void replanted(void **state)
{
	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(trap_replant(&traps, mem, 0), 0); /* it is planted: nothing happens */
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_int_equal(trap_replant(&traps, mem, 0), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_int_equal(traps.all[0].state, TRAP_PLANTED);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
}

static void replanted_only_on_the_files_code(void **state)
{
	uint8_t other[PAGE];

	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	memcpy(other, file, PAGE);
	other[107] ^= 1;
	map_page(other);
	(void)!trap_replant(&traps, mem, 0);
	assert_page(other, NULL, 0);
	assert_int_equal(traps.all[0].state, TRAP_LIFTED);
}

static void prepared_and_shelved(void **state)
{
	struct site s = site_at(100, 16);

	(void)state;
	assert_int_equal(trap_prepare(&traps, mem, 0, &s), 0);
	assert_page(file, NULL, 0);
	assert_int_equal(trap_find(&traps, at(100)), 0);
	assert_int_equal(traps.all[0].state, TRAP_LIFTED);
	assert_int_equal(trap_unshelve(&traps, mem, 0), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_int_equal(trap_shelve(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
	assert_int_equal(trap_prepare(&traps, mem, 0, &s), -EEXIST);
	s = site_at(200, 16);
	s.bytes[3] ^= 1;
	assert_int_equal(trap_prepare(&traps, mem, 1, &s), -EILSEQ);
}

/* While two threads step in place the trap stays lifted; and afterwards, if it was shelved meanwhile. */
static void stepped_in_place(void **state)
{
	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(trap_step_begin(&traps, mem, 0), 0);
	assert_int_equal(trap_step_begin(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
	assert_int_equal(trap_step_end(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
	assert_int_equal(trap_step_end(&traps, mem, 0), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);

	assert_int_equal(trap_step_begin(&traps, mem, 0), 0);
	assert_int_equal(trap_shelve(&traps, mem, 0), 0);
	assert_int_equal(trap_step_end(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);

	assert_int_equal(trap_unshelve(&traps, mem, 0), 0);
	assert_int_equal(trap_step_begin(&traps, mem, 0), 0);
	assert_int_equal(trap_shelve(&traps, mem, 0), 0);
	assert_int_equal(trap_unshelve(&traps, mem, 0), 0);
	assert_page(file, NULL, 0); /* not while a thread steps there */
	assert_int_equal(trap_step_end(&traps, mem, 0), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);
	/* an end without a beginning, of a number that another trap had before */
	assert_int_equal(trap_step_end(&traps, mem, 0), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);
}

/* Whatever wrote that int3: a thread that hits it would be put back onto it for ever. */
static void an_int3_where_a_trap_was_lifted(void **state)
{
	const uint8_t int3 = INT3;

	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_int_equal(trap_lift_found(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
	assert_int_equal(pwrite(mem, &int3, 1, (off_t)at(100)), 1);
	assert_int_equal(trap_lift_found(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
}

/* The number of a forgotten trap is given to others, again and again. */
static void gone_and_its_number_another(void **state)
{
	(void)state;
	for (uint32_t offset = 100; offset < 1000; offset += 100) {
		assert_int_equal(plant(0, offset, 16), 0);
		trap_forget(&traps, mem, 0, 1);
	}
	assert_int_equal(plant(0, 1000, 16), 0);
	for (uint32_t offset = 100; offset < 1000; offset += 100)
		assert_true(trap_was_at(&traps, mem, at(offset)));
	assert_false(trap_was_at(&traps, mem, at(1000)));
	assert_false(trap_was_at(&traps, mem, at(150)));
}

/*
 * While frozen, nothing is planted: not for the first time, not again, not at the end of a step. After the
 * thaw everything that is wanted is planted.
 */
static void frozen_and_thawed(void **state)
{
	struct site s = site_at(300, 16);

	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(plant(1, 200, 16), 0);
	assert_int_equal(trap_step_begin(&traps, mem, 1), 0);
	assert_int_equal(trap_prepare(&traps, mem, 2, &s), 0);
	trap_freeze(&traps);
	assert_page(file, (uint32_t[]){ 100 }, 1); /* planted traps stay */
	assert_int_equal(trap_step_end(&traps, mem, 1), 0);
	assert_int_equal(plant(3, 400, 16), 0);
	assert_int_equal(trap_replant(&traps, mem, 2), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
	assert_int_equal(trap_thaw(&traps, mem), 0);
	assert_page(file, (uint32_t[]){ 100, 200, 400 }, 3); /* 2 was shelved, and is not wanted */
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_page(file, NULL, 0);
}

/* Any one byte that is not the file's, at the trap or behind it within the known bytes. */
static void wrong_code_is_refused(void **state)
{
	uint8_t other[PAGE];

	(void)state;
	for (uint32_t wrong = 0; wrong < 16; wrong++) {
		memset(&traps, 0, sizeof(traps));
		memcpy(other, file, PAGE);
		other[200 + wrong] ^= 0x40;
		map_page(other);
		assert_int_equal(plant(0, 200, 16), -EILSEQ);
		assert_page(other, NULL, 0);
		assert_int_equal(traps.all[0].state, TRAP_REFUSED);
		assert_int_equal(trap_lift_all(&traps, mem), 0);
		assert_page(other, NULL, 0);
	}
	/* bytes outside of the known ones are not checked */
	memset(&traps, 0, sizeof(traps));
	memcpy(other, file, PAGE);
	other[199] ^= 1;
	other[204] ^= 1;
	map_page(other);
	assert_int_equal(plant(0, 200, 4), 0);
	assert_page(other, (uint32_t[]){ 200 }, 1);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_page(other, NULL, 0);
}

/* A debugger's breakpoint at our site, or behind it. */
static void a_foreign_int3_is_refused(void **state)
{
	uint8_t other[PAGE];

	(void)state;
	for (uint32_t where = 0; where < 16; where++) {
		memset(&traps, 0, sizeof(traps));
		memcpy(other, file, PAGE);
		other[200 + where] = INT3;
		map_page(other);
		assert_int_equal(plant(0, 200, 16), -EILSEQ);
		assert_int_equal(trap_lift_all(&traps, mem), 0);
		assert_page(other, NULL, 0);
	}
}

/* At a known trap of ours its int3 may replace the file's byte, but nothing else may. */
static void wrong_code_at_a_known_trap_is_refused(void **state)
{
	uint8_t other[PAGE];

	(void)state;
	memcpy(other, file, PAGE);
	other[205] = file[205] ^ 0x10;
	other[205] ^= other[205] == INT3;
	map_page(other);
	assert_int_equal(plant(0, 205, 16), -EILSEQ); /* known, refused */
	assert_int_equal(plant(1, 200, 16), -EILSEQ);
	assert_page(other, NULL, 0);
}

/*
 * The file itself has an int3 there (a program's own breakpoint): neither planting nor lifting changes
 * anything.
 */
static void an_int3_of_the_file(void **state)
{
	(void)state;
	file[300] = INT3;
	map_page(file);
	assert_int_equal(plant(0, 300, 16), 0);
	assert_page(file, NULL, 0);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
}

static void nonsense_is_refused(void **state)
{
	struct site s = site_at(100, 16);

	(void)state;
	assert_int_equal(trap_plant(&traps, mem, SHARED_SITES, &s), -EINVAL);
	assert_int_equal(trap_plant(&traps, mem, UINT32_MAX, &s), -EINVAL);
	s.nbytes = 0;
	assert_int_equal(trap_plant(&traps, mem, 0, &s), -EINVAL);
	s.nbytes = SITE_BYTES + 1;
	assert_int_equal(trap_plant(&traps, mem, 0, &s), -EINVAL);
	s = site_at(100, 16);
	s.step_len = SITE_BYTES + 1;
	assert_int_equal(trap_plant(&traps, mem, 0, &s), -EINVAL);
	assert_int_equal(traps.all[0].state, TRAP_NONE);
	assert_int_equal(trap_find(&traps, at(100)), NO_TRAP);
	assert_page(file, NULL, 0);
}

static void one_trap_for_an_address_and_a_number(void **state)
{
	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(plant(1, 100, 16), -EEXIST);
	assert_int_equal(plant(0, 500, 16), -EEXIST);
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_int_equal(traps.all[1].state, TRAP_NONE);
	assert_int_equal(trap_find(&traps, at(100)), 0);
	assert_int_equal(trap_find(&traps, at(500)), NO_TRAP);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_page(file, NULL, 0);
}

/* --- neighbours --- */

#define MANY 64

static void shuffle(uint32_t *order, uint32_t n)
{
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t j = random() % (i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
}

/*
 * Traps one to eight bytes apart, each within the known bytes of several others: planted and lifted in any
 * order.
 */
static void neighbours(void **state)
{
	uint32_t offset[MANY], order[MANY], learned[MANY], n;

	(void)state;
	for (int round = 0; round < 50; round++) {
		setup(NULL);
		srandom(100 + round);
		for (uint32_t i = 0, o = 64; i < MANY; i++) {
			offset[i] = o;
			order[i] = i;
			o += 1 + random() % 8;
		}
		shuffle(order, MANY);
		for (n = 0; n < MANY; n++) {
			assert_int_equal(plant(order[n], offset[order[n]], 16), 0);
			learned[n] = offset[order[n]];
		}
		assert_page(file, learned, n);
		shuffle(order, MANY);
		for (uint32_t i = 0; i < MANY; i++) {
			assert_int_equal(trap_lift(&traps, mem, order[i]), 0);
			if (i % 3 == 0) { /* plant and lift it again, among those that are still planted */
				assert_int_equal(trap_replant(&traps, mem, order[i]), 0);
				assert_int_equal(page[offset[order[i]]], INT3);
				assert_int_equal(trap_lift(&traps, mem, order[i]), 0);
			}
			assert_int_equal(page[offset[order[i]]], file[offset[order[i]]]);
		}
		assert_page(file, NULL, 0);
	}
}

static void all_at_once(void **state)
{
	uint32_t learned[MANY];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		learned[i] = 64 + 5 * i;
		assert_int_equal(plant(3 * i, learned[i], 16), 0);
	}
	assert_page(file, learned, MANY);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_page(file, NULL, 0);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_page(file, NULL, 0);
}

/*
 * During the watch, another program changes code just behind a trap of ours (a uprobe at the next function,
 * 16 bytes on; a hook that patches itself in). Our int3 is still planted, and no keeper will be there to
 * serve it: it must be lifted, or the failure must be reported. What the other program wrote stays in any
 * case.
 */
static void a_neighbour_that_others_changed(void **state)
{
	(void)state;
	for (uint32_t where = 1; where < 16; where++) {
		uint8_t changed[PAGE];
		int r;

		setup(NULL);
		memcpy(changed, file, PAGE);
		assert_int_equal(plant(0, 200, 16), 0);
		changed[200 + where] = INT3;
		assert_int_equal(pwrite(mem, &changed[200 + where], 1, (off_t)at(200 + where)), 1);
		r = trap_lift(&traps, mem, 0);
		if (page[200] == INT3 && r == 0)
			fail_msg("byte %u behind it changed: our int3 stands and is called lifted", where);
		if (page[200] != INT3)
			assert_page(changed, NULL, 0);
	}
}

/* --- memory that has changed --- */

static void nothing_mapped(void **state)
{
	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(munmap(page, PAGE), 0);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_int_equal(plant(1, 200, 16), -EILSEQ);
	map_page(file);
	assert_page(file, NULL, 0);
}

/* At the end of a mapping: the known bytes reach beyond it. */
static void half_mapped(void **state)
{
	struct site s = { .addr = at(PAGE - 8), .nbytes = 16, .emu = { .op = EMU_NOP, .len = 1 } };
	void *next = page + PAGE;

	(void)state;
	memcpy(s.bytes, file + PAGE - 8, 8);
	assert_int_equal(munmap(next, PAGE), 0);
	assert_int_equal(trap_plant(&traps, mem, 0, &s), -EILSEQ);
	assert_page(file, NULL, 0);
	assert_ptr_equal(mmap(next, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), next);
}

static void something_else_is_mapped_there(void **state)
{
	uint8_t other[PAGE];

	(void)state;
	for (int int3_there = 0; int3_there < 2; int3_there++) {
		setup(NULL);
		assert_int_equal(plant(0, 100, 16), 0);
		for (uint32_t i = 0; i < PAGE; i++)
			other[i] = ~file[i];
		/* even if another module has an int3 at that very address (padding, a breakpoint) */
		if (int3_there)
			other[100] = INT3;
		map_page(other);
		(void)!trap_lift(&traps, mem, 0);
		assert_page(other, NULL, 0);
		(void)!trap_lift_all(&traps, mem);
		assert_page(other, NULL, 0);
		(void)!trap_replant(&traps, mem, 0);
		assert_page(other, NULL, 0);
		assert_int_equal(trap_clean_copy(&traps, mem), 0);
		assert_page(other, NULL, 0);
	}
}

/* The same file mapped again: it has no trap of ours, and none is "lifted" there. */
static void the_same_is_mapped_again(void **state)
{
	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	map_page(file);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
}

/* If memory cannot be read just now, our trap may still be in it. */
static void not_to_be_read_is_not_lifted(void **state)
{
	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_true(trap_lift(&traps, -1, 0) < 0);
	assert_int_equal(traps.all[0].state, TRAP_PLANTED);
	assert_int_equal(trap_lift_all(&traps, -1), 1);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_page(file, NULL, 0);
}

/* --- memory that cannot be written --- */

static void not_to_be_written(void **state)
{
	int reading = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(reading >= 0);
	struct site s = site_at(100, 16);
	assert_int_equal(trap_plant(&traps, reading, 0, &s), -EBADF);
	assert_page(file, NULL, 0);
	assert_int_not_equal(traps.all[0].state, TRAP_PLANTED);
	/* a planted trap that cannot be lifted is not taken for lifted: lifting is tried again */
	assert_int_equal(plant(1, 200, 16), 0);
	assert_int_equal(trap_lift(&traps, reading, 1), -EBADF);
	assert_int_equal(traps.all[1].state, TRAP_PLANTED);
	assert_int_equal(trap_lift_all(&traps, reading), 1);
	assert_int_equal(trap_clean_copy(&traps, reading), -EBADF);
	assert_page(file, (uint32_t[]){ 200 }, 1);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_page(file, NULL, 0);
	close(reading);
}

/* --- displaced instructions --- */

static struct site stepped_at(uint32_t offset, uint32_t scratch)
{
	struct site s = site_at(offset, 16);

	s.emu = (struct emu){ .op = EMU_NONE, .len = 3 };
	s.scratch = at(scratch);
	s.step_len = 3;
	memcpy(s.scratch_bytes, file + scratch, sizeof(s.scratch_bytes));
	memcpy(s.step, (uint8_t[]){ 0x0f, 0x01, 0xd0 }, 3);
	return s;
}

static void scratch_is_put_and_restored(void **state)
{
	struct site s = stepped_at(100, 1000);
	uint8_t want[PAGE];

	(void)state;
	memcpy(want, file, PAGE);
	memcpy(want + 1000, s.step, 3);
	assert_int_equal(trap_plant(&traps, mem, 0, &s), 0);
	/* without a step the padding is not written */
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_true(trap_prepare_step(&traps, mem, 0));
	assert_page(want, (uint32_t[]){ 100 }, 1);
	/* a thread may be in it: lifting leaves it alone */
	trap_restore_scratch(&traps, mem);
	assert_page(want, (uint32_t[]){ 100 }, 1);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_page(want, NULL, 0);
	trap_restore_scratch(&traps, mem);
	assert_page(file, NULL, 0);
	trap_restore_scratch(&traps, mem);
	assert_page(file, NULL, 0);
}

static void scratch_that_is_not_the_files(void **state)
{
	struct site s = stepped_at(100, 1000);
	uint8_t other[PAGE];

	(void)state;
	memcpy(other, file, PAGE);
	other[1002] ^= 1;
	map_page(other);
	assert_int_equal(trap_plant(&traps, mem, 0, &s), -EILSEQ);
	assert_page(other, NULL, 0);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	trap_restore_scratch(&traps, mem);
	assert_page(other, NULL, 0);
}

/*
 * A `ret` has padding behind it: the instruction put there is not foreign code, and the trap is still ours.
 */
static void scratch_behind_a_trap(void **state)
{
	struct site s = stepped_at(200, 101);

	(void)state;
	s.step_len = 12;
	for (uint32_t i = 0; i < s.step_len; i++)
		s.step[i] = ~file[101 + i];
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(trap_plant(&traps, mem, 1, &s), 0);
	assert_true(trap_prepare_step(&traps, mem, 1));
	assert_int_equal(plant(2, 98, 16), 0);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_int_equal(page[100], file[100]);
	assert_int_equal(trap_replant(&traps, mem, 0), 0);
	assert_int_equal(page[100], INT3);
	assert_int_equal(trap_clean_copy(&traps, mem), 0);
	assert_page(file, NULL, 0);
}

/* No two displaced instructions in the same padding. */
static void scratch_is_not_shared(void **state)
{
	struct site a = stepped_at(100, 1000), b = stepped_at(200, 1001);
	uint8_t want[PAGE];

	(void)state;
	memcpy(want, file, PAGE);
	memcpy(want + 1000, a.step, 3);
	assert_int_equal(trap_plant(&traps, mem, 0, &a), 0);
	assert_int_equal(trap_plant(&traps, mem, 1, &b), 0);
	assert_true(trap_prepare_step(&traps, mem, 0));
	assert_false(trap_prepare_step(&traps, mem, 1));
	assert_page(want, (uint32_t[]){ 100, 200 }, 2);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	trap_restore_scratch(&traps, mem);
	assert_page(file, NULL, 0);
}

static void scratch_where_something_else_is_by_now(void **state)
{
	struct site s = stepped_at(100, 1000);
	uint8_t other[PAGE];

	(void)state;
	assert_int_equal(trap_plant(&traps, mem, 0, &s), 0);
	assert_true(trap_prepare_step(&traps, mem, 0));
	for (uint32_t i = 0; i < PAGE; i++)
		other[i] = ~file[i];
	map_page(other);
	assert_false(trap_prepare_step(&traps, mem, 0));
	(void)!trap_lift_all(&traps, mem);
	trap_restore_scratch(&traps, mem);
	assert_page(other, NULL, 0);
}

/*
 * A plugin that is loaded again at the same address has neither our int3 nor the instruction in its padding.
 */
static void loaded_again_between_two_rounds(void **state)
{
	struct site s = stepped_at(100, 1000);
	uint8_t want[PAGE];

	(void)state;
	assert_int_equal(trap_plant(&traps, mem, 0, &s), 0);
	assert_true(trap_prepare_step(&traps, mem, 0));
	memcpy(want, page, PAGE);
	assert_int_equal(trap_shelve(&traps, mem, 0), 0);
	map_page(file);
	assert_int_equal(trap_unshelve(&traps, mem, 0), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_true(trap_prepare_step(&traps, mem, 0));
	assert_memory_equal(page, want, PAGE);
	/* and while the trap is planted */
	assert_false(trap_is_lost(&traps, mem, 0));
	map_page(file);
	assert_true(trap_is_lost(&traps, mem, 0));
	assert_int_equal(trap_unshelve(&traps, mem, 0), 0);
	assert_true(trap_prepare_step(&traps, mem, 0));
	assert_memory_equal(page, want, PAGE);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	trap_restore_scratch(&traps, mem);
	assert_page(file, NULL, 0);
}

static void no_step_where_padding_is_another(void **state)
{
	struct site s = stepped_at(100, 1000);
	uint8_t other[PAGE];

	(void)state;
	assert_int_equal(trap_plant(&traps, mem, 0, &s), 0);
	assert_int_equal(trap_shelve(&traps, mem, 0), 0);
	memcpy(other, file, PAGE);
	other[1001] ^= 1;
	map_page(other);
	assert_int_equal(trap_unshelve(&traps, mem, 0), 0);
	assert_false(trap_prepare_step(&traps, mem, 0));
	assert_page(other, (uint32_t[]){ 100 }, 1);
}

static void emulated_sites_touch_no_scratch(void **state)
{
	struct site s = stepped_at(100, 1000);

	(void)state;
	s.emu.op = EMU_NOP;
	assert_int_equal(trap_plant(&traps, mem, 0, &s), 0);
	assert_page(file, (uint32_t[]){ 100 }, 1);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	trap_restore_scratch(&traps, mem);
	assert_page(file, NULL, 0);
}

/* --- numbers --- */

static void forgotten(void **state)
{
	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(plant(1, 200, 16), 0);
	assert_int_equal(munmap(page, PAGE), 0);
	trap_forget(&traps, mem, 0, 1);
	assert_int_equal(trap_find(&traps, at(100)), NO_TRAP);
	assert_int_equal(trap_find(&traps, at(200)), 1);
	trap_forget(&traps, mem, 0, 1);
	trap_forget(&traps, mem, SHARED_SITES, 1); /* out of range: nothing */
	trap_forget(&traps, mem, UINT32_MAX, 1);
	trap_forget(&traps, mem, 1, 1);
	/* mapped again: numbers and addresses are free */
	map_page(file);
	assert_int_equal(plant(0, 200, 16), 0);
	assert_int_equal(plant(1, 100, 16), 0);
	assert_page(file, (uint32_t[]){ 100, 200 }, 2);
	assert_int_equal(trap_find(&traps, at(200)), 0);
	assert_int_equal(trap_find(&traps, at(100)), 1);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_page(file, NULL, 0);
}

/*
 * Taken for unmapped, but it was not: the code is the file's again, and a thread that ran into the trap
 * before can be put back.
 */
static void forgotten_but_there(void **state)
{
	(void)state;
	assert_int_equal(plant(0, 100, 16), 0);
	assert_false(trap_was_at(&traps, mem, at(100)));
	trap_forget(&traps, mem, 0, 1);
	assert_page(file, NULL, 0);
	assert_true(trap_was_at(&traps, mem, at(100)));
	assert_false(trap_was_at(&traps, mem, at(101)));
	/* an int3 that is there now is foreign */
	assert_int_equal(pwrite(mem, "\xcc", 1, (off_t)at(100)), 1);
	assert_false(trap_was_at(&traps, mem, at(100)));
	assert_int_equal(munmap(page, PAGE), 0);
	assert_false(trap_was_at(&traps, mem, at(100)));
	map_page(file);
}

static void a_refused_number_is_free_once_forgotten(void **state)
{
	struct site s = site_at(100, 16);

	(void)state;
	s.bytes[3] ^= 1;
	assert_int_equal(trap_plant(&traps, mem, 0, &s), -EILSEQ);
	assert_int_equal(plant(0, 100, 16), -EEXIST);
	trap_forget(&traps, mem, 0, 1);
	assert_int_equal(plant(0, 100, 16), 0);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_page(file, NULL, 0);
}

static void all_forgotten(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(plant(i, 64 + 3 * i, 16), 0);
	trap_forget_all(&traps);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(trap_find(&traps, at(64 + 3 * i)), NO_TRAP);
	map_page(file);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_int_equal(trap_clean_copy(&traps, mem), 0);
	assert_page(file, NULL, 0);
}

/* Every number in use, found by address, then removed and added at random: compared with a list. */
static void found_by_address(void **state)
{
	static uint32_t offset_of[SHARED_SITES];
	uint8_t *area = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct site s = { .nbytes = 1, .emu = { .op = EMU_NOP, .len = 1 } };

	(void)state;
	assert_ptr_not_equal(area, MAP_FAILED);
	memset(area, 0x90, 16 * PAGE);
	s.bytes[0] = 0x90;
	for (uint32_t i = 0; i < SHARED_SITES; i++) {
		offset_of[i] = 16 * i + random() % 16;
		s.addr = (taddr)(uintptr_t)area + offset_of[i];
		assert_int_equal(trap_plant(&traps, mem, i, &s), 0);
	}
	for (uint32_t i = 0; i < SHARED_SITES; i++)
		assert_int_equal(trap_find(&traps, (taddr)(uintptr_t)area + offset_of[i]), i);
	for (int step = 0; step < 300; step++) {
		uint32_t i = random() % SHARED_SITES;

		s.addr = (taddr)(uintptr_t)area + offset_of[i];
		assert_int_equal(trap_lift(&traps, mem, i), 0);
		trap_forget(&traps, mem, i, 1);
		assert_int_equal(trap_find(&traps, s.addr), NO_TRAP);
		offset_of[i] = 16 * i + random() % 16;
		s.addr = (taddr)(uintptr_t)area + offset_of[i];
		assert_int_equal(trap_plant(&traps, mem, i, &s), 0);
		assert_int_equal(trap_find(&traps, s.addr), i);
	}
	for (uint32_t i = 0; i < SHARED_SITES; i++)
		assert_int_equal(trap_find(&traps, (taddr)(uintptr_t)area + offset_of[i]), i);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	for (uint32_t i = 0; i < 16 * PAGE; i++)
		assert_int_equal(area[i], 0x90);
	munmap(area, 16 * PAGE);
}

/* --- and the trap works --- */

static volatile sig_atomic_t trapped;

static void on_trap(int sig)
{
	(void)sig;
	trapped++;
}

static void a_processor_stops_there(void **state)
{
	static const uint8_t code[] = { 0x90, 0xb8, 0x2a, 0, 0, 0, 0xc3 }; /* nop; mov $42,%eax; ret */
	struct sigaction sa = { .sa_handler = on_trap }, before;
	union { uint8_t *at; int (*call)(void); } f = { .at = page };

	(void)state;
	memcpy(file, code, sizeof(code));
	map_page(file);
	sigaction(SIGTRAP, &sa, &before);
	assert_int_equal(plant(0, 0, 7), 0);
	/* the handler returns behind the int3, where the nop would have ended */
	assert_int_equal(f.call(), 42);
	assert_int_equal(trapped, 1);
	assert_int_equal(trap_lift(&traps, mem, 0), 0);
	assert_int_equal(f.call(), 42);
	assert_int_equal(trapped, 1);
	sigaction(SIGTRAP, &before, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(planted_and_lifted, setup),
		cmocka_unit_test_setup(lifting_twice_is_nothing, setup),
		cmocka_unit_test_setup(replanted, setup),
		cmocka_unit_test_setup(replanted_only_on_the_files_code, setup),
		cmocka_unit_test_setup(prepared_and_shelved, setup),
		cmocka_unit_test_setup(stepped_in_place, setup),
		cmocka_unit_test_setup(frozen_and_thawed, setup),
		cmocka_unit_test_setup(an_int3_where_a_trap_was_lifted, setup),
		cmocka_unit_test_setup(gone_and_its_number_another, setup),
		cmocka_unit_test_setup(wrong_code_is_refused, setup),
		cmocka_unit_test_setup(a_foreign_int3_is_refused, setup),
		cmocka_unit_test_setup(wrong_code_at_a_known_trap_is_refused, setup),
		cmocka_unit_test_setup(an_int3_of_the_file, setup),
		cmocka_unit_test_setup(nonsense_is_refused, setup),
		cmocka_unit_test_setup(one_trap_for_an_address_and_a_number, setup),
		cmocka_unit_test_setup(neighbours, setup),
		cmocka_unit_test_setup(all_at_once, setup),
		cmocka_unit_test_setup(a_neighbour_that_others_changed, setup),
		cmocka_unit_test_setup(nothing_mapped, setup),
		cmocka_unit_test_setup(half_mapped, setup),
		cmocka_unit_test_setup(something_else_is_mapped_there, setup),
		cmocka_unit_test_setup(the_same_is_mapped_again, setup),
		cmocka_unit_test_setup(not_to_be_read_is_not_lifted, setup),
		cmocka_unit_test_setup(not_to_be_written, setup),
		cmocka_unit_test_setup(scratch_is_put_and_restored, setup),
		cmocka_unit_test_setup(scratch_that_is_not_the_files, setup),
		cmocka_unit_test_setup(scratch_behind_a_trap, setup),
		cmocka_unit_test_setup(scratch_is_not_shared, setup),
		cmocka_unit_test_setup(scratch_where_something_else_is_by_now, setup),
		cmocka_unit_test_setup(loaded_again_between_two_rounds, setup),
		cmocka_unit_test_setup(no_step_where_padding_is_another, setup),
		cmocka_unit_test_setup(emulated_sites_touch_no_scratch, setup),
		cmocka_unit_test_setup(forgotten, setup),
		cmocka_unit_test_setup(forgotten_but_there, setup),
		cmocka_unit_test_setup(a_refused_number_is_free_once_forgotten, setup),
		cmocka_unit_test_setup(all_forgotten, setup),
		cmocka_unit_test_setup(found_by_address, setup),
		cmocka_unit_test_setup(a_processor_stops_there, setup),
	};

	return cmocka_run_group_tests(tests, open_page, close_page);
}
