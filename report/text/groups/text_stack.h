/* SPDX-License-Identifier: MIT */
/* text_stack: stacks in the text reports: as lines, and the one frame of them in the column "where". */
#ifndef MM_TEXT_STACK_H
#define MM_TEXT_STACK_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"
#include "report/names/apart.h"

/* A line for each frame after the wrappers; then the way in which the stack ends, if it is incomplete. */
void text_stack(struct strbuf *sb, const struct stack_view *stack);

/*
 * The first frame after the wrappers: "session_open svc.c:42", at most @width characters of it, with C++
 * names shortened (report/names/shortname.h). @apart is what distinguishes this stack from others in the same
 * table, "make from serve_users", or NULL; if the first frame has no name, its place is shown and its first
 * caller with a name.
 */
void text_where_of(struct strbuf *sb, const struct stack_view *stack, const struct apart *apart, size_t width);

/* The same for a group, with its tag, if it has one. */
void text_where(struct strbuf *sb, const struct summary_group *g, const struct apart *apart, size_t width);

#endif
