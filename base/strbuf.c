/* SPDX-License-Identifier: MIT */
/*
 * strbuf: see strbuf.h. The escapes below share one strict reading of UTF-8.
 */
#include "base/strbuf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/*
 * The length of the well-formed UTF-8 sequence at @s (Unicode, table 3-7:
 * no overlong forms, no surrogates, nothing above U+10FFFF), 0 if there is none.
 */
static size_t utf8_len(const unsigned char *s, uint32_t *code)
{
	if (s[0] < 0x80) {
		*code = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf && continues(s[1])) {
		*code = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
		return 2;
	}
	if (s[0] >= 0xe0 && s[0] <= 0xef && continues(s[1]) && continues(s[2])) {
		*code = (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
		return *code >= 0x800 && (*code < 0xd800 || *code > 0xdfff) ? 3 : 0;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4 && continues(s[1]) && continues(s[2]) && continues(s[3])) {
		*code = (s[0] & 7u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
		return *code >= 0x10000 && *code <= 0x10ffff ? 4 : 0;
	}
	return 0;
}

/* Characters that move the cursor, end a line, turn the direction of what follows, or have no width. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
}

static void json_char(struct strbuf *sb, const char *s, size_t len, uint32_t code)
{
	if (code == '"' || code == '\\')
		strbuf_printf(sb, "\\%c", (int)code);
	else if (code == '\n')
		strbuf_puts(sb, "\\n");
	else if (code == '\t')
		strbuf_puts(sb, "\\t");
	else if (is_control(code))
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
		size_t len = utf8_len((const unsigned char *)s, &code);

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
		size_t len = utf8_len((const unsigned char *)s, &code);
		bool plain = len && !is_control(code);

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

void strbuf_csv(struct strbuf *sb, const char *s)
{
	cleanup_strbuf struct strbuf plain = STRBUF_INIT;
	const char *p;

	strbuf_text(&plain, s);
	p = strbuf_str(&plain);
	strbuf_putc(sb, '"');
	if (p[0] && strchr("=+-@", p[strspn(p, " ")]))
		strbuf_putc(sb, '\'');
	for (; *p; p++)
		strbuf_append(sb, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
	strbuf_putc(sb, '"');
	if (plain.err && !sb->err)
		sb->err = plain.err;
}
