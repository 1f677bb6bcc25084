/* SPDX-License-Identifier: MIT */
/*
 * chain_read: chains in our own memory, as a keeper reads them: within a page and across pages, of any
 * length, those that lead nowhere; a state that is another thread's; how much is read.
 */
#include "attach/keeper/traps/chain_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096u
#define PAGES 16u
#define SLICE 64u

/* As of an interpreter: of no particular one. */
struct link {
	uint64_t next, code, at;
	uint32_t unused;
	uint16_t kind, unused2;
};

static struct {
	uint64_t words[8]; /* of a thread: what fs_base is */
} descriptor;

static struct {
	uint64_t unused, owner, head;
} thread_state;

static struct {
	struct record_hit rec;
	uint8_t room[SLICE + 8 + CHAIN_MAX * sizeof(struct chain_link)];
} made;

static struct keeper *keeper;
static struct shared *shared;
static struct tracee thread;
static uint8_t *memory; /* of links; nothing is mapped behind it */
static uint64_t indirect;

static struct link *link_at(uint32_t offset)
{
	return (struct link *)(void *)(memory + offset);
}

/* @n links, the first one at @offset, each @step bytes below the one before. */
static void make_links(uint32_t n, uint32_t offset, uint32_t step)
{
	memset(memory, 0, PAGES * PAGE);
	for (uint32_t i = 0; i < n; i++)
		*link_at(offset - i * step) = (struct link){
			.next = i + 1 < n ? (uintptr_t)link_at(offset - (i + 1) * step) : 0,
			.code = 1000 + i,
			.at = 2000 + i,
			.kind = (uint16_t)(i % 3 + 0xff00),
		};
	thread_state.head = n ? (uintptr_t)link_at(offset) : 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&made, 0x5a, sizeof(made));
	memset(&thread, 0, sizeof(thread));
	thread.tid = getpid();
	thread_state.owner = (uintptr_t)&descriptor;
	descriptor.words[3] = (uintptr_t)&thread_state;
	made.rec.regs.fs_base = (uintptr_t)&descriptor;
	made.rec.regs.rsp = (uintptr_t)memory;
	made.rec.slice_len = 20;
	made.rec.head.flags = 0;
	shared->chain = (struct chain_plan){
		.slot = 3 * 8,
		.owner = 8,
		.head = 16,
		.head_of = CHAIN_DIRECT,
		.next = offsetof(struct link, next),
		.code = offsetof(struct link, code),
		.at = offsetof(struct link, at),
		.kind = offsetof(struct link, kind),
		.link_bytes = sizeof(struct link),
	};
	atomic_store(&shared->chained, true);
	return 0;
}

static void read_it(void)
{
	chain_begin(keeper);
	chain_read(keeper, &thread, &made.rec);
}

static void has_links(uint32_t n)
{
	const struct chain_link *links = record_chain(&made.rec);

	assert_int_equal(made.rec.chain_len, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(links[i].code, 1000 + i);
		assert_int_equal(links[i].at, 2000 + i);
		assert_int_equal(chain_link_kind(&links[i]), i % 3 + 0xff00);
		assert_int_equal(((struct link *)(uintptr_t)chain_link_addr(&links[i]))->code, 1000 + i);
	}
}

static void whole(void **state)
{
	(void)state;
	make_links(12, 2000, 120);
	read_it();
	has_links(12);
	assert_int_equal(made.rec.chain_end, CHAIN_WHOLE);
	assert_int_equal(made.rec.chain_head, thread_state.head);
	assert_int_equal(record_hit_size(&made.rec), sizeof(made.rec) + 24 + 12 * sizeof(struct chain_link));
	/* the first link is at another place now, and so is the state */
	make_links(5, PAGE + 600, 88);
	read_it();
	has_links(5);
}

/* Some links are on two pages. */
static void across_pages(void **state)
{
	(void)state;
	make_links(200, 12 * PAGE - 24, 200);
	read_it();
	has_links(200);
	assert_int_equal(made.rec.chain_end, CHAIN_WHOLE);
	make_links(8, 8 * PAGE + 16, PAGE);
	read_it();
	has_links(8);
}

static void too_long(void **state)
{
	(void)state;
	make_links(CHAIN_MAX, 12 * PAGE, 104);
	read_it();
	has_links(CHAIN_MAX);
	assert_int_equal(made.rec.chain_end, CHAIN_WHOLE);
	make_links(CHAIN_MAX + 1, 12 * PAGE, 104);
	read_it();
	has_links(CHAIN_MAX);
	assert_int_equal(made.rec.chain_end, CHAIN_CUT);
	/* a circle */
	make_links(3, 1000, 104);
	link_at(792)->next = (uintptr_t)link_at(1000);
	read_it();
	assert_int_equal(made.rec.chain_len, CHAIN_MAX);
	assert_int_equal(made.rec.chain_end, CHAIN_CUT);
}

static void leads_nowhere(void **state)
{
	(void)state;
	make_links(3, 1000, 104);
	link_at(792)->next = 16;
	read_it();
	has_links(3);
	assert_int_equal(made.rec.chain_end, CHAIN_LOST);
	/* the last bytes of a link are not there */
	thread_state.head = (uintptr_t)link_at(PAGES * PAGE - sizeof(struct link) + 8);
	read_it();
	has_links(0);
	assert_int_equal(made.rec.chain_end, CHAIN_LOST);
	thread_state.head = 0;
	read_it();
	has_links(0);
	assert_int_equal(made.rec.chain_end, CHAIN_WHOLE);
}

/* Links begin at a word that the head leads to; if that is in the slice, it is taken from there. */
static void one_word_away(void **state)
{
	(void)state;
	make_links(4, 1000, 104);
	indirect = thread_state.head;
	thread_state.head = (uintptr_t)&indirect - 24;
	shared->chain.head_of = 24;
	read_it();
	assert_int_equal(made.rec.chain_len, 4);
	made.rec.regs.rsp = thread_state.head;
	made.rec.slice_len = 32;
	memset(made.rec.slice, 0, 32);
	read_it();
	assert_int_equal(made.rec.chain_len, 0);
	assert_int_equal(made.rec.chain_end, CHAIN_WHOLE);
	/* there are frames in it, not the stack */
	made.rec.head.flags = RECORD_FRAMES;
	read_it();
	assert_int_equal(made.rec.chain_len, 4);
}

/* What is found in the thread's slot, or was found before, counts only if it is this thread's. */
static void of_another_thread(void **state)
{
	(void)state;
	make_links(4, 1000, 104);
	read_it();
	has_links(4);
	thread_state.owner++;
	read_it();
	assert_int_equal(made.rec.chain_end, CHAIN_NONE);
	assert_int_equal(made.rec.chain_len, 0);
	thread_state.owner--;
	descriptor.words[3] = 0;
	read_it();
	assert_int_equal(made.rec.chain_end, CHAIN_NONE);
	descriptor.words[3] = 8;
	read_it();
	assert_int_equal(made.rec.chain_end, CHAIN_NONE);
	assert_int_equal(record_hit_size(&made.rec), sizeof(made.rec) + 20);
}

static void not_asked_for(void **state)
{
	(void)state;
	make_links(4, 1000, 104);
	atomic_store(&shared->chained, false);
	read_it();
	assert_int_equal(made.rec.chain_end, CHAIN_NONE);
	assert_int_equal(chain_room(keeper, 20), 0);
	atomic_store(&shared->chained, true);
	chain_begin(keeper);
	assert_int_equal(chain_room(keeper, 20), 4 + CHAIN_MAX * sizeof(struct chain_link));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(whole, setup),
		cmocka_unit_test_setup(across_pages, setup),
		cmocka_unit_test_setup(too_long, setup),
		cmocka_unit_test_setup(leads_nowhere, setup),
		cmocka_unit_test_setup(one_word_away, setup),
		cmocka_unit_test_setup(of_another_thread, setup),
		cmocka_unit_test_setup(not_asked_for, setup),
	};

	keeper = calloc(1, sizeof(*keeper));
	shared = calloc(1, sizeof(*shared));
	memory = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!keeper || !shared || memory == MAP_FAILED)
		return 1;
	/* not unmapped: another mapping may come there */
	if (mprotect(memory + PAGES * PAGE, PAGE, PROT_NONE) < 0)
		return 1;
	keeper->shared = shared;
	keeper->read_mem = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
