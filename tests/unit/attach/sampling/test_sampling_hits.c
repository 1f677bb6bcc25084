/* SPDX-License-Identifier: MIT */
/*
 * sampling_hits: where a hit counts: at the site, at the caller of a wrapper, or in a window on malloc itself,
 * which shows whose addresses are given out again (sampling_again.h).
 */
#include "attach/sampling/sampling_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/events/tally.h"

#define SECOND 1000000000ull
#define BEGIN (7 * SECOND)
#define BLOCK 0x5000ull
#define SIZE 64u

/* the sites: a call of malloc; one inside a wrapper; where malloc itself, and realloc itself, return */
enum { CALL, WRAPPER, MALLOC, REALLOC, SITES };
#define ADDR(site) (0x1000ull + 0x100 * (site))
#define STRANGER 0x9000ull	/* an address behind a call through a pointer */
#define MAIN 0x9900ull

/* stacks, by their leaf: of the trap behind the call; where malloc returns to it, directly and by the wrapper */
enum { AT_CALL, OF_CALL, BY_WRAPPER, OF_STRANGER, OF_OTHER, STACKS };

static struct sampling s;
static struct planting planting;
static struct link keeper;
static struct tally tally;
static struct recorder recorder;
static struct rule rules[2];
static uint32_t walked, probes[2] = { NO_PROBE, NO_PROBE };
static bool strange;

static bool born(struct block_heap *h, const struct block_hit *hit, struct block_birth *out)
{
	*out = (struct block_birth){ .heap = h, .addr = hit->addr, .bytes = SIZE, .usable = SIZE - 8 };
	return !strange;
}

static int look(struct block_heap *h, struct remote_read *g, struct block_look *const *looks, size_t n)
{
	(void)h;
	(void)g;
	(void)looks;
	(void)n;
	return 0;
}

static void keep(struct block_heap *h)
{
	(void)h;
}

static struct block_heap heap = { born, look, keep };

static int stack_of(void *ctx, const struct record_hit *hit, const struct site *at, const struct tally_frames *which,
		    const char *tag, uint32_t *number)
{
	(void)ctx;
	(void)hit;
	(void)at;
	(void)which;
	(void)tag;
	*number = walked;
	return 0;
}

static void over(void *ctx, const struct tracked *b, enum fate fate, uint64_t now_ns)
{
	(void)ctx;
	sampling_stacks_over(&s.stacks, b, fate, now_ns);
}

static void put(struct fact f)
{
	f.kind = MMT_INFO;
	recorder_put(&recorder, &f);
}

static uint32_t nodes;

/* Stack @number is @pc, called from node @caller (0: from nowhere). Its node. */
static uint32_t put_stack(uint32_t number, taddr pc, bool exact, uint32_t caller)
{
	const uint32_t node = ++nodes;

	put((struct fact){ .info = MMT_FRAME, .frame = { .number = node, .module = FACT_NONE, .pc = pc,
							 .exact = exact } });
	put((struct fact){ .info = MMT_NODE, .node = { .number = node, .caller = caller, .frame = node } });
	put((struct fact){ .info = MMT_STACK,
			   .stack = { .number = number, .node = node, .end = MMT_END_WHOLE, .tag = FACT_NONE } });
	return node;
}

static void begin_recorder(void)
{
	static const struct fact run = { .kind = MMT_INFO, .info = MMT_RUN, .run = { .mode = "sampled" } };
	static const struct fact target = { .kind = MMT_INFO, .info = MMT_TARGET, .target = { .pid = 77 } };
	uint32_t main_node, other, call;

	nodes = 0;
	assert_int_equal(recorder_init(&recorder), 0);
	recorder_begin(&recorder, BEGIN, &run, &target);
	put((struct fact){ .info = MMT_FAMILY_NAME, .family_name = { .number = 0, .name = "libc" } });
	main_node = put_stack(STACKS, MAIN, false, 0);
	other = put_stack(STACKS + 1, MAIN + 8, false, 0);
	(void)put_stack(AT_CALL, ADDR(CALL), true, main_node);
	call = put_stack(OF_CALL, ADDR(CALL), false, main_node);
	(void)put_stack(BY_WRAPPER, ADDR(WRAPPER), false, call);
	(void)put_stack(OF_STRANGER, STRANGER, false, main_node);
	(void)put_stack(OF_OTHER, ADDR(CALL), false, other);
}

static int setup(void **state)
{
	static const struct sampling_site sites[SITES] = {
		[CALL] = { .addr = ADDR(CALL), .function = ADDR(CALL) - 8, .number = CALL,
			   .role = SAMPLING_TAKES, .tries = UINT8_MAX },
		[WRAPPER] = { .addr = ADDR(WRAPPER), .function = ADDR(WRAPPER) - 8, .number = WRAPPER,
			      .role = SAMPLING_INNER },
		[MALLOC] = { .addr = ADDR(MALLOC), .number = MALLOC, .role = SAMPLING_INNER },
		[REALLOC] = { .addr = ADDR(REALLOC), .number = REALLOC, .role = SAMPLING_INNER, .target = 1 },
	};

	(void)state;
	begin_recorder();
	keeper.shared = calloc(1, sizeof(*keeper.shared));
	assert_non_null(keeper.shared);
	rules[0].op = RULE_ALLOC;
	rules[1].op = RULE_REALLOC;
	planting = (struct planting){ .link = &keeper, .rules = rules, .nrules = 2 };
	tally = (struct tally){ .planting = &planting, .recorder = &recorder, .stack_of = stack_of };
	s = (struct sampling){ .pid = getpid(), .planting = &planting, .tally = &tally, .recorder = &recorder,
			       .probes = probes, .heaps = { .glibc = &heap } };
	s.targets.n = 2;
	s.targets.all[1].rule = 1;
	sampling_sites_init(&s.sites, &planting, &s.targets);
	s.sites.all = calloc(SITES, sizeof(sites[0]));
	assert_non_null(s.sites.all);
	memcpy(s.sites.all, sites, sizeof(sites));
	s.sites.n = s.sites.room = SITES;
	for (uint32_t i = 0; i < SITES; i++) {
		s.sites.of_number[i] = i;
		if (i < MALLOC)
			assert_int_equal(addrmap_put(&s.sites.by_addr, ADDR(i), &i), 0);
	}
	sampling_parents_init(&s.parents, &s.sites, 10000);
	sampling_again_init(&s.again);
	assert_int_equal(block_poll_new(getpid(), over, NULL, &s.poll), 0);
	sampling_stacks_init(&s.stacks, s.poll, BEGIN);
	strange = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	block_poll_free(s.poll);
	sampling_stacks_fini(&s.stacks);
	sampling_again_fini(&s.again);
	sampling_parents_fini(&s.parents);
	sampling_sites_fini(&s.sites);
	recorder_fini(&recorder);
	free(keeper.shared);
	return 0;
}

/* The trap of @site is hit by stack @stack; the function has returned @result. */
static void hit(uint32_t site, uint32_t stack, taddr result, uint64_t now_ns)
{
	static struct record_hit record;

	walked = stack;
	record.head = (struct record){ .kind = RECORD_HIT, .tid = 1, .site = site, .time_ns = now_ns };
	record.regs.rax = result;
	sampling_hit(&s, &record);
}

static const struct sampling_stack *first(void)
{
	assert_true(s.stacks.n > 0);
	return &s.stacks.all[0];
}

static void a_block_counts_at_its_site(void **state)
{
	(void)state;
	hit(CALL, AT_CALL, BLOCK, BEGIN);
	assert_int_equal(first()->number, AT_CALL);
	assert_int_equal(first()->seen, 1);
	assert_int_equal(first()->usable_bytes, SIZE - 8);
	assert_int_equal(s.sites.all[CALL].nstacks, 1);
	assert_int_equal(block_poll_count(s.poll), 1);
	/* the next one, with the same stack */
	hit(CALL, AT_CALL, BLOCK + 0x100, BEGIN);
	assert_int_equal(first()->seen, 2);
	assert_int_equal(s.sites.all[CALL].nstacks, 1);
	assert_int_equal(s.sites.all[CALL].records, 2);
	assert_int_equal(tally.events, 2);
}

/* A call that fails is passed; and a result that is no block of the heap's has no size. */
static void what_is_no_block_does_not_count(void **state)
{
	(void)state;
	hit(CALL, AT_CALL, 0, BEGIN);
	assert_int_equal(s.sites.all[CALL].passes, 1);
	assert_int_equal(s.sites.all[CALL].records, 0);
	strange = true;
	hit(CALL, AT_CALL, BLOCK, BEGIN);
	assert_int_equal(tally.unread_sizes, 1);
	assert_int_equal(s.stacks.n, 0);
}

/* Where a wrapper or malloc itself returns to a site, the block is seen there; and its address was free. */
static void a_block_that_is_seen_at_its_caller(void **state)
{
	(void)state;
	for (uint32_t site = WRAPPER; site <= MALLOC; site++) {
		hit(CALL, AT_CALL, BLOCK, BEGIN);
		assert_int_equal(block_poll_count(s.poll), 1);
		hit(site, site == WRAPPER ? BY_WRAPPER : OF_CALL, BLOCK, BEGIN + SECOND);
		assert_int_equal(block_poll_count(s.poll), 0);
		assert_int_equal(s.sites.all[site].unknown, 0);
	}
	assert_int_equal(first()->gone, 2);
	assert_int_equal(s.stacks.n, 1);
}

static void a_block_of_a_stranger_counts_where_malloc_returns(void **state)
{
	(void)state;
	hit(MALLOC, OF_STRANGER, BLOCK, BEGIN);
	assert_int_equal(s.sites.all[MALLOC].unknown, 1);
	assert_int_equal(first()->number, OF_STRANGER);
	assert_int_equal(first()->site, MALLOC);
	assert_int_equal(first()->given, 1);
	hit(MALLOC, OF_STRANGER, BLOCK, BEGIN + 1000);
	assert_int_equal(first()->given, 2);
	assert_int_equal(first()->again, 1);
	assert_int_equal(first()->gone, 1);
}

/* The stack is known by what called the function around the site, whether there is a wrapper between or not. */
static void windows_show_what_is_given_out_again(void **state)
{
	(void)state;
	hit(MALLOC, OF_CALL, BLOCK, BEGIN);
	/* its site was not hit so far: whose block it is was not known */
	hit(CALL, AT_CALL, BLOCK, BEGIN);
	assert_int_equal(first()->given, 0);
	hit(MALLOC, OF_CALL, BLOCK, BEGIN + 1000);
	assert_int_equal(first()->given, 1);
	assert_int_equal(first()->again, 0);
	hit(MALLOC, BY_WRAPPER, BLOCK, BEGIN + 2000);
	assert_int_equal(first()->given, 2);
	assert_int_equal(first()->again, 1);
	/* another stack gets it: the one before is freed */
	hit(MALLOC, OF_OTHER, BLOCK, BEGIN + 3000);
	assert_int_equal(first()->given, 2);
	assert_int_equal(first()->again, 2);
	hit(MALLOC, OF_CALL, BLOCK, BEGIN + 4000);
	assert_int_equal(first()->again, 2);
	/* the trap behind the call is no window */
	hit(CALL, AT_CALL, BLOCK, BEGIN + 5000);
	assert_int_equal(first()->again, 2);
}

static void what_is_given_out_much_later_is_not_freed_soon(void **state)
{
	(void)state;
	hit(CALL, AT_CALL, BLOCK, BEGIN);
	hit(MALLOC, OF_CALL, BLOCK, BEGIN);
	hit(MALLOC, OF_CALL, BLOCK, BEGIN + SAMPLING_AGAIN_NS + 1);
	assert_int_equal(first()->again, 0);
	hit(MALLOC, OF_CALL, BLOCK, BEGIN + 2 * SAMPLING_AGAIN_NS + 1);
	assert_int_equal(first()->again, 1);
}

static void of_many_blocks_only_the_last_are_compared(void **state)
{
	(void)state;
	hit(CALL, AT_CALL, BLOCK, BEGIN);
	hit(MALLOC, OF_CALL, BLOCK, BEGIN);
	for (unsigned i = 1; i <= SAMPLING_GIVEN; i++)
		hit(MALLOC, OF_CALL, BLOCK + 0x100 * i, BEGIN);
	hit(MALLOC, OF_CALL, BLOCK, BEGIN);
	assert_int_equal(first()->again, 0);
	hit(MALLOC, OF_CALL, BLOCK + 0x100 * 2, BEGIN);
	assert_int_equal(first()->again, 1);
}

/* Its result may be the block that it was given. */
static void realloc_shows_nothing(void **state)
{
	(void)state;
	hit(CALL, AT_CALL, BLOCK, BEGIN);
	hit(REALLOC, OF_CALL, BLOCK, BEGIN);
	hit(REALLOC, OF_CALL, BLOCK, BEGIN);
	assert_int_equal(first()->given + first()->again, 0);
	/* nor what malloc returned before */
	hit(MALLOC, OF_CALL, BLOCK, BEGIN);
	hit(REALLOC, OF_CALL, BLOCK, BEGIN);
	assert_int_equal(first()->again, 0);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(a_block_counts_at_its_site),
		WITH(what_is_no_block_does_not_count),
		WITH(a_block_that_is_seen_at_its_caller),
		WITH(a_block_of_a_stranger_counts_where_malloc_returns),
		WITH(windows_show_what_is_given_out_again),
		WITH(what_is_given_out_much_later_is_not_freed_soon),
		WITH(of_many_blocks_only_the_last_are_compared),
		WITH(realloc_shows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
