/* SPDX-License-Identifier: MIT */
/* demangle: known pairs, and what is refused. The Rust names are from its compiler and its RFC 2603. */
#include "symbolize/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct pair {
	const char *name, *text;
};

static void check_pairs(const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct strbuf out = STRBUF_INIT;

		strbuf_puts(&out, "> ");
		if (!demangle(pairs[i].name, &out))
			print_error("refused: %s\n", pairs[i].name);
		assert_string_equal(strbuf_str(&out) + 2, pairs[i].text);
		strbuf_fini(&out);
	}
}

static void check_refused(const char *name)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_puts(&out, "as before");
	if (demangle(name, &out))
		print_error("taken: %s\n", name);
	assert_string_equal(strbuf_str(&out), "as before");
	strbuf_fini(&out);
}

static void cxx(void **state)
{
	static const struct pair pairs[] = {
		{ "_Z1fv", "f()" },
		{ "_ZN3foo3barEi", "foo::bar(int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back(int&&)" },
		{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const" },
		{ "_Z4workPv.cold", "work(void*) [clone .cold]" },
		{ "_ZN3foo3barE", "foo::bar" },
		{ "_ZN3foo16h05af221e174051eE", "foo::h05af221e174051e" },
	};

	(void)state;
	check_pairs(pairs, COUNT(pairs));
}

static void rust_old(void **state)
{
	static const struct pair pairs[] = {
		{ "_ZN3foo17h05af221e174051e9E", "foo" },
		{ "_ZN3foo3bar17h05af221e174051e9E", "foo::bar" },
		{ "_ZN3foo17h05af221e174051e9E.llvm.A5310EB9", "foo" },
		{ "_ZN3foo17h05af221e174051e9E.cold", "foo.cold" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		  "3bar17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_ZN11$RF$testing17h05af221e174051e9E", "&testing" },
		{ "_ZN4core3ptr8non_null16NonNull$LT$T$GT$4cast17h0123456789abcdefE",
		  "core::ptr::non_null::NonNull<T>::cast" },
		{ "_ZN9_$u7b$a.b17h05af221e174051e9E", "{a.b" },
		{ "_ZN3$x$17h05af221e174051e9E", "$x$" },
		{ "_ZN8$u20ac$x17h05af221e174051e9E", "\xe2\x82\xacx" },
		{ "_ZN9$u1f600$x17h05af221e174051e9E", "\xf0\x9f\x98\x80x" },
		{ "_ZN7$ud800$17h05af221e174051e9E", "$ud800$" },
	};

	(void)state;
	check_pairs(pairs, COUNT(pairs));
}

static void rust_new(void **state)
{
	static const struct pair pairs[] = {
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtNtCs1234_7mycrate3foo3bar3baz", "mycrate::foo::bar::baz" },
		{ "_RNvMs_NtCs1234_7mycrate3fooNtB4_3Bar3baz", "<mycrate::foo::Bar>::baz" },
		{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		  "utf8_idents::საჭმელად_გემრიელი_სადილი" },
		{ "_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}" },
		{ "_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_"
		  "4iter8iterator8Iterator9rposition"
		  "NCNgNpB9_6memchr7memrchrs_0E0Bb_",
		  "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::"
		  "<core::slice::memchr::memrchr::{closure#1}>::{closure#0}" },
		{ "_RINbNbCskIICzLVPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_"
		  "ECs1iopQbuBiw2_3std",
		  "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>" },
		{ "_RMC0INtC8arrayvec8ArrayVechKj7b_E", "<arrayvec::ArrayVec<u8, 123>>" },
		{ "_RMCs4fqI2P2rA04_13const_genericINtB0_8UnsignedKhb_E", "<const_generic::Unsigned<11>>" },
		{ "_RMs_Cs4fqI2P2rA04_13const_genericINtB2_6SignedKsn98_E", "<const_generic::Signed<-152>>" },
		{ "_RMs1_Cs4fqI2P2rA04_13const_genericINtB3_4BoolKb0_E", "<const_generic::Bool<false>>" },
		{ "_RMs2_Cs4fqI2P2rA04_13const_genericINtB3_4BoolKb1_E", "<const_generic::Bool<true>>" },
		{ "_RMs4_Cs4fqI2P2rA04_13const_genericINtB3_4CharKc76_E", "<const_generic::Char<'v'>>" },
		{ "_RMs4_Cs4fqI2P2rA04_13const_genericINtB3_4CharKc2202_E",
		  "<const_generic::Char<'\\u{2202}'>>" },
		{ "_RMC0INtC3foo3BarKpE", "<foo::Bar<_>>" },
		{ "_RMC0INtC3foo3BarKo10000000000000000_E", "<foo::Bar<0x10000000000000000>>" },
		{ "_RINvC1c1fTEE", "c::f::<()>" },
		{ "_RINvC1c1fTlEE", "c::f::<(i32,)>" },
		{ "_RINvC1c1fRShQeE", "c::f::<&[u8], &mut str>" },
		{ "_RINvC1c1fPhOhE", "c::f::<*const u8, *mut u8>" },
		{ "_RINvC1c1fAlj3_E", "c::f::<[i32; 3]>" },
		{ "_RINvC1c1fFUKCllEuE", "c::f::<unsafe extern \"C\" fn(i32, i32)>" },
		{ "_RINvC1c1fFK5a_b_clEjE", "c::f::<extern \"a-b-c\" fn(i32) -> usize>" },
		{ "_RINvC1c1fFG_RL0_hEuE", "c::f::<for<'a> fn(&'a u8)>" },
		{ "_RINvC1c1fDNtC1d1TNtC1e5OtherEL_E", "c::f::<dyn d::T + e::Other>" },
		{ "_RINvC1c1fL_E", "c::f::<'_>" },
		{ "_RNvYhNtC1d1T1m", "<u8 as d::T>::m" },
		{ "_RNSC1c4shim", "c::{shim:shim#0}" },
		{ "_RNvC1c1f.llvm.123", "c::f" },
		{ "_RNvC1c1f.cold.1", "c::f.cold.1" },
		{ "_RNvC1c1fC1d", "c::f" },
	};

	(void)state;
	check_pairs(pairs, COUNT(pairs));
}

static void refuses(void **state)
{
	static const char *const names[] = {
		"", "main", "_", "_Z", "_R", "_ZN", "_RNv", "Z1fv", "_Q1fv",
		"_RNvC1c2f", "_RNvC1c", "_RNvB_1f", "_RNvB0_1f", "_RNvC1c1fx", "_RNvC1cu3a_z", "_RNv",
		"_RINvC1c1fT", "_RINvC1c1fL0_E", "_RINvC1c1fKh_", "_RMC0INtC3foo3BarKc110000_",
		"_RNvC99999999999999999999_c1f", "_RINvC1c1fFGzzzzzzzzzzzz_uEuE",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		check_refused(names[i]);
}

static void put_base62(struct strbuf *sb, size_t n)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (n > 62)
		strbuf_putc(sb, digits[(n - 1) / 62]);
	if (n)
		strbuf_putc(sb, digits[(n - 1) % 62]);
	strbuf_putc(sb, '_');
}

/* A function of @n tuples, each with two of the one before: twice the text for a few bytes more. */
static bool demangle_doubling(unsigned n, struct strbuf *out)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;
	size_t last = 0;

	strbuf_puts(&name, "_RINvC1c1f");
	for (unsigned i = 0; i < n; i++) {
		size_t here = name.len - 2;

		strbuf_putc(&name, 'T');
		for (int half = 0; half < 2; half++) {
			strbuf_putc(&name, i ? 'B' : 'h');
			if (i)
				put_base62(&name, last);
		}
		strbuf_putc(&name, 'E');
		last = here;
	}
	strbuf_putc(&name, 'E');
	return demangle(strbuf_str(&name), out);
}

static void stays_small(void **state)
{
	struct strbuf name = STRBUF_INIT, out = STRBUF_INIT;

	(void)state;
	assert_true(demangle_doubling(2, &out));
	assert_string_equal(strbuf_str(&out), "c::f::<(u8, u8), ((u8, u8), (u8, u8))>");
	assert_true(demangle_doubling(10, &out));
	strbuf_reset(&out);
	assert_false(demangle_doubling(40, &out));
	strbuf_puts(&name, "_R");
	strbuf_pad(&name, 'Y', 60000);
	assert_false(demangle(strbuf_str(&name), &out));
	strbuf_pad(&name, 'Y', 60000);
	assert_false(demangle(strbuf_str(&name), &out));
	assert_int_equal(out.len, 0);
	strbuf_fini(&name);
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx),
		cmocka_unit_test(rust_old),
		cmocka_unit_test(rust_new),
		cmocka_unit_test(refuses),
		cmocka_unit_test(stays_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
