/* SPDX-License-Identifier: MIT */
/* rust_legacy: see rust_legacy.h. The whole form is checked first, then the parts are printed. */
#include "symbolize/rust/rust_legacy.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "symbolize/rust/utf8.h"

#define HASH_DIGITS 16

struct part {
	const char *s;
	size_t n;
};

/* Take a length and that many characters from @p. false if there are fewer. */
static bool take_part(const char **p, struct part *out)
{
	const char *s = *p;
	size_t n = 0;

	if (!isdigit((unsigned char)*s))
		return false;
	for (; isdigit((unsigned char)*s); s++) {
		n = 10 * n + (size_t)(*s - '0');
		if (n > INT32_MAX)
			return false;
	}
	if (!n || strnlen(s, n) < n)
		return false;
	*out = (struct part){ s, n };
	*p = s + n;
	return true;
}

static bool is_hash(const struct part *part)
{
	if (part->n != HASH_DIGITS + 1 || part->s[0] != 'h')
		return false;
	for (size_t i = 1; i < part->n; i++) {
		if (!strchr("0123456789abcdef", part->s[i]))
			return false;
	}
	return true;
}

/* The number of parts before the hash, 0 if the name has not this form. @end: the text after it. */
static size_t count_parts(const char *p, const char **end)
{
	struct part part = { NULL, 0 };
	size_t n = 0;

	while (*p != 'E') {
		if (!take_part(&p, &part))
			return 0;
		n++;
	}
	*end = p + 1;
	return n > 1 && is_hash(&part) ? n - 1 : 0;
}

/* $u7b$: a character by its number. */
static bool print_number(const char *s, size_t n, struct strbuf *out)
{
	uint32_t c = 0;

	if (n < 2 || n > 7 || s[0] != 'u')
		return false;
	for (size_t i = 1; i < n; i++) {
		const char *digit = memchr("0123456789abcdef", s[i], 16);

		if (!digit)
			return false;
		c = 16 * c + (uint32_t)(isdigit((unsigned char)*digit) ? *digit - '0' : *digit - 'a' + 10);
	}
	return c >= ' ' && c != 0x7f && utf8_put(out, c);
}

/* The text between two dollars. */
static bool print_escape(const char *s, size_t n, struct strbuf *out)
{
	static const struct {
		const char *code;
		char means;
	} escapes[] = {
		{ "SP", '@' }, { "BP", '*' }, { "RF", '&' }, { "LT", '<' }, { "GT", '>' },
		{ "LP", '(' }, { "RP", ')' }, { "C", ',' },
	};

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		if (strlen(escapes[i].code) == n && !memcmp(escapes[i].code, s, n)) {
			strbuf_putc(out, escapes[i].means);
			return true;
		}
	}
	return print_number(s, n, out);
}

/*
 * Print the first character or escape of @s; returns the number of characters used. An invalid escape is
 * printed as text.
 */
static size_t print_some(const char *s, size_t n, struct strbuf *out)
{
	const char *dollar = *s == '$' ? memchr(s + 1, '$', n - 1) : NULL;

	if (dollar && print_escape(s + 1, (size_t)(dollar - s - 1), out))
		return (size_t)(dollar + 1 - s);
	if (n >= 2 && s[0] == '.' && s[1] == '.') {
		strbuf_puts(out, "::");
		return 2;
	}
	strbuf_putc(out, *s);
	return 1;
}

/* A part may not begin with a dollar in the file, so an underscore is put before it. */
static void print_part(struct part part, struct strbuf *out)
{
	size_t at = part.n >= 2 && part.s[0] == '_' && part.s[1] == '$';

	while (at < part.n)
		at += print_some(part.s + at, part.n - at, out);
}

bool rust_legacy(const char *name, struct strbuf *out)
{
	const char *p = name + 3, *end;
	size_t n;

	if (strncmp(name, "_ZN", 3) != 0)
		return false;
	n = count_parts(p, &end);
	if (!n || (*end && *end != '.'))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct part part;

		if (!take_part(&p, &part))
			break;
		strbuf_puts(out, i ? "::" : "");
		print_part(part, out);
	}
	if (strncmp(end, ".llvm.", 6) != 0)
		strbuf_puts(out, end);
	return true;
}
