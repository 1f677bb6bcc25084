/* SPDX-License-Identifier: MIT */
/* screen_text: the lines of the live view as text, safe for a terminal. Of any width: the screen cuts them. */
#ifndef MM_SCREEN_TEXT_H
#define MM_SCREEN_TEXT_H

#include "attach/top/screen.h"
#include "base/cleanup.h"
#include "report/names/apart.h"

/* The two lines at the top. */
void screen_text_head(struct strbuf *sb, const struct top *t, const struct ledger *l);
void screen_text_state(struct strbuf *sb, const struct screen *s, const struct top *t, const struct ledger *l);

/*
 * The heads of the columns, and a row; @columns: of the terminal; @apart: what distinguishes it from the other rows.
 * 0 or -ENOMEM.
 */
void screen_text_columns(struct strbuf *sb, const struct top *t, size_t columns);
must_check int screen_text_row(struct strbuf *sb, const struct top *t, struct ledger *l, const struct top_row *row,
			       const struct apart *apart, size_t columns);

/* What distinguishes each of @rows[0..n), which have their names, from the others. 0 or -ENOMEM. */
must_check int screen_text_apart(struct ledger *l, const struct top_row *rows, size_t n, struct apart *out);

/* Why there are no rows; nothing if there are some. */
void screen_text_none(struct strbuf *sb, const struct top *t, const struct ledger *l);

/* The stack of a row, a line for each frame. 0 or -ENOMEM. */
must_check int screen_text_stack(struct strbuf *sb, struct ledger *l, const struct top_row *row);

/* The line at the bottom; the help. */
void screen_text_foot(struct strbuf *sb, const struct screen *s);
extern const char screen_text_help[];

#endif
