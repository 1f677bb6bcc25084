/* SPDX-License-Identifier: MIT */
/*
 * traces: the traces of a fleet, for merging.
 *
 *	traces FOLDER FIRST N EVENTS LIVE STACKS
 *
 * Writes FOLDER/FIRST.mmt and so on, N of them: of one program on as many hosts, with the same events. Half of the
 * stacks are the same in all, the others in none of the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/synthetic/synthetic.h"

struct plan {
	const char *folder;
	uint32_t first, n, stacks;
	uint64_t events;
	size_t live;
};

static int put_run(void *ctx, struct writer *w, uint32_t piece)
{
	const uint32_t number = *(const uint32_t *)ctx;
	char host[24];
	struct fact run = {
		.kind = MMT_INFO, .info = MMT_RUN,
		.run = { .frontend = "bench", .mode = "exact", .writer = "bench/traces", .host = host },
	};

	(void)piece;
	snprintf(host, sizeof(host), "host%u", number);
	memcpy(run.run.id, &number, sizeof(number));
	return writer_put(w, &run);
}

static void make(const struct plan *plan, uint32_t number)
{
	struct synthetic p;
	struct synthetic_event e;
	struct ledger l;
	struct writer *w;
	char path[4096];
	const struct writer_options opt = { .path = path, .defs = &l.defs, .begin = put_run, .ctx = &number };

	snprintf(path, sizeof(path), "%s/%u.mmt", plan->folder, number);
	synthetic_init(&p, plan->events, plan->live, plan->stacks);
	synthetic_must(ledger_init(&l), "memory");
	synthetic_define(&l, plan->stacks, plan->stacks / 2, number);
	synthetic_must(writer_open(&opt, &w), path);
	while (synthetic_next(&p, &e)) {
		const struct fact f = synthetic_fact(&e);

		synthetic_must(writer_put(w, &f), path);
	}
	synthetic_close(w, p.now_us, NULL, NULL);
	ledger_fini(&l);
	synthetic_fini(&p);
}

int main(int argc, char **argv)
{
	struct plan plan;

	if (argc != 7) {
		fprintf(stderr, "traces FOLDER FIRST N EVENTS LIVE STACKS\n");
		return 2;
	}
	plan = (struct plan){
		.folder = argv[1], .first = (uint32_t)strtoul(argv[2], NULL, 10),
		.n = (uint32_t)strtoul(argv[3], NULL, 10), .events = strtoull(argv[4], NULL, 10),
		.live = strtoull(argv[5], NULL, 10), .stacks = (uint32_t)strtoul(argv[6], NULL, 10),
	};
	for (uint32_t i = 0; i < plan.n; i++)
		make(&plan, plan.first + i);
	return 0;
}
