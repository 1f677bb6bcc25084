// SPDX-License-Identifier: MIT
// news: four times a millisecond, at irregular times, a block by operator new and one by new[], freed at once.
// Until the order "end".
#include <poll.h>

extern "C" {
#include "victim.h"
}

#define MEAN_NS 250000u

struct item {
	long a[5];
};

extern "C" __attribute__((noinline)) item *site_new(void)
{
	item *p = new item;

	escape(p);
	return p;
}

extern "C" __attribute__((noinline)) char *site_array(void)
{
	char *p = new char[100];

	escape(p);
	return p;
}

int main()
{
	struct pollfd in = { 0, POLLIN, 0 };
	const struct timespec wait = { 0, 50000 };
	uint64_t next = now_ns(), rng = 88172645463325252u;
	char line[ORDER_MAX];

	victim_ready();
	for (;;) {
		const uint64_t now = now_ns();

		if (now < next) {
			if (ppoll(&in, 1, &wait, NULL) > 0 && strcmp(victim_order(line), "end") == 0)
				break;
			continue;
		}
		next = now + MEAN_NS / 2 + victim_random(&rng) % MEAN_NS;
		delete site_new();
		delete[] site_array();
	}
	printf("{\"ended\": true}\n");
	return 0;
}
