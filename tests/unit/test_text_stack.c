/* SPDX-License-Identifier: MIT */
/* text_stack: what a table shows of a stack: short names first, a caller where one is needed; apart: which caller that is. */
#include "report/text_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/apart.h"
#include "report/words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void check(const struct summary_frame *frames, size_t n, size_t apart, size_t width, const char *want)
{
	struct strbuf out = STRBUF_INIT;

	text_where_of(&out, frames, n, 0, apart, width);
	assert_string_equal(strbuf_str(&out), want);
	assert_true(words_width(&out) <= width);
	strbuf_fini(&out);
}

static void names_are_shortened_before_they_are_cut(void **state)
{
	const struct summary_frame run[] = { { .function = "node::(anonymous namespace)::ProcessRunner::Run(v8::Local<v8::Value>, unsigned int)",
					       .linkage = "_ZN4node", .file = "/src/node_task_runner.cc", .line = 42 } };
	const struct summary_frame made[] = { { .function = "std::_Sp_counted_ptr_inplace<Connection, std::allocator<void>, "
							    "(__gnu_cxx::_Lock_policy)2>::_Sp_counted_ptr_inplace<int&>(std::allocator<void>, int&)",
						.linkage = "_ZNSt23", .module = "/usr/bin/svc", .offset = 0x1234 } };
	const struct summary_frame script[] = { { .function = "JS:*work /srv/app.js:3:10", .module = "/usr/bin/node", .offset = 0x10 } };

	(void)state;
	check(run, 1, 0, 80, "node::ProcessRunner::Run node_task_runner.cc:42");
	check(run, 1, 0, 44, "ProcessRunner::Run node_task_runner.cc:42");
	check(run, 1, 0, 30, "Run node_task_runner.cc:42");
	check(made, 1, 0, 52, "_Sp_counted_ptr_inplace::_Sp_counted_ptr_inplace");
	check(made, 1, 0, 64, "std::_Sp_counted_ptr_inplace::_Sp_counted_ptr_inplace svc+0x1234");
	check(script, 1, 0, 60, "JS:*work /srv/app.js:3:10 node+0x10");
}

static void a_caller_beside_it(void **state)
{
	const struct summary_frame unnamed[] = { { .module = "/opt/libvendor.so", .offset = 0x1149 }, { .module = "/opt/libvendor.so" },
						 { .function = "session_open", .file = "svc.c", .line = 7 } };
	const struct summary_frame named[] = { { .function = "make", .file = "pool.c", .line = 12 }, { .function = "grow" },
					       { .function = "serve_users" } };

	(void)state;
	check(unnamed, 3, 0, 60, "?? from session_open libvendor.so+0x1149");
	check(unnamed, 2, 0, 60, "?? libvendor.so+0x1149");
	check(named, 3, 0, 60, "make pool.c:12");
	check(named, 3, 2, 60, "make from serve_users pool.c:12");
	check(named, 3, 2, 24, "make from serve_users");
}

static struct summary_group group(struct summary_frame *stack, size_t depth)
{
	return (struct summary_group){ .stack = stack, .depth = depth };
}

static void equal_rows_are_told_apart(void **state)
{
	struct summary_frame users[] = { { .function = "make" }, { .function = "grow" }, { .function = "serve_users" }, { .function = "main" } };
	struct summary_frame pages[] = { { .function = "make" }, { .function = "grow" }, { .function = "serve_pages" }, { .function = "main" } };
	struct summary_frame direct[] = { { .function = "make" }, { .function = "main" } };
	struct summary_frame alone[] = { { .function = "open_log" }, { .function = "main" } };
	struct summary_frame line[] = { { .function = "open_log", .line = 9 }, { .function = "begin" } };
	const struct summary_group groups[] = { group(users, 4), group(pages, 4), group(direct, 2), group(alone, 2), group(users, 4), group(line, 2) };
	const size_t all[] = { 0, 1, 2, 3, 5 }, parts[] = { 0, 4 };
	size_t frame[COUNT(groups)];

	(void)state;
	apart_find(groups, all, COUNT(all), frame);
	assert_int_equal(frame[0], 2);
	assert_int_equal(frame[1], 2);
	assert_int_equal(frame[2], 1);
	assert_int_equal(frame[3], 0);
	assert_int_equal(frame[5], 0);
	apart_find(groups, parts, COUNT(parts), frame);
	assert_int_equal(frame[0], 0);
	assert_int_equal(frame[4], 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_shortened_before_they_are_cut),
		cmocka_unit_test(a_caller_beside_it),
		cmocka_unit_test(equal_rows_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
