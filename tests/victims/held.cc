// SPDX-License-Identifier: MIT
/*
 * held: what a scan finds in a process that was never watched. Before it is ready it loses carts (C++
 * objects), each with a list of items that only the cart points to; it keeps other carts in a table; and it
 * keeps a block of which it has only a pointer into the middle. Then some threads work, and others sleep in
 * the kernel and count the effects of an outside process.
 *
 *	held THREADS BLOCKS CARTS [RING]
 *
 * THREADS threads allocate and free in changing sizes, and check what they wrote. BLOCKS blocks of all sizes
 * are live besides. RING: a ring of so many
 * blocks is lost, too. Orders:
 *
 *	truth	{"lost_carts", "lost_items", "kept_carts", "kept", "middle", "a_cart", "an_item", "a_kept",
 *		"table", "a_ring"}: numbers, and addresses, as text
 *	rounds	{"rounds"}: what the threads have done until now
 *	end	{"eintr", "wrong", "rounds"}
 */
#include <pthread.h>
#include <sys/epoll.h>

#include <atomic>

#include "victim.h"

namespace shop {

struct item {
	item *next = nullptr;
	uint64_t price = 42;
	virtual ~item() {}
	virtual int weight() const { return 1; }
};

struct cart {
	item *first = nullptr;
	char owner[96];
	cart() { memset(owner, 'o', sizeof(owner)); }
	virtual ~cart() {}
};

}

#define MASK 0x5a5a5a5a5a5a5a5aull	/* stored addresses are masked, so that they point nowhere */
#define ITEMS 3
#define KEPT_CARTS 5

shop::cart *kept_carts[KEPT_CARTS];
static void **kept;
char *middle;
static size_t ncarts, nkept;
static uint64_t a_cart, an_item, a_middle, a_ring = MASK;

static std::atomic<uint64_t> rounds, eintr, wrong;
static std::atomic<bool> ending;

/* --- blocks that are lost, and blocks that are live --- */

static __attribute__((noinline)) shop::cart *fill_cart()
{
	shop::cart *c = new shop::cart;

	for (int i = 0; i < ITEMS; i++) {
		shop::item *it = new shop::item;

		it->next = c->first;
		c->first = it;
	}
	return c;
}

static __attribute__((noinline)) void lose_carts(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		shop::cart *c = fill_cart();

		escape(c);
		a_cart = (uint64_t)c ^ MASK;
		an_item = (uint64_t)c->first ^ MASK;
	}
}

static __attribute__((noinline)) void lose_ring(size_t n)
{
	void **first = static_cast<void **>(malloc(48)), **last = first;

	while (--n) {
		void **next = static_cast<void **>(malloc(48));

		last[0] = next;
		last = next;
	}
	last[0] = first;
	a_ring = (uint64_t)first ^ MASK;
}

static __attribute__((noinline)) void keep(size_t n)
{
	uint64_t seed = 88172645463325252ull;

	for (size_t i = 0; i < KEPT_CARTS; i++)
		kept_carts[i] = fill_cart();
	kept = static_cast<void **>(malloc(n * sizeof(*kept)));
	for (size_t i = 0; i < n; i++) {
		size_t size = 16 + victim_random(&seed) % (i % 64 ? 600 : 9000);

		kept[i] = malloc(size);
		memset(kept[i], 'k', size);
	}
	nkept = n;
	middle = static_cast<char *>(malloc(777));
	a_middle = (uint64_t)middle ^ MASK;
	middle += 100;
}

/* Stack below this frame, where the functions above have left pointers: overwrite it. */
static __attribute__((noinline)) void scrub()
{
	volatile char below[1 << 16];

	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

/* --- threads --- */

static void work_once(uint64_t *seed)
{
	size_t n = 16 + victim_random(seed) % 2000;
	unsigned char *p = static_cast<unsigned char *>(malloc(n));

	memset(p, (int)(n & 255), n);
	escape(p);
	for (size_t i = 0; i < n; i++)
		if (p[i] != (n & 255))
			wrong++;
	free(p);
}

static void *work(void *arg)
{
	uint64_t seed = 1234567 + (uint64_t)(uintptr_t)arg;

	while (!ending) {
		work_once(&seed);
		rounds++;
	}
	return nullptr;
}

/* A long sleep, in several ways; nothing but its timeout may end it. */
static void *sleep_in_epoll(void *)
{
	int fd = epoll_create1(0);
	struct epoll_event e;

	while (!ending)
		if (epoll_wait(fd, &e, 1, 200) < 0 && errno == EINTR)
			eintr++;
	close(fd);
	return nullptr;
}

static void *sleep_in_nanosleep(void *)
{
	const struct timespec t = { 0, 200000000 };

	while (!ending)
		if (nanosleep(&t, nullptr) < 0 && errno == EINTR)
			eintr++;
	return nullptr;
}

static void *come_and_go(void *)
{
	return nullptr;
}

static char told[512];

static __attribute__((noinline)) void write_truth()
{
	snprintf(told, sizeof(told), "{\"lost_carts\": %zu, \"lost_items\": %zu, \"kept_carts\": %d, \"kept\": %zu, \"middle\": \"%#lx\", \"a_cart\": \"%#lx\", "
	       "\"an_item\": \"%#lx\", \"a_kept\": \"%p\", \"table\": \"%p\", \"a_ring\": \"%#lx\"}\n", ncarts, ncarts * ITEMS, KEPT_CARTS, nkept,
	       (unsigned long)(a_middle ^ MASK), (unsigned long)(a_cart ^ MASK), (unsigned long)(an_item ^ MASK), kept[nkept / 2],
	       static_cast<void *>(kept), (unsigned long)(a_ring ^ MASK));
}

/* When the answer arrives, the caller may scan at once: by then no address is left on the stack. */
static void tell_truth()
{
	write_truth();
	scrub();
	fputs(told, stdout);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t nthreads = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1, blocks = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1000;
	char line[ORDER_MAX];
	pthread_t t[64];
	size_t n = 0;

	ncarts = argc > 3 ? strtoul(argv[3], nullptr, 10) : 50;
	lose_carts(ncarts);
	if (argc > 4)
		lose_ring(strtoul(argv[4], nullptr, 10));
	keep(blocks ? blocks : 1);
	scrub();
	/* a thread that has ended: its stack stays mapped, and the block the loader allocated for it stays */
	pthread_create(&t[0], nullptr, come_and_go, nullptr);
	pthread_join(t[0], nullptr);
	for (; n < nthreads && n < 60; n++)
		pthread_create(&t[n], nullptr, work, (void *)(uintptr_t)n);
	pthread_create(&t[n++], nullptr, sleep_in_epoll, nullptr);
	pthread_create(&t[n++], nullptr, sleep_in_nanosleep, nullptr);
	victim_ready();
	while (strcmp(victim_order(line), "end")) {
		if (!strcmp(line, "truth")) {
			tell_truth();
			continue;
		}
		printf("{\"rounds\": %lu}\n", (unsigned long)rounds.load());
		fflush(stdout);
	}
	ending = true;
	while (n)
		pthread_join(t[--n], nullptr);
	printf("{\"eintr\": %lu, \"wrong\": %lu, \"rounds\": %lu}\n", (unsigned long)eintr.load(), (unsigned long)wrong.load(),
	       (unsigned long)rounds.load());
	return 0;
}
