/* SPDX-License-Identifier: MIT */
/*
 * hit_classify: what hits mean, one after the other, of a thread with a stack of ours, so that return
 * addresses are where they would really be.
 */
#include "attach/keeper/traps/hit_classify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define GF 1		/* two families */
#define LIBC 2
#define HANDLER_FROM 0x401000	/* return addresses of calls */
#define LOG_FROM 0x401020
#define DEEP 64

enum which {
	GF_ENTRY,
	GF_RET,
	LIBC_ENTRY,
	LIBC_RET,
	FREE,
	GF_FREE,
	SCOPE_ENTRY,
	SCOPE_RET,
	RETURN_A,
	RETURN_B,
	LINKER,
	FROM
};

static const struct { uint16_t flags, family; } sites[] = {
	[GF_ENTRY] = { SITE_ENTRY | SITE_RETURN, GF },
	[GF_RET] = { SITE_EXIT | SITE_EMIT | SITE_SLICE | SITE_INNER, GF },
	[LIBC_ENTRY] = { SITE_ENTRY, LIBC },
	[LIBC_RET] = { SITE_EXIT | SITE_EMIT | SITE_SLICE | SITE_INNER, LIBC },
	[FREE] = { SITE_EMIT | SITE_INNER | SITE_ALWAYS, LIBC },
	[GF_FREE] = { SITE_EMIT | SITE_INNER | SITE_ALWAYS | SITE_RELEASE, GF },
	[SCOPE_ENTRY] = { SITE_ENTRY, SITE_FAMILY_IN },
	[SCOPE_RET] = { SITE_EXIT, SITE_FAMILY_IN },
	[RETURN_A] = { SITE_AFTER | SITE_EMIT | SITE_SLICE, 0 },
	[RETURN_B] = { SITE_AFTER | SITE_EMIT | SITE_SLICE, 0 },
	[LINKER] = { SITE_EMIT | SITE_WAIT | SITE_MODULES, SITE_FAMILY_NONE },
	[FROM] = { SITE_EMIT | SITE_SCOPE, SITE_FAMILY_NONE },
};

static struct keeper keeper;
static struct shared shared;
static struct tracee thread;
static taddr stack[DEEP];
static struct hit_class m;

static int setup(void **state)
{
	(void)state;
	calls_init(&keeper.calls);
	keeper.shared = &shared;
	keeper.read_mem = -1;
	shared.scoped = false;
	atomic_store(&shared.counts.unreturned, 0);
	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
		keeper.traps.all[i] = (struct trap){ .site = {
			.flags = sites[i].flags, .family = sites[i].family,
		} };
	thread = (struct tracee){ .tid = getpid(), .calls = NO_CALL, .redo = NO_TRAP };
	return 0;
}

static taddr sp(int slot)
{
	return (uintptr_t)&stack[slot];
}

/* At @trap, with rsp at @slot; true if it is an event. */
static bool hit(enum which trap, int slot)
{
	const struct user_regs_struct regs = { .rsp = sp(slot), .rdi = 1000 + slot };

	hit_classify(&keeper, &thread, trap, &regs, 0, &m);
	return m.emit;
}

/* The function of an entry trap is called from @ret. */
static bool called(enum which trap, int slot, taddr ret)
{
	const struct user_regs_struct regs = { .rsp = sp(slot), .rdi = 1000 + slot };

	stack[slot] = ret;
	hit_classify(&keeper, &thread, trap, &regs, ret, &m);
	return m.emit;
}

/* A function whose return address was at @slot has returned to the trap at @ret. */
static bool returned(enum which trap, int slot, taddr ret)
{
	const struct user_regs_struct regs = { .rsp = sp(slot + 1), .rip = ret };

	hit_classify(&keeper, &thread, trap, &regs, 0, &m);
	return m.emit;
}

static bool more(enum which trap, int slot, taddr ret)
{
	const struct user_regs_struct regs = { .rsp = sp(slot + 1), .rip = ret };

	return hit_classify_more(&keeper, &thread, trap, &regs, &m);
}

static bool outside(void)
{
	return m.flags & RECORD_OUTSIDE;
}

static void a_static_exit(void **state)
{
	(void)state;
	assert_true(hit(LIBC_RET, 40));
	assert_int_equal(m.flags, RECORD_STATIC);
	assert_false(more(LIBC_RET, 40, 0));
}

static void families_count_apart(void **state)
{
	(void)state;
	assert_false(called(GF_ENTRY, 40, HANDLER_FROM));
	assert_int_equal(m.flags, RECORD_OPENS);
	assert_false(hit(LIBC_ENTRY, 30));
	assert_true(hit(LIBC_RET, 30));
	assert_int_equal(m.flags, RECORD_CLOSES);
	assert_int_equal(m.call.trap, LIBC_ENTRY);
	assert_int_equal(m.call.args[0], 1030);
	assert_false(hit(GF_RET, 20));	/* inside of the other call */
	assert_true(hit(FREE, 20));
	assert_int_equal(m.flags, 0);
	/* so is this, but the block that is freed may not be one of that call */
	assert_true(hit(GF_FREE, 20));
	assert_int_equal(m.flags, RECORD_WITHIN);
	assert_true(hit(GF_RET, 40));
	assert_int_equal(m.call.trap, GF_ENTRY);
}

/* A function of one family jumps to one of another: each call ends at its own trap. */
static void a_jump_into_another_family(void **state)
{
	(void)state;
	called(GF_ENTRY, 40, HANDLER_FROM);
	assert_true(hit(LIBC_RET, 40));
	assert_int_equal(m.flags, RECORD_STATIC);
	assert_true(returned(RETURN_A, 40, HANDLER_FROM));
	assert_int_equal(m.flags, RECORD_CLOSES);
	assert_int_equal(m.call.family, GF);
	assert_false(more(RETURN_A, 40, HANDLER_FROM));
}

static void two_families_return_to_one_place(void **state)
{
	const struct user_regs_struct regs = { .rsp = sp(41), .rip = HANDLER_FROM };

	(void)state;
	called(GF_ENTRY, 40, HANDLER_FROM);
	called(LIBC_ENTRY, 40, HANDLER_FROM);
	assert_int_equal(hit_classify_most(&keeper, &thread, RETURN_A, &regs), 2);
	assert_true(returned(RETURN_A, 40, HANDLER_FROM));
	assert_int_equal(m.call.family, LIBC);
	assert_true(more(RETURN_A, 40, HANDLER_FROM));
	assert_true(m.emit);
	assert_int_equal(m.call.family, GF);
	assert_int_equal(m.flags, RECORD_CLOSES);
	assert_false(more(RETURN_A, 40, HANDLER_FROM));
	/* the next time another function returns there */
	assert_int_equal(hit_classify_most(&keeper, &thread, RETURN_A, &regs), 1);
	assert_false(returned(RETURN_A, 40, HANDLER_FROM));
}

/* A call that was left does not return, though another returns at its rsp. */
static void left_and_called_from_elsewhere(void **state)
{
	(void)state;
	called(GF_ENTRY, 40, HANDLER_FROM);
	assert_false(returned(RETURN_B, 40, LOG_FROM));
	assert_int_equal(m.flags, 0);
}

static uint64_t unreturned(void)
{
	return atomic_load(&shared.counts.unreturned);
}

static void ends_unseen(enum which trap, int slot)
{
	const struct user_regs_struct regs = { .rsp = sp(slot) };

	hit_classify_unreturned(&keeper, &thread, trap, &regs);
}

/* What is called after a call whose end cannot be seen, from the same function, is not inside of it. */
static void after_an_end_that_is_not_seen(void **state)
{
	(void)state;
	called(GF_ENTRY, 40, HANDLER_FROM);
	assert_false(hit(GF_RET, 30));
	called(GF_ENTRY, 40, HANDLER_FROM);
	ends_unseen(GF_ENTRY, 40);
	assert_int_equal(unreturned(), 1);
	assert_true(hit(GF_RET, 30));
	/* it was hit again: it is counted already */
	ends_unseen(GF_ENTRY, 40);
	assert_int_equal(unreturned(), 1);
	/* the calls around it go on */
	called(GF_ENTRY, 40, LOG_FROM);
	called(LIBC_ENTRY, 30, LOG_FROM);
	called(GF_ENTRY, 30, HANDLER_FROM);
	ends_unseen(GF_ENTRY, 30);
	assert_int_equal(unreturned(), 2);
	assert_true(hit(LIBC_RET, 30));
	assert_int_equal(m.flags, RECORD_CLOSES);
	assert_true(returned(RETURN_A, 40, LOG_FROM));
}

/* Of a function that has jumped there, no other end is to be seen. */
static void after_a_jump_to_an_end_that_is_not_seen(void **state)
{
	(void)state;
	called(GF_ENTRY, 40, HANDLER_FROM);
	keeper.traps.all[LINKER].site = keeper.traps.all[GF_ENTRY].site;
	called(LINKER, 40, HANDLER_FROM);
	ends_unseen(LINKER, 40);
	assert_int_equal(unreturned(), 1);
	assert_true(hit(GF_RET, 30));
}

/* Of a scope the return address shows whether it goes on. */
static void a_scope_whose_end_is_not_seen(void **state)
{
	(void)state;
	shared.scoped = true;
	called(SCOPE_ENTRY, 40, HANDLER_FROM);
	ends_unseen(SCOPE_ENTRY, 40);
	assert_int_equal(unreturned(), 1);
	hit(LIBC_RET, 20);
	assert_false(outside());
	stack[40] = LOG_FROM;
	hit(LIBC_RET, 20);
	assert_true(outside());
	/* nothing of a call is lost by that: the function counts, once */
	called(SCOPE_ENTRY, 40, HANDLER_FROM);
	ends_unseen(SCOPE_ENTRY, 40);
	assert_int_equal(unreturned(), 1);
}

static void nothing_is_outside_without_scope(void **state)
{
	(void)state;
	assert_true(hit(LIBC_RET, 40));
	assert_false(outside());
}

static void inside_and_outside(void **state)
{
	(void)state;
	shared.scoped = true;
	/* an event all the same: whatever was known of the address is outdated */
	assert_true(hit(LIBC_RET, 40));
	assert_true(outside());
	assert_true(hit(FREE, 40));
	assert_true(outside());
	assert_false(called(SCOPE_ENTRY, 40, HANDLER_FROM));
	assert_int_equal(m.flags, RECORD_OPENS);
	assert_true(hit(LIBC_RET, 20));
	assert_false(outside());
	assert_true(hit(FREE, 20));
	assert_false(outside());
	assert_false(hit(SCOPE_RET, 40));
	assert_false(outside());
	assert_true(hit(LIBC_RET, 20));
	assert_true(outside());
}

/* A site without a family is neither inside nor outside of a scope. */
static void where_counting_begins_is_nowhere(void **state)
{
	(void)state;
	shared.scoped = true;
	assert_true(hit(LINKER, 20));
	assert_false(outside());
	assert_true(hit(FROM, 20));
	assert_false(outside());
}

static void recursion(void **state)
{
	(void)state;
	shared.scoped = true;
	for (int slot = 50; slot > 20; slot -= 10)
		called(SCOPE_ENTRY, slot, HANDLER_FROM);
	for (int slot = 30; slot <= 50; slot += 10) {
		hit(LIBC_RET, slot - 5);
		assert_false(outside());
		hit(SCOPE_RET, slot);
	}
	hit(LIBC_RET, 25);
	assert_true(outside());
}

/* The scope function jumps to a watched one, or is watched itself. */
static void a_scope_that_jumps(void **state)
{
	(void)state;
	shared.scoped = true;
	called(SCOPE_ENTRY, 40, HANDLER_FROM);
	assert_true(hit(LIBC_RET, 40));
	assert_false(outside());
	assert_false(returned(RETURN_A, 40, HANDLER_FROM));
	assert_int_equal(m.flags, RECORD_CLOSES);
	hit(LIBC_RET, 30);
	assert_true(outside());
	/* both return to the same address: what ended there was inside */
	called(SCOPE_ENTRY, 40, HANDLER_FROM);
	called(LIBC_ENTRY, 40, HANDLER_FROM);
	assert_true(returned(RETURN_A, 40, HANDLER_FROM));
	assert_false(outside());
	assert_true(more(RETURN_A, 40, HANDLER_FROM));
	assert_false(m.emit);
	called(LIBC_ENTRY, 40, HANDLER_FROM);
	called(SCOPE_ENTRY, 40, HANDLER_FROM);
	assert_false(returned(RETURN_A, 40, HANDLER_FROM));
	assert_true(more(RETURN_A, 40, HANDLER_FROM));
	assert_true(m.emit);
	assert_false(outside());
}

/*
 * A scope that is left by longjmp or an exception is not open, though rsp does not show it: another function
 * is called from the same frame.
 */
static void a_scope_that_is_left(void **state)
{
	(void)state;
	shared.scoped = true;
	called(SCOPE_ENTRY, 50, HANDLER_FROM);
	called(SCOPE_ENTRY, 40, HANDLER_FROM);
	stack[40] = LOG_FROM;
	hit(LIBC_RET, 20);
	assert_false(outside());	/* the outer scope is still open */
	stack[50] = LOG_FROM;
	hit(LIBC_RET, 20);
	assert_true(outside());
	stack[50] = HANDLER_FROM;	/* there by chance: the scope is already forgotten */
	hit(LIBC_RET, 20);
	assert_true(outside());
	/* the watched function is called from that very frame */
	called(SCOPE_ENTRY, 40, HANDLER_FROM);
	stack[40] = LOG_FROM;
	hit(LIBC_RET, 40);
	assert_true(outside());
}

/* Another function of the scope, called from the frame of one that was left. */
static void left_and_another_begins(void **state)
{
	(void)state;
	shared.scoped = true;
	called(SCOPE_ENTRY, 40, HANDLER_FROM);
	keeper.traps.all[LINKER].site = keeper.traps.all[SCOPE_ENTRY].site;
	called(LINKER, 40, LOG_FROM);
	hit(LIBC_RET, 20);
	assert_false(outside());
}

/* A signal kept the instruction from running: the trap is hit again, which is not a second event. */
static void hit_again(void **state)
{
	(void)state;
	thread.redo = LIBC_RET;
	thread.redo_sp = sp(40);
	assert_false(hit(LIBC_RET, 40));
	assert_true(hit(LIBC_RET, 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_static_exit, setup),
		cmocka_unit_test_setup(families_count_apart, setup),
		cmocka_unit_test_setup(a_jump_into_another_family, setup),
		cmocka_unit_test_setup(two_families_return_to_one_place, setup),
		cmocka_unit_test_setup(left_and_called_from_elsewhere, setup),
		cmocka_unit_test_setup(after_an_end_that_is_not_seen, setup),
		cmocka_unit_test_setup(after_a_jump_to_an_end_that_is_not_seen, setup),
		cmocka_unit_test_setup(a_scope_whose_end_is_not_seen, setup),
		cmocka_unit_test_setup(nothing_is_outside_without_scope, setup),
		cmocka_unit_test_setup(inside_and_outside, setup),
		cmocka_unit_test_setup(where_counting_begins_is_nowhere, setup),
		cmocka_unit_test_setup(recursion, setup),
		cmocka_unit_test_setup(a_scope_that_jumps, setup),
		cmocka_unit_test_setup(a_scope_that_is_left, setup),
		cmocka_unit_test_setup(left_and_another_begins, setup),
		cmocka_unit_test_setup(hit_again, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
