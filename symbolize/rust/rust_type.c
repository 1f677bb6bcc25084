/* SPDX-License-Identifier: MIT */
/* rust_type: types and constants of Rust's new mangling; see rust_parser.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "symbolize/rust/rust_parser.h"

static void print_type_back(struct rust_parser *r, bool arg)
{
	(void)arg;
	rust_print_type(r);
}

static void print_const_back(struct rust_parser *r, bool arg)
{
	(void)arg;
	rust_print_const(r);
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['e' - 'a'] = "str", ['u' - 'a'] = "()",
		['a' - 'a'] = "i8", ['s' - 'a'] = "i16", ['l' - 'a'] = "i32", ['x' - 'a'] = "i64", ['n' - 'a'] = "i128",
		['h' - 'a'] = "u8", ['t' - 'a'] = "u16", ['m' - 'a'] = "u32", ['y' - 'a'] = "u64", ['o' - 'a'] = "u128",
		['i' - 'a'] = "isize", ['j' - 'a'] = "usize", ['f' - 'a'] = "f32", ['d' - 'a'] = "f64",
		['z' - 'a'] = "!", ['p' - 'a'] = "_", ['v' - 'a'] = "...",
	};

	return islower((unsigned char)tag) ? names[tag - 'a'] : NULL;
}

static void print_reference(struct rust_parser *r, bool mutable)
{
	rust_put(r, "&");
	if (rust_eat(r, 'L')) {
		uint64_t lifetime = rust_read_base62(r);

		if (lifetime) {
			rust_print_lifetime(r, lifetime);
			rust_put(r, " ");
		}
	}
	rust_put(r, mutable ? "mut " : "");
	rust_print_type(r);
}

static void print_array(struct rust_parser *r, bool sized)
{
	rust_put(r, "[");
	rust_print_type(r);
	if (sized) {
		rust_put(r, "; ");
		rust_print_const(r);
	}
	rust_put(r, "]");
}

static void print_tuple(struct rust_parser *r)
{
	rust_put(r, "(");
	if (rust_print_list(r, rust_print_type, ", ") == 1)
		rust_put(r, ",");
	rust_put(r, ")");
}

/* extern "C": an ABI is written with '_' for '-'. */
static void print_abi(struct rust_parser *r)
{
	struct rust_ident id = { .s = "C", .n = 1 };

	if (!rust_eat(r, 'K'))
		return;
	if (!rust_eat(r, 'C'))
		id = rust_read_plain_ident(r);
	rust_put(r, "extern \"");
	for (size_t i = 0; i < id.n; i++)
		rust_put_n(r, id.s[i] == '_' ? "-" : &id.s[i], 1);
	rust_put(r, "\" ");
}

static void print_function(struct rust_parser *r)
{
	uint64_t bound = rust_print_binder(r);

	if (rust_eat(r, 'U'))
		rust_put(r, "unsafe ");
	print_abi(r);
	rust_put(r, "fn(");
	rust_print_list(r, rust_print_type, ", ");
	rust_put(r, ")");
	if (!rust_eat(r, 'u')) {
		rust_put(r, " -> ");
		rust_print_type(r);
	}
	r->lifetimes -= bound;
}

static bool print_open_path(struct rust_parser *r);

static void print_open_path_back(struct rust_parser *r, bool arg)
{
	(void)arg;
	if (print_open_path(r))
		rust_put(r, ">");
}

/* A path whose <...> is left open for more. A reference back closes it: what comes behind opens its own. */
static bool print_open_path(struct rust_parser *r)
{
	if (rust_eat(r, 'B')) {
		rust_print_back(r, print_open_path_back, false);
		return false;
	}
	if (!rust_eat(r, 'I')) {
		rust_print_path(r, false);
		return false;
	}
	rust_print_path(r, false);
	rust_put(r, "<");
	rust_print_list(r, rust_print_generic_arg, ", ");
	return true;
}

/* Trait<T, Item = U> */
static void print_trait(struct rust_parser *r)
{
	bool open = print_open_path(r);

	while (rust_eat(r, 'p')) {
		struct rust_ident id = rust_read_plain_ident(r);

		rust_put(r, open ? ", " : "<");
		open = true;
		rust_print_ident(r, &id);
		rust_put(r, " = ");
		rust_print_type(r);
	}
	if (open)
		rust_put(r, ">");
}

static void print_dyn(struct rust_parser *r)
{
	uint64_t bound, lifetime;

	rust_put(r, "dyn ");
	bound = rust_print_binder(r);
	rust_print_list(r, print_trait, " + ");
	r->lifetimes -= bound;
	if (!rust_eat(r, 'L'))
		rust_fail(r);
	lifetime = rust_read_base62(r);
	if (lifetime) {
		rust_put(r, " + ");
		rust_print_lifetime(r, lifetime);
	}
}

static void print_type_of(struct rust_parser *r, char tag)
{
	switch (tag) {
	case 'R':
	case 'Q':
		print_reference(r, tag == 'Q');
		break;
	case 'P':
	case 'O':
		rust_put(r, tag == 'P' ? "*const " : "*mut ");
		rust_print_type(r);
		break;
	case 'A':
	case 'S':
		print_array(r, tag == 'A');
		break;
	case 'T':
		print_tuple(r);
		break;
	case 'F':
		print_function(r);
		break;
	case 'D':
		print_dyn(r);
		break;
	case 'B':
		rust_print_back(r, print_type_back, false);
		break;
	default:
		rust_print_path_of(r, tag, false);
	}
}

void rust_print_type(struct rust_parser *r)
{
	const char *basic;
	char tag;

	if (!rust_enter(r))
		return;
	tag = rust_next(r);
	basic = basic_type(tag);
	if (basic)
		rust_put(r, basic);
	else
		print_type_of(r, tag);
	rust_leave(r);
}

/* Hexadecimal digits up to '_'; @n of them without the leading zeros. */
static const char *read_hex(struct rust_parser *r, size_t *n)
{
	const char *s = r->p;

	while (isdigit((unsigned char)rust_peek(r)) || (rust_peek(r) >= 'a' && rust_peek(r) <= 'f'))
		r->p++;
	*n = (size_t)(r->p - s);
	if (!rust_eat(r, '_'))
		rust_fail(r);
	for (; *n && *s == '0'; s++)
		--*n;
	return s;
}

static uint64_t hex_value(const char *s, size_t n)
{
	uint64_t v = 0;

	for (; n; n--, s++)
		v = v << 4 | (uint64_t)rust_base62_digit(*s);
	return v;
}

static void print_integer(struct rust_parser *r, bool is_signed)
{
	bool negative = is_signed && rust_eat(r, 'n');
	size_t n;
	const char *s = read_hex(r, &n);

	if (r->failed)
		return;
	rust_put(r, negative ? "-" : "");
	if (n <= 16) {
		rust_put_number(r, hex_value(s, n));
	} else {
		rust_put(r, "0x");
		rust_put_n(r, s, n);
	}
}

static void print_bool(struct rust_parser *r)
{
	size_t n;
	const char *s = read_hex(r, &n);

	if (r->failed || n > 1 || (n && *s != '1'))
		rust_fail(r);
	rust_put(r, n ? "true" : "false");
}

static void print_char(struct rust_parser *r)
{
	size_t n;
	const char *s = read_hex(r, &n);
	char text[24];
	uint64_t c;

	if (r->failed || n > 6) {
		rust_fail(r);
		return;
	}
	c = hex_value(s, n);
	snprintf(text, sizeof(text), c >= ' ' && c < 0x7f ? "'%c'" : "'\\u{%x}'", (unsigned)c);
	rust_put(r, text);
}

static void print_const_of(struct rust_parser *r, char tag)
{
	if (tag == 'p')
		rust_put(r, "_");
	else if (tag == 'b')
		print_bool(r);
	else if (tag == 'c')
		print_char(r);
	else if (tag == 'B')
		rust_print_back(r, print_const_back, false);
	else if (tag && strchr("hmtoyj", tag))
		print_integer(r, false);
	else if (tag && strchr("aslxni", tag))
		print_integer(r, true);
	else
		rust_fail(r);
}

void rust_print_const(struct rust_parser *r)
{
	if (!rust_enter(r))
		return;
	print_const_of(r, rust_next(r));
	rust_leave(r);
}
