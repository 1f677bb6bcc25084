/* SPDX-License-Identifier: MIT */
/* format_text: numbers, times and names as people read them, for the text reports. All append to @sb. */
#ifndef MM_FORMAT_TEXT_H
#define MM_FORMAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* "1 block", "2 blocks". */
void format_count(struct strbuf *sb, uint64_t n, const char *what);

/* "512 B", "9.8 KiB", "1.0 MiB": exact while that is short, then three or four digits. */
void format_size(struct strbuf *sb, uint64_t bytes);

/* "1.0 MiB/min"; "53/min" if @plain: things, not bytes. */
void format_rate(struct strbuf *sb, double per_minute, bool plain);

/* "once", "twice", "3 times", "1.4 times". */
void format_times(struct strbuf *sb, double times);

/* "9.8s". Nonsense (negative, not a number) is 0s. */
void format_seconds(struct strbuf *sb, double seconds);

/* "<0.1%", "0.4%", "80%": a decimal only if it says something, and never 0 for what is not 0. */
void format_percent(struct strbuf *sb, double part, double whole);

/* A name made safe for a terminal; if longer than @width characters, it is cut in its middle. NULL is "". */
void format_cut(struct strbuf *sb, const char *name, size_t width);

/*
 * How many characters @cell takes on a line; how many characters the first bytes of a text are; how many
 * bytes its first characters are. The texts are safe for a terminal.
 */
size_t format_width(const struct strbuf *cell);
size_t format_characters(const char *text, size_t bytes);
size_t format_bytes(const char *text, size_t bytes, size_t characters);

/* Append @cell, with blanks before or after it up to @width. @cell is empty afterwards. */
void format_right(struct strbuf *sb, struct strbuf *cell, size_t width);
void format_left(struct strbuf *sb, struct strbuf *cell, size_t width);

/* The part of @path after the last slash. */
const char *format_base(const char *path);

#endif
