/* SPDX-License-Identifier: MIT */
/*
 * top, keys: the rows of a live view, their order, and what keys do to them, without a terminal.
 */
#include "attach/top/top.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ncurses.h>

#include "attach/top/keys.h"
#include "attach/top/screen_text.h"
#include "tests/unit/ledger_facts.h"

static struct top top;
static struct screen screen;

static int begin(void **state)
{
	top_init(&top);
	screen = (struct screen){ .page = 10 };
	return setup(state);
}

static int end(void **state)
{
	top_fini(&top);
	return teardown(state);
}

static void refresh_at(uint64_t seconds)
{
	ledger_pass(&ledger, seconds * SECOND);
	assert_int_equal(top_refresh(&top, &ledger), 0);
}

static void at(uint64_t seconds)
{
	now = seconds * SECOND;
}

/* S1: few large blocks; S2: many calls, nothing live. */
static void fill(void)
{
	at(1);
	alloc(A, 1000, S1);
	for (int i = 0; i < 10; i++) {
		alloc(B, 8, S2);
		simple(MMT_FREE, B);
	}
}

static void press(int key)
{
	const enum key_effect effect = keys_take(&screen, &top, key);

	if (effect == KEYS_MARK)
		top_mark(&top, &ledger);
	if (effect == KEYS_MARK || effect == KEYS_FILTER)
		assert_int_equal(top_refresh(&top, &ledger), 0);
}

static void type(const char *text)
{
	for (; *text; text++)
		assert_int_equal(keys_take(&screen, &top, (unsigned char)*text), KEYS_NOTHING);
}

/* --- rows --- */

static void test_numbers_of_rows(void **state)
{
	(void)state;
	fill();
	refresh_at(2);
	assert_int_equal(top.n, 2);
	assert_int_equal(top.rows[0].stack, S1);
	assert_int_equal(top.rows[0].bytes, 1000);
	assert_int_equal(top.rows[0].calls, 1);
	assert_int_equal(top.rows[1].bytes, 0);
	assert_int_equal(top.rows[1].calls, 20);
	assert_true(top.events_per_second > 10 && top.events_per_second < 11);
}

static void test_calls_a_second_are_those_since_the_last_look(void **state)
{
	(void)state;
	fill();
	refresh_at(2);
	refresh_at(4);
	assert_true(top.rows[1].calls_per_second == 0);
	at(5);
	for (taddr i = 0; i < 4; i++)
		alloc(0x9000 + i * 16, 1, S2);
	refresh_at(6);
	assert_int_equal(top.rows[1].stack, S2);
	assert_true(top.rows[1].calls_per_second == 2);
	refresh_at(6);	/* nothing came meanwhile: the rate stays as it was */
	assert_true(top.rows[1].calls_per_second == 2);
}

static void test_nothing(void **state)
{
	(void)state;
	refresh_at(0);
	assert_int_equal(top.n, 0);
	press('j');
	press('\n');
	press('m');
	press(KEY_END);
	assert_int_equal(top.chosen, 0);
	assert_false(top.has_open);
}

static void test_course(void **state)
{
	struct growth_point points[TOP_POINTS];
	size_t n;

	(void)state;
	for (uint64_t s = 1; s <= 20; s++) {
		at(s);
		alloc(A + s * 0x100, 100, S1);
	}
	refresh_at(21);
	n = top_course(&ledger, &top.rows[0], points);
	assert_true(n > 2 && n <= TOP_POINTS);
	assert_int_equal(points[n - 1].bytes, 2000);
	assert_true(points[0].bytes < points[n - 2].bytes);
	assert_true(growth_rises(&top.rows[0].growth) && growth_rises(&top.growth));
}

static void test_references_are_no_bytes(void **state)
{
	struct fact f = { .kind = MMT_INFO, .info = MMT_FAMILY_NAME,
			  .family_name = { .number = 1, .name = "ref", .refs = true } };

	(void)state;
	take(&f);
	family(1);
	at(1);
	f = (struct fact){ .kind = MMT_BORN, .time_us = now, .ref = { .addr = A, .stack = S1, .by = 1 } };
	take(&f);
	f.kind = MMT_REF;
	f.ref.by = 2;
	take(&f);
	refresh_at(2);
	assert_int_equal(top.n, 1);
	assert_true(top.rows[0].plain);
	assert_int_equal(top.rows[0].bytes, 3);
}

static void test_estimates_of_a_sampled_run(void **state)
{
	struct fact_sample its = { .seen = 100, .usable_bytes = 3200, .site_seen = 100, .site_hits = 100, .rounds = 10,
				   .exposed_us = 10 * SECOND, .hits2 = 1000, .hits_exposed = 100 * SECOND,
				   .exposed2 = 10ull * SECOND * SECOND, .nsteps = MMT_SAMPLE_STEPS };
	struct fact f = { .kind = MMT_INFO, .info = MMT_RUN, .run = { .mode = "sampled" } };

	(void)state;
	take(&f);
	at(20);
	f = (struct fact){ .kind = MMT_INFO, .info = MMT_SAMPLE, .time_us = now, .sample = { S2, &its } };
	take(&f);
	refresh_at(20);
	assert_int_equal(top.n, 1);
	assert_true(top.rows[0].estimated);
	assert_int_equal(top.rows[0].stack, S2);
	assert_true(top.rows[0].calls_per_second > 9 && top.rows[0].calls_per_second < 11);
}

/* --- keys --- */

static void test_order(void **state)
{
	(void)state;
	fill();
	refresh_at(2);
	press('c');
	assert_int_equal(top.order, TOP_CALLS);
	assert_int_equal(top.rows[0].stack, S2);
	press('r');
	assert_int_equal(top.order, TOP_RATE);
	assert_int_equal(top.rows[0].stack, S2);
	press('g');
	assert_int_equal(top.order, TOP_GROWTH);
	press('b');
	assert_int_equal(top.order, TOP_BYTES);
	assert_int_equal(top.rows[0].stack, S1);
}

static void test_the_chosen_row_is_that_of_its_stack(void **state)
{
	(void)state;
	fill();
	refresh_at(2);
	press('j');
	assert_int_equal(top.rows[top.chosen].stack, S2);
	press('j');
	assert_int_equal(top.chosen, 1);
	at(3);
	alloc(0x9000, 50000, S2);	/* now the largest */
	alloc(0xa000, 70000, 3);
	refresh_at(4);
	assert_int_equal(top.rows[top.chosen].stack, S2);
	press('k');
	press('k');
	assert_int_equal(top.chosen, 0);
	press(KEY_END);
	assert_int_equal(top.chosen, 2);
	press(KEY_HOME);
	press(KEY_NPAGE);
	assert_int_equal(top.chosen, 2);
	press(KEY_PPAGE);
	assert_int_equal(top.chosen, 0);
}

static void test_a_stack_is_opened_and_closed(void **state)
{
	(void)state;
	fill();
	refresh_at(2);
	press(KEY_DOWN);
	press('\n');
	assert_true(top_is_open(&top, &top.rows[1]));
	assert_false(top_is_open(&top, &top.rows[0]));
	press('c');	/* the same stack, in another row */
	assert_true(top_is_open(&top, &top.rows[0]));
	press(KEY_ENTER);
	assert_false(top_is_open(&top, &top.rows[0]));
}

static void test_mark(void **state)
{
	(void)state;
	fill();
	refresh_at(2);
	press('m');
	assert_true(top.marked);
	assert_int_equal(top.rows[0].more_bytes, 0);
	assert_int_equal(top.rows[0].more_calls, 0);
	at(3);
	alloc(0x9000, 30, S2);
	alloc(0xa000, 10, 3);	/* a stack that comes after the mark */
	simple(MMT_FREE, A);
	refresh_at(4);
	assert_int_equal(top.rows[0].stack, S2);
	assert_int_equal(top.rows[0].more_bytes, 30);
	assert_int_equal(top.rows[0].more_calls, 1);
	assert_true(top.rows[0].growth.bytes_per_minute == 900);
	assert_int_equal(top.rows[1].stack, 3);
	assert_int_equal(top.rows[1].more_bytes, 10);
	assert_int_equal(top.rows[2].more_bytes, -1000);
	press('m');
	assert_false(top.marked);
	assert_int_equal(top.rows[0].more_bytes, 30);
	assert_int_equal(top.rows[0].more_calls, 21);
	assert_int_equal(top.rows[2].more_bytes, 0);
}

static void name_stack(uint32_t number, const char *function)
{
	const struct fact_name name = { .function = function };
	struct fact f = info(MMT_FRAME);

	f.frame.number = number;
	f.frame.pc = 0x1000 + number;
	take(&f);
	f = info(MMT_NODE);
	f.node.number = number;
	f.node.frame = number;
	take(&f);
	f = info(MMT_STACK);
	f.stack.number = number;
	f.stack.node = number;
	f.stack.end = MMT_END_WHOLE;
	take(&f);
	f = info(MMT_NAMES);
	f.names.frame = number;
	f.names.all = &name;
	f.names.n = 1;
	take(&f);
}

static void test_filter_is_typed(void **state)
{
	(void)state;
	press('/');
	assert_int_equal(screen.mode, SCREEN_FILTER);
	type("sessionX");
	press(KEY_BACKSPACE);
	assert_int_equal(keys_take(&screen, &top, '\n'), KEYS_FILTER);
	assert_string_equal(screen.input, "session");
}

static void test_filter_is_applied(void **state)
{
	char why[100];

	(void)state;
	name_stack(21, "session_open");
	name_stack(22, "cache_insert");
	at(1);
	alloc(A, 100, 21);
	alloc(B, 200, 22);
	assert_int_equal(top_filter(&top, "^session", why, sizeof(why)), 0);
	refresh_at(2);
	assert_int_equal(top.n, 1);
	assert_int_equal(top.all, 2);
	assert_int_equal(top.rows[0].bytes, 100);
	assert_int_equal(top_filter(&top, "(", why, sizeof(why)), -EINVAL);
	assert_true(why[0] && !strcmp(top.filter_text, "^session"));
	assert_int_equal(top_filter(&top, "", why, sizeof(why)), 0);
	refresh_at(3);
	assert_int_equal(top.n, 2);
}

static void test_input_that_is_cancelled_or_too_long(void **state)
{
	(void)state;
	press('s');
	assert_int_equal(screen.mode, SCREEN_SAVE);
	for (int i = 0; i < 1000; i++)
		type("x");
	assert_int_equal(strlen(screen.input), sizeof(screen.input) - 1);
	press('u' & 31);
	type("\xc3\xa4");
	press(127);	/* a character of two bytes */
	assert_string_equal(screen.input, "");
	press(KEY_BACKSPACE);
	type("q");
	assert_int_equal(keys_take(&screen, &top, 27), KEYS_NOTHING);
	assert_int_equal(screen.mode, SCREEN_ROWS);
	press('s');
	type("a.mmt");
	assert_int_equal(keys_take(&screen, &top, '\r'), KEYS_SAVE);
	assert_string_equal(screen.input, "a.mmt");
}

static void test_pause_help_quit(void **state)
{
	(void)state;
	press('p');
	assert_true(screen.paused);
	press(' ');
	assert_false(screen.paused);
	press('?');
	assert_int_equal(screen.mode, SCREEN_HELP);
	press('b');
	assert_int_equal(screen.mode, SCREEN_ROWS);
	press('h');
	assert_int_equal(keys_take(&screen, &top, 'q'), KEYS_QUIT);
	assert_int_equal(keys_take(&screen, &top, 'q'), KEYS_QUIT);
	strcpy(screen.message, "saved");
	press(-1);
	press(KEY_RESIZE);
	assert_string_equal(screen.message, "saved");
	press('x');
	assert_string_equal(screen.message, "");
}

static void assert_none(const char *want)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	screen_text_none(&sb, &top, &ledger);
	assert_true(*want ? !strncmp(strbuf_str(&sb), want, strlen(want)) : !sb.len);
}

static void test_a_screen_without_rows_says_why(void **state)
{
	(void)state;
	refresh_at(1);
	assert_none("no allocation was seen yet");
	fill();
	refresh_at(2);
	assert_none("");
	assert_int_equal(top_filter(&top, "nothing", NULL, 0), 0);
	refresh_at(3);
	assert_none("no stack has a frame that matches the filter");
}

/* Two places in the same function, with the same name in a table. */
static void test_rows_are_told_apart(void **state)
{
	const struct fact_name name = { .function = "make_node" }, one = { .function = "from_one" }, other = { .function = "from_other" };
	const struct fact_name *const names[] = { &name, &one, &other };
	struct top_row rows[2] = { { .stack = STACKS }, { .stack = STACKS + 1 } };
	struct apart apart[2];

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct fact f = info(MMT_FRAME);

		f.frame.number = i;
		f.frame.pc = 0x1000 + i;
		take(&f);
		f = info(MMT_NAMES);
		f.names.frame = i;
		f.names.all = names[i];
		f.names.n = 1;
		take(&f);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct fact f = info(MMT_NODE);

		f.node.number = 2 * i + 1;
		f.node.frame = i + 1;
		take(&f);
		f.node.number = 2 * i + 2;
		f.node.caller = 2 * i + 1;
		f.node.frame = 0;
		take(&f);
		f = info(MMT_STACK);
		f.stack.number = STACKS + i;
		f.stack.node = 2 * i + 2;
		f.stack.tag = FACT_NONE;
		take(&f);
	}
	assert_int_equal(screen_text_apart(&ledger, rows, 2, apart), 0);
	for (size_t i = 0; i < 2; i++) {
		cleanup_strbuf struct strbuf sb = STRBUF_INIT;

		assert_int_equal(screen_text_row(&sb, &top, &ledger, &rows[i], &apart[i], 120), 0);
		if (!strstr(strbuf_str(&sb), i ? "make_node from from_other" : "make_node from from_one"))
			fail_msg("%s", strbuf_str(&sb));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
		TEST(numbers_of_rows),
		TEST(calls_a_second_are_those_since_the_last_look),
		TEST(nothing),
		TEST(course),
		TEST(references_are_no_bytes),
		TEST(estimates_of_a_sampled_run),
		TEST(order),
		TEST(the_chosen_row_is_that_of_its_stack),
		TEST(a_stack_is_opened_and_closed),
		TEST(mark),
		TEST(filter_is_typed),
		TEST(filter_is_applied),
		TEST(input_that_is_cancelled_or_too_long),
		TEST(pause_help_quit),
		TEST(a_screen_without_rows_says_why),
		TEST(rows_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
