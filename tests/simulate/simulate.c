/* SPDX-License-Identifier: MIT */
/*
 * simulate: sampled watches (--budget) in simulated time: a minute of a service takes 0.2 s.
 * For what happens once in a hundred watches: a false accusation, a missed leak, an interval without the
 * truth, a promise that is not kept. Live tests cannot show how often that is.
 *
 *	simulate SCENARIO [-s FIRST_SEED] [-n SEEDS] [-d SECONDS] [-b BUDGET_PPM] [-x SLOW] [-l LATE] [-v 0]
 *	simulate list
 *
 * Prints a line of JSON for each seed: what was true of each spot, and what the report says of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/simulate/watched.h"

static const struct summary_group *group_of(const struct summary *s, size_t spot)
{
	for (size_t i = 0; i < s->ngroups; i++) {
		const struct summary_group *g = &s->groups[i];

		if (g->sampled && g->stack.depth && g->stack.frames[0].pc == watched_pc(spot))
			return g;
	}
	return NULL;
}

static const char *kind_of(const struct spot *p)
{
	static const char *const names[] = { "leak", "short", "cache", "request", "table" };

	return p->leaks > 0 ? "part" : names[p->life];
}

static void print_estimate(const char *name, const struct estimate *e)
{
	printf(", \"%s\": [%.3f, %.3f, %.3f], \"%s_at_least\": %s", name, e->value, e->low,
	       e->high < 1e18 ? e->high : -1, name, e->at_least ? "true" : "false");
}

static void print_spot(const struct simulation *s, size_t i)
{
	const struct spot *p = &s->scenario->spots[i];
	const struct summary_group *g = group_of(&s->summary, i);
	const double rate = spot_rate(p, &s->states[i], s->seconds);

	printf("%s{\"name\": \"%s\", \"kind\": \"%s\", \"life_s\": %g, \"rate\": %.3f, \"leaks\": %.3f, \"bunched\": %s",
	       i ? ", " : "", p->name, kind_of(p), p->life_s, rate,
	       p->life == LEAKS ? rate : rate * p->leaks, p->when == IN_BUNCHES ? "true" : "false");
	if (g) {
		printf(", \"turnover\": \"%s\", \"seen\": %lu, \"doubt\": %d", survival_name(g->sampled->survival.kind),
		       g->sampled->seen, (int)g->sampled->doubt);
		print_estimate("allocs_per_minute", &g->sampled->allocs);
		print_estimate("kept_per_minute", &g->sampled->kept_blocks);
		printf(", \"share_low\": %.4f", g->sampled->survival.low);
	}
	printf("}");
}

static void print_run(const struct simulation *s)
{
	const struct summary_budget *b = &s->summary.run.budget;

	printf("{\"scenario\": \"%s\", \"seed\": %lu, \"seconds\": %g, \"budget\": %g, \"told_spent_s\": %.6f, "
	       "\"stood_s\": %.6f, \"worst_ten_seconds\": %.8f, \"told_worst\": %.8f, \"stops\": %lu, \"closed\": %lu, "
	       "\"closed_s\": %.3f, \"candidates\": %lu, \"places\": [",
	       s->scenario->name, s->seed, s->seconds, s->budget_ppm / 1e6, b->spent_s, s->stood_s,
	       s->worst_ppm / 1e6, b->worst, s->stops, b->closed, b->closed_s, b->candidates);
	for (size_t i = 0; i < s->scenario->nspots; i++)
		print_spot(s, i);
	printf("]}\n");
}

static int run_one(struct simulation s)
{
	const int r = watched_run(&s);

	if (r < 0)
		fprintf(stderr, "simulate: seed %lu: %s\n", s.seed, strerror(-r));
	else
		print_run(&s);
	watched_fini(&s);
	return r;
}

static int list(void)
{
	for (size_t i = 0; scenario_at(i); i++)
		printf("%s\t%s\n", scenario_at(i)->name, scenario_at(i)->what);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: simulate SCENARIO [-s FIRST_SEED] [-n SEEDS] [-d SECONDS] [-b BUDGET_PPM] "
			"[-x SLOW] [-l LATE] [-v 0] | list\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct simulation s = { .seed = 1, .seconds = 60, .budget_ppm = 10000, .slow = 1, .verdicts = true };
	unsigned long seeds = 1;
	int c;

	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	s.scenario = argc > 1 ? scenario_find(argv[1]) : NULL;
	if (!s.scenario)
		return usage();
	optind = 2;
	while ((c = getopt(argc, argv, "s:n:d:b:x:l:v:")) != -1) {
		switch (c) {
		case 's': s.seed = strtoul(optarg, NULL, 10); break;
		case 'n': seeds = strtoul(optarg, NULL, 10); break;
		case 'd': s.seconds = atof(optarg); break;
		case 'b': s.budget_ppm = (uint32_t)atoi(optarg); break;
		case 'x': s.slow = atof(optarg); break;
		case 'l': s.late = (uint32_t)atoi(optarg); break;
		case 'v': s.verdicts = atoi(optarg); break;
		default: return usage();
		}
	}
	for (; seeds; seeds--, s.seed++)
		if (run_one(s) < 0)
			return 1;
	return 0;
}
