/* SPDX-License-Identifier: MIT */
/* perfmap: what is read, what is skipped, and that the last line wins where lines overlap. */
#include "symbolize/perfmap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct perfmap parse(const char *text)
{
	struct perfmap m;

	assert_int_equal(perfmap_parse(strdup(text), strlen(text), &m), 0);
	return m;
}

static void check(const struct perfmap *m, taddr addr, const char *name)
{
	const char *found = perfmap_find(m, addr);

	if (name)
		assert_string_equal(found, name);
	else
		assert_null(found);
}

static void finds(void **state)
{
	struct perfmap m = parse("1000 10 first\n2000 20 LazyCompile:~second /app/x.js:3\n0x3000 1 third");

	(void)state;
	check(&m, 0xfff, NULL);
	check(&m, 0x1000, "first");
	check(&m, 0x100f, "first");
	check(&m, 0x1010, NULL);
	check(&m, 0x201f, "LazyCompile:~second /app/x.js:3");
	check(&m, 0x2020, NULL);
	check(&m, 0x3000, "third");
	check(&m, UINT64_MAX, NULL);
	perfmap_fini(&m);
}

static void last_line_wins(void **state)
{
	struct perfmap m =
		parse("1000 100 whole\n1020 10 inside\n1080 100 over the end\n0ff0 20 over the begin\n");

	(void)state;
	check(&m, 0xff0, "over the begin");
	check(&m, 0x100f, "over the begin");
	check(&m, 0x1010, "whole");
	check(&m, 0x101f, "whole");
	check(&m, 0x1020, "inside");
	check(&m, 0x1030, "whole");
	check(&m, 0x107f, "whole");
	check(&m, 0x1080, "over the end");
	check(&m, 0x117f, "over the end");
	check(&m, 0x1180, NULL);
	perfmap_fini(&m);
	m = parse("1000 10 old\n1000 10 new\n");
	check(&m, 0x1000, "new");
	perfmap_fini(&m);
}

static void skips(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"1000",
		"1000 10",
		"1000 10 ",
		"1000 0 nothing",
		"x000 10 a",
		"-1000 10 a",
		" 1000 10 a",
		"1000 -10 a",
		"1000  10 a",
		"1000\t10\ta",
		"10000000000000000 10 a",
		"ffffffffffffffff 2 a",
		"1000 10",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct perfmap m = parse(texts[i]);

		assert_int_equal(m.n, 0);
		perfmap_fini(&m);
	}
}

static void odd_lines(void **state)
{
	static const char text[] = "garbage\r\n1000 10 good\r\n2000 10 a\0b\n3000 10 last\n";
	struct perfmap m;
	char *copy = malloc(sizeof(text));

	(void)state;
	memcpy(copy, text, sizeof(text));
	assert_int_equal(perfmap_parse(copy, sizeof(text) - 1, &m), 0);
	check(&m, 0x1000, "good");
	check(&m, 0x2000, "a");
	check(&m, 0x3000, "last");
	perfmap_fini(&m);
	assert_int_equal(perfmap_parse(calloc(1, PERFMAP_BYTES_MAX + 2), PERFMAP_BYTES_MAX + 1, &m), -EFBIG);
	perfmap_fini(&m);
}

/* The same result as a plain search for the last line, in thousands of lines that overlap. */
static void as_a_plain_search(void **state)
{
	enum { LINES = 3000, SPACE = 20000 };
	static uint32_t start[LINES], size[LINES];
	char *text = malloc(LINES * 32), *p = text, name[16];
	uint64_t seed = 1;
	struct perfmap m;

	(void)state;
	for (int i = 0; i < LINES; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		start[i] = (uint32_t)(seed >> 33) % SPACE;
		size[i] = 1 + (uint32_t)(seed >> 20) % (i % 7 ? 30 : 900);
		p += sprintf(p, "%x %x n%d\n", start[i], size[i], i);
	}
	assert_int_equal(perfmap_parse(text, (size_t)(p - text), &m), 0);
	for (uint32_t addr = 0; addr < SPACE + 1000; addr++) {
		int i = LINES - 1;

		while (i >= 0 && !(start[i] <= addr && addr < start[i] + size[i]))
			i--;
		snprintf(name, sizeof(name), "n%d", i);
		check(&m, addr, i < 0 ? NULL : name);
	}
	perfmap_fini(&m);
}

/* If there are too many lines, the last ones are kept. */
static void keeps_the_last(void **state)
{
	size_t n = PERFMAP_LINES_MAX + 10, room = n * 16;
	char *text = malloc(room), *p = text;
	struct perfmap m;

	(void)state;
	for (size_t i = 0; i < n; i++)
		p += sprintf(p, "%zx 1 f\n", i + 1);
	assert_int_equal(perfmap_parse(text, (size_t)(p - text), &m), 0);
	check(&m, 1, NULL);
	check(&m, n, "f");
	assert_true(m.n <= PERFMAP_LINES_MAX);
	perfmap_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds),
		cmocka_unit_test(last_line_wins),
		cmocka_unit_test(skips),
		cmocka_unit_test(odd_lines),
		cmocka_unit_test(as_a_plain_search),
		cmocka_unit_test(keeps_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
