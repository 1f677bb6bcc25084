/* SPDX-License-Identifier: MIT */
/* tally_pools: calls of an allocator with pools, made by hand, and what is live afterwards, by the ledger. */
#include "attach/options/options.h"
#include "tests/unit/tally_example.h"

enum { CREATE = 3, TAKE, GIVE, DESTROY, RESET, RESET_ONLY, MOVE, RESIZE_ENTRY, RESIZE, SITES };
enum { P_CREATE, P_TAKE, P_GIVE, P_DESTROY, P_RESET, P_RESET_ONLY, P_MOVE, P_RESIZE, PROBES };

static const char *const rule_texts[PROBES] = {
	[P_CREATE] = "pool create pool=arg1",
	[P_TAKE] = "alloc take pool=arg1 size=arg2",
	[P_GIVE] = "free give",
	[P_DESTROY] = "free destroy",
	[P_RESET] = "reset reset",
	[P_RESET_ONLY] = "reset reset_only children=0",
	[P_MOVE] = "move move pool=arg2",
	[P_RESIZE] = "realloc resize old=arg1 size=arg2",
};

/* Addresses of pools, and of blocks. */
enum { P = 0x10000, Q = 0x20000, R = 0x30000, A = 0x50000, B = 0x60000, C = 0x70000, D = 0x80000 };

static struct {
	uint32_t tid;
	uint64_t time_ns;
} now;

static int stack_of(void *ctx, const struct record_hit *hit, const struct site *s, const struct tally_frames *which,
		    const char *tag, uint32_t *number)
{
	const struct fact f = { .kind = MMT_INFO, .info = MMT_STACK, .stack = { .number = 1 } };

	(void)ctx, (void)hit, (void)s, (void)which, (void)tag;
	*number = 1;
	return defs_stack(&recorder.ledger.defs, 1) == DEFS_NONE ? defs_take(&recorder.ledger.defs, &f) : 0;
}

static void put_site(uint32_t site, uint32_t probe, uint16_t flags)
{
	shared->sites[site] = (struct site){ .flags = flags, .result = EMU_RAX, .family = 1 };
	planting.sites[site] = (struct site_info){ .probe = probe };
}

static int setup(void **state)
{
	(void)state;
	family = (struct rule_family){ .name = "pools", .noun = "block", .pools = true };
	example_plan(rule_texts, PROBES);
	put_site(CREATE, P_CREATE, SITE_EXIT);
	put_site(TAKE, P_TAKE, SITE_EXIT);
	put_site(GIVE, P_GIVE, SITE_EMIT);
	put_site(DESTROY, P_DESTROY, SITE_EMIT);
	put_site(RESET, P_RESET, SITE_EMIT);
	put_site(RESET_ONLY, P_RESET_ONLY, SITE_EMIT);
	put_site(MOVE, P_MOVE, SITE_EMIT);
	put_site(RESIZE_ENTRY, P_RESIZE, SITE_ENTRY);
	put_site(RESIZE, P_RESIZE, SITE_EXIT);
	now.tid = 1;
	now.time_ns = 1000;
	example_begin(PROBES, stack_of, NULL);
	return 0;
}

static void call(uint32_t site, uint16_t flags, uint64_t ret, uint64_t a, uint64_t b)
{
	struct record_hit hit = { .outer_site = site, .args = { a, b } };

	now.time_ns += 1000;
	hit.head = (struct record){
		.kind = RECORD_HIT, .flags = flags, .tid = now.tid, .site = site, .time_ns = now.time_ns,
	};
	hit.regs.rax = ret;
	tally_hit(&tally, &hit);
}

static void create(taddr pool, taddr in)
{
	call(CREATE, RECORD_CLOSES, pool, in, 0);
}

static void take(taddr block, taddr pool)
{
	call(TAKE, RECORD_CLOSES, block, pool, 100);
}

static void release(uint32_t site, taddr ptr)
{
	call(site, 0, 0, ptr, 0);
}

static void move(taddr what, taddr to)
{
	call(MOVE, 0, 0, what, to);
}

static void resize_begins(taddr old)
{
	call(RESIZE_ENTRY, RECORD_OPENS, 0, old, 200);
}

static void resize_ends(taddr old, taddr now_at)
{
	call(RESIZE, RECORD_CLOSES, now_at, old, 200);
}

static void resize(taddr old, taddr now_at)
{
	resize_begins(old);
	resize_ends(old, now_at);
}

/* --- what the result must be --- */

static bool is_live(taddr addr)
{
	return ledger_holds(&recorder.ledger, 0, addr, NULL);
}

static void assert_counts(uint64_t live, uint64_t frees, uint64_t older)
{
	assert_int_equal(recorder.ledger.held_blocks, live);
	assert_int_equal(recorder.ledger.frees, frees);
	assert_int_equal(recorder.ledger.unmatched_frees, older);
	assert_int_equal(recorder.ledger.double_frees, 0);
	assert_int_equal(recorder.ledger.displaced, 0);
	assert_int_equal(recorder.ledger.nonsense, 0);
}

static void freed_with_its_pool(void **state)
{
	(void)state;
	create(P, 0);
	take(A, P);
	take(B, P);
	release(GIVE, A);
	release(DESTROY, P);
	assert_counts(0, 3, 0);
	assert_int_equal(pools_count(&tally.pools), 0);
}

static void pools_in_a_pool(void **state)
{
	(void)state;
	create(P, 0);
	create(Q, P);
	create(R, Q);
	take(A, R);
	take(B, P);
	release(DESTROY, Q);
	assert_true(is_live(B) && is_live(P));
	assert_counts(2, 3, 0);
	release(DESTROY, P);
	assert_counts(0, 5, 0);
}

/* A function that destroys a pool calls itself for those in it, and what the program has registered. */
static void frees_inside_of_a_free(void **state)
{
	(void)state;
	create(P, 0);
	create(Q, P);
	take(A, Q);
	release(DESTROY, P);
	release(DESTROY, Q);
	release(GIVE, A);
	assert_counts(0, 3, 0);
	/* what comes later is another one */
	take(A, 0);
	release(GIVE, A);
	assert_counts(0, 4, 0);
	release(GIVE, A);
	assert_int_equal(recorder.ledger.double_frees, 1);
}

/* By a function that the program wants to be called when the pool is destroyed. */
static void taken_from_a_pool_that_is_gone(void **state)
{
	(void)state;
	create(P, 0);
	create(Q, P);
	release(DESTROY, P);
	take(A, P);
	take(B, Q);
	call(RESIZE_ENTRY, RECORD_OPENS, 0, A, 200);
	call(RESIZE, RECORD_CLOSES, C, A, 200);
	assert_counts(0, 2, 0);
	assert_int_equal(pools_count(&tally.pools), 0);
	assert_int_equal(tally.from_freed, 2);
	create(P, 0);
	take(A, P);
	assert_counts(2, 2, 0);
}

/* When the watch begins, nothing is called a double free; it is known all the same that the pool is gone. */
static void gone_while_settling(void **state)
{
	(void)state;
	tally.settling = true;
	create(P, 0);
	release(DESTROY, P);
	take(A, P);
	release(DESTROY, P);
	assert_counts(0, 1, 0);
}

static void a_pool_destroyed_twice(void **state)
{
	(void)state;
	create(P, 0);
	release(DESTROY, P);
	release(DESTROY, P);
	assert_int_equal(recorder.ledger.double_frees, 1);
}

static void a_pool_that_is_older(void **state)
{
	(void)state;
	take(A, P);
	create(Q, P);
	take(B, Q);
	take(C, R);
	release(DESTROY, P);
	assert_true(is_live(C));
	assert_counts(1, 4, 1);
	release(RESET, 0x99000);
	release(DESTROY, 0x98000);
	assert_counts(1, 5, 2);
}

static void reset(void **state)
{
	(void)state;
	create(P, 0);
	create(Q, P);
	take(A, P);
	take(B, Q);
	release(RESET_ONLY, P);
	assert_false(is_live(A));
	assert_counts(3, 1, 0);
	release(RESET, P);
	assert_true(is_live(P));
	assert_counts(1, 3, 0);
	take(A, P);
	release(DESTROY, P);
	assert_counts(0, 5, 0);
	assert_int_equal(probes[P_RESET].hits, 1);
}

static void moved(void **state)
{
	(void)state;
	create(P, 0);
	create(Q, P);
	create(R, 0);
	take(A, Q);
	move(Q, R);
	release(DESTROY, P);
	assert_true(is_live(A));
	move(Q, 0);
	release(DESTROY, R);
	assert_true(is_live(A));
	/* an older one, with what comes into it from now on */
	move(0x99000, Q);
	take(B, 0x99000);
	release(DESTROY, Q);
	assert_counts(0, 5, 0);
}

/* Its free was not seen: what lay in the older pool, or block, of that address is gone. */
static void an_address_used_again(void **state)
{
	(void)state;
	create(P, 0);
	take(A, P);
	take(B, A);
	take(A, Q);
	assert_false(is_live(B));
	release(DESTROY, P);
	assert_true(is_live(A));
	assert_int_equal(recorder.ledger.held_blocks, 1);
	take(P, Q);
	release(DESTROY, Q);
	assert_int_equal(recorder.ledger.held_blocks, 0);
}

static void resized(void **state)
{
	(void)state;
	create(P, 0);
	take(A, P);
	take(B, A);
	resize(A, A);
	resize(A, C);
	assert_counts(3, 2, 0);
	resize(C, 0);
	assert_true(is_live(C) && is_live(B));
	assert_counts(3, 2, 0);
	release(DESTROY, P);
	assert_counts(0, 5, 0);
}

/* While it lasts, another thread gets the address. */
static void resized_slowly(void **state)
{
	(void)state;
	create(P, 0);
	take(A, P);
	take(B, A);
	resize_begins(A);
	now.tid = 2;
	take(A, Q);
	take(C, A);
	now.tid = 1;
	resize_ends(A, D);
	assert_true(is_live(A) && is_live(B) && is_live(C) && is_live(D));
	release(DESTROY, P);
	assert_true(is_live(A) && is_live(C));
	assert_int_equal(recorder.ledger.held_blocks, 2);
}

/* Which pool an older block lies in is not known, so its end would not be seen. */
static void an_older_one_is_resized(void **state)
{
	(void)state;
	resize(A, B);
	assert_counts(0, 1, 1);
	resize(0, C);
	assert_counts(1, 1, 1);
	resize(C, D);
	assert_counts(1, 2, 1);
}

static void resized_to_nothing(void **state)
{
	(void)state;
	take(A, 0);
	take(B, A);
	call(RESIZE_ENTRY, RECORD_OPENS, 0, A, 0);
	call(RESIZE, RECORD_CLOSES, 0, A, 0);
	assert_counts(0, 2, 0);
	assert_int_equal(pools_count(&tally.pools), 0);
}

/* After a loss nothing is called a double free; what lies in a pool is freed with it all the same. */
static void after_a_loss(void **state)
{
	(void)state;
	create(P, 0);
	take(A, P);
	release(DESTROY, P);
	take(B, P);
	tally_gap(&tally);
	release(GIVE, A);
	release(DESTROY, P);
	assert_int_equal(recorder.ledger.double_frees, 0);
	assert_int_equal(recorder.ledger.held_blocks, 0);
}

/* What is condemned when events are lost: its address may be that of a new pool, of which that was not seen. */
static void lost_while_a_pool_is_freed(void **state)
{
	enum { N = 1000 };

	(void)state;
	create(P, 0);
	create(Q, P);
	for (taddr i = 0; i < N; i++)
		take(A + 16 * i, P);
	release(DESTROY, P);
	tally_gap(&tally);
	assert_int_equal(recorder.ledger.held_blocks, 0);
	take(B, Q);
	tally_settle(&tally);
	take(C, Q);
	assert_true(is_live(B) && is_live(C));
	assert_int_equal(tally.from_freed, 0);
}

/* A free that may have been refused: another one is a part of it, and not one of an older block either. */
static void freed_once_more(void **state)
{
	(void)state;
	family.refuses = true;
	create(P, 0);
	take(A, P);
	release(GIVE, A);
	release(GIVE, A);
	assert_counts(1, 1, 0);
	release(DESTROY, P);
	take(B, P);
	release(DESTROY, P);
	assert_counts(0, 2, 0);
	create(P, 0);
	take(A, P);
	assert_counts(2, 2, 0);
}

/* A list of which each element lies in the one before, while something else is being freed. */
static void a_long_list(void **state)
{
	enum { N = 5000, LIST = 0x1000000 };

	(void)state;
	create(P, 0);
	for (taddr i = 0; i < N; i++)
		take(A + 16 * i, P);
	take(LIST, 0);
	for (taddr i = 1; i < N; i++)
		take(LIST + 16 * i, LIST + 16 * (i - 1));
	release(DESTROY, P);
	assert_in_range(recorder.ledger.held_blocks, N + 1, 2 * N);
	take(LIST + 16 * N, LIST + 16 * (N - 1));
	assert_int_equal(recorder.ledger.held_blocks, N + 1);
	release(GIVE, LIST);
	release(GIVE, LIST + 16 * N);
	tally_settle(&tally);
	assert_counts(0, 2 * N + 2, 0);
}

/*
 * A large pool is freed: its blocks become facts with the hits that follow. Meanwhile they are free already for
 * all that happens.
 */
static void freed_little_by_little(void **state)
{
	enum { N = 1000 };

	(void)state;
	create(P, 0);
	create(Q, P);
	for (taddr i = 0; i < N; i++)
		take(A + 16 * i, i % 2 ? P : Q);
	release(DESTROY, P);
	assert_in_range(recorder.ledger.held_blocks, N / 2, N);
	/* an address that is used again; one that is freed again, and resized; the pool in it */
	create(P, 0);
	take(A + 16 * 5, P);
	release(GIVE, A + 16 * 6);
	resize(A + 16 * 7, D);
	take(B, Q);
	release(DESTROY, Q);
	move(Q, P);
	assert_true(is_live(A + 16 * 5));
	assert_false(is_live(A + 16 * 6) || is_live(B));
	assert_in_range(recorder.ledger.held_blocks, N / 2, N);
	while (tally_idle(&tally))
		;
	assert_int_equal(recorder.ledger.held_blocks, 2);
	assert_int_equal(recorder.ledger.double_frees, 0);
	assert_int_equal(recorder.ledger.displaced, 0);
	release(DESTROY, P);
	tally_settle(&tally);
	assert_int_equal(recorder.ledger.held_blocks, 0);
	assert_int_equal(pools_count(&tally.pools), 0);
}

/* Before counting begins, pools are known already, but what lies in them does not count. */
static void not_counting_yet(void **state)
{
	(void)state;
	tally.counting = false;
	create(P, 0);
	create(Q, P);
	take(A, Q);
	tally.counting = true;
	take(B, Q);
	release(DESTROY, P);
	assert_int_equal(recorder.ledger.allocs, 1);
	assert_int_equal(recorder.ledger.held_blocks, 0);
	/* the pool itself is older than the counting */
	assert_int_equal(recorder.ledger.frees, 2);
}

#define tally_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		tally_test(freed_with_its_pool),
		tally_test(pools_in_a_pool),
		tally_test(frees_inside_of_a_free),
		tally_test(taken_from_a_pool_that_is_gone),
		tally_test(gone_while_settling),
		tally_test(a_pool_destroyed_twice),
		tally_test(a_pool_that_is_older),
		tally_test(reset),
		tally_test(moved),
		tally_test(an_address_used_again),
		tally_test(resized),
		tally_test(resized_slowly),
		tally_test(an_older_one_is_resized),
		tally_test(resized_to_nothing),
		tally_test(after_a_loss),
		tally_test(lost_while_a_pool_is_freed),
		tally_test(freed_once_more),
		tally_test(a_long_list),
		tally_test(freed_little_by_little),
		tally_test(not_counting_yet),
	};

	return cmocka_run_group_tests(tests, example_open, example_close);
}
