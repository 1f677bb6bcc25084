/* SPDX-License-Identifier: MIT */
/*
 * sitename: what an allocation site is called, in a table or a list of any format: the first frame after the
 * wrappers, as "session_open leaky.c:42", with C++ names shortened (report/names/shortname.h), and what tells
 * it from others beside it, as "make_node from serve_users svc.c:12".
 *
 * A width is only how much may be shown: with less, scopes, the file, template arguments and ends of names are
 * left out, and nothing else is put in their place.
 */
#ifndef MM_SITENAME_H
#define MM_SITENAME_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"
#include "report/names/apart.h"

/* The width of a row's name in data, and in lists that have no width of their own. */
#define SITENAME_WIDTH 80

/* "svc+0x1234", in @width characters if it can be: only the module's name is ever shortened. */
void sitename_place(struct strbuf *sb, const struct summary_frame *f, size_t width);

/* A function, by all its scopes: "shop::Pool::make"; one without a name by its place. */
void sitename_function(struct strbuf *sb, const struct summary_frame *f);

/* With as many of its template arguments as fit. */
void sitename_full(struct strbuf *sb, const struct summary_frame *f, size_t width);

/*
 * At most @width characters. @apart is what distinguishes this stack from others in the same table, or NULL. If
 * the first frame has no name, it is "libvendor.so+0x1149", whose offset is never cut; its first caller with a
 * name, unless libc's, follows if there is room.
 */
void sitename_of(struct strbuf *sb, const struct stack_view *stack, const struct apart *apart, size_t width);

/* The same for a group, with its tag, if it has one. */
void sitename(struct strbuf *sb, const struct summary_group *g, const struct apart *apart, size_t width);

#endif
