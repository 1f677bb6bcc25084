/* SPDX-License-Identifier: MIT */
/*
 * shortname: names as the demanglers print them, short, cut at scopes, and the name alone; any bytes do no
 * harm.
 */
#include "report/names/shortname.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void check(const char *name, size_t width, const char *want)
{
	struct strbuf out = STRBUF_INIT;

	shortname(&out, name, width);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_fini(&out);
}

static const struct {
	const char *name, *brief, *base;
	bool templated;
} names[] = {
	{ "main", "main", "main", false },
	{ "shop::Request::Request(int)", "shop::Request::Request", "Request", false },
	{ "shop::Request::~Request()", "shop::Request::~Request", "~Request", false },
	{ "shop::Request* shop::Pool<shop::Request>::other<shop::Request>(int)", "shop::Pool::other", "other",
	  true },
	{ "char const* find<char const*>(char const*, int) const [clone .isra.0]", "find", "find", true },
	{ "void std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
	  ">::_M_construct<char*>(char*, char*, "
	  "std::forward_iterator_tag)",
	  "std::basic_string::_M_construct", "_M_construct", true },
	{ "std::_Sp_counted_ptr_inplace<shop::Request, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>::"
	  "_Sp_counted_ptr_inplace<int&>(std::allocator<void>, int&)",
	  "std::_Sp_counted_ptr_inplace::_Sp_counted_ptr_inplace", "_Sp_counted_ptr_inplace", true },
	{ "node::(anonymous namespace)::ProcessRunner::Run(unsigned int)", "node::ProcessRunner::Run", "Run",
	  false },
	{ "(anonymous namespace)::start(int)", "start", "start", false },
	{ "serve(int)::{lambda(int, char const*)#2}::operator()(int, char const*) const",
	  "serve::{lambda#2}::operator()", "operator()", false },
	{ "serve(int)::'lambda'(int)::operator()(int) const", "serve::'lambda'::operator()", "operator()",
	  false },
	{ "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
	  "std::operator<<", "operator<<", true },
	{ "bool operator< <int>(int, int)", "operator<", "operator<", true },
	{ "Matrix::operator()(int, int)", "Matrix::operator()", "operator()", false },
	{ "ptr<Req>::operator->() const", "ptr::operator->", "operator->", false },
	{ "Req::operator bool() const", "Req::operator bool", "operator bool", false },
	{ "operator new(unsigned long)", "operator new", "operator new", false },
	{ "operator new[](unsigned long)", "operator new[]", "operator new[]", false },
	{ "Req::operator new(unsigned long)", "Req::operator new", "operator new", false },
	{ "decltype (fp(0)) apply<int>(int)", "apply", "apply", true },
	{ "call<&(operator<(A const&, A const&))>(int)", "call", "call", true },
	{ "Json::name[abi:cxx11](int) const", "Json::name", "name", false },
	{ "f(std::function<void (int)>, int (*)(char))", "f", "f", false },
	{ "alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push", "push", false },
	{ "<svc::Session as core::clone::Clone>::clone", "svc::Session::clone", "clone", false },
	{ "<svc::Cache<alloc::vec::Vec<u64>> as svc::Handler>::handle", "svc::Cache::handle", "handle",
	  false },
	{ "<<svc::A<u8> as svc::B>::C as svc::D<(u8, u16)>>::f", "svc::A::C::f", "f", false },
	{ "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "u8::from_elem", "from_elem",
	  false },
	{ "<&dyn core::ops::Fn<(), Output = i32> + Sync as core::ops::FnOnce<()>>::call_once",
	  "&dyn core::ops::Fn<(), Output = i32> + Sync::call_once", "call_once", false },
	{ "svc::serve::{{closure}}", "svc::serve::{{closure}}", "{{closure}}", false },
	{ "svc::fill::<u8>", "svc::fill", "fill", true },
	/* Not names of C++: nothing is left out. */
	{ "JS:*work /srv/app.js:3:10", "JS:*work /srv/app.js:3:10", "JS:*work /srv/app.js:3:10", false },
	{ "broken<int", "broken<int", "broken<int", false },
	{ "", "", "", false },
};

static void known_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct strbuf base = STRBUF_INIT;
		bool templated;

		check(names[i].name, 200, names[i].brief);
		shortname_base(&base, names[i].name, &templated);
		assert_string_equal(strbuf_str(&base), names[i].base);
		assert_int_equal(templated, names[i].templated);
		strbuf_fini(&base);
	}
}

static void outer_scopes_go_first(void **state)
{
	static const char name[] = "void net::http::Server<int>::accept(int)";

	(void)state;
	check(name, 25, "net::http::Server::accept");
	check(name, 24, "http::Server::accept");
	check(name, 19, "Server::accept");
	check(name, 13, "accept");
	check(name, 3, "accept");
}

/* "operator()" or "{{closure}}" alone could be any of them. */
static void what_has_no_name_keeps_its_scope(void **state)
{
	(void)state;
	check("shop::serve(int)::{lambda(int)#2}::operator()(int) const", 60,
	      "shop::serve::{lambda#2}::operator()");
	check("shop::serve(int)::{lambda(int)#2}::operator()(int) const", 30, "shop::serve::{lambda#2}");
	check("shop::serve(int)::{lambda(int)#2}::operator()(int) const", 17, "serve::{lambda#2}");
	check("shop::serve(int)::{lambda(int)#2}::operator()(int) const", 5, "serve::{lambda#2}");
	check("shop::serve(int)::'lambda'(int)::operator()(int) const", 18, "serve::'lambda'");
	check("svc::io::serve::{{closure}}", 12, "serve::{{closure}}");
	check("<svc::io::Cache<u8> as svc::io::Handler>::handle", 15, "Cache::handle");
	check("shop::Matrix::operator()(int, int)", 3, "operator()");
}

static void check_arguments(const char *name, size_t width, const char *want)
{
	struct strbuf out = STRBUF_INIT;

	shortname_arguments(&out, name, width);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_fini(&out);
}

static void check_full(const char *name, size_t width, const char *want)
{
	struct strbuf out = STRBUF_INIT;

	shortname_full(&out, name, width);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_fini(&out);
}

static void arguments_that_fit(void **state)
{
	const char *push = "std::vector<std::shared_ptr<Order>, std::allocator<std::shared_ptr<Order> > >"
			   "::push_back(std::shared_ptr<Order>&&)";

	(void)state;
	check_full(push, 60, "std::vector<shared_ptr<Order>>::push_back");
	check_full(push, 36, "vector<shared_ptr<Order>>::push_back");
	check_full(push, 35, "std::vector<shared_ptr>::push_back");
	check_full(push, 23, "std::vector::push_back");
	check_full(push, 9, "push_back");
	check_full(push, 3, "push_back");
	check_full("std::shared_ptr<std::enable_if<!std::is_array<Order>::value, Order>::type> "
		   "std::make_shared<Order, int&>(int&)", 60, "std::make_shared<Order, int&>");
	check_full("std::vector<std::function<void ()>, std::allocator<std::function<void ()> > >::reserve()",
		   60, "std::vector<function<void ()>>::reserve");
	check_full("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
		   "::assign(char const*)", 60, "std::basic_string<char>::assign");
	check_full("main", 60, "main");
}

static void arguments_in_short(void **state)
{
	(void)state;
	check_arguments("void shop::Stack<shop::Big>::push(shop::Big)", 60, "shop::Stack<Big>::push");
	check_arguments("void shop::Stack<shop::Big>::push(shop::Big)", 16, "Stack<Big>::push");
	check_arguments(
		"std::map<int, std::vector<shop::Big, std::allocator<shop::Big> > >::find<char const*>(int)",
		60, "std::map<int, vector>::find<char const*>");
	check_arguments("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
			60, "std::operator<<<char_traits>");
	check_arguments("svc::fill::<svc::io::Page, 4>", 60, "svc::fill<Page, 4>");
	check_arguments("<svc::Cache<alloc::vec::Vec<u64>> as svc::Handler>::handle", 60,
			"svc::Cache<Vec>::handle");
	check_arguments("main", 60, "main");
	check_arguments("f<>()", 60, "f<>");
}

/* Every prefix of every name, and brackets without end. */
static void any_bytes(void **state)
{
	char deep[4096];

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		for (size_t n = 0; n <= strlen(names[i].name); n++) {
			struct strbuf out = STRBUF_INIT;
			char *cut = strndup(names[i].name, n);
			bool templated;

			assert_non_null(cut);
			shortname(&out, cut, 10);
			shortname_arguments(&out, cut, 10);
			shortname_base(&out, cut, &templated);
			assert_int_equal(out.err, 0);
			free(cut);
			strbuf_fini(&out);
		}
	for (size_t i = 0; i + 1 < sizeof(deep); i++)
		deep[i] = "a<({["[i % 5];
	deep[sizeof(deep) - 1] = 0;
	check(deep, 10, deep);
	for (size_t i = 0; i + 1 < sizeof(deep); i++)
		deep[i] = "a::"[i % 3];
	deep[4093] = 0;
	check(deep, 10, "a::a::a::a");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_names),
		cmocka_unit_test(outer_scopes_go_first),
		cmocka_unit_test(what_has_no_name_keeps_its_scope),
		cmocka_unit_test(arguments_in_short),
		cmocka_unit_test(arguments_that_fit),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
