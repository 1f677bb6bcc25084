/* SPDX-License-Identifier: MIT */
/* text_stack: stacks in the text reports, as lines. */
#ifndef MM_TEXT_STACK_H
#define MM_TEXT_STACK_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/*
 * A line for each frame behind the wrappers; then how the stack goes on. Lines have at most 100 characters as
 * far as shorter paths help; after a long name, file and line have a line of their own:
 *
 *	#0 session_open (svc+0x1310) /build/.../src/session.c:42
 *	#1 std::_Function_handler<void (request const&), ...>::_M_invoke(...)
 *	     (svc+0x2222) /usr/include/c++/12/bits/std_function.h:290
 */
void text_stack(struct strbuf *sb, const struct stack_view *stack);

#endif
