/* SPDX-License-Identifier: MIT */
/*
 * strbuf: see strbuf.h.
 */
#include "base/strbuf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/character.h"

void strbuf_init(struct strbuf *sb)
{
	*sb = (struct strbuf)STRBUF_INIT;
}

void strbuf_fini(struct strbuf *sb)
{
	free(sb->s);
	strbuf_init(sb);
}

const char *strbuf_str(const struct strbuf *sb)
{
	return sb->s ? sb->s : "";
}

int strbuf_error(const struct strbuf *sb)
{
	return sb->err;
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->err = 0;
	if (sb->s)
		sb->s[0] = '\0';
}

void strbuf_truncate(struct strbuf *sb, size_t len)
{
	sb->len = len;
	if (sb->s)
		sb->s[len] = '\0';
}

/* Room for @n more bytes and the NUL. */
static bool reserve(struct strbuf *sb, size_t n)
{
	if (sb->err)
		return false;
	if (n < sb->size - sb->len)
		return true;

	size_t size = sb->size ? sb->size : 64;
	while (n >= size - sb->len && size <= SIZE_MAX / 4)
		size *= 2;
	char *s = n < size - sb->len ? realloc(sb->s, size) : NULL;
	if (!s) {
		sb->err = -ENOMEM;
		return false;
	}
	sb->s = s;
	sb->size = size;
	return true;
}

char *strbuf_steal(struct strbuf *sb)
{
	char *s = NULL;

	if (reserve(sb, 0)) {
		sb->s[sb->len] = '\0';
		s = sb->s;
		sb->s = NULL;
	}
	strbuf_fini(sb);
	return s;
}

void strbuf_append(struct strbuf *sb, const void *data, size_t n)
{
	if (!reserve(sb, n))
		return;
	if (n) /* @data may be NULL then */
		memcpy(sb->s + sb->len, data, n);
	sb->len += n;
	sb->s[sb->len] = '\0';
}

void strbuf_puts(struct strbuf *sb, const char *s)
{
	strbuf_append(sb, s, strlen(s));
}

void strbuf_putc(struct strbuf *sb, char c)
{
	strbuf_append(sb, &c, 1);
}

void strbuf_pad(struct strbuf *sb, char c, size_t n)
{
	if (!reserve(sb, n))
		return;
	memset(sb->s + sb->len, c, n);
	sb->len += n;
	sb->s[sb->len] = '\0';
}

void strbuf_printf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(sb, fmt, ap);
	va_end(ap);
}

void strbuf_vprintf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0)
		sb->err = sb->err ? sb->err : -ENOMEM;
	else if (reserve(sb, (size_t)n)) {
		vsnprintf(sb->s + sb->len, (size_t)n + 1, fmt, again);
		sb->len += (size_t)n;
	}
	va_end(again);
}

static void json_char(struct strbuf *sb, const char *s, size_t len, uint32_t code)
{
	if (code == '"' || code == '\\')
		strbuf_printf(sb, "\\%c", (int)code);
	else if (code == '\n')
		strbuf_puts(sb, "\\n");
	else if (code == '\t')
		strbuf_puts(sb, "\\t");
	else if (character_is_control(code))
		strbuf_printf(sb, "\\u%04x", (unsigned)code);
	else
		strbuf_append(sb, s, len);
}

void strbuf_json(struct strbuf *sb, const char *s)
{
	if (!s) {
		strbuf_puts(sb, "null");
		return;
	}
	strbuf_putc(sb, '"');
	while (*s) {
		uint32_t code;
		size_t len = character_read((const unsigned char *)s, &code);

		if (len)
			json_char(sb, s, len, code);
		else
			strbuf_puts(sb, "\xef\xbf\xbd");
		s += len ? len : 1;
	}
	strbuf_putc(sb, '"');
}

void strbuf_text(struct strbuf *sb, const char *s)
{
	while (s && *s) {
		uint32_t code;
		size_t len = character_read((const unsigned char *)s, &code);
		bool plain = len && !character_is_control(code);

		len = len ? len : 1;
		if (plain)
			strbuf_append(sb, s, len);
		else
			for (size_t i = 0; i < len; i++)
				strbuf_printf(sb, "\\x%02x", (unsigned char)s[i]);
		s += len;
	}
}

void strbuf_print_text(FILE *out, const char *s)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	strbuf_text(&sb, s);
	fputs(strbuf_str(&sb), out);
}

/* Would a spreadsheet calculate it? An all-blank text has nothing to calculate. */
static bool is_formula(const char *text)
{
	const char first = text[strspn(text, " ")];

	return first && strchr("=+-@", first);
}

void strbuf_csv(struct strbuf *sb, const char *s)
{
	cleanup_strbuf struct strbuf plain = STRBUF_INIT;
	const char *p;

	strbuf_text(&plain, s);
	p = strbuf_str(&plain);
	strbuf_putc(sb, '"');
	if (is_formula(p))
		strbuf_putc(sb, '\'');
	for (; *p; p++)
		strbuf_append(sb, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
	strbuf_putc(sb, '"');
	if (plain.err && !sb->err)
		sb->err = plain.err;
}
