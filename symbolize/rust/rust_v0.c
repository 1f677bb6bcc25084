/* SPDX-License-Identifier: MIT */
/*
 * rust_v0: see rust_v0.h. The grammar is recursive: paths contain types, types contain paths, and both
 * contain constants.
 */
#include "symbolize/rust/rust_v0.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "symbolize/rust/rust_parser.h"

static void print_type(struct rust_parser *r);
static void print_const(struct rust_parser *r);
/* @in_value: generic arguments are written ::<...> */
static void print_path(struct rust_parser *r, bool in_value);

/* --- paths --- */

static void print_generic_arg(struct rust_parser *r)
{
	if (rust_eat(r, 'L'))
		rust_print_lifetime(r, rust_read_base62(r));
	else if (rust_eat(r, 'K'))
		print_const(r);
	else
		print_type(r);
}

/* The path of an impl block only says where the block is written: it is not shown. */
static void skip_impl_path(struct rust_parser *r)
{
	r->silent++;
	rust_read_optional(r, 's');
	print_path(r, false);
	r->silent--;
}

/* <TYPE> or <TYPE as TRAIT> */
static void print_qualified(struct rust_parser *r, char tag)
{
	if (tag != 'Y')
		skip_impl_path(r);
	rust_put(r, "<");
	print_type(r);
	if (tag != 'M') {
		rust_put(r, " as ");
		print_path(r, false);
	}
	rust_put(r, ">");
}

/* Closures and shims have a kind and a number, with or without a name. */
static void print_special(struct rust_parser *r, char space, const struct rust_ident *id)
{
	char kind[2] = { space, '\0' };

	rust_put(r, "::{");
	rust_put(r, space == 'C' ? "closure" : space == 'S' ? "shim" : kind);
	if (id->n)
		rust_put(r, ":");
	rust_print_ident(r, id);
	rust_put(r, "#");
	rust_put_number(r, id->disambiguator);
	rust_put(r, "}");
}

static void print_nested(struct rust_parser *r, bool in_value)
{
	char space = rust_next(r);
	struct rust_ident id;

	if (!isalpha((unsigned char)space))
		rust_fail(r);
	print_path(r, in_value);
	id = rust_read_ident(r);
	if (isupper((unsigned char)space)) {
		print_special(r, space, &id);
	} else if (id.n) {
		rust_put(r, "::");
		rust_print_ident(r, &id);
	}
}

static void print_generic(struct rust_parser *r, bool in_value)
{
	print_path(r, in_value);
	rust_put(r, in_value ? "::<" : "<");
	rust_print_list(r, print_generic_arg, ", ");
	rust_put(r, ">");
}

static void print_path_of(struct rust_parser *r, char tag, bool in_value)
{
	struct rust_ident id;

	switch (tag) {
	case 'C':
		id = rust_read_ident(r);
		rust_print_ident(r, &id);
		break;
	case 'M':
	case 'X':
	case 'Y':
		print_qualified(r, tag);
		break;
	case 'N':
		print_nested(r, in_value);
		break;
	case 'I':
		print_generic(r, in_value);
		break;
	case 'B':
		rust_print_back(r, print_path, in_value);
		break;
	default:
		rust_fail(r);
	}
}

static void print_path(struct rust_parser *r, bool in_value)
{
	if (!rust_enter(r))
		return;
	print_path_of(r, rust_next(r), in_value);
	rust_leave(r);
}

/* --- types --- */

static void print_type_back(struct rust_parser *r, bool arg)
{
	(void)arg;
	print_type(r);
}

static void print_const_back(struct rust_parser *r, bool arg)
{
	(void)arg;
	print_const(r);
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['e' - 'a'] = "str",   ['u' - 'a'] = "()",
		['a' - 'a'] = "i8",   ['s' - 'a'] = "i16",  ['l' - 'a'] = "i32",   ['x' - 'a'] = "i64",
		['n' - 'a'] = "i128", ['h' - 'a'] = "u8",   ['t' - 'a'] = "u16",   ['m' - 'a'] = "u32",
		['y' - 'a'] = "u64",  ['o' - 'a'] = "u128", ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
		['f' - 'a'] = "f32",  ['d' - 'a'] = "f64",  ['z' - 'a'] = "!",	   ['p' - 'a'] = "_",
		['v' - 'a'] = "...",
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
	print_type(r);
}

static void print_array(struct rust_parser *r, bool sized)
{
	rust_put(r, "[");
	print_type(r);
	if (sized) {
		rust_put(r, "; ");
		print_const(r);
	}
	rust_put(r, "]");
}

static void print_tuple(struct rust_parser *r)
{
	rust_put(r, "(");
	if (rust_print_list(r, print_type, ", ") == 1)
		rust_put(r, ",");
	rust_put(r, ")");
}

/* extern "C": in an ABI's name '-' is written as '_'. */
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
	rust_print_list(r, print_type, ", ");
	rust_put(r, ")");
	if (!rust_eat(r, 'u')) {
		rust_put(r, " -> ");
		print_type(r);
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

/*
 * A path whose <...> is left open for more arguments. A back reference closes it: the arguments after it open
 * a new one.
 */
static bool print_open_path(struct rust_parser *r)
{
	if (rust_eat(r, 'B')) {
		rust_print_back(r, print_open_path_back, false);
		return false;
	}
	if (!rust_eat(r, 'I')) {
		print_path(r, false);
		return false;
	}
	print_path(r, false);
	rust_put(r, "<");
	rust_print_list(r, print_generic_arg, ", ");
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
		print_type(r);
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
		print_type(r);
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
		print_path_of(r, tag, false);
	}
}

static void print_type(struct rust_parser *r)
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

/* --- constants --- */

static void print_integer(struct rust_parser *r, bool is_signed)
{
	bool negative = is_signed && rust_eat(r, 'n');
	size_t n;
	const char *s = rust_read_hex(r, &n);

	if (r->failed)
		return;
	rust_put(r, negative ? "-" : "");
	if (n <= 16) {
		rust_put_number(r, rust_hex_value(s, n));
	} else {
		rust_put(r, "0x");
		rust_put_n(r, s, n);
	}
}

static void print_bool(struct rust_parser *r)
{
	size_t n;
	const char *s = rust_read_hex(r, &n);

	if (r->failed || n > 1 || (n && *s != '1'))
		rust_fail(r);
	rust_put(r, n ? "true" : "false");
}

static void print_char(struct rust_parser *r)
{
	size_t n;
	const char *s = rust_read_hex(r, &n);
	char text[24];
	uint64_t c;

	if (r->failed || n > 6) {
		rust_fail(r);
		return;
	}
	c = rust_hex_value(s, n);
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

static void print_const(struct rust_parser *r)
{
	if (!rust_enter(r))
		return;
	print_const_of(r, rust_next(r));
	rust_leave(r);
}

/* --- a name --- */

/* After the path: the crate that instantiated the function, and LLVM's suffix. */
static void read_rest(struct rust_parser *r)
{
	if (isupper((unsigned char)rust_peek(r))) {
		r->silent++;
		print_path(r, false);
		r->silent--;
	}
	if (r->failed || r->p == r->end)
		return;
	if (*r->p != '.' && *r->p != '$')
		rust_fail(r);
	else if (strncmp(r->p, ".llvm.", 6) != 0)
		rust_put(r, r->p);
}

bool rust_v0(const char *name, struct strbuf *out)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct rust_parser r = { .s = name + 2, .out = &text };

	if (strncmp(name, "_R", 2) != 0 || !isupper((unsigned char)name[2]))
		return false;
	r.p = r.s;
	r.end = r.s + strlen(r.s);
	print_path(&r, true);
	read_rest(&r);
	if (r.failed || strbuf_error(&text) || !text.len)
		return false;
	strbuf_append(out, text.s, text.len);
	return true;
}
