// SPDX-License-Identifier: MIT
// bursts: threads that live for a moment. Half of them allocate blocks and hand them over, the others free these:
// many of the blocks are in a thread's cache when it ends. Each block is freed once.
//
//	run	rounds of four pairs of threads until the next order comes, then {"rounds": how many}
//	detach	20 times 20 detached threads, whose stacks are more than are kept: each that ends unmaps those of others;
//		then {"detached": 400}
//	twice N	N blocks are freed twice, then {"twice": N}
//	end	{"ended": true}
#include <atomic>
#include <future>
#include <poll.h>
#include <thread>
#include <vector>

extern "C" {
#include "victim.h"
}

static const int BLOCKS = 1000;

static int **allocate()
{
	int **blocks = new int *[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = new int;
	return blocks;
}

static void release(std::future<int **> &&from)
{
	int **blocks = from.get();

	for (int i = 0; i < BLOCKS; i++)
		delete blocks[i];
	delete[] blocks;
}

static unsigned long run()
{
	struct pollfd order = { 0, POLLIN, 0 };
	unsigned long n = 0;

	for (; poll(&order, 1, 0) == 0; n += 5) {
		std::vector<std::future<void>> all;

		for (int i = 0; i < 5 * 4; i++)
			all.push_back(std::async(std::launch::async, release, std::async(std::launch::async, allocate)));
	}
	return n;
}

static std::atomic<int> running;

static void use_cache()
{
	void *blocks[20];

	for (int i = 0; i < 20; i++) {
		blocks[i] = malloc(24 + 16 * i);
		escape(blocks[i]);
	}
	usleep(20000);
	for (int i = 0; i < 20; i++)
		free(blocks[i]);
	running--;
}

static void detach()
{
	for (int i = 0; i < 20; i++) {
		running = 20;
		for (int k = 0; k < 20; k++)
			std::thread(use_cache).detach();
		while (running)
			usleep(1000);
	}
	usleep(50000);
}

// The cache, which has no other block of this size, has it twice then, and returns it twice; once that is freed only
// once, nothing is wrong afterwards.
static void twice(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		unsigned long *p = static_cast<unsigned long *>(malloc(700)), *q;

		escape(p);
		free(p);
		escape(p);
		p[1] = 0;
		escape(p);
		free(p);
		escape(p);
		p = static_cast<unsigned long *>(malloc(700));
		q = static_cast<unsigned long *>(malloc(700));
		escape(p);
		escape(q);
		if (p == q)
			free(p);
	}
}

int main()
{
	char line[ORDER_MAX];
	unsigned long n;

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (strcmp(line, "run") == 0) {
			printf("{\"rounds\": %lu}\n", run());
		} else if (strcmp(line, "detach") == 0) {
			detach();
			printf("{\"detached\": 400}\n");
		} else if (sscanf(line, "twice %lu", &n) == 1) {
			twice(n);
			printf("{\"twice\": %lu}\n", n);
		}
		fflush(stdout);
	}
	printf("{\"ended\": true}\n");
	return 0;
}
