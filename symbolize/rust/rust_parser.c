/* SPDX-License-Identifier: MIT */
/* rust_parser: see rust_parser.h. */
#include "symbolize/rust/rust_parser.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "symbolize/rust/punycode.h"

#define DEPTH_MAX 128
#define STEPS_MAX 65536
#define TEXT_MAX (1u << 16)
#define LIFETIMES_MAX 1024	/* of one for<...> */

void rust_fail(struct rust_parser *r)
{
	r->failed = true;
}

char rust_peek(const struct rust_parser *r)
{
	return !r->failed && r->p < r->end ? *r->p : '\0';
}

char rust_next(struct rust_parser *r)
{
	char c = rust_peek(r);

	if (c)
		r->p++;
	else
		rust_fail(r);
	return c;
}

bool rust_eat(struct rust_parser *r, char c)
{
	if (rust_peek(r) != c)
		return false;
	r->p++;
	return true;
}

void rust_put_n(struct rust_parser *r, const char *s, size_t n)
{
	if (r->failed || r->silent)
		return;
	if (n > TEXT_MAX - r->out->len)
		rust_fail(r);
	else
		strbuf_append(r->out, s, n);
}

void rust_put(struct rust_parser *r, const char *s)
{
	rust_put_n(r, s, strlen(s));
}

void rust_put_number(struct rust_parser *r, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	rust_put(r, text);
}

/* true if one level deeper is allowed; call rust_leave() afterwards. */
bool rust_enter(struct rust_parser *r)
{
	if (r->failed || r->depth >= DEPTH_MAX || r->steps >= STEPS_MAX) {
		rust_fail(r);
		return false;
	}
	r->depth++;
	r->steps++;
	return true;
}

void rust_leave(struct rust_parser *r)
{
	r->depth--;
}

int rust_base62_digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	if (islower((unsigned char)c))
		return c - 'a' + 10;
	return isupper((unsigned char)c) ? c - 'A' + 36 : -1;
}

/* "_" is 0, "0_" is 1, "1_" is 2, ... */
uint64_t rust_read_base62(struct rust_parser *r)
{
	uint64_t n = 0;

	if (rust_eat(r, '_'))
		return 0;
	while (!rust_eat(r, '_')) {
		int digit = rust_base62_digit(rust_next(r));

		if (digit < 0 || n > (UINT64_MAX - 62) / 62) {
			rust_fail(r);
			return 0;
		}
		n = 62 * n + (uint64_t)digit;
	}
	return n + 1;
}

/* The number after @tag, plus 1; 0 without @tag. */
uint64_t rust_read_optional(struct rust_parser *r, char tag)
{
	return rust_eat(r, tag) ? rust_read_base62(r) + 1 : 0;
}

static size_t read_decimal(struct rust_parser *r)
{
	size_t n = 0;

	if (!isdigit((unsigned char)rust_peek(r)))
		rust_fail(r);
	if (rust_eat(r, '0'))
		return 0;
	while (isdigit((unsigned char)rust_peek(r))) {
		n = 10 * n + (size_t)(rust_next(r) - '0');
		if (n > TEXT_MAX) {
			rust_fail(r);
			return 0;
		}
	}
	return n;
}

struct rust_ident rust_read_plain_ident(struct rust_parser *r)
{
	struct rust_ident id = { .puny = rust_eat(r, 'u') };

	id.n = read_decimal(r);
	rust_eat(r, '_');
	if (r->failed || id.n > (size_t)(r->end - r->p)) {
		rust_fail(r);
		return (struct rust_ident){ 0 };
	}
	id.s = r->p;
	r->p += id.n;
	return id;
}

struct rust_ident rust_read_ident(struct rust_parser *r)
{
	uint64_t disambiguator = rust_read_optional(r, 's');
	struct rust_ident id = rust_read_plain_ident(r);

	id.disambiguator = disambiguator;
	return id;
}

/* Hexadecimal digits up to '_'; @n of them without the leading zeros. */
const char *rust_read_hex(struct rust_parser *r, size_t *n)
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

uint64_t rust_hex_value(const char *s, size_t n)
{
	uint64_t v = 0;

	for (; n; n--, s++)
		v = v << 4 | (uint64_t)rust_base62_digit(*s);
	return v;
}

void rust_print_ident(struct rust_parser *r, const struct rust_ident *id)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (r->failed || r->silent || !id->n)
		return;
	if (!id->puny) {
		rust_put_n(r, id->s, id->n);
	} else if (punycode(id->s, id->n, &text)) {
		rust_put_n(r, text.s, text.len);
	} else {
		rust_fail(r);
	}
}

/* Print, with @print, the part of the name that a back reference points to. */
void rust_print_back(struct rust_parser *r, void (*print)(struct rust_parser *r, bool arg), bool arg)
{
	const char *here = r->p - 1;
	uint64_t to = rust_read_base62(r);
	const char *after = r->p;

	if (r->failed || to >= (uint64_t)(here - r->s)) {
		rust_fail(r);
		return;
	}
	if (r->silent)
		return;
	r->p = r->s + to;
	print(r, arg);
	r->p = after;
}

/* 0 is the lifetime without a name; 1 is the innermost bound one. */
void rust_print_lifetime(struct rust_parser *r, uint64_t index)
{
	uint64_t level = r->lifetimes - index;
	char text[3] = "'a";

	if (!index) {
		rust_put(r, "'_");
	} else if (index > r->lifetimes) {
		rust_fail(r);
	} else if (level < 26) {
		text[1] = (char)('a' + level);
		rust_put(r, text);
	} else {
		rust_put(r, "'_");
		rust_put_number(r, level);
	}
}

/* for<'a, 'b>; the number of lifetimes, to be unbound afterwards. */
uint64_t rust_print_binder(struct rust_parser *r)
{
	uint64_t n = rust_read_optional(r, 'G');

	if (n > LIFETIMES_MAX) {
		rust_fail(r);
		return 0;
	}
	for (uint64_t i = 0; i < n; i++) {
		rust_put(r, i ? ", " : "for<");
		r->lifetimes++;
		rust_print_lifetime(r, 1);
	}
	if (n)
		rust_put(r, "> ");
	return n;
}

/* Items up to the closing E; returns their number. */
size_t rust_print_list(struct rust_parser *r, void (*item)(struct rust_parser *r), const char *between)
{
	size_t n = 0;

	for (; !r->failed && !rust_eat(r, 'E'); n++) {
		if (n)
			rust_put(r, between);
		item(r);
	}
	return n;
}
