/* SPDX-License-Identifier: MIT */
/*
 * losses: blocks lost, possibly lost and reachable in every way that C knows, one site for each (losses.h).
 *
 *	losses LIBRARY		liblosses.so
 *
 * Everything is set up by functions that have returned, or by threads that sleep; then the program waits
 * until stdin has a byte or ends.
 */
#include "losses.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define STACK_SIZE (64u << 10)

/* A pointer that no leak finder sees. */
static uintptr_t hide(void *p)
{
	return ~(uintptr_t)p;
}

static void check_order(void *a, void *b)
{
	if (a >= b) {
		fprintf(stderr, "losses: blocks did not come in the order of addresses\n");
		_exit(4);
	}
}

/* --- lost --- */

SITE(direct)
SITE(direct_many)
SITE(chain_head)
SITE(chain_rest)
SITE(tree_root)
SITE(tree_nodes)
SITE(shared_heads)
SITE(shared_tail)
SITE(inner_head)
SITE(inner_tail)
SITE(self)

static void **tree(int depth)
{
	void **node = site_tree_nodes(24);

	if (depth) {
		node[0] = tree(depth - 1);
		node[1] = tree(depth - 1);
	}
	return node;
}

static NOINLINE void lose_directly(void)
{
	void **p, **q;

	site_direct(100);
	for (int i = 0; i < 50; i++)
		site_direct_many(16 + (size_t)i);
	p = site_chain_head(40);
	for (int i = 0; i < 20; i++)
		p = *p = site_chain_rest(40);
	p = site_tree_root(16);
	p[0] = tree(5);
	p = site_shared_heads(24);
	q = site_shared_heads(24);
	*p = *q = site_shared_tail(24);
	p = site_inner_head(24);
	*p = (char *)site_inner_tail(56) + 20;
	p = site_self(24);
	*p = p;
}

/* --- rings: which block is reported for a ring depends on the order of addresses --- */

SITE(ring)
SITE(ring_first)
SITE(ring_second)
SITE(ring_third)
SITE(taken)
SITE(taker)
SITE(takers_taker)
SITE(ring_taken)
SITE(ring_taker)
SITE(not_taken)
SITE(not_taken_rest)
SITE(no_taker)

static NOINLINE void lose_rings(void)
{
	void **a = site_ring(24), **b = site_ring(24), **c = site_ring(24);

	*a = b;
	*b = c;
	*c = a;
	a = site_ring_first(24);
	b = site_ring_second(24);
	c = site_ring_third(24);
	check_order(a, b);
	check_order(b, c);
	*a = c;
	*b = a;
	*c = b;
}

/*
 * A leader that a later leader points to is a leader no longer. One that the later leader reaches only
 * through a block that is already assigned stays a leader.
 */
static NOINLINE void lose_leaders(void)
{
	void **a = site_taken(24), **b = site_taker(24), **c = site_takers_taker(24), **d;

	check_order(a, b);
	check_order(b, c);
	*b = a;
	*c = b;
	a = site_ring_taken(24);
	b = site_ring_taken(24);
	c = site_ring_taker(24);
	check_order(a, b);
	check_order(b, c);
	*a = b;
	*b = a;
	*c = a;
	a = site_not_taken(24);
	b = site_not_taken_rest(24);
	d = site_no_taker(24);
	check_order(a, b);
	check_order(b, d);
	*a = b;
	*b = a;
	*d = b;
}

/* --- reachable, and possibly lost --- */

SITE(global)
SITE(global_chain)
SITE(interior)
SITE(interior_behind)
SITE(interior_and_start)
SITE(start_through_interior)
SITE(past_end)
SITE(past_end_odd)
SITE(empty_held)
SITE(empty_lost)
SITE(stdstring)
SITE(length64)
SITE(newarray)
SITE(unaligned)
SITE(mapped)
SITE(mapped_chain)
SITE(mapped_lost)
SITE(in_mmap)
SITE(in_protected)
SITE(in_protected_data)
SITE(in_shared)
SITE(in_freed)
SITE(aligned)

/* realloc moved the block: the new address is the one that counts. */
static NOINLINE void **site_moved(size_t size)
{
	void *p = realloc(malloc(size), 200 * size);

	if (!p)
		victim_die("realloc");
	memset(p, 0, 200 * size);
	losses_tell("moved", p, 200 * size);
	escape(p);
	return (void **)p;
}

static NOINLINE void **site_aligned_to(size_t alignment, size_t size)
{
	void *p;

	if (posix_memalign(&p, alignment, size))
		victim_die("posix_memalign");
	memset(p, 0, size);
	losses_tell("aligned_to", p, size);
	escape(p);
	return (void **)p;
}

void *held[16];
char packed[24] __attribute__((aligned(8)));

static NOINLINE void hold(void)
{
	void **p = site_global(24);

	held[0] = p;
	for (int i = 0; i < 10; i++)
		p = *p = site_global_chain(48);
	p = site_interior(64);
	held[1] = p + 3;
	p[2] = site_interior_behind(24);
	p = site_interior_and_start(64);
	held[2] = p + 3;
	p[1] = (char *)site_start_through_interior(32) + 8;
	held[3] = p;
	held[4] = (char *)site_past_end(40) + 40;
	held[5] = (char *)site_past_end_odd(32) + 32;
	held[6] = site_empty_held(0);
	site_empty_lost(0);
	p = site_unaligned(24);
	memcpy(packed + 4, &p, sizeof(p));
}

/* Only a heuristic takes the pointer to the inside for a pointer to the block. */
static NOINLINE void hold_by_heuristics(void)
{
	uint64_t *p = (uint64_t *)site_stdstring(24 + 30 + 1);

	p[0] = 11;
	p[1] = 30;
	held[7] = p + 3;
	p = (uint64_t *)site_length64(8 + 93);
	p[0] = 93;
	held[8] = p + 1;
	p = (uint64_t *)site_newarray(8 + 5 * 72);
	p[0] = 5;
	held[9] = p + 1;
}

/* A page of the program's data that is mapped from its file. */
static void *protected_data[512] __attribute__((aligned(4096))) = { protected_data };

static NOINLINE void hold_elsewhere(void)
{
	void **map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **protect = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **share = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void **freed = malloc(200), **p;

	if (map == MAP_FAILED || protect == MAP_FAILED || share == MAP_FAILED)
		victim_die("mmap");
	map[3] = site_in_mmap(24);
	protect[3] = site_in_protected(24);
	mprotect(protect, 4096, PROT_READ);
	protected_data[3] = site_in_protected_data(24);
	mprotect(protected_data, 4096, PROT_READ);
	share[3] = site_in_shared(24);
	freed[20] = site_in_freed(24);
	escape(freed);
	free(freed);
	held[10] = site_mapped(1 << 20);
	((void **)held[10])[1000] = site_mapped_chain(24);
	site_mapped_lost(300000);
	p = site_aligned_to(256, 104);
	*p = site_aligned(24);
	held[11] = p;
	held[12] = (char *)site_moved(24) + 100;
}

/* --- threads: their variables, stacks, registers --- */

SITE(tls_main)
SITE(tls_thread)
SITE(tls_ended)
SITE(specific)
SITE(specific_far)
SITE(stack_thread)
SITE(stack_left)
SITE(stack_ended)
SITE(in_register)
SITE(result)
SITE(argument)

static __thread void *volatile kept;
static pthread_key_t keys[64];
static uintptr_t secret;
static int asleep;
static pid_t returning;

static void sleep_forever(void)
{
	__atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
	for (;;)
		syscall(SYS_pause);
}

static NOINLINE void leave_on_stack(void)
{
	void *volatile left[64];

	left[3] = site_stack_left(24);
	(void)left[3];
}

/* Deep enough that later calls on this stack do not overwrite it. */
static NOINLINE void leave_deep(void)
{
	volatile char room[2000];

	room[0] = 0;
	leave_on_stack();
	room[1] = 0;
}

static void *holds(void *arg)
{
	void *volatile mine = site_stack_thread(24);

	(void)arg;
	kept = site_tls_thread(24);
	pthread_setspecific(keys[3], site_specific(24));
	pthread_setspecific(keys[50], site_specific_far(24));
	leave_deep();
	sleep_forever();
	return mine;
}

static NOINLINE void hide_in_secret(void)
{
	secret = hide(site_in_register(24));
}

/* The pointer is in r12 and nowhere else; the counter that reports this is incremented after that. */
static void *holds_in_register(void *arg)
{
	(void)arg;
	hide_in_secret();
	losses_wipe();
	__asm__ volatile("mov %0, %%r12\n"
			 "not %%r12\n"
			 "xor %%ecx, %%ecx\n"
			 "xor %%edx, %%edx\n"
			 "xor %%esi, %%esi\n"
			 "xor %%edi, %%edi\n"
			 "lock addl $1, %1\n"
			 "1: mov $34, %%eax\n" /* pause */
			 "syscall\n"
			 "jmp 1b"
			 :
			 : "m"(secret), "m"(asleep)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			   "r14", "r15", "memory");
	return NULL;
}

static void *ends(void *arg)
{
	void *volatile mine = site_stack_ended(24);

	(void)arg;
	kept = site_tls_ended(24);
	(void)mine;
	return NULL;
}

static void *returns(void *arg)
{
	(void)arg;
	__atomic_store_n(&returning, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	return site_result(24);
}

static void *ignores(void *arg)
{
	(void)arg;
	sleep_forever();
	return NULL;
}

static pthread_t begin(void *(*what)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, what, arg))
		victim_die("pthread_create");
	return t;
}

static bool sleeping(int how_many)
{
	struct timespec t = { 0, 1000000 };

	for (int i = 0; i < 20000 && __atomic_load_n(&asleep, __ATOMIC_SEQ_CST) < how_many; i++)
		nanosleep(&t, NULL);
	return asleep >= how_many;
}

/* Wait until the kernel does not know the thread any more that is never joined. */
static void wait_for_end(void)
{
	struct timespec step = { 0, 1000000 };
	pid_t tid = 0;

	for (int i = 0; i < 20000; i++) {
		tid = __atomic_load_n(&returning, __ATOMIC_SEQ_CST);
		if (tid && syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH)
			return;
		nanosleep(&step, NULL);
	}
	victim_die("the thread does not end");
}

static NOINLINE void hold_in_threads(void)
{
	for (int i = 0; i < 64; i++)
		if (pthread_key_create(&keys[i], NULL))
			victim_die("pthread_key_create");
	kept = site_tls_main(24);
	begin(returns, NULL);
	pthread_join(begin(ends, NULL), NULL);
	begin(holds, NULL);
	begin(holds_in_register, NULL);
	begin(ignores, site_argument(24));
	if (!sleeping(3))
		victim_die("threads do not sleep");
	wait_for_end();
}

/* --- coroutines: stacks that no thread is on --- */

SITE(coroutine_block)
SITE(coroutine_frame)
SITE(coroutine_map_frame)
SITE(coroutine_running)
SITE(coroutine_running_frame)

static ucontext_t back, contexts[3];
static char *running_stack;

static NOINLINE void suspended(void)
{
	void *volatile mine = site_coroutine_frame(24);

	swapcontext(&contexts[0], &back);
	(void)mine;
}

static NOINLINE void suspended_on_map(void)
{
	void *volatile mine = site_coroutine_map_frame(24);

	swapcontext(&contexts[1], &back);
	(void)mine;
}

static NOINLINE void running(void)
{
	void *volatile mine = site_coroutine_running_frame(24);

	sleep_forever();
	(void)mine;
}

static void start(ucontext_t *c, void (*what)(void), char *stack)
{
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = STACK_SIZE;
	c->uc_link = NULL;
	makecontext(c, what, 0);
	(void)VALGRIND_STACK_REGISTER(stack, stack + STACK_SIZE);
}

static void *runs_coroutine(void *arg)
{
	ucontext_t home;

	(void)arg;
	start(&contexts[2], running, running_stack);
	swapcontext(&home, &contexts[2]);
	return NULL;
}

static NOINLINE void hold_in_coroutines(void)
{
	char *map = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int before = asleep;

	if (map == MAP_FAILED)
		victim_die("mmap");
	start(&contexts[0], suspended, (char *)site_coroutine_block(STACK_SIZE));
	swapcontext(&back, &contexts[0]);
	start(&contexts[1], suspended_on_map, map);
	swapcontext(&back, &contexts[1]);
	running_stack = (char *)site_coroutine_running(STACK_SIZE);
	begin(runs_coroutine, NULL);
	if (!sleeping(before + 1))
		victim_die("the coroutine does not sleep");
}

/* --- libraries --- */

SITE(library_data)
SITE(library_tls)
SITE(library_closed)

static void *lib_place(void *lib, const char *name)
{
	void *(*where)(void) = (void *(*)(void))dlsym(lib, name);

	if (!where)
		victim_die(name);
	return where();
}

static NOINLINE void hold_in_libraries(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	char copy[4096];

	snprintf(copy, sizeof(copy), "%.*sliblosses_closed.so", (int)(strrchr(path, '/') + 1 - path), path);
	if (!lib)
		victim_die(dlerror());
	*(void **)lib_place(lib, "data_place") = site_library_data(24);
	*(void **)lib_place(lib, "tls_place") = site_library_tls(24);
	lib = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		victim_die(dlerror());
	*(void **)lib_place(lib, "data_place") = site_library_closed(24);
	dlclose(lib);
}

SITE(stack_main)

int main(int argc, char **argv)
{
	void *volatile mine;

	if (argc != 2 || !strchr(argv[1], '/'))
		return 2;
	mine = site_stack_main(24);
	lose_directly();
	lose_rings();
	lose_leaders();
	hold();
	hold_by_heuristics();
	hold_elsewhere();
	hold_in_threads();
	hold_in_coroutines();
	hold_in_libraries(argv[1]);
	losses_forget();
	losses_wait();
	return mine ? 0 : 1;
}
