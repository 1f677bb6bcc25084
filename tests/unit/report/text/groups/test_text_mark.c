/* SPDX-License-Identifier: MIT */
/* text_mark: marks become escape sequences or nothing, take no room, and names have none. */
#include "report/text/groups/text_mark.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/format_text.h"
#include "report/text/out_text.h"

static void shown_or_not(void **state)
{
	struct summary plain = { 0 }, colored = { .color = true };
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (int color = 0; color < 2; color++) {
		strbuf_puts(&sb, "what " TEXT_RED "was" TEXT_PLAIN " there");
		const size_t from = sb.len;
		strbuf_puts(&sb, TEXT_RED "GAP" TEXT_PLAIN ", " TEXT_BOLD TEXT_PLAIN "x" TEXT_BOLD);
		text_mark_show(&sb, from, color ? &colored : &plain);
		text_mark_show(&sb, 0, &plain);
		assert_string_equal(strbuf_str(&sb),
				    color ? "what was there\x1b[0;31mGAP\x1b[0m, \x1b[0;1m\x1b[0mx\x1b[0;1m"
					  : "what was thereGAP, x");
		strbuf_reset(&sb);
	}
	text_mark_show(&sb, 0, &colored);
	assert_string_equal(strbuf_str(&sb), "");
	sb.err = -ENOMEM;
	text_mark_show(&sb, 0, &colored);
	assert_int_equal(strbuf_error(&sb), -ENOMEM);
	strbuf_fini(&sb);
}

/* Marks take no room, and what is before @from stays. */
static void wrapped_for_a_terminal(void **state)
{
	const struct summary narrow = { .columns = 12, .color = true };
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	strbuf_puts(&sb, "this was here before\n");
	const size_t from = sb.len;
	strbuf_puts(&sb, TEXT_BOLD "one" TEXT_PLAIN " two four\n  five six seven\n");
	text_mark_show(&sb, from, &narrow);
	assert_string_equal(strbuf_str(&sb), "this was here before\n\x1b[0;1mone\x1b[0m two four\n"
					     "  five six\n      seven\n");
	sb.err = -ENOMEM;
	text_mark_show(&sb, 0, &narrow);
	assert_int_equal(strbuf_error(&sb), -ENOMEM);
	strbuf_fini(&sb);
}

static void no_wider_than_without(void **state)
{
	struct strbuf cell = STRBUF_INIT, out = STRBUF_INIT;

	(void)state;
	strbuf_puts(&cell, TEXT_BOLD "\xc3\xbc" "b" TEXT_PLAIN);
	assert_int_equal(format_width(&cell), 2);
	format_right(&out, &cell, 4);
	strbuf_puts(&cell, TEXT_RED "c" TEXT_PLAIN);
	format_left(&out, &cell, 3);
	text_mark_show(&out, 0, &(struct summary){ 0 });
	assert_string_equal(strbuf_str(&out), "  \xc3\xbc" "bc  ");
	strbuf_fini(&cell);
	strbuf_fini(&out);
}

/*
 * A report without its escape sequences is the one without colors; a name that has marks or sequences of its
 * own adds none.
 */
static void a_report(void **state)
{
	struct summary_frame frame = {
		.pc = 1, .function = TEXT_RED "\x1b[5mname" TEXT_PLAIN, .file = TEXT_BOLD ".c", .line = 3
	};
	struct strbuf plain = STRBUF_INIT, colored = STRBUF_INIT, stripped = STRBUF_INIT;
	struct summary s;

	(void)state;
	summary_init(&s);
	s.totals =
		(struct summary_totals){ .allocs = 1, .double_frees = 2, .live_blocks = 1, .live_bytes = 9 };
	summary_add_lost(&s, "ring full " TEXT_RED, 1);
	summary_add_gap(&s, 1, 2, TEXT_BOLD);
	summary_note(&s, "%s", TEXT_RED);
	summary_add_group(&s, &(struct summary_group){ .blocks = 1, .bytes = 9, .verdict = VERDICT_DEFINITE,
						       .tag = TEXT_RED, .stack = { &frame, 1 } });
	summary_sort(&s);
	assert_int_equal(out_text(&s, 0, &plain), 0);
	assert_null(strpbrk(strbuf_str(&plain), "\x1b" TEXT_BOLD TEXT_RED TEXT_PLAIN));
	s.color = true;
	assert_int_equal(out_text(&s, 0, &colored), 0);
	assert_null(strpbrk(strbuf_str(&colored), TEXT_BOLD TEXT_RED TEXT_PLAIN));
	assert_non_null(strstr(strbuf_str(&colored), "\x1b[0;31mincomplete:\x1b[0m 1 event was lost"));
	assert_non_null(strstr(strbuf_str(&colored), ", \x1b[0;31mdefinitely lost\x1b[0m"));
	assert_non_null(strstr(strbuf_str(&colored), "\x1b[0;31m  GAP       \x1b[0mnothing"));
	assert_non_null(strstr(strbuf_str(&colored), "\n\x1b[0;1m[1]\x1b[0m 9 B"));
	for (const char *p = strbuf_str(&colored); *p; p++) {
		if (*p == '\x1b')
			p += strcspn(p, "m");
		else
			strbuf_putc(&stripped, *p);
	}
	assert_string_equal(strbuf_str(&stripped), strbuf_str(&plain));
	strbuf_fini(&plain);
	strbuf_fini(&colored);
	strbuf_fini(&stripped);
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shown_or_not),
		cmocka_unit_test(wrapped_for_a_terminal),
		cmocka_unit_test(no_wider_than_without),
		cmocka_unit_test(a_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
