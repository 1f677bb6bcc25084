/* SPDX-License-Identifier: MIT */
/*
 * scan_groups: which blocks are one group, what is lost with which block, which sizes become ranges, what
 * options hide.
 */
#include "attach/scan/scan_groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 200

/* A scan with blocks that a test adds; none of them has a class or a stack. */
struct made {
	struct options opt;
	struct block blocks[MOST];
	uint8_t verdict[MOST];
	uint32_t leader[MOST];
	struct scan sc;
};

static struct made *begin(void)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->sc.opt = &m->opt;
	m->sc.blocks = m->blocks;
	m->sc.reach.verdict = m->verdict;
	m->sc.reach.leader = m->leader;
	scan_init(&m->sc.report);
	m->sc.report.summary.run.verdicts.known = true;
	return m;
}

static size_t add(struct made *m, uint64_t size, enum verdict v, size_t leader)
{
	size_t i = m->sc.nblocks++;

	assert_true(i < MOST);
	m->blocks[i] = (struct block){ 0x10000 + i * 0x100000, size };
	m->verdict[i] = (uint8_t)v;
	m->leader[i] = (uint32_t)(v == VERDICT_INDIRECT ? leader : i);
	return i;
}

static void end(struct made *m)
{
	scan_fini(&m->sc.report);
	free(m);
}

static const struct summary_group *group(const struct made *m, enum verdict v, const char *label)
{
	for (size_t i = 0; i < m->sc.report.summary.ngroups; i++) {
		const struct summary_group *g = &m->sc.report.summary.groups[i];

		if (g->verdict == v && !strcmp(g->kind.label, label))
			return g;
	}
	fail_msg("there is no group '%s'", label);
	return NULL;
}

static void by_size_and_verdict(void **state)
{
	struct made *m = begin();
	const struct summary_group *g;

	(void)state;
	for (int i = 0; i < 6; i++)
		add(m, 24, VERDICT_REACHABLE, 0);
	add(m, 24, VERDICT_DEFINITE, 0);
	add(m, 40, VERDICT_REACHABLE, 0);
	assert_int_equal(scan_groups_add(&m->sc), 0);
	assert_int_equal(m->sc.report.summary.ngroups, 3);
	g = group(m, VERDICT_REACHABLE, "24 bytes");
	assert_int_equal(g->blocks, 6);
	assert_int_equal(g->bytes, 144);
	assert_int_equal(g->bytes_direct, 144);
	assert_int_equal(g->nsamples, 6);
	assert_int_equal(g->samples[1], 0x110000);
	assert_int_equal(group(m, VERDICT_DEFINITE, "24 bytes")->samples[0], m->blocks[6].addr);
	assert_int_equal(m->sc.report.summary.groups[0].verdict, VERDICT_DEFINITE);
	assert_int_equal(m->sc.report.summary.totals.live_blocks, 8);
	assert_int_equal(m->sc.report.summary.run.verdicts.all[VERDICT_REACHABLE].bytes, 184);
	end(m);
}

/* Many blocks of one large size are a group; others are grouped by powers of two. */
static void rare_sizes_are_ranges(void **state)
{
	struct made *m = begin();
	const struct summary_group *g;

	(void)state;
	for (int i = 0; i < 16; i++)
		add(m, 5000, VERDICT_REACHABLE, 0);
	for (uint64_t i = 0; i < 15; i++)
		add(m, 4096 + i * 16, VERDICT_REACHABLE, 0);
	add(m, 1040, VERDICT_REACHABLE, 0);
	add(m, 1ull << 40, VERDICT_REACHABLE, 0);
	assert_int_equal(scan_groups_add(&m->sc), 0);
	assert_int_equal(group(m, VERDICT_REACHABLE, "5000 bytes")->blocks, 16);
	g = group(m, VERDICT_REACHABLE, "4 KiB to 8 KiB");
	assert_int_equal(g->blocks, 15);
	assert_int_equal(g->kind.size_low, 4096);
	assert_int_equal(g->kind.size_high, 4096 + 14 * 16);
	assert_int_equal(group(m, VERDICT_REACHABLE, "1 KiB to 2 KiB")->bytes, 1040);
	assert_int_equal(group(m, VERDICT_REACHABLE, "1 TiB to 2 TiB")->blocks, 1);
	assert_int_equal(m->sc.report.summary.ngroups, 4);
	end(m);
}

static void lost_with_their_leader(void **state)
{
	struct made *m = begin();
	size_t a = add(m, 64, VERDICT_DEFINITE, 0), b = add(m, 2000, VERDICT_POSSIBLE, 0);

	(void)state;
	add(m, 24, VERDICT_INDIRECT, a);
	add(m, 32, VERDICT_INDIRECT, a);
	add(m, 40, VERDICT_INDIRECT, b);
	assert_int_equal(scan_groups_add(&m->sc), 0);
	assert_int_equal(group(m, VERDICT_DEFINITE, "64 bytes")->kind.indirect_blocks, 2);
	assert_int_equal(group(m, VERDICT_DEFINITE, "64 bytes")->kind.indirect_bytes, 56);
	assert_int_equal(group(m, VERDICT_POSSIBLE, "1 KiB to 2 KiB")->kind.indirect_bytes, 40);
	assert_int_equal(group(m, VERDICT_INDIRECT, "24 bytes")->bytes_direct, 0);
	end(m);
}

static void what_options_hide(void **state)
{
	struct made *m = begin();

	(void)state;
	m->opt.shown.verdicts = 1u << VERDICT_DEFINITE;
	m->opt.shown.min_bytes = 100;
	add(m, 64, VERDICT_DEFINITE, 0);
	add(m, 128, VERDICT_DEFINITE, 0);
	add(m, 128, VERDICT_REACHABLE, 0);
	assert_int_equal(scan_groups_add(&m->sc), 0);
	assert_int_equal(m->sc.report.summary.ngroups, 1);
	assert_int_equal(m->sc.report.summary.filtered.groups, 2);
	assert_int_equal(m->sc.report.summary.filtered.bytes, 192);
	assert_int_equal(m->sc.report.summary.totals.live_blocks, 3);
	end(m);
}

static void nothing(void **state)
{
	struct made *m = begin();

	(void)state;
	assert_int_equal(scan_groups_add(&m->sc), 0);
	assert_int_equal(m->sc.report.summary.ngroups, 0);
	end(m);
}

static void labels(void **state)
{
	char text[SCAN_SIZE_TEXT];

	(void)state;
	assert_string_equal(scan_size_label(24, true, text), "24 bytes");
	assert_string_equal(scan_size_label(1023, false, text), "512 bytes to 1 KiB");
	assert_string_equal(scan_size_label(1024, false, text), "1 KiB to 2 KiB");
	assert_string_equal(scan_size_label(3 << 20, false, text), "2 MiB to 4 MiB");
	assert_string_equal(scan_size_label(UINT64_MAX, false, text), "8 EiB and more");
	assert_string_equal(scan_size_label(UINT64_MAX, true, text), "18446744073709551615 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_size_and_verdict),
		cmocka_unit_test(rare_sizes_are_ranges),
		cmocka_unit_test(lost_with_their_leader),
		cmocka_unit_test(what_options_hide),
		cmocka_unit_test(nothing),
		cmocka_unit_test(labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
