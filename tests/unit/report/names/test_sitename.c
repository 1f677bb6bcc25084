/* SPDX-License-Identifier: MIT */
/*
 * sitename: an allocation site in a table: short names first, a caller where one is needed; apart: which caller
 * that is.
 */
#include "report/names/sitename.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/format_text.h"
#include "report/names/apart.h"
#include "report/text/groups/text_stack.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void check_apart(const struct summary_frame *frames, size_t n, size_t wrappers,
			const struct apart *apart, size_t width, const char *want)
{
	const struct stack_view stack = { .frames = (struct summary_frame *)frames, .depth = n,
					  .wrappers = wrappers };
	struct strbuf out = STRBUF_INIT;

	sitename_of(&out, &stack, apart, width);
	assert_string_equal(strbuf_str(&out), want);
	assert_true(format_width(&out) <= width);
	strbuf_fini(&out);
}

/* @caller: 0 for none. */
static void check(const struct summary_frame *frames, size_t n, size_t caller, size_t width, const char *want)
{
	check_apart(frames, n, 0, &(struct apart){ caller ? APART_CALLER : APART_NOTHING, caller, false },
		    width, want);
}

/* It has more characters than @width. */
static void assert_wide(const struct summary_frame *frames, size_t width, const char *want)
{
	const struct stack_view stack = { .frames = (struct summary_frame *)frames, .depth = 1 };
	struct strbuf out = STRBUF_INIT;

	sitename_of(&out, &stack, NULL, width);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_fini(&out);
}

static void names_are_shortened_before_they_are_cut(void **state)
{
	const struct summary_frame run[] = {
		{ .function = "node::(anonymous namespace)::ProcessRunner::Run(v8::Local<v8::Value>, "
			      "unsigned int)",
		  .linkage = "_ZN4node",
		  .file = "/src/node_task_runner.cc",
		  .line = 42 }
	};
	const struct summary_frame made[] = {
		{ .function = "std::_Sp_counted_ptr_inplace<Connection, std::allocator<void>, "
			      "(__gnu_cxx::_Lock_policy)2>::_Sp_counted_ptr_inplace<int&>(std::allocator<"
			      "void>, int&)",
		  .linkage = "_ZNSt23",
		  .module = "/usr/bin/svc",
		  .offset = 0x1234 }
	};
	const struct summary_frame script[] = {
		{ .function = "JS:*work /srv/app.js:3:10", .module = "/usr/bin/node", .offset = 0x10 }
	};

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
	const struct summary_frame unnamed[] = { { .module = "/opt/libvendor.so", .offset = 0x1149 },
						 { .module = "/opt/libvendor.so" },
						 { .function = "session_open", .file = "svc.c", .line = 7 } };
	const struct summary_frame source[] = { { .module = "/opt/libvendor.so", .offset = 0x1149,
						  .file = "/x/copy.S", .line = 7 } };
	const struct summary_frame named[] = { { .function = "make", .file = "pool.c", .line = 12 },
					       { .function = "grow" },
					       { .function = "serve_users" } };

	(void)state;
	check(unnamed, 3, 0, 60, "libvendor.so+0x1149 from session_open");
	check(unnamed, 3, 0, 34, "libvendor.so+0x1149 from ses...pen");
	check(unnamed, 3, 0, 31, "libvendor.so+0x1149");
	check(unnamed, 2, 0, 60, "libvendor.so+0x1149");
	check(source, 1, 0, 40, "libvendor.so+0x1149 copy.S:7");
	check(named, 3, 0, 60, "make pool.c:12");
	check(named, 3, 2, 60, "make from serve_users pool.c:12");
	check(named, 3, 2, 24, "make:12 from serve_users");
}

/*
 * Two names in a narrow column: each is cut by itself. Code without a name is identified by its offset, which
 * is never cut, nor is that of a function without a source line. A caller in libc is in most stacks.
 */
static void narrow_columns(void **state)
{
	const struct summary_frame redis[] = {
		{ .function = "_sdsnewlen", .module = "/usr/bin/redis-check-rdb", .offset = 0x7874c },
		{ .function = "createStringObject" }
	};
	const struct summary_frame both[] = {
		{ .function = "v8::JSArrayBuffer::EnsureExtension()", .linkage = "_ZN2v8" },
		{ .function = "v8::(anonymous namespace)::ConstructBuffer(int)", .linkage = "_ZN2v8" }
	};
	const struct summary_frame stripped[] = { { .module = "/opt/cycs", .offset = 0x2609 },
						  { .module = "/opt/cycs" },
						  { .function = "start_thread",
						    .module = "/lib/libc.so.6" } };
	const struct summary_frame python[] = { { .module = "/usr/bin/python3.11", .offset = 0x510a2c },
						{ .function = "_PyEval_EvalFrameDefault" } };

	(void)state;
	check(redis, 2, 1, 31, "_sdsnewlen from create...Object");
	check(both, 2, 1, 31, "Ensur...nsion from Const...ffer");
	check(stripped, 3, 0, 60, "cycs+0x2609");
	check(python, 2, 0, 31, "python3.11+0x510a2c");
	check(python, 2, 0, 16, "py...11+0x510a2c");
	assert_wide(python, 8, "p...+0x510a2c");
	check(redis, 1, 0, 42, "_sdsnewlen redis-check-rdb+0x7874c");
	check(redis, 1, 0, 32, "_sdsnewlen redis...k-rdb+0x7874c");
	check(redis, 1, 0, 24, "_sdsnewlen r...b+0x7874c");
	check(redis, 1, 0, 22, "_sdsnewlen");
}

static void what_tells_apart(void **state)
{
	const struct summary_frame push[] = { { .function = "shop::Stack<shop::Big>::push(shop::Big)",
						.linkage = "_ZN4shop", .file = "a.cpp", .line = 20 } };
	const struct summary_frame two[] = { { .function = "std::string::assign(char const*)",
					       .linkage = "_ZNSs" },
					     { .function = "serve", .file = "a.cpp", .line = 28 },
					     { .function = "loop", .file = "b.c", .line = 7 } };

	const struct summary_frame made[] = {
		{ .function = "std::shared_ptr<std::enable_if<!std::is_array<Order>::value, Order>::type> "
			      "std::make_shared<Order, int&>(int&)",
		  .linkage = "_ZSt11make_sharedI5OrderJRiEE" },
		{ .function = "place_order(int)", .linkage = "_Z11place_orderi", .file = "/x/shop.cpp",
		  .line = 22 },
	};
	const struct summary_frame pool[] = { { .function = "shop::Pool<Row>::make(int)",
						.linkage = "_ZN4shop4PoolI3RowE4makeEi",
						.file = "/x/shop.cpp", .line = 13 } };

	(void)state;
	check_apart(push, 1, 0, &(struct apart){ .arguments = true }, 40, "shop::Stack<Big>::push a.cpp:20");
	check_apart(two, 3, 1, &(struct apart){ APART_WRAPPER, 0, false }, 50,
		    "serve through std::string::assign a.cpp:28");
	check_apart(two, 3, 1, &(struct apart){ APART_WRAPPER, 0, false }, 31,
		    "serve through string::assign");
	check_apart(two, 3, 1, &(struct apart){ APART_WRAPPER, 0, false }, 18, "serve a.cpp:28");
	check_apart(two, 3, 1, &(struct apart){ APART_LINE, 2, false }, 50, "serve from loop:7 a.cpp:28");
	check_apart(two, 3, 1, &(struct apart){ APART_CALLER, 2, false }, 50, "serve from loop a.cpp:28");
	check_apart(two, 3, 1, &(struct apart){ APART_CALLER, 5, false }, 50,
		    "serve through std::string::assign a.cpp:28");
	check_apart(two, 3, 1, NULL, 42, "serve through std::string::assign a.cpp:28");
	check_apart(two, 3, 1, NULL, 41, "serve a.cpp:28");
	check_apart(&two[1], 2, 0, NULL, 50, "serve a.cpp:28");
	check_apart(made, 2, 1, NULL, 61, "place_order through std::make_shared<Order, int&> shop.cpp:22");
	check_apart(made, 2, 1, NULL, 60, "place_order through std::make_shared shop.cpp:22");
	check_apart(made, 2, 1, NULL, 40, "place_order shop.cpp:22");
	check_apart(pool, 1, 0, NULL, 31, "Pool<Row>::make shop.cpp:13");
	check_apart(pool, 1, 0, NULL, 26, "Pool::make shop.cpp:13");
}

static struct summary_group group(struct summary_frame *stack, size_t depth, size_t wrappers)
{
	return (struct summary_group){ .stack = { stack, depth, .wrappers = wrappers } };
}

static void is(const struct apart *a, enum apart_by by, size_t frame, bool arguments)
{
	assert_int_equal(a->by, by);
	assert_int_equal(a->frame, frame);
	assert_int_equal(a->arguments, arguments);
}

static void equal_rows_are_told_apart(void **state)
{
	struct summary_frame users[] = { { .function = "make" },
					 { .function = "grow" },
					 { .function = "serve_users" },
					 { .function = "main" } };
	struct summary_frame pages[] = { { .function = "make" },
					 { .function = "grow" },
					 { .function = "serve_pages" },
					 { .function = "main" } };
	struct summary_frame direct[] = { { .function = "make" }, { .function = "main" } };
	struct summary_frame alone[] = { { .function = "open_log" }, { .function = "main" } };
	struct summary_frame line[] = { { .function = "open_log", .line = 9 }, { .function = "begin" } };
	const struct summary_group all[] = { group(users, 4, 0), group(pages, 4, 0), group(direct, 2, 0),
					     group(alone, 2, 0), group(line, 2, 0),  group(users, 4, 0) };
	const struct summary_group *const rows[] = { &all[0], &all[1], &all[2], &all[3], &all[4] },
					  *const parts[] = { &all[0], &all[5] };
	struct apart found[COUNT(all)];

	(void)state;
	assert_int_equal(apart_find(rows, COUNT(rows), found), 0);
	is(&found[0], APART_CALLER, 2, false);
	is(&found[1], APART_CALLER, 2, false);
	is(&found[2], APART_CALLER, 1, false);
	is(&found[3], APART_NOTHING, 0, false);
	is(&found[4], APART_NOTHING, 0, false);
	assert_int_equal(apart_find(parts, COUNT(parts), found), 0);
	is(&found[0], APART_NOTHING, 0, false);
	is(&found[1], APART_NOTHING, 0, false);
}

/* The same callers, but another template, another calling line, or another library function on one line. */
static void equal_rows_with_the_same_callers(void **state)
{
	struct summary_frame ints[] = { { .function = "Stack<int>::push(int)", .linkage = "_ZN5Stack" }, { .function = "main" } };
	struct summary_frame bigs[] = { { .function = "Stack<Big>::push(Big)", .linkage = "_ZN5Stack" }, { .function = "main" } };
	struct summary_frame early[] = { { .function = "make" },
					 { .function = "main", .file = "a.c", .line = 5 } };
	struct summary_frame late[] = { { .function = "make" },
					{ .function = "main", .file = "a.c", .line = 9 } };
	struct summary_frame node[] = { { .function = "operator new(unsigned long)" },
					{ .function = "std::map<int, int>::operator[](int&&)" },
					{ .function = "serve" } };
	struct summary_frame text[] = { { .function = "operator new(unsigned long)" },
					{ .function = "std::string::assign(char const*)" },
					{ .function = "serve" } };
	const struct summary_group all[] = { group(ints, 2, 0),	   group(bigs, 2, 0), group(early, 2, 0),
					     group(late, 2, 0),	   group(node, 3, 2), group(text, 3, 2),
					     group(node + 2, 1, 0) };
	const struct summary_group *const rows[] = { &all[0], &all[1], &all[2], &all[3], &all[4], &all[5] },
					  *const bare[] = { &all[4], &all[6] };
	struct apart found[COUNT(all)];

	(void)state;
	assert_int_equal(apart_find(rows, COUNT(rows), found), 0);
	is(&found[0], APART_NOTHING, 0, true);
	is(&found[1], APART_NOTHING, 0, true);
	is(&found[2], APART_LINE, 1, false);
	is(&found[3], APART_LINE, 1, false);
	is(&found[4], APART_WRAPPER, 1, false);
	is(&found[5], APART_WRAPPER, 1, false);
	assert_int_equal(apart_find(bare, COUNT(bare), found), 0);
	is(&found[0], APART_WRAPPER, 1, false);
	is(&found[1], APART_NOTHING, 0, false);
}

/* Only rows that look the same are compared, so two of them are told apart wherever they are. */
static void among_many(void **state)
{
	enum { MANY = 3 * APART_MAX };
	static struct summary_frame frames[MANY][2];
	static struct summary_group all[MANY];
	static const struct summary_group *rows[MANY];
	static struct apart found[MANY];
	char names[MANY][16];

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i % (MANY / 2));
		frames[i][0].function = names[i];
		frames[i][1].function = i < MANY / 2 ? "before" : "after";
		all[i] = group(frames[i], 2, 0);
		rows[i] = &all[i];
	}
	assert_int_equal(apart_find(rows, MANY, found), 0);
	for (size_t i = 0; i < MANY; i++)
		is(&found[i], APART_CALLER, 1, false);
}

/* --- all frames --- */

/* 87 characters */
#define LONG                                                                                                 \
	"void handle_requests_of_all_connections_until_there_are_none_left<request_queue, 4096>()"

static void check_frame(const struct summary_frame *frame, const char *want)
{
	const struct stack_view stack = { .frames = (struct summary_frame *)frame, .depth = 1 };
	struct strbuf out = STRBUF_INIT;

	text_stack(&out, &stack);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_fini(&out);
}

/* First the path gives way; then the place has a line of its own; a name is never cut. */
static void long_frames(void **state)
{
	struct summary_frame f = {
		.function = "session_open",
		.module = "/usr/bin/svc",
		.offset = 0x1310,
		.line = 120,
		.file = "/build/reproducible-path/service-1.2/modules/sessions/src/session.cc"
	};

	(void)state;
	check_frame(&f, "    #0 session_open (svc+0x1310) "
			"/build/.../service-1.2/modules/sessions/src/session.cc:120\n");
	f.inlined = true;
	check_frame(&f, "    #0 session_open (svc+0x1310, inlined) "
			"/build/.../service-1.2/modules/sessions/src/session.cc:120\n");
	f.function = "session_open_for_them";
	check_frame(&f, "    #0 session_open_for_them (svc+0x1310, inlined) "
			"/build/.../modules/sessions/src/session.cc:120\n");
	f.file = "./nptl/./nptl/allocate.S";
	check_frame(&f, "    #0 session_open_for_them (svc+0x1310, inlined) nptl/allocate.S:120\n");
	f.function = LONG;
	f.inlined = false;
	check_frame(&f, "    #0 " LONG "\n         (svc+0x1310) nptl/allocate.S:120\n");
	f.file = "/build/reproducible-path/service-1.2/modules/sessions/src/session.cc/and/so/on/as/paths/"
		 "go.h";
	check_frame(&f, "    #0 " LONG
			"\n         (svc+0x1310) "
			"/build/.../modules/sessions/src/session.cc/and/so/on/as/paths/go.h:120\n");
	f.file = NULL;
	check_frame(&f, "    #0 " LONG "\n         (svc+0x1310)\n");
	f.module = NULL;
	check_frame(&f, "    #0 " LONG "\n         (0x0)\n");
	f.function = NULL;
	check_frame(&f, "    #0 0x0\n");
	f.module = "/usr/bin/svc";
	check_frame(&f, "    #0 svc+0x1310\n");
	f.file = "nptl/clone.S";
	check_frame(&f, "    #0 svc+0x1310 nptl/clone.S:120\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_shortened_before_they_are_cut),
		cmocka_unit_test(a_caller_beside_it),
		cmocka_unit_test(narrow_columns),
		cmocka_unit_test(what_tells_apart),
		cmocka_unit_test(equal_rows_are_told_apart),
		cmocka_unit_test(equal_rows_with_the_same_callers),
		cmocka_unit_test(among_many),
		cmocka_unit_test(long_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
