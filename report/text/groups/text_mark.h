/* SPDX-License-Identifier: MIT */
/*
 * text_mark: colors and bold text on a terminal. The printers put marks around it, which have no width
 * (report/model/format_text.h); when all is written, text_mark_show makes escape sequences of them, or
 * nothing. So no printer needs to know where its text goes.
 *
 *	strbuf_puts(sb, TEXT_RED "GAP" TEXT_PLAIN);
 *
 * Marks are control characters. Text that was made safe to print has none of these, whatever the target's
 * names are (strbuf_text). A mark ends the one before it; TEXT_PLAIN ends all.
 */
#ifndef MM_TEXT_MARK_H
#define MM_TEXT_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/verdict.h"

struct summary;

#define TEXT_BOLD "\x01"
#define TEXT_RED "\x02"
#define TEXT_PLAIN "\x03"

/*
 * The last step of a report, @sb from offset @from on: its lines are wrapped for the terminal that @s is for, and
 * marks replaced by escape sequences, or if it has no colors, removed.
 */
void text_mark_show(struct strbuf *sb, size_t from, const struct summary *s);

/* The last step of text that is for no terminal: only removes the marks. */
void text_mark_remove(struct strbuf *sb, size_t from);

/* The columns of a summary whose text is not to be wrapped. */
#define TEXT_UNBROKEN (1u << 30)

/* words_verdict; "definitely lost" stands out. */
void text_mark_verdict(struct strbuf *sb, enum verdict verdict);

/* "2 DOUBLE FREEs", "1 more DOUBLE FREE": @what follows the number. */
void text_mark_count(struct strbuf *sb, uint64_t n, const char *what);

#endif
