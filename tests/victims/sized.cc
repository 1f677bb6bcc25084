// SPDX-License-Identifier: MIT
// sized: blocks of whole pages, freed by C++'s sized delete and by free.
//
//	go N	between two marks N vectors of 8 KiB and N blocks of valloc, all freed, and N blocks of 1,000
//		bytes that are leaked; then what it did, with the names of the report
#include <vector>

extern "C" {
#include "victim.h"
__attribute__((noinline)) void mm_mark_begin(void);
__attribute__((noinline)) void mm_mark_end(void);
}

static volatile int mark;

void mm_mark_begin(void) { mark = 1; }
void mm_mark_end(void) { mark = 2; }

__attribute__((noinline)) static void leak(void)
{
	void *p = malloc(1000);

	escape(p);
}

static void round_of_calls(void)
{
	std::vector<char> pages(8192);
	char *data = pages.data();
	void *aligned = valloc(100);

	escape(data);
	escape(aligned);
	free(aligned);
	leak();
}

int main()
{
	char line[ORDER_MAX];
	unsigned long n;

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "go %lu", &n) != 1)
			continue;
		mm_mark_begin();
		for (unsigned long i = 0; i < n; i++)
			round_of_calls();
		mm_mark_end();
		printf("{\"allocs\": %lu, \"frees\": %lu, \"live_blocks\": %lu, \"live_requested\": %lu}\n", 3 * n, 2 * n,
		       n, 1000 * n);
		fflush(stdout);
	}
	printf("{\"ended\": true}\n");
	return 0;
}
