/* SPDX-License-Identifier: MIT */
/*
 * strbuf: a string that grows.
 *
 *	struct strbuf sb = STRBUF_INIT;
 *	strbuf_printf(&sb, "%d blocks", n);
 *	if (strbuf_error(&sb)) ...
 *	strbuf_fini(&sb);
 *
 * An error is sticky: once an append has failed for lack of memory, further ones do nothing and strbuf_error
 * returns -ENOMEM. So a writer appends a whole report and checks once. What was appended stays a valid,
 * NUL-terminated string throughout.
 */
#ifndef MM_STRBUF_H
#define MM_STRBUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct strbuf {
	char *s;	/* NULL as long as nothing was appended: read with strbuf_str */
	size_t len;	/* without the NUL; the string may hold NULs itself */
	size_t size;	/* bytes allocated */
	int err;	/* 0, or -ENOMEM of the first append that failed */
};

#define STRBUF_INIT { NULL, 0, 0, 0 }

void strbuf_init(struct strbuf *sb);
void strbuf_fini(struct strbuf *sb);

#define cleanup_strbuf __attribute__((cleanup(strbuf_fini)))

/* The string, "" if there is none; valid until the next append. */
const char *strbuf_str(const struct strbuf *sb);

int strbuf_error(const struct strbuf *sb);

/* The caller takes over the string (free it), and @sb becomes empty; NULL if memory is short. */
char *strbuf_steal(struct strbuf *sb);

/* Discard the contents and the error; the memory stays allocated. */
void strbuf_reset(struct strbuf *sb);

/* Cut off all but the first @len bytes; there are at least so many. */
void strbuf_truncate(struct strbuf *sb, size_t len);

void strbuf_append(struct strbuf *sb, const void *data, size_t n);
void strbuf_puts(struct strbuf *sb, const char *s);
void strbuf_putc(struct strbuf *sb, char c);
void strbuf_pad(struct strbuf *sb, char c, size_t n);	/* @n times @c */
void strbuf_printf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *sb, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/*
 * @s as a JSON string, quotes included ("null" for NULL). The result is valid
 * UTF-8 whatever @s holds: each byte that is no part of valid UTF-8 becomes
 * U+FFFD; control characters (C0, DEL, C1), line and text-direction controls, and characters without
 * width become \uxxxx.
 */
void strbuf_json(struct strbuf *sb, const char *s);

/*
 * @s for a terminal: control characters (C0, DEL, C1), line and text-direction controls, characters
 * without width, and invalid UTF-8 become \xNN, so that a target's names can neither move the cursor, nor
 * break a line, nor look like another name. Nothing for NULL.
 */
void strbuf_text(struct strbuf *sb, const char *s);

/* The same, to @out. */
void strbuf_print_text(FILE *out, const char *s);

/*
 * @s as a quoted cell of a CSV file (RFC 4180), safe as in strbuf_text. What a spreadsheet would take for
 * a formula gets a ' before it. An empty cell for NULL.
 */
void strbuf_csv(struct strbuf *sb, const char *s);

#endif
