/* SPDX-License-Identifier: MIT */
/*
 * tally_example: a tally of one family without a process, for hits made by hand: its parts, set up and torn
 * down for each test.
 */
#ifndef TALLY_EXAMPLE_H
#define TALLY_EXAMPLE_H

#include "attach/events/tally.h"
#include "attach/rules/ruletext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EXAMPLE_RULES 16

static struct shared *shared;
static struct link link_;
static struct planting planting;
static struct rule rules[EXAMPLE_RULES];
static struct probe probes[EXAMPLE_RULES];
static struct recorder recorder;
static struct scope whose;
static const struct option_list nobody;
static struct rule_family family;
static const struct ruleset set = { .families = &family, .nfamilies = 1 };
static struct tally tally;

/* Each rule's function has traps at its exits; the test makes the sites. */
static void example_plan(const char *const *texts, uint32_t n)
{
	memset(shared->sites, 0, sizeof(shared->sites));
	memset(&planting, 0, sizeof(planting));
	link_.shared = shared;
	planting.link = &link_;
	planting.probes = probes;
	planting.nprobes = n;
	planting.set = &set;
	planting.rules = rules;
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(rule_parse(texts[i], &rules[i], &(struct rule_error){ 0 }), 0);
		probes[i] = (struct probe){ .rule = &rules[i], .kind = PLAN_EXITS };
	}
}

static void example_begin(uint32_t nrules, tally_stack_of *stack_of, void *ctx)
{
	planting.nrules = nrules;
	assert_int_equal(recorder_init(&recorder), 0);
	scope_init(&whose, 1, NULL, &nobody, &nobody);
	assert_int_equal(tally_init(&tally, &planting, &recorder, &whose, stack_of, ctx), 0);
}

static void example_end(void)
{
	tally_fini(&tally);
	scope_fini(&whose);
	recorder_fini(&recorder);
}

static int teardown(void **state)
{
	(void)state;
	example_end();
	return 0;
}

static int example_open(void **state)
{
	(void)state;
	shared = calloc(1, sizeof(*shared));
	return !shared;
}

static int example_close(void **state)
{
	(void)state;
	free(shared);
	return 0;
}

#endif
