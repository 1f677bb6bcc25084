/* SPDX-License-Identifier: MIT */
/* The line that names the options by which a report shows only a part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/text/text_filter.h"

static void expect(const struct summary *s, const char *text)
{
	struct strbuf sb = STRBUF_INIT;

	text_filter(&sb, s);
	assert_string_equal(strbuf_str(&sb), text);
	strbuf_fini(&sb);
}

static void fill(struct summary *s)
{
	summary_init(s);
	s->totals.live_bytes = 4096;
	summary_add_family(s, &(struct summary_family){ .name = "libc", .noun = "block", .live = 4 });
	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = 1, .bytes = 1024 });
	s->filtered = (struct summary_hidden){ .groups = 2, .blocks = 2, .bytes = 2048 };
	s->suppressed = (struct summary_hidden){ .groups = 1, .blocks = 1, .bytes = 1024 };
	summary_sort(s);
}

static void none(void **state)
{
	struct summary s;

	(void)state;
	fill(&s);
	expect(&s, "");
	summary_fini(&s);
}

static void a_part(void **state)
{
	struct summary s;

	(void)state;
	fill(&s);
	s.filters = "--focus cache";
	expect(&s, "shown below, by --focus cache: 1024 B of 4096 B; the totals above count everything\n");
	/* blocks that are too young are in no group: none is hidden */
	s.filtered = s.suppressed = (struct summary_hidden){ 0 };
	s.filters = "--older-than 2s";
	expect(&s, "shown below, by --older-than 2s: 1024 B of 4096 B; the totals above count everything\n");
	s.filtered.ref_groups = 3;
	expect(&s, "shown below, by --older-than 2s: 1024 B of 4096 B, 0 of 3 object groups; the totals above count\n"
		   "everything\n");
	summary_fini(&s);
}

/* The estimated bytes of a sampled run are not a part of the tracked ones. */
static void no_bytes_of_a_sampled_run(void **state)
{
	struct summary s;

	(void)state;
	fill(&s);
	s.run.mode = "sampled";
	s.filters = "--min-bytes 4.0 KiB";
	expect(&s, "shown below, by --min-bytes 4.0 KiB: 1 of 4 groups; the totals above count everything\n");
	summary_fini(&s);
}

/* An empty report says itself what has left out everything. */
static void nothing_left(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	s.filters = "--focus cache";
	s.filtered.groups = 3;
	expect(&s, "");
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none),
		cmocka_unit_test(a_part),
		cmocka_unit_test(no_bytes_of_a_sampled_run),
		cmocka_unit_test(nothing_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
