/* SPDX-License-Identifier: MIT */
/*
 * tally: hits made by hand, as the keeper would record them, and what the ledger has afterwards.
 *
 * The sites are those of an imaginary libc: malloc's and calloc's exit, free's entry, realloc's entry and
 * exit, posix_memalign both as a wrapper and as a function with traps of its own, a scope's begin and end.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/options/options.h"
#include "attach/events/tally_blocks.h"
#include "tests/unit/tally_example.h"

enum {
	MALLOC_RET = 3,
	MALLOC_ENTRY,
	MALLOC_AFTER,
	CALLOC_RET,
	FREE,
	REALLOC,
	REALLOC_RET,
	MEMALIGN,
	MEMALIGN_RET,
	OWN_RET,
	FROM,
	UNTIL,
	LINKER,
	SITES
};

enum { P_MALLOC, P_CALLOC, P_FREE, P_REALLOC, P_MEMALIGN, P_WRAPPER, P_OWN, P_FROM, P_UNTIL, PROBES };

static const char *const rule_texts[PROBES] = {
	[P_MALLOC] = "alloc malloc size=arg1",
	[P_CALLOC] = "alloc calloc size=arg1*arg2",
	[P_FREE] = "free free",
	[P_REALLOC] = "realloc realloc size=arg2",
	[P_MEMALIGN] = "alloc posix_memalign ptr=*arg1 size=arg3 if=i32(ret)==0",
	[P_WRAPPER] = "alloc wrapper ptr=*arg1 size=arg3 if=i32(ret)==0",
	/* without a size */
	[P_OWN] = "alloc own",
	[P_FROM] = "from begin",
	[P_UNTIL] = "until end",
};

#define WRAPPER_LO 0x7000ull
#define WRAPPER_HI 0x7100ull

static const struct record_hit blank;

/* The state of the calling thread. */
static struct {
	uint32_t tid;
	taddr caller;
	uint64_t time_ns;
} now;

static void put_site(uint32_t i, uint32_t probe, uint16_t flags, uint8_t result, bool chunk)
{
	shared->sites[i] = (struct site){
		.addr = 0x10000 + 16 * i, .flags = flags, .result = result, .family = 1,
	};
	planting.sites[i] = (struct site_info){ .probe = probe, .chunk = chunk };
}

static void put_sites(void)
{
	const uint16_t exit = SITE_EXIT | SITE_EMIT | SITE_SLICE;

	put_site(MALLOC_RET, P_MALLOC, exit, EMU_RAX, true);
	put_site(MALLOC_ENTRY, P_MALLOC, SITE_ENTRY, EMU_RAX, true);
	put_site(MALLOC_AFTER, P_MALLOC, SITE_AFTER | SITE_EMIT | SITE_SLICE, EMU_RAX, true);
	put_site(CALLOC_RET, P_CALLOC, exit, EMU_RDI, true);
	put_site(FREE, P_FREE, SITE_EMIT, EMU_RAX, true);
	put_site(REALLOC, P_REALLOC, SITE_ENTRY | SITE_EMIT, EMU_RAX, true);
	put_site(REALLOC_RET, P_REALLOC, exit, EMU_RAX, true);
	put_site(MEMALIGN, P_MEMALIGN, SITE_ENTRY, EMU_RAX, true);
	put_site(MEMALIGN_RET, P_MEMALIGN, exit, EMU_RAX, true);
	put_site(OWN_RET, P_OWN, exit, EMU_RAX, false);
	put_site(FROM, P_FROM, SITE_SCOPE | SITE_EMIT, EMU_RAX, false);
	put_site(UNTIL, P_UNTIL, SITE_SCOPE | SITE_EMIT, EMU_RAX, false);
	put_site(LINKER, NO_PROBE, SITE_EMIT | SITE_WAIT | SITE_MODULES, EMU_RAX, false);
	shared->sites[FREE].loads[SITE_CHUNK] = (struct site_load){ .base = SITE_BASE_ARG1, .width = 8, .disp = -8 };
	shared->sites[REALLOC].loads[SITE_OLD_CHUNK] = shared->sites[FREE].loads[SITE_CHUNK];
}

/* Stacks of one frame, each with its caller's address, and whether a frame was to be skipped. */
static struct {
	taddr caller;
	bool skip;
} stacks[64];
static uint32_t nstacks;

static void define_stack(uint32_t number, taddr caller)
{
	const struct fact f[] = {
		{ .kind = MMT_INFO, .info = MMT_FRAME, .frame = { .number = number, .pc = caller } },
		{ .kind = MMT_INFO, .info = MMT_NODE, .node = { .number = number + 1, .frame = number } },
		{ .kind = MMT_INFO, .info = MMT_STACK, .stack = { .number = number, .node = number + 1 } },
	};

	for (size_t i = 0; i < sizeof(f) / sizeof(f[0]); i++)
		assert_int_equal(defs_take(&recorder.ledger.defs, &f[i]), 0);
}

static int stack_of(void *ctx, const struct record_hit *hit, const struct site *s, const struct tally_frames *which,
		    const char *tag, uint32_t *number)
{
	taddr caller = s->flags & SITE_AFTER ? hit->regs.rip : 0;

	assert_ptr_equal(ctx, &stacks);
	assert_null(tag);
	if (!caller && hit->slice_len >= sizeof(caller))
		memcpy(&caller, hit->slice, sizeof(caller));
	for (*number = 0; *number < nstacks; ++*number)
		if (stacks[*number].caller == caller && stacks[*number].skip == which->skip)
			return 0;
	assert_in_range(nstacks, 0, sizeof(stacks) / sizeof(stacks[0]) - 1);
	stacks[nstacks].caller = caller;
	stacks[nstacks++].skip = which->skip;
	define_stack(*number, caller);
	return 0;
}

static void start(uint32_t nrules)
{
	nstacks = 0;
	example_begin(nrules, stack_of, &stacks);
}

static int setup(void **state)
{
	(void)state;
	family = (struct rule_family){ .name = "libc", .noun = "block" };
	example_plan(rule_texts, PROBES);
	probes[P_WRAPPER].kind = PLAN_WRAPPER;
	probes[P_WRAPPER].body = (struct code_range){ WRAPPER_LO, WRAPPER_HI };
	put_sites();
	now.tid = 1;
	now.caller = 0x401000;
	now.time_ns = 5000;
	start(P_FROM); /* no scopes */
	return 0;
}

/* --- hits --- */

struct made {
	struct record_hit hit;
	taddr slice[2];
};

static struct made make(uint32_t site, uint16_t flags)
{
	struct made m = { .hit = blank, .slice = { now.caller, 0xdead } };

	m.hit.head = (struct record){
		.kind = RECORD_HIT, .flags = flags, .tid = now.tid, .site = site, .time_ns = now.time_ns,
	};
	m.hit.outer_site = site;
	m.hit.slice_len = sizeof(m.slice);
	m.hit.regs.rip = shared->sites[site].addr;
	m.hit.regs.rax = 0xbad;
	return m;
}

static void send(struct made *m)
{
	tally_hit(&tally, &m->hit);
}

static uint64_t header(uint64_t usable)
{
	return (usable + 8) | 1;
}

static void malloc_hit(taddr result, uint64_t usable)
{
	struct made m = make(MALLOC_RET, RECORD_STATIC);

	m.hit.regs.rax = result;
	m.hit.loads[SITE_CHUNK] = header(usable);
	m.hit.loads_read = result ? 1u << SITE_CHUNK : 0;
	send(&m);
}

static void free_hit(taddr ptr)
{
	struct made m = make(FREE, 0);

	m.hit.args[0] = ptr;
	send(&m);
}

static void realloc_begins(taddr old, uint64_t size)
{
	struct made m = make(REALLOC, RECORD_OPENS);

	m.hit.args[0] = old;
	m.hit.args[1] = size;
	send(&m);
}

/* Ends at malloc's `ret` if @at is that, as realloc(NULL) does. */
static void realloc_ends_at(uint32_t site, taddr old, uint64_t size, taddr result, uint64_t usable)
{
	struct made m = make(site, RECORD_CLOSES);

	m.hit.outer_site = REALLOC;
	m.hit.args[0] = old;
	m.hit.args[1] = size;
	m.hit.regs.rax = result;
	m.hit.loads[SITE_CHUNK] = header(usable);
	m.hit.loads_read = result ? 1u << SITE_CHUNK : 0;
	send(&m);
}

static void realloc_ends(taddr old, uint64_t size, taddr result)
{
	realloc_ends_at(REALLOC_RET, old, size, result, size);
}

static void whole_realloc(taddr old, uint64_t size, taddr result)
{
	realloc_begins(old, size);
	realloc_ends(old, size, result);
}

/* --- what the result must be --- */

static void assert_live(uint64_t blocks, uint64_t bytes)
{
	assert_int_equal(recorder.ledger.held_blocks, blocks);
	assert_int_equal(recorder.ledger.held_bytes, bytes);
}

static void assert_calls(uint64_t allocs, uint64_t frees, uint64_t unmatched, uint64_t doubled)
{
	tally_end(&tally); /* suspect frees are counted now */
	assert_int_equal(recorder.ledger.allocs, allocs);
	assert_int_equal(recorder.ledger.frees, frees);
	assert_int_equal(recorder.ledger.unmatched_frees, unmatched);
	assert_int_equal(recorder.ledger.double_frees, doubled);
}

static void assert_block(taddr addr, uint64_t size, taddr pc)
{
	struct live_block b;

	assert_true(ledger_holds(&recorder.ledger, 0, addr, &b));
	assert_int_equal(b.size, size);
	assert_int_equal(stacks[b.stack].caller, pc);
}

static void assert_no_block(taddr addr)
{
	assert_false(ledger_holds(&recorder.ledger, 0, addr, NULL));
}

static void assert_hits(int probe, uint64_t n)
{
	assert_int_equal(probes[probe].hits, n);
}

/* --- alloc and free --- */

static void alloc_and_free(void **state)
{
	struct live_block b;

	(void)state;
	malloc_hit(0xa000, 104);
	assert_block(0xa000, 104, 0x401000);
	assert_true(ledger_holds(&recorder.ledger, 0, 0xa000, &b));
	assert_int_equal(b.birth_us, 5);
	assert_live(1, 104);
	free_hit(0xa000);
	assert_live(0, 0);
	assert_calls(1, 1, 0, 0);
	assert_hits(P_MALLOC, 1);
	assert_hits(P_FREE, 1);
	assert_int_equal(tally.events, 2);
}

static void what_failed_counts_nowhere(void **state)
{
	(void)state;
	malloc_hit(0, 0);
	free_hit(0);
	assert_live(0, 0);
	assert_calls(0, 0, 0, 0);
	assert_hits(P_MALLOC, 0);
	assert_hits(P_FREE, 0);
	assert_int_equal(tally.events, 0);
	assert_live(0, 0);
}

static void free_by(int probe, taddr ptr, taddr sp)
{
	struct made m = make(FREE, 0);

	planting.sites[FREE].probe = (uint32_t)probe;
	m.hit.args[0] = ptr;
	m.hit.regs.rsp = sp;
	send(&m);
}

/* CRYPTO_clear_free forwards to CRYPTO_free. */
static void a_release_that_is_passed_on(void **state)
{
	struct rule clear_free = rules[P_FREE];

	(void)state;
	probes[P_OWN].rule = &clear_free;
	probes[P_OWN].forwards = true;
	malloc_hit(0xa000, 104);
	free_by(P_OWN, 0xa000, 0x7000);
	free_by(P_FREE, 0xa000, 0x6fe0);
	assert_calls(1, 1, 0, 0);
	/* the same for a block older than the watch */
	free_by(P_OWN, 0xb000, 0x7000);
	free_by(P_FREE, 0xb000, 0x7000);
	assert_calls(1, 2, 1, 0);
	/* the block is allocated again between the two */
	free_by(P_OWN, 0xa000, 0x7000);
	malloc_hit(0xa000, 104);
	free_by(P_FREE, 0xa000, 0x6fe0);
	assert_calls(2, 4, 1, 1);
	assert_live(0, 0);
	/* the caller itself frees it again, by either function; and so does another thread */
	free_by(P_OWN, 0xa000, 0x7000);
	free_by(P_OWN, 0xa000, 0x6fe0);
	free_by(P_FREE, 0xa000, 0x7008);
	free_by(P_OWN, 0xa000, 0x7000);
	now.tid = 2;
	free_by(P_FREE, 0xa000, 0x6fe0);
	assert_calls(2, 9, 1, 6);
	assert_hits(P_FREE, 3);
}

/* A vfork child closes its copies of descriptors, not the target's; but it frees the target's memory. */
static void what_a_guest_does(void **state)
{
	struct made m;

	(void)state;
	malloc_hit(0xa000, 104);
	m = make(FREE, RECORD_GUEST);
	m.hit.args[0] = 0xa000;
	family.private = true;
	send(&m);
	assert_live(1, 104);
	family.private = false;
	send(&m);
	assert_live(0, 0);
	assert_calls(1, 1, 0, 0);
}

static void free_of_what_we_never_saw_and_twice(void **state)
{
	(void)state;
	free_hit(0xa000);
	assert_calls(0, 1, 1, 0);
	free_hit(0xa000);
	assert_calls(0, 2, 1, 1);
	malloc_hit(0xb000, 24);
	free_hit(0xb000);
	free_hit(0xb000);
	assert_calls(1, 4, 1, 2);
	assert_live(0, 0);
}

static void free_with_header(taddr ptr, uint64_t word)
{
	struct made m = make(FREE, 0);

	m.hit.args[0] = ptr;
	m.hit.loads[SITE_CHUNK] = word;
	m.hit.loads_read = 1u << SITE_CHUNK;
	send(&m);
}

static void assert_older(uint64_t blocks, uint64_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < recorder.ledger.books[0].older.n; i++)
		sum += recorder.ledger.books[0].older.all[i].bytes;
	assert_int_equal(older_sizes_blocks(&recorder.ledger.books[0].older), blocks);
	assert_int_equal(sum, bytes);
}

/* Its own size, and no size at all where the word is none that glibc writes. */
static void older_blocks_have_sizes(void **state)
{
	(void)state;
	free_with_header(0xa000, header(104));
	assert_older(1, 104);
	free_with_header(0xb000, (0x20000 | 2));	/* a mapping of its own */
	assert_older(2, 104 + 0x20000 - 16);
	free_with_header(0xc000, header(104) + 8);	/* no multiple of 16 */
	free_with_header(0xd000, 1);
	free_with_header(0xe000, 1ull << 47);
	free_with_header(0xf000, (1ull << 47) - 0xe000);	/* beyond what an address can be */
	free_hit(0x10000);				/* it could not be read */
	assert_older(2, 104 + 0x20000 - 16);
	assert_calls(0, 7, 7, 0);
	malloc_hit(0xa000, 24);
	free_with_header(0xa000, header(24));		/* it was seen */
	free_with_header(0xa000, header(24));		/* and is freed twice */
	assert_older(2, 104 + 0x20000 - 16);
}

/* The header is that of before: at the end of the call it is another block's. */
static void an_older_block_that_realloc_moves(void **state)
{
	struct made m = make(REALLOC, RECORD_OPENS);

	(void)state;
	m.hit.args[0] = 0xa000;
	m.hit.args[1] = 500;
	m.hit.loads[SITE_OLD_CHUNK] = header(200);
	m.hit.loads_read = 1u << SITE_OLD_CHUNK;
	send(&m);
	assert_older(0, 0);
	realloc_ends(0xa000, 500, 0xb000);
	assert_older(1, 200);
	assert_calls(1, 1, 1, 0);
}

static uint64_t size_by_address(void *ctx, const struct module *m, taddr addr)
{
	assert_ptr_equal(ctx, &stacks);
	assert_null(m);
	return addr == 0xa000 ? 320 : 0;
}

/* Of another allocator than glibc's. */
static void older_blocks_of_others(void **state)
{
	(void)state;
	tally.freed_size = size_by_address;
	tally.freed_size_ctx = &stacks;
	free_hit(0xa000);
	free_hit(0xb000);
	assert_older(1, 320);
	probes[P_FREE].glibc = true;
	free_hit(0xc000);
	tally_settle_suspects(&tally, 1, SUSPECTS_REAL);
	probes[P_FREE].glibc = false;
	assert_older(1, 320);
}

/* What was freed may be allocated again by a call whose end is not seen: also what was freed before there was one. */
static void allocations_that_are_not_seen(void **state)
{
	bool unseen[] = { false };

	(void)state;
	planting.unseen_allocs = unseen;
	malloc_hit(0xa000, 24);
	free_hit(0xa000);
	unseen[0] = true;
	free_hit(0xa000);
	free_hit(0xa000);
	assert_calls(1, 3, 2, 0);
}

/*
 * A thread that ends frees what is in its cache, which was freed before. After a loss the ledger may have such a block
 * as a live one: that it is freed does not mean that the thread is done with its cache.
 */
static void a_cache_after_a_loss(void **state)
{
	(void)state;
	now.tid = 2;
	probes[P_FREE].glibc = true;
	malloc_hit(0xa000, 24);
	tally_gap(&tally); /* its free was lost */
	now.time_ns += 1000000;
	malloc_hit(0xb000, 24);
	free_hit(0xb000);
	free_hit(0xb000);
	free_hit(0xa000);
	tally_thread_end(&tally, 2);
	assert_calls(2, 2, 0, 0);
	/* but of a block that was allocated since, it does: then what follows is not of its cache */
	malloc_hit(0xa000, 24);
	malloc_hit(0xb000, 24);
	free_hit(0xb000);
	free_hit(0xb000);
	free_hit(0xa000);
	free_hit(0xa000);
	tally_thread_end(&tally, 2);
	assert_calls(4, 5, 0, 1);
}

/* A detached thread that has freed its cache frees what others that have ended had: these are live blocks. */
static void a_thread_that_frees_what_others_had(void **state)
{
	(void)state;
	now.tid = 2;
	probes[P_FREE].glibc = true;
	malloc_hit(0xa000, 24);
	malloc_hit(0xb000, 24);
	free_hit(0xb000);
	free_hit(0xb000);
	free_hit(0xc000); /* the cache itself */
	free_hit(0xa000);
	tally_thread_end(&tally, 2);
	assert_calls(2, 2, 0, 0);
	/* if it is not the cache, the next allocation shows it */
	malloc_hit(0xa000, 24);
	free_hit(0xb000);
	malloc_hit(0xb000, 24);
	free_hit(0xb000);
	free_hit(0xb000);
	free_hit(0xc000);
	free_hit(0xa000);
	malloc_hit(0xd000, 24);
	tally_thread_end(&tally, 2);
	assert_int_equal(recorder.ledger.double_frees, 2);
}

/* A thread of this process: it ends as soon as the first one waits for that, or when it is told to. */
struct other_thread {
	pthread_t thread;
	pid_t tid;
	sem_t begun, told;
	bool waits;
};

/* The first thread sleeps. */
static bool is_awaited(void)
{
	char path[64], text[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
	f = fopen(path, "re");
	assert_non_null(f);
	(void)!fgets(text, sizeof(text), f);
	fclose(f);
	return atoi(text) == SYS_clock_nanosleep;
}

static void *end_later(void *arg)
{
	struct other_thread *t = arg;

	t->tid = (pid_t)syscall(SYS_gettid);
	sem_post(&t->begun);
	if (t->waits)
		sem_wait(&t->told);
	else
		while (!is_awaited())
			sched_yield();
	return NULL;
}

static void begin(struct other_thread *t)
{
	sem_init(&t->begun, 0, 0);
	sem_init(&t->told, 0, 0);
	assert_int_equal(pthread_create(&t->thread, NULL, end_later, t), 0);
	sem_wait(&t->begun);
	tally.pid = getpid();
	probes[P_FREE].glibc = true;
	now.tid = (uint32_t)t->tid;
}

static void end(struct other_thread *t)
{
	sem_post(&t->told);
	pthread_join(t->thread, NULL);
}

/* The watch ends first, and nothing tells when the thread does: that is noted. */
static void a_thread_that_is_about_to_end(void **state)
{
	struct other_thread t = { .waits = false };

	(void)state;
	begin(&t);
	malloc_hit(0xa000, 24);
	free_hit(0xa000);
	free_hit(0xa000);
	tally_await_ends(&tally);
	assert_calls(1, 1, 0, 0);
	assert_int_equal(recorder.ledger.nnotes, 1);
	end(&t);
}

/* One that goes on has freed its block twice. */
static void a_thread_that_does_not_end(void **state)
{
	struct other_thread t = { .waits = true };

	(void)state;
	begin(&t);
	malloc_hit(0xa000, 24);
	free_hit(0xa000);
	free_hit(0xa000);
	tally_await_ends(&tally);
	assert_calls(1, 2, 0, 1);
	assert_int_equal(recorder.ledger.nnotes, 0);
	end(&t);
}

/* The last block that it freed is from before the watch, as is usual: nobody waits for that. */
static void an_older_block_is_no_end(void **state)
{
	struct other_thread t = { .waits = true };
	size_t at = 0;
	uint32_t tid;

	(void)state;
	begin(&t);
	free_hit(0xa000);
	assert_true(suspect_frees_any(&tally.suspects, &tid));
	assert_false(suspect_frees_next_again(&tally.suspects, &at, &tid));
	tally_await_ends(&tally);
	assert_calls(0, 1, 1, 0);
	end(&t);
}

/* The end of the thread was lost, too: what has its number next is another one. */
static void a_thread_whose_end_was_lost(void **state)
{
	(void)state;
	now.tid = 2;
	probes[P_FREE].glibc = true;
	malloc_hit(0xa000, 24);
	free_hit(0xa000);
	free_hit(0xa000);
	free_hit(0xc000);
	tally_gap(&tally);
	malloc_hit(0xb000, 24);
	assert_calls(2, 2, 1, 0);
}

/* The beginning of a call was lost: it is not counted, but the block is there. */
static void a_block_of_a_call_without_its_beginning(void **state)
{
	struct made m;

	(void)state;
	malloc_hit(0xb000, 24);
	tally_gap(&tally);
	free_hit(0xa000);
	now.time_ns += 1000000;
	malloc_hit(0xc000, 24);
	for (taddr at = 0xa000; at <= 0xc000; at += 0x1000) {
		m = make(MALLOC_RET, RECORD_UNOPENED);
		m.hit.regs.rax = at;
		send(&m);
	}
	free_hit(0xa000);	/* once */
	assert_no_block(0xb000);	/* the earlier one is gone */
	assert_block(0xc000, 24, 0x401000);	/* of a call within it, which was seen */
	assert_calls(2, 1, 1, 0);
	free_hit(0xc000);
	free_hit(0xd000);
	m = make(MEMALIGN_RET, RECORD_UNOPENED);	/* where its block is, is not known */
	send(&m);
	free_hit(0xd000);
	assert_calls(2, 4, 3, 0);
	free_hit(0xd000);
	assert_calls(2, 5, 3, 1);
}

static void other_threads_may_free(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	now.tid = 2;
	free_hit(0xa000);
	assert_live(0, 0);
	assert_calls(1, 1, 0, 0);
}

static void an_entry_alone_is_no_block(void **state)
{
	struct made m = make(MALLOC_ENTRY, RECORD_OPENS);

	(void)state;
	m.hit.args[0] = 100;
	send(&m);
	assert_live(0, 0);
	assert_hits(P_MALLOC, 0);
}

static void site_without_probe(void **state)
{
	struct made m = make(LINKER, RECORD_HELD);

	(void)state;
	send(&m);
	assert_int_equal(tally.events, 0);
}

/* --- sizes --- */

static void chunk_sizes(void **state)
{
	static const struct { uint64_t header, usable; } cases[] = {
		{ 0x21, 24 },		/* the smallest chunk; the previous chunk is in use */
		{ 0x20, 24 },
		{ 0x25, 24 },		/* of another arena */
		{ 0x1011, 4104 },
		{ 0x21002, 135152 },	/* mapped: a word less */
		{ 0x8, 0 }, { 0x0, 0 }, { 0x12, 0 },	/* no chunk header: not a huge size */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made m = make(MALLOC_RET, RECORD_STATIC);

		m.hit.regs.rax = 0xa000 + 16 * i;
		m.hit.loads[SITE_CHUNK] = cases[i].header;
		m.hit.loads_read = 1u << SITE_CHUNK;
		send(&m);
		assert_block(0xa000 + 16 * i, cases[i].usable, 0x401000);
	}
	assert_int_equal(tally.unread_sizes, 0);
}

static struct made closing(uint32_t site, uint32_t outer, taddr result, uint64_t arg1, uint64_t arg2)
{
	struct made m = make(site, RECORD_CLOSES);

	m.hit.outer_site = outer;
	m.hit.regs.rax = result;
	m.hit.args[0] = arg1;
	m.hit.args[1] = arg2;
	m.hit.loads[SITE_CHUNK] = header(4000);
	m.hit.loads_read = 1u << SITE_CHUNK;
	return m;
}

static void usable_by_default_requested_if_asked(void **state)
{
	struct made m = closing(MALLOC_RET, MALLOC_ENTRY, 0xa000, 3990, 0);

	(void)state;
	send(&m);
	assert_block(0xa000, 4000, 0x401000);
	planting.options.exact_sizes = true;
	send(&m);
	assert_block(0xa000, 3990, 0x401000);
	/* calloc: the size is a product, the result in rdi */
	m = closing(CALLOC_RET, CALLOC_RET, 0xbad, 7, 100);
	m.hit.regs.rdi = 0xb000;
	send(&m);
	assert_block(0xb000, 700, 0x401000);
	assert_hits(P_CALLOC, 1);
	/* no entry was seen: only the chunk's word shows the size */
	malloc_hit(0xc000, 4000);
	assert_block(0xc000, 4000, 0x401000);
}

static void sizes_without_a_chunk(void **state)
{
	struct made m = closing(MALLOC_RET, MALLOC_ENTRY, 0xa000, 3990, 0);

	(void)state;
	m.hit.loads_read = 0; /* it could not be read */
	send(&m);
	assert_block(0xa000, 3990, 0x401000);
	planting.sites[MALLOC_RET].chunk = false;
	planting.sites[MALLOC_ENTRY].chunk = false; /* not glibc: the word means something else */
	m.hit.loads_read = 1u << SITE_CHUNK;
	send(&m);
	assert_block(0xa000, 3990, 0x401000);
	assert_int_equal(tally.unread_sizes, 0);
	/* neither header nor arguments */
	malloc_hit(0xb000, 50);
	assert_block(0xb000, 0, 0x401000);
	assert_int_equal(tally.unread_sizes, 1);
	/* a rule without a size: no unread size is counted */
	m = make(OWN_RET, RECORD_STATIC);
	m.hit.regs.rax = 0xc000;
	send(&m);
	assert_block(0xc000, 0, 0x401000);
	assert_int_equal(tally.unread_sizes, 1);
}

/* --- the caller --- */

static void caller_behind_a_return(void **state)
{
	struct made m = make(MALLOC_AFTER, RECORD_CLOSES);

	(void)state;
	m.hit.outer_site = MALLOC_ENTRY;
	m.hit.regs.rax = 0xa000;
	m.hit.regs.rip = 0x405555;
	m.hit.loads[SITE_CHUNK] = header(24);
	m.hit.loads_read = 1u << SITE_CHUNK;
	send(&m);
	assert_block(0xa000, 24, 0x405555);
	m.hit.slice_len = 0; /* needs no stack */
	send(&m);
	assert_block(0xa000, 24, 0x405555);
	assert_int_equal(tally.unread_callers, 0);
}

static void no_stack_no_caller(void **state)
{
	struct made m = make(MALLOC_RET, RECORD_STATIC | RECORD_CUT);

	(void)state;
	m.hit.regs.rax = 0xa000;
	m.hit.loads[SITE_CHUNK] = header(24);
	m.hit.loads_read = 1u << SITE_CHUNK;
	m.hit.slice_len = 4;
	send(&m);
	assert_block(0xa000, 24, 0);
	assert_int_equal(tally.unread_callers, 1);
	m.hit.slice_len = 8; /* cut off, but the caller is there */
	send(&m);
	assert_block(0xa000, 24, 0x401000);
	assert_int_equal(tally.unread_callers, 1);
}

/*
 * posix_memalign without traps of its own: its block is seen at malloc's exit, while posix_memalign is still
 * running.
 */
static void wrapper_by_return_address(void **state)
{
	(void)state;
	now.caller = WRAPPER_LO;
	malloc_hit(0xa000, 24);
	now.caller = WRAPPER_HI - 1;
	malloc_hit(0xb000, 24);
	assert_hits(P_WRAPPER, 2);
	assert_hits(P_MALLOC, 0);
	assert_block(0xa000, 24, WRAPPER_LO); /* the result is the block, though the rule has *arg1 */
	now.caller = WRAPPER_HI;
	malloc_hit(0xc000, 24);
	now.caller = WRAPPER_LO - 1;
	malloc_hit(0xd000, 24);
	assert_hits(P_WRAPPER, 2);
	assert_hits(P_MALLOC, 2);
}

/* A call whose entry was seen belongs to that function, wherever it returns to. */
static void a_closed_call_is_no_wrappers(void **state)
{
	struct made m;

	(void)state;
	now.caller = WRAPPER_LO;
	m = closing(MALLOC_RET, MALLOC_ENTRY, 0xa000, 20, 0);
	send(&m);
	assert_hits(P_WRAPPER, 0);
	assert_hits(P_MALLOC, 1);
}

/* --- the block is where an argument points --- */

static struct made memalign_ends(uint64_t status, taddr block, bool read)
{
	struct made m = make(MEMALIGN_RET, RECORD_CLOSES);

	m.hit.outer_site = MEMALIGN;
	m.hit.args[0] = 0x7ffd0000;
	m.hit.args[1] = 64;
	m.hit.args[2] = 1000;
	m.hit.regs.rax = status;
	m.hit.loads[0] = block;
	m.hit.loads_read = read;
	return m;
}

static void block_by_address(void **state)
{
	struct made m = memalign_ends(0, 0xa000, true);

	(void)state;
	send(&m);
	assert_block(0xa000, 1000, 0x401000);	/* aux[0] is the block, not its header */
	m = memalign_ends(12, 0xb000, true);	/* ENOMEM: the value there is stale */
	send(&m);
	assert_no_block(0xb000);
	/* the result is an int: the upper half of rax may hold anything */
	m = memalign_ends(0xffffffff00000000, 0xc000, true);
	send(&m);
	assert_block(0xc000, 1000, 0x401000);
	m = memalign_ends(0, 0xd000, false);	/* could not be read */
	send(&m);
	assert_no_block(0xd000);
	assert_hits(P_MEMALIGN, 2);
	assert_live(2, 2000);
}

/* --- realloc --- */

static void realloc_moves(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	now.caller = 0x402000;
	whole_realloc(0xa000, 200, 0xb000);
	assert_block(0xb000, 200, 0x402000);
	assert_no_block(0xa000);
	assert_live(1, 200);
	assert_calls(2, 1, 0, 0);
	assert_hits(P_REALLOC, 1);
	assert_int_equal(addrmap_count(&tally.reallocs), 0);
	free_hit(0xb000);
	assert_live(0, 0);
	assert_calls(2, 2, 0, 0);
}

static void realloc_stays(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	now.caller = 0x402000;
	now.time_ns = 9000;
	whole_realloc(0xa000, 40, 0xa000);
	assert_block(0xa000, 40, 0x402000);
	assert_live(1, 40);
	assert_calls(2, 1, 0, 0);
	free_hit(0xa000);
	assert_calls(2, 2, 0, 0);
	assert_live(0, 0);
}

static void realloc_of_null(void **state)
{
	(void)state;
	/* it jumps to malloc and ends there, but is realloc's call all the same */
	realloc_begins(0, 100);
	assert_int_equal(addrmap_count(&tally.reallocs), 0);
	assert_live(0, 0);
	realloc_ends_at(MALLOC_RET, 0, 100, 0xa000, 104);
	assert_block(0xa000, 104, 0x401000);
	assert_calls(1, 0, 0, 0);
	assert_hits(P_REALLOC, 1);
	assert_hits(P_MALLOC, 0);
	whole_realloc(0, 100, 0); /* and fails */
	assert_calls(1, 0, 0, 0);
	assert_hits(P_REALLOC, 1);
}

static void realloc_to_nothing(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	whole_realloc(0xa000, 0, 0);
	assert_live(0, 0);
	assert_calls(1, 1, 0, 0);
	assert_hits(P_REALLOC, 1);
	free_hit(0xa000);
	assert_calls(1, 2, 0, 1);
	/* an allocator that returns a block for size 0 */
	malloc_hit(0xb000, 24);
	whole_realloc(0xb000, 0, 0xc000);
	assert_block(0xc000, 0, 0x401000);
	assert_no_block(0xb000);
	/* NULL with size 0 */
	whole_realloc(0, 0, 0);
	assert_hits(P_REALLOC, 2);
}

static void realloc_fails(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	whole_realloc(0xa000, 1ull << 60, 0);
	assert_block(0xa000, 24, 0x401000);
	assert_live(1, 24);
	assert_calls(1, 0, 0, 0);
	assert_hits(P_REALLOC, 0);
	assert_int_equal(addrmap_count(&tally.reallocs), 0);
	free_hit(0xa000);
	assert_calls(1, 1, 0, 0);
	/* of a block older than the watch: it stays as unknown as before */
	whole_realloc(0xe000, 1ull << 60, 0);
	free_hit(0xe000);
	assert_calls(1, 2, 1, 0);
}

static void realloc_of_what_we_never_saw(void **state)
{
	(void)state;
	whole_realloc(0xa000, 104, 0xb000);
	assert_block(0xb000, 104, 0x401000);
	assert_calls(1, 1, 1, 0);
	/* of a block that was freed */
	whole_realloc(0xa000, 104, 0xc000);
	assert_calls(2, 2, 1, 1);
}

/*
 * Inside realloc the old block is freed, without a hit; another thread gets its address before realloc ends.
 * That block belongs to the other thread, and is live.
 */
static void old_address_given_away_before_the_end(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	realloc_begins(0xa000, 200);
	now.tid = 2;
	now.caller = 0x409000;
	malloc_hit(0xa000, 24);
	now.tid = 1;
	now.caller = 0x402000;
	realloc_ends(0xa000, 200, 0xb000);
	assert_block(0xa000, 24, 0x409000);
	assert_block(0xb000, 200, 0x402000);
	assert_live(2, 224);
	assert_calls(3, 1, 0, 0);
	free_hit(0xa000);
	free_hit(0xb000);
	assert_live(0, 0);
	assert_calls(3, 3, 0, 0);
}

/* The old address was allocated and freed again: not a double free. */
static void old_address_came_and_went_before_the_end(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	realloc_begins(0xa000, 200);
	now.tid = 2;
	malloc_hit(0xa000, 24);
	free_hit(0xa000);
	now.tid = 1;
	realloc_ends(0xa000, 200, 0xb000);
	assert_live(1, 200);
	assert_calls(3, 2, 0, 0);
}

/* Two threads' reallocs, interleaved; one gets the address that the other freed. */
static void reallocs_interleaved(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	malloc_hit(0xb000, 24);
	realloc_begins(0xa000, 104);
	now.tid = 2;
	realloc_begins(0xb000, 104);
	realloc_ends(0xb000, 104, 0xa000);
	now.tid = 1;
	realloc_ends(0xa000, 104, 0xb000);
	assert_block(0xa000, 104, 0x401000);
	assert_block(0xb000, 104, 0x401000);
	assert_live(2, 208);
	assert_calls(4, 2, 0, 0);
	assert_int_equal(addrmap_count(&tally.reallocs), 0);
}

/* The record of its beginning was lost. */
static void realloc_whose_beginning_was_lost(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	tally_gap(&tally);
	realloc_ends(0xa000, 104, 0xb000);
	assert_live(1, 104);
	assert_calls(2, 1, 0, 0);
	assert_no_block(0xa000);
	realloc_ends(0xb000, 1ull << 60, 0); /* and it failed */
	assert_block(0xb000, 104, 0x401000);
	tally_gap(&tally);
	realloc_ends(0xb000, 56, 0xb000);
	assert_block(0xb000, 56, 0x401000);
	assert_live(1, 56);
}

/* The records of an end and of the next beginning were lost: the call that was set aside is another one. */
static void realloc_after_one_whose_end_was_lost(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	malloc_hit(0xb000, 32);
	realloc_begins(0xa000, 104);
	tally_gap(&tally);
	realloc_ends(0xb000, 104, 0xc000);
	assert_no_block(0xb000);
	assert_block(0xc000, 104, 0x401000);
	assert_live(1, 104); /* a was most likely freed: its realloc had begun */
	assert_int_equal(addrmap_count(&tally.reallocs), 0);
}

/* When its old block was freed is not known: meanwhile the address was another thread's block. */
static void realloc_whose_old_address_came_and_went(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	malloc_hit(0xb000, 24);
	tally_gap(&tally);
	now.time_ns += 1000000;
	now.tid = 2;
	malloc_hit(0xa000, 32);
	malloc_hit(0xb000, 32);
	free_hit(0xb000);
	now.tid = 1;
	realloc_ends(0xa000, 104, 0xc000);
	realloc_ends(0xb000, 104, 0xd000);
	now.tid = 2;
	free_hit(0xa000);
	assert_calls(6, 2, 0, 0);
	assert_live(2, 208);
}

static void thread_ends_within_realloc(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	malloc_hit(0xb000, 24);
	realloc_begins(0xa000, 104);
	tally_thread_end(&tally, 1);
	assert_int_equal(addrmap_count(&tally.reallocs), 0);
	/* a new thread with its number starts afresh */
	realloc_begins(0xb000, 104);
	realloc_ends(0xb000, 104, 0xc000);
	assert_block(0xc000, 104, 0x401000);
	assert_live(1, 104);
	tally_thread_end(&tally, 99); /* a thread that was never seen */
}

/* The call was under way when the watch began: only its end is seen, without arguments. */
static void realloc_older_than_us(void **state)
{
	struct made m = make(REALLOC_RET, RECORD_STATIC);

	(void)state;
	m.hit.regs.rax = 0xb000;
	m.hit.loads[SITE_CHUNK] = header(88);
	m.hit.loads_read = 1u << SITE_CHUNK;
	send(&m);
	assert_block(0xb000, 88, 0x401000);
	assert_calls(1, 0, 0, 0);
	assert_hits(P_REALLOC, 1);
}

/* --- scopes --- */

static void scope(uint32_t site)
{
	struct made m = make(site, 0);

	send(&m);
}

static void counted_between_from_and_until(void **state)
{
	struct made unread = memalign_ends(0, 0xd000, false);

	(void)state;
	example_end();
	start(PROBES); /* with FROM among the rules, counting waits for it */
	assert_false(tally.counting);
	malloc_hit(0xa000, 24);
	free_hit(0xf000);
	send(&unread);
	assert_live(0, 0);
	assert_calls(0, 0, 0, 0);
	assert_int_equal(tally.events, 0);
	assert_int_equal(tally.unread_values, 0); /* what would not have counted is not counted as lost */
	scope(FROM);
	assert_true(tally.counting);
	send(&unread);
	assert_int_equal(tally.unread_values, 1);
	malloc_hit(0xb000, 24);
	malloc_hit(0xc000, 24);
	malloc_hit(0xd000, 24);
	malloc_hit(0xe000, 24);
	assert_calls(4, 0, 0, 0);
	scope(UNTIL);
	assert_false(tally.counting);
	/* outside: blocks counted inside may be freed, and their addresses allocated again */
	free_hit(0xb000);
	assert_no_block(0xb000);
	malloc_hit(0xc000, 500);
	assert_no_block(0xc000);
	whole_realloc(0xd000, 100, 0xe000);
	assert_no_block(0xd000);
	assert_no_block(0xe000);
	assert_live(0, 0);
	assert_int_equal(addrmap_count(&recorder.ledger.aside), 0);
	assert_calls(4, 0, 0, 0);
	assert_hits(P_MALLOC, 4);
	assert_hits(P_FREE, 0);
	assert_hits(P_REALLOC, 0);
	/* once more */
	scope(FROM);
	malloc_hit(0xb000, 24);
	assert_calls(5, 0, 0, 0);
	assert_live(1, 24);
}

static void a_failed_realloc_outside_keeps_the_block(void **state)
{
	(void)state;
	malloc_hit(0xa000, 24);
	scope(UNTIL);
	whole_realloc(0xa000, 1ull << 60, 0);
	assert_block(0xa000, 24, 0x401000);
	assert_live(1, 24);
}

static void free_within(taddr ptr)
{
	struct made m = make(FREE, RECORD_WITHIN);

	m.hit.args[0] = ptr;
	send(&m);
}

/*
 * A block that is freed inside of an allocating function: the program's if it was live, in scope or out of
 * it; otherwise an internal block of the function.
 */
static void released_within_an_allocation(void **state)
{
	struct made outside = make(MALLOC_RET, RECORD_STATIC | RECORD_OUTSIDE);

	(void)state;
	malloc_hit(0xa000, 24);
	free_within(0xa000);
	assert_calls(1, 1, 0, 0);
	free_within(0xb000);
	assert_calls(1, 1, 0, 0);
	outside.hit.regs.rax = 0xc000;
	send(&outside);
	free_within(0xc000);
	assert_calls(1, 1, 0, 0);
	free_hit(0xc000);	/* it was freed already */
	malloc_hit(0xd000, 24);
	assert_calls(2, 2, 0, 1);
}

/* A block that was allocated before the scope began is not a double free when it is freed inside. */
static void older_than_the_scope(void **state)
{
	(void)state;
	example_end();
	start(PROBES);
	malloc_hit(0xa000, 24);
	free_hit(0xa000);
	malloc_hit(0xa000, 24);
	scope(FROM);
	free_hit(0xa000);
	assert_calls(0, 1, 1, 0);
	assert_live(0, 0);
}

/*
 * The call began before the watch, so it is not known where it stored the block: this is reported only inside
 * the scope.
 */
static void an_end_without_its_beginning(void **state)
{
	struct made m = make(MEMALIGN_RET, RECORD_STATIC);

	(void)state;
	m.hit.regs.rax = 0;
	scope(UNTIL);
	send(&m);
	assert_int_equal(tally.unread_values, 0);
	scope(FROM);
	send(&m);
	assert_int_equal(tally.unread_values, 1);
	assert_calls(0, 0, 0, 0);
}

/* --- threads --- */

/* Thread 1 counts, the others do not. */
static void count_thread_1(void)
{
	static const char *number = "1";
	static const struct option_list one = { .all = &number, .n = 1 };

	whose.threads = &one;
}

static void in_thread(uint32_t tid)
{
	now.tid = tid;
}

/*
 * The blocks of other threads are not counted: when any thread frees one, that is no free of an older block,
 * and its address can be allocated again.
 */
static void what_others_took(void **state)
{
	(void)state;
	count_thread_1();
	in_thread(2);
	malloc_hit(0xa000, 24);
	malloc_hit(0xb000, 24);
	malloc_hit(0xc000, 24);
	in_thread(1);
	free_hit(0xa000);
	malloc_hit(0xa000, 40);
	assert_block(0xa000, 40, 0x401000);
	in_thread(2);
	free_hit(0xb000);
	free_hit(0xa000);
	assert_calls(1, 1, 0, 0);
	assert_live(0, 0);
	/* a second free is one, and blocks from before the watch are older */
	free_hit(0xb000);
	assert_calls(1, 2, 0, 1);
	free_hit(0xf000);
	assert_calls(1, 3, 1, 1);
}

static void reallocs_of_what_others_took(void **state)
{
	(void)state;
	count_thread_1();
	in_thread(2);
	malloc_hit(0xa000, 24);
	/* failed: it is still theirs */
	whole_realloc(0xa000, 1ull << 60, 0);
	whole_realloc(0xa000, 48, 0xb000);
	assert_calls(0, 0, 0, 0);
	assert_hits(P_REALLOC, 0);
	in_thread(1);
	whole_realloc(0xb000, 64, 0xc000);
	assert_calls(1, 0, 0, 0);
	assert_block(0xc000, 64, 0x401000);
	in_thread(2);
	whole_realloc(0xc000, 80, 0xd000);
	assert_calls(1, 1, 0, 0);
	assert_live(0, 0);
	free_hit(0xd000);
	assert_calls(1, 1, 0, 0);
	assert_hits(P_REALLOC, 2);
}

int main(void)
{
#define tally_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		tally_test(alloc_and_free),
		tally_test(what_failed_counts_nowhere),
		tally_test(a_release_that_is_passed_on),
		tally_test(what_a_guest_does),
		tally_test(free_of_what_we_never_saw_and_twice),
		tally_test(older_blocks_have_sizes),
		tally_test(an_older_block_that_realloc_moves),
		tally_test(older_blocks_of_others),
		tally_test(allocations_that_are_not_seen),
		tally_test(a_thread_that_is_about_to_end),
		tally_test(a_thread_that_does_not_end),
		tally_test(an_older_block_is_no_end),
		tally_test(a_cache_after_a_loss),
		tally_test(a_thread_that_frees_what_others_had),
		tally_test(a_thread_whose_end_was_lost),
		tally_test(a_block_of_a_call_without_its_beginning),
		tally_test(other_threads_may_free),
		tally_test(an_entry_alone_is_no_block),
		tally_test(site_without_probe),
		tally_test(chunk_sizes),
		tally_test(usable_by_default_requested_if_asked),
		tally_test(sizes_without_a_chunk),
		tally_test(caller_behind_a_return),
		tally_test(no_stack_no_caller),
		tally_test(wrapper_by_return_address),
		tally_test(a_closed_call_is_no_wrappers),
		tally_test(block_by_address),
		tally_test(realloc_moves),
		tally_test(realloc_stays),
		tally_test(realloc_of_null),
		tally_test(realloc_to_nothing),
		tally_test(realloc_fails),
		tally_test(realloc_of_what_we_never_saw),
		tally_test(old_address_given_away_before_the_end),
		tally_test(old_address_came_and_went_before_the_end),
		tally_test(reallocs_interleaved),
		tally_test(realloc_whose_beginning_was_lost),
		tally_test(realloc_after_one_whose_end_was_lost),
		tally_test(realloc_whose_old_address_came_and_went),
		tally_test(thread_ends_within_realloc),
		tally_test(realloc_older_than_us),
		tally_test(counted_between_from_and_until),
		tally_test(a_failed_realloc_outside_keeps_the_block),
		tally_test(released_within_an_allocation),
		tally_test(older_than_the_scope),
		tally_test(an_end_without_its_beginning),
		tally_test(what_others_took),
		tally_test(reallocs_of_what_others_took),
	};

	return cmocka_run_group_tests(tests, example_open, example_close);
}
