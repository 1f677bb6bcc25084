/* SPDX-License-Identifier: MIT */
/* out_text: the screen of a known run, line by line. */
#include "report/out_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/report_example.h"

#define EVIL "evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc"

static const char head[] =
	"svc (1234) kept 3 blocks, 1.0 MiB, of 600 allocations in 10s\n"
	"\n"
	"  command   svc " EVIL "\n"
	"  watched   10s from 2026-01-01 00:00:00 +0000, exact, by ptrace\n"
	"  events    1000 (100/s), LOST 7 (ring full), 1 (no memory), 1 stack cut short, 2 stacks not followed to the end\n"
	"  stopped   500ms, all threads together\n"
	"  calls     600 allocations, 400 frees, 3 of blocks older than the watch, 2 DOUBLE FREEs\n"
	"                   600  alloc malloc size=arg1  in /lib/libc.so.6\n"
	"                     0  free my_free  NOT WATCHED: no such function in the target\n"
	"                     0  free free  in /lib/libc.so.6  NOT WATCHED: bytes differ\n"
	"  GAP       nothing was seen for 3.5s from 2s on: mmattach was stopped\n"
	"  note      the keeper was killed by " EVIL "\n"
	"\n"
	"1.0 MiB (100%) in 2 blocks of 599 allocated here, 1.2s to 9s old, definite\n"
	"    #0 keep<int> (svc+0x1234, inlined) svc.cc:44\n"
	"    #1 " EVIL " (svc+0x1234) " EVIL ":92\n"
	"    #2 ?? (0x7f0000000001)\n"
	"    ... the stack goes on: more of it was not copied (--stack-bytes)\n"
	"\n";

static const char last_group[] =
	"24 B (<0.1%) in 1 block of 1 allocated here, 9.5s old\n"
	"    (no stack)\n";

static const char last_left_out[] = "1 more group with 24 B not shown (--top 0 shows all)\n";

static void assert_report(const struct summary *s, size_t top, const char *tail)
{
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(out_text(s, top, &sb), 0);
	assert_memory_equal(strbuf_str(&sb), head, sizeof(head) - 1);
	assert_string_equal(strbuf_str(&sb) + sizeof(head) - 1, tail);
	strbuf_fini(&sb);
}

static void line_by_line(void **state)
{
	struct summary s;

	(void)state;
	report_example(&s);
	assert_report(&s, 0, last_group);
	assert_report(&s, 2, last_group);
	assert_report(&s, 1, last_left_out);
	summary_fini(&s);
}

static void nothing_found(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	(void)state;
	summary_init(&s);
	assert_int_equal(out_text(&s, 10, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "the process (0) kept 0 blocks, 0 B, of 0 allocations in 0s\n"));
	assert_non_null(strstr(strbuf_str(&sb), "none lost"));
	assert_null(strstr(strbuf_str(&sb), "more group"));
	strbuf_fini(&sb);
	summary_fini(&s);
}

static void a_summary_with_holes_is_not_printed(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	(void)state;
	report_example(&s);
	s.err = -ENOMEM;
	assert_int_equal(out_text(&s, 0, &sb), -ENOMEM);
	assert_int_equal(sb.len, 0);
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_by_line),
		cmocka_unit_test(nothing_found),
		cmocka_unit_test(a_summary_with_holes_is_not_printed),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
