/* SPDX-License-Identifier: MIT */
/* rust_v0: see rust_v0.h. The path that a name is, and paths within; types are in rust_type.c. */
#include "symbolize/rust/rust_v0.h"

#include <ctype.h>
#include <string.h>

#include "symbolize/rust/rust_parser.h"

void rust_print_generic_arg(struct rust_parser *r)
{
	if (rust_eat(r, 'L'))
		rust_print_lifetime(r, rust_read_base62(r));
	else if (rust_eat(r, 'K'))
		rust_print_const(r);
	else
		rust_print_type(r);
}

/* The path of an impl block: says only where it stands. */
static void skip_impl_path(struct rust_parser *r)
{
	r->silent++;
	rust_read_optional(r, 's');
	rust_print_path(r, false);
	r->silent--;
}

/* <TYPE> or <TYPE as TRAIT> */
static void print_qualified(struct rust_parser *r, char tag)
{
	if (tag != 'Y')
		skip_impl_path(r);
	rust_put(r, "<");
	rust_print_type(r);
	if (tag != 'M') {
		rust_put(r, " as ");
		rust_print_path(r, false);
	}
	rust_put(r, ">");
}

/* Closures and shims have a kind and a number besides, or instead of, a name. */
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
	rust_print_path(r, in_value);
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
	rust_print_path(r, in_value);
	rust_put(r, in_value ? "::<" : "<");
	rust_print_list(r, rust_print_generic_arg, ", ");
	rust_put(r, ">");
}

void rust_print_path_of(struct rust_parser *r, char tag, bool in_value)
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
		rust_print_back(r, rust_print_path, in_value);
		break;
	default:
		rust_fail(r);
	}
}

void rust_print_path(struct rust_parser *r, bool in_value)
{
	if (!rust_enter(r))
		return;
	rust_print_path_of(r, rust_next(r), in_value);
	rust_leave(r);
}

/* Behind the path: the crate that made this copy, and what LLVM adds. */
static void read_rest(struct rust_parser *r)
{
	if (isupper((unsigned char)rust_peek(r))) {
		r->silent++;
		rust_print_path(r, false);
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
	rust_print_path(&r, true);
	read_rest(&r);
	if (r.failed || strbuf_error(&text) || !text.len)
		return false;
	strbuf_append(out, text.s, text.len);
	return true;
}
