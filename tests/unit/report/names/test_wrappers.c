/* SPDX-License-Identifier: MIT */
/*
 * wrappers: functions that are wrappers, and lookalikes; inlined frames belong to their function; no stack
 * becomes empty.
 */
#include "report/names/wrappers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t count(const struct summary_frame *frames, size_t n)
{
	return wrappers_count(frames, n);
}

static void assert_wrapper(const char *function, const char *linkage, bool want)
{
	struct summary_frame stack[] = { { .function = function, .linkage = linkage },
					 { .function = "main" } };

	if (count(stack, 2) != want)
		fail_msg("%s is %s wrapper", function ? function : linkage, want ? "no" : "a");
}

static void functions_of_c(void **state)
{
	static const char *const yes[] = {
		"malloc",
		"__libc_malloc",
		"__GI___libc_malloc",
		"strdup",
		"__strdup",
		"__GI___strdup",
		"strdup.part.0",
		"strdup [clone .constprop.0]",
		"strdup@plt",
		"xmalloc",
		"xmalloc__",
		"g_malloc0",
		"__gf_malloc",
		"gsh_calloc__",
		"rte_zmalloc_socket",
		"CRYPTO_zalloc",
		"my_malloc",
		"our_malloc",
		"jv_mem_alloc",
		"mosquitto__malloc",
		"qrealloc",
		"av_strdup.part.0",
		"_PyObject_Malloc",
		"__rust_alloc",
		"__vasprintf_internal",
		"_obstack_newchunk",
	};
	static const char *const no[] = { "",	      "_",	 "main", "malloc_all", "xmallocs",
					  "strdupe", "__", "core_alloc", "conn_alloc", "cache_insert" };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_wrapper(yes[i], NULL, true);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_wrapper(no[i], NULL, false);
	assert_wrapper(NULL, NULL, false);
}

/*
 * Frames between malloc and the kernel may have any name, or none; but they are in the allocator's file, and
 * they have a caller outside of it.
 */
static void an_allocators_own(void **state)
{
	const struct summary_frame stack[] = {
		{ .module = "/libc.so.6" },
		{ .function = "sysmalloc", .module = "/libc.so.6" },
		{ .function = "__libc_malloc", .module = "/libc.so.6" },
		{ .linkage = "_Znwm", .module = "/libstdc++.so" },
		{ .function = "fill", .module = "/svc" },
		{ .function = "main", .module = "/svc" },
	};
	const struct summary_frame direct[] = {
		{ .function = "take_pages", .module = "/svc" },
		{ .function = "std::invoke(int)", .module = "/svc" },
		{ .function = "main", .module = "/svc" },
	};
	const struct summary_frame across[] = {
		{ .function = "take_pages", .module = "/svc" },
		{ .function = "malloc", .module = "/libc.so.6" },
		{ .function = "main", .module = "/svc" },
	};
	const struct summary_frame jumped[] = {
		{ .module = "/usr/lib/libjemalloc.so.2" },
		{ .module = "/usr/lib/libjemalloc.so.2" },
		{ .function = "fill", .module = "/svc" },
	};
	const struct summary_frame inside[] = { { .function = "malloc" }, { .function = "main" } };

	(void)state;
	assert_int_equal(wrappers_allocator(stack, 6), 3);
	assert_int_equal(wrappers_count(stack, 6), 0);
	assert_int_equal(wrappers_count(stack + 3, 3), 1);
	assert_int_equal(wrappers_allocator(stack, 3), 0);
	assert_int_equal(wrappers_allocator(stack, 0), 0);
	assert_int_equal(wrappers_allocator(stack + 3, 3), 1);
	assert_int_equal(wrappers_allocator(direct, 3), 0);
	assert_int_equal(wrappers_allocator(across, 3), 0);
	assert_int_equal(wrappers_allocator(inside, 2), 0);
	assert_int_equal(wrappers_allocator(jumped, 3), 2);
	assert_int_equal(wrappers_allocator(jumped, 2), 0);
}

static void functions_of_cxx(void **state)
{
	(void)state;
	assert_wrapper("operator new(unsigned long)", "_Znwm", true);
	assert_wrapper("operator new[](unsigned long, std::align_val_t)", NULL, true);
	assert_wrapper("Session::operator new(unsigned long)", NULL, true);
	assert_wrapper("anything", "_ZNSt6vectorIiSaIiEE9push_backERKi", true);
	assert_wrapper("std::vector<int, std::allocator<int> >::push_back(int const&)", NULL, true);
	assert_wrapper("void std::vector<int>::_M_realloc_insert<int const&>(int*)", NULL, true);
	assert_wrapper("std::pair<int, int> std::make_pair<int, int>(int&&, int&&)", NULL, true);
	assert_wrapper("__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)", NULL, true);
	/* std is only in the return type, the arguments, or a part of a name */
	assert_wrapper("std::string shop::name<int>(int)", NULL, false);
	assert_wrapper("std::vector<std::string, std::allocator<std::string> > split(std::string const&)",
		       NULL, false);
	assert_wrapper("shop::fill(std::vector<int>&)", NULL, false);
	assert_wrapper("shop::operator new_thing(int)", NULL, false);
	assert_wrapper("mystd::alloc()", NULL, false);
	assert_wrapper("MemPoolMalloc::allocate()", "_ZN13MemPoolMalloc8allocateEv", true);
	assert_wrapper("shop::allocate_all(int)", NULL, false);
	assert_wrapper("allocate", NULL, false);
	assert_wrapper("fill", "_ZN4shop4fillEv", false);
	assert_wrapper("core::Server::accept()", "_ZN4core6Server6acceptEv", false);
	assert_wrapper("core::Server::accept()", NULL, false);
}

/* They may run the user's code, whose name may be lost. */
static void what_calls_back(void **state)
{
	(void)state;
	assert_wrapper(
		"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)", NULL,
		false);
	assert_wrapper("std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)()> > >::_M_run()",
		       NULL, false);
	assert_wrapper("void std::__invoke_impl<void, void (*)()>(std::__invoke_other, void (*&&)())", NULL,
		       false);
}

/* std::function, push_back: what they are given is in their name, but they do not call it. */
static void what_holds(void **state)
{
	struct summary_frame stack[] = {
		{ .function = "operator new(unsigned long)", .linkage = "_Znwm" },
		{ .function = "_M_create<serve()::<lambda()> >", .inlined = true,
		  .file = "/usr/include/c++/12/bits/std_function.h" },
		{ .function = "function<serve()::<lambda()> >", .inlined = true,
		  .file = "/usr/include/c++/12/bits/std_function.h" },
		{ .function = "serve()", .linkage = "_Z5servev", .file = "shop.cpp" },
		{ .function = "main" },
	};

	(void)state;
	assert_wrapper("void std::_Function_base::_Base_manager<serve()::{lambda()#1}>::"
		       "_M_create<serve()::{lambda()#1}>(std::_Any_data&, serve()::{lambda()#1}&&)",
		       NULL, true);
	assert_wrapper("std::function<void ()>::function<serve()::{lambda()#1}, void>"
		       "(serve()::{lambda()#1}&&)", NULL, true);
	assert_wrapper("void std::vector<std::function<void ()>, std::allocator<std::function<void ()> > >::"
		       "emplace_back<serve()::{lambda()#1}>(serve()::{lambda()#1}&&)", NULL, true);
	assert_wrapper("void std::for_each<int*, serve()::{lambda(int)#1}>"
		       "(int*, int*, serve()::{lambda(int)#1})", NULL, false);
	assert_int_equal(count(stack, 5), 3);
	stack[2].file = stack[1].file = "/src/function.h";
	assert_int_equal(count(stack, 5), 1);
	stack[1].file = "/usr/include/c++/12/bits/std_function.h";
	stack[1].function = "_M_invoke<serve()::<lambda()> >";
	assert_int_equal(count(stack, 5), 1);
}

static void functions_of_rust(void **state)
{
	struct summary_frame stack[] = {
		{ .function = "core::ops::function::FnOnce::call_once",
		  .file = "/rustc/abc/library/core/src/ops/function.rs" },
		{ .function = "main" },
	};

	(void)state;
	assert_wrapper("alloc::raw_vec::finish_grow", "_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE",
		       true);
	assert_wrapper("<alloc::string::String as core::clone::Clone>::clone",
		       "_RNvXs_NtC5alloc6stringNtB4_6StringNtNtC4core5clone5Clone5clone", true);
	assert_wrapper("std::collections::HashMap<K,V>::insert", "_ZN3std11collections17h0123456789abcdefE",
		       true);
	assert_wrapper("<shop::Session as core::clone::Clone>::clone", "_ZN4shop17h0123456789abcdefE", false);
	assert_wrapper("alloc::thing", NULL, false);
	assert_int_equal(count(stack, 2), 1);
}

static void inlined_frames_go_with_what_they_are_in(void **state)
{
	struct summary_frame stack[] = {
		{ .function = "helper", .inlined = true },
		{ .function = "xmalloc" },
		{ .function = "std::allocator<int>::allocate(unsigned long)", .inlined = true },
		{ .function = "session_open", .inlined = true },
		{ .function = "strdup", .inlined = true },
		{ .function = "serve" },
		{ .function = "xmalloc" },
		{ .function = "main" },
	};

	(void)state;
	assert_int_equal(count(stack, 8), 5);
	assert_int_equal(count(stack + 3, 5), 2);
	assert_int_equal(count(stack + 5, 3), 0);
}

static void a_stack_of_wrappers_is_shown(void **state)
{
	struct summary_frame stack[] = { { .function = "operator new(unsigned long)" },
					 { .function = "xmalloc" } };

	(void)state;
	assert_int_equal(count(stack, 2), 0);
	assert_int_equal(count(stack, 1), 0);
	assert_int_equal(count(stack, 0), 0);
}

/*
 * Functions that the run names itself: by the linker's name, the readable one, or a clone's; at the front
 * only.
 */
static void named_by_the_run(void **state)
{
	static const char *const skips[] = { "pool_get", "Pool::get(int)" };
	struct summary_frame stack[] = {
		{ .function = "helper", .inlined = true },
		{ .function = "Pool::get(int)", .linkage = "_ZN4Pool3getEi" },
		{ .function = "pool_get.part.0" },
		{ .function = "xmalloc" },
		{ .function = "anything", .linkage = "pool_get" },
		{ .function = "pool_getter" },
		{ .function = "pool_get" },
		{ .function = "main" },
	};

	(void)state;
	assert_int_equal(count(stack, 8), 0);
	wrappers_mark(stack, 8, skips, 2);
	assert_int_equal(count(stack, 8), 5);
	assert_false(stack[5].wrapper || stack[6].wrapper);
	wrappers_mark(stack, 0, skips, 2);
	wrappers_mark(stack + 7, 1, NULL, 0);
	assert_false(stack[7].wrapper);
}

/* The interpreter's own functions allocate for the line of the script; those of an extension for themselves. */
static void functions_of_an_interpreter(void **state)
{
	struct summary_frame stack[] = {
		{ .module = "/usr/bin/python3.11" },
		{ .function = "list_append", .module = "/usr/lib/libpython3.9.so.1.0" },
		{ .function = "scan_once", .module = "/usr/lib/python3.11/_json.so" },
		{ .function = "PyObject_Vectorcall", .module = "/usr/bin/python3.11" },
		{ .function = "load", .file = "/srv/orders.py", .line = 41 },
		{ .function = "Py_RunMain", .module = "/usr/bin/python3.11" },
	};

	(void)state;
	wrappers_mark(stack, 6, NULL, 0);
	assert_int_equal(count(stack, 6), 2);
	stack[2] = stack[1];
	wrappers_mark(stack, 6, NULL, 0);
	assert_int_equal(count(stack, 6), 4);
	assert_false(stack[4].wrapper || stack[5].wrapper);
	/* without a script there is nothing else to lead */
	stack[0].wrapper = stack[1].wrapper = stack[2].wrapper = stack[3].wrapper = false;
	stack[4].module = "/usr/bin/svc";
	wrappers_mark(stack, 6, NULL, 0);
	assert_int_equal(count(stack, 6), 0);
}

static void hostile_names(void **state)
{
	static char deep[200001];

	(void)state;
	memset(deep, '<', sizeof(deep) - 1);
	assert_wrapper(deep, deep, false);
	memset(deep, '>', sizeof(deep) - 1);
	assert_wrapper(deep, NULL, false);
	memset(deep, '_', sizeof(deep) - 1);
	assert_wrapper(deep, NULL, false);
	assert_wrapper("\xff\xfe (", "17h", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_c),
		cmocka_unit_test(an_allocators_own),
		cmocka_unit_test(functions_of_cxx),
		cmocka_unit_test(what_calls_back),
		cmocka_unit_test(what_holds),
		cmocka_unit_test(functions_of_rust),
		cmocka_unit_test(inlined_frames_go_with_what_they_are_in),
		cmocka_unit_test(a_stack_of_wrappers_is_shown),
		cmocka_unit_test(named_by_the_run),
		cmocka_unit_test(functions_of_an_interpreter),
		cmocka_unit_test(hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
