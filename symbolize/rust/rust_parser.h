/* SPDX-License-Identifier: MIT */
/*
 * rust_parser: the reading and printing functions of rust_v0: a recursive descent parser that prints as it
 * reads.
 *
 * Each part of a name begins with a letter for its kind. An error is sticky: after it nothing is read or
 * printed. Parts that are not shown (the path of an impl block) are read with printing off; back references
 * are not followed then. Depth, steps and the length of the text have limits.
 */
#ifndef MM_RUST_PARSER_H
#define MM_RUST_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct rust_parser {
	const char *s, *end;	/* behind _R: references count from here */
	const char *p;
	struct strbuf *out;
	unsigned depth, steps;
	unsigned silent;	/* not 0: printing is off */
	uint64_t lifetimes;	/* bound at this point of the name */
	bool failed;
};

struct rust_ident {
	uint64_t disambiguator;
	const char *s;
	size_t n;
	bool puny;
};

/* Reading. At the end, and after an error, the next character is NUL, which no caller eats. */
void rust_fail(struct rust_parser *r);
char rust_peek(const struct rust_parser *r);
char rust_next(struct rust_parser *r);	/* fails at the end */
bool rust_eat(struct rust_parser *r, char c);
int rust_base62_digit(char c);		/* -1: none */
uint64_t rust_read_base62(struct rust_parser *r);	/* "_" is 0, "0_" is 1, "1_" is 2, ... */
uint64_t rust_read_optional(struct rust_parser *r, char tag);	/* the number after @tag, plus 1; 0 without */
struct rust_ident rust_read_ident(struct rust_parser *r);
struct rust_ident rust_read_plain_ident(struct rust_parser *r);	/* without disambiguator */
/* digits up to '_'; @n of them without the leading zeros */
const char *rust_read_hex(struct rust_parser *r, size_t *n);
uint64_t rust_hex_value(const char *s, size_t n);

/* Printing. */
void rust_put(struct rust_parser *r, const char *s);
void rust_put_n(struct rust_parser *r, const char *s, size_t n);
void rust_put_number(struct rust_parser *r, uint64_t n);

/* true if one level deeper is allowed; call rust_leave afterwards. */
bool rust_enter(struct rust_parser *r);
void rust_leave(struct rust_parser *r);

/* Both reading and printing. */
void rust_print_ident(struct rust_parser *r, const struct rust_ident *id);
void rust_print_lifetime(struct rust_parser *r, uint64_t index);	/* 0: '_; 1: the innermost bound */
/* for<'a, 'b>; returns how many lifetimes, to be unbound afterwards */
uint64_t rust_print_binder(struct rust_parser *r);
/* prints items up to E; returns their number */
size_t rust_print_list(struct rust_parser *r, void (*item)(struct rust_parser *r), const char *between);

/* After a B that was just read: print with @print the part of the name that it refers to. */
void rust_print_back(struct rust_parser *r, void (*print)(struct rust_parser *r, bool arg), bool arg);

#endif
