/* SPDX-License-Identifier: MIT */
/* json_stack: a stack in a report for programs, or in one for a page. */
#ifndef MM_JSON_STACK_H
#define MM_JSON_STACK_H

#include "base/strbuf.h"
#include "report/json/json_frames.h"
#include "report/model/stack.h"

/*
 * The members "stack_end" and "stack". @frames: a stack is a list of numbers of frames in that table; NULL: it
 * has the frames themselves, as in all reports for programs.
 */
void json_stack(struct strbuf *sb, const char *separator, const struct stack_view *stack,
		struct json_frames *frames);

#endif
