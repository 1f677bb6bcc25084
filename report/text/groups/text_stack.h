/* SPDX-License-Identifier: MIT */
/* text_stack: stacks in the text reports: as lines, and the allocation site, as one cell of a table. */
#ifndef MM_TEXT_STACK_H
#define MM_TEXT_STACK_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"
#include "report/names/apart.h"

/*
 * A line for each frame behind the wrappers; then how the stack goes on. Lines have at most 100 characters as
 * far as shorter paths help; after a long name, file and line have a line of their own:
 *
 *	#0 session_open (svc+0x1310) /build/.../src/session.c:42
 *	#1 std::_Function_handler<void (request const&), ...>::_M_invoke(...)
 *	     (svc+0x2222) /usr/include/c++/12/bits/std_function.h:290
 */
void text_stack(struct strbuf *sb, const struct stack_view *stack);

/*
 * The first frame after the wrappers: "session_open svc.c:42", at most @width characters of it, with C++
 * names shortened (report/names/shortname.h). @apart is what distinguishes this stack from others in the same
 * table, "make from serve_users", or NULL. If the first frame has no name, it is "libvendor.so+0x1149", whose
 * offset is never cut; its first caller with a name, unless libc's, follows if there is room.
 */
void text_where_of(struct strbuf *sb, const struct stack_view *stack, const struct apart *apart,
		   size_t width);

/* The same for a group, with its tag, if it has one. */
void text_where(struct strbuf *sb, const struct summary_group *g, const struct apart *apart, size_t width);

#endif
