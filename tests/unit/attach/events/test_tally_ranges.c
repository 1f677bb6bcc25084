/* SPDX-License-Identifier: MIT */
/*
 * tally_ranges: calls of mmap and the like, made by hand, and which ranges each stack has mapped, by the
 * ledger.
 */
#include "attach/options/options.h"
#include "tests/unit/tally_example.h"

#include <sys/mman.h>

enum { SBRK = 3, MMAP, MPROTECT, MREMAP_ENTRY, MREMAP, MUNMAP, SITES };
enum { P_SBRK, P_MMAP, P_MPROTECT, P_MREMAP, P_MUNMAP, PROBES };

static const char *const rule_texts[PROBES] = {
	[P_SBRK] = "alloc sbrk size=arg1 if=ret!=-1",
	[P_MMAP] = "alloc mmap size=arg2 prot=arg3 if=ret!=-1",
	[P_MPROTECT] = "protect mprotect if=i32(ret)==0",
	[P_MREMAP] = "realloc mremap was=arg2 size=arg3 if=ret!=-1",
	[P_MUNMAP] = "free munmap size=arg2",
};

#define FAILED UINT64_MAX
#define RW (PROT_READ | PROT_WRITE)
#define A 0x10000ull
#define B 0x50000ull

/* The number of the calling stack; the thread; the time. */
static struct {
	uint32_t stack, tid;
	uint64_t time_ns;
} now;

static int stack_of(void *ctx, const struct record_hit *hit, const struct site *s, const struct tally_frames *which,
		    const char *tag, uint32_t *number)
{
	const struct fact f = { .kind = MMT_INFO, .info = MMT_STACK, .stack = { .number = now.stack } };

	(void)ctx, (void)hit, (void)s, (void)which, (void)tag;
	*number = now.stack;
	return defs_stack(&recorder.ledger.defs, now.stack) == DEFS_NONE
		       ? defs_take(&recorder.ledger.defs, &f)
		       : 0;
}

static void put_site(uint32_t site, uint32_t probe, uint16_t flags)
{
	shared->sites[site] = (struct site){ .flags = flags, .result = EMU_RAX, .family = 1 };
	planting.sites[site] = (struct site_info){ .probe = probe };
}

static int setup(void **state)
{
	(void)state;
	family = (struct rule_family){ .name = "growth", .noun = "range", .ranges = true };
	example_plan(rule_texts, PROBES);
	put_site(SBRK, P_SBRK, SITE_EXIT);
	put_site(MMAP, P_MMAP, SITE_EXIT);
	put_site(MPROTECT, P_MPROTECT, SITE_EXIT);
	put_site(MREMAP_ENTRY, P_MREMAP, SITE_ENTRY);
	put_site(MREMAP, P_MREMAP, SITE_EXIT);
	put_site(MUNMAP, P_MUNMAP, SITE_EMIT);
	now.stack = 1;
	now.tid = 1;
	now.time_ns = 1000;
	example_begin(PROBES, stack_of, NULL);
	return 0;
}

static void call(uint32_t site, uint16_t flags, uint64_t ret, uint64_t a, uint64_t b, uint64_t c)
{
	struct record_hit hit = { .outer_site = site, .args = { a, b, c } };

	now.time_ns += 1000;
	hit.head = (struct record){
		.kind = RECORD_HIT, .flags = flags, .tid = now.tid, .site = site, .time_ns = now.time_ns,
	};
	hit.regs.rax = ret;
	tally_hit(&tally, &hit);
}

static void grow_by(int64_t size, taddr old_end)
{
	call(SBRK, RECORD_CLOSES, old_end, (uint64_t)size, 0, 0);
}

static void map(taddr at, uint64_t size, int prot)
{
	call(MMAP, RECORD_CLOSES, at, 0, size, (uint64_t)prot);
}

static void protect(taddr at, uint64_t size, int prot)
{
	call(MPROTECT, RECORD_CLOSES, 0, at, size, (uint64_t)prot);
}

static void unmap(taddr at, uint64_t size)
{
	call(MUNMAP, 0, 0, at, size, 0);
}

static void move_begins(taddr from, uint64_t was, uint64_t size)
{
	call(MREMAP_ENTRY, RECORD_OPENS, 0, from, was, size);
}

static void move_ends(taddr from, uint64_t was, uint64_t size, taddr to)
{
	call(MREMAP, RECORD_CLOSES, to, from, was, size);
}

/* --- what the result must be --- */

static void assert_held(uint64_t n, uint64_t bytes)
{
	assert_int_equal(recorder.ledger.held_blocks, n);
	assert_int_equal(recorder.ledger.held_bytes, bytes);
	assert_int_equal(recorder.ledger.displaced, 0);
	assert_int_equal(recorder.ledger.nonsense, 0);
	assert_int_equal(recorder.ledger.unmatched_frees, 0);
}

static void assert_range(taddr addr, uint64_t size, uint32_t stack)
{
	struct live_block b;

	assert_true(ledger_holds(&recorder.ledger, 0, addr, &b));
	assert_int_equal(b.size, size);
	assert_int_equal(recorder.ledger.defs.stacks[b.stack].number, stack);
}

static void assert_calls(uint64_t allocs, uint64_t frees, uint64_t taken)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < recorder.ledger.books[0].nplaces; i++)
		sum += recorder.ledger.books[0].places[i].allocated_bytes;
	assert_int_equal(recorder.ledger.allocs, allocs);
	assert_int_equal(recorder.ledger.frees, frees);
	assert_int_equal(sum, taken);
}

static uint64_t birth_of(taddr addr)
{
	struct live_block b;

	assert_true(ledger_holds(&recorder.ledger, 0, addr, &b));
	return b.birth_us;
}

static void parts_are_given_back(void **state)
{
	uint64_t birth;

	(void)state;
	map(A, 0x4000, RW);
	birth = birth_of(A);
	unmap(A + 0x1000, 0x1000);
	assert_held(2, 0x3000);
	assert_range(A, 0x1000, 1);
	assert_range(A + 0x2000, 0x2000, 1);
	assert_int_equal(birth_of(A + 0x2000), birth);
	assert_calls(1, 0, 0x4000);
	unmap(A - 0x1000, 0x10000);
	assert_held(0, 0);
	assert_calls(1, 2, 0x4000);
	unmap(A, 0x10000);
	unmap(B, 0);
	assert_calls(1, 2, 0x4000);
	assert_int_equal(probes[P_MUNMAP].hits, 2);
}

/* The heap's end goes down: the newest range goes first, and memory from before the watch is not counted. */
static void the_heap_is_trimmed(void **state)
{
	(void)state;
	grow_by(0x1000, A);
	now.stack = 2;
	grow_by(0x2000, A + 0x1000);
	grow_by(0, A + 0x3000);
	grow_by(-0x2800, A + 0x3000);
	assert_held(1, 0x800);
	assert_range(A, 0x800, 1);
	grow_by(-0x8000, A + 0x800);
	assert_held(0, 0);
	call(SBRK, RECORD_CLOSES, FAILED, 0x1000, 0, 0);
	assert_held(0, 0);
	assert_calls(2, 2, 0x3000);
}

/* A new heap of an arena: reserved, its ends cut off, and then made writable bit by bit. */
static void what_is_set_apart_is_nobodys(void **state)
{
	(void)state;
	map(A, 0x10000, PROT_NONE);
	unmap(A, 0x4000);
	assert_held(0, 0);
	protect(A + 0x4000, 0x1000, RW);
	now.stack = 2;
	protect(A + 0x4000, 0x3000, RW);
	assert_held(2, 0x3000);
	assert_range(A + 0x4000, 0x1000, 1);
	assert_range(A + 0x5000, 0x2000, 2);
	/* not writable any more: counts as freed */
	protect(A + 0x4000, 0x2000, PROT_NONE);
	assert_held(1, 0x1000);
	assert_range(A + 0x6000, 0x1000, 2);
	/* two stacks had it, so there are two ranges */
	protect(A + 0x4000, 0x2000, RW);
	assert_held(3, 0x3000);
	assert_calls(4, 1, 0x5000);
}

/* RELRO, a JIT's pages: if memory of no known range becomes writable, that is no growth. */
static void what_was_there_before_does_not_grow(void **state)
{
	(void)state;
	protect(A, 0x4000, RW);
	protect(A, 0x4000, PROT_READ);
	unmap(A, 0x4000);
	assert_held(0, 0);
	assert_int_equal(tally.events, 0);
}

static void mapped_over(void **state)
{
	(void)state;
	map(A, 0x4000, RW);
	now.stack = 2;
	map(A + 0x1000, 0x1000, RW);
	assert_held(3, 0x4000);
	assert_range(A + 0x1000, 0x1000, 2);
	map(A, 0x4000, PROT_NONE);
	assert_held(0, 0);
}

static void resized_in_place(void **state)
{
	uint64_t birth;

	(void)state;
	map(A, 0x4000, RW);
	birth = birth_of(A);
	now.stack = 2;
	move_begins(A, 0x4000, 0x6000);
	move_ends(A, 0x4000, 0x6000, A);
	assert_held(2, 0x6000);
	assert_range(A, 0x4000, 1);
	assert_int_equal(birth_of(A), birth);
	assert_range(A + 0x4000, 0x2000, 2);
	move_begins(A, 0x6000, 0x1000);
	move_ends(A, 0x6000, 0x1000, A);
	assert_held(1, 0x1000);
	assert_range(A, 0x1000, 1);
	assert_calls(2, 0, 0x6000);
}

/* Another thread may get the old addresses before the call has ended. */
static void moved_while_another_maps(void **state)
{
	(void)state;
	map(A, 0x4000, RW);
	now.stack = 2;
	move_begins(A, 0x4000, 0x5000);
	now.tid = 2;
	now.stack = 3;
	map(A, 0x2000, RW);
	now.tid = 1;
	now.stack = 2;
	move_ends(A, 0x4000, 0x5000, B);
	assert_held(3, 0x7000);
	assert_range(A, 0x2000, 3);
	assert_range(B, 0x4000, 1);
	assert_range(B + 0x4000, 0x1000, 2);
}

static void failed_moves(void **state)
{
	(void)state;
	map(A, 0x4000, RW);
	unmap(A + 0x1000, 0x1000);
	move_begins(A, 0x4000, 0x8000);
	assert_held(0, 0);
	move_ends(A, 0x4000, 0x8000, FAILED);
	assert_held(2, 0x3000);
	assert_range(A + 0x2000, 0x2000, 1);
	/* its thread is killed in the call: the process ends, and nothing may leak */
	move_begins(A, 0x4000, 0x8000);
	tally_thread_end(&tally, 1);
	/* a call that is under way at the end */
	map(B, 0x1000, RW);
	move_begins(B, 0x1000, 0x8000);
}

/* A range from before the watch: only what it grew by is counted. */
static void an_older_one_is_resized(void **state)
{
	(void)state;
	move_begins(A, 0x4000, 0x5000);
	move_ends(A, 0x4000, 0x5000, B);
	assert_held(1, 0x1000);
	assert_range(B + 0x4000, 0x1000, 1);
	move_ends(A, 0x4000, 0x5000, B);
	assert_int_equal(tally.unread_values, 1);
}

/* Sizes and addresses come from the target. */
static void nonsense_is_survived(void **state)
{
	(void)state;
	map(UINT64_MAX - 0xfff, 0x4000, RW);
	unmap(A, UINT64_MAX);
	unmap(UINT64_MAX, UINT64_MAX);
	protect(UINT64_MAX, 0x7fffffffffffffff, RW);
	move_begins(A, UINT64_MAX, 1);
	move_ends(A, UINT64_MAX, 1, UINT64_MAX - 1);
	assert_held(0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_are_given_back, setup, teardown),
		cmocka_unit_test_setup_teardown(the_heap_is_trimmed, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_set_apart_is_nobodys, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_there_before_does_not_grow, setup, teardown),
		cmocka_unit_test_setup_teardown(mapped_over, setup, teardown),
		cmocka_unit_test_setup_teardown(resized_in_place, setup, teardown),
		cmocka_unit_test_setup_teardown(moved_while_another_maps, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(an_older_one_is_resized, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_is_survived, setup, teardown),
	};

	return cmocka_run_group_tests(tests, example_open, example_close);
}
