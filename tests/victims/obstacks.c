/* SPDX-License-Identifier: MIT */
/*
 * obstacks: GNU obstacks, of which one leaks.
 *
 *	keep N		N obstacks of one object each, which stay
 *	work N		N obstacks of 300 objects each, which are freed
 *	end
 *
 * Answer: {"kept": obstacks that stay}
 */
#include <obstack.h>

#include "victim.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

static unsigned kept;

__attribute__((noinline)) static void keep_one(void)
{
	struct obstack *o = malloc(sizeof(*o));

	obstack_init(o);
	memset(obstack_alloc(o, 100), 1, 100);
	escape(o);
	kept++;
}

__attribute__((noinline)) static void work_once(void)
{
	struct obstack o;

	obstack_init(&o);
	for (unsigned i = 0; i < 300; i++) {
		void *p = obstack_alloc(&o, 100);

		escape(p);
	}
	obstack_free(&o, NULL);
}

int main(void)
{
	char line[ORDER_MAX];
	unsigned n;

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		n = 0;
		if (sscanf(line, "keep %u", &n) == 1)
			for (unsigned i = 0; i < n; i++)
				keep_one();
		else if (sscanf(line, "work %u", &n) == 1)
			for (unsigned i = 0; i < n; i++)
				work_once();
		printf("{\"kept\": %u}\n", kept);
		fflush(stdout);
	}
	puts("{}");
	return 0;
}
