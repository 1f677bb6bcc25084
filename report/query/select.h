/* SPDX-License-Identifier: MIT */
/*
 * select: which stacks the user wants to see (--focus, --ignore): regular expressions, matched against each
 * frame's function, module path and source file, and "svc+0x1234", as reports print it. With several --focus
 * one must match; no --ignore may.
 */
#ifndef MM_SELECT_H
#define MM_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

struct select;

must_check int select_new(struct select **out);	/* 0 or -ENOMEM */
void select_free(struct select *s);		/* @s may be NULL */

/* @regex is POSIX extended. 0; -EINVAL if it is invalid, with the reason in @why; -ENOMEM. */
must_check int select_focus(struct select *s, const char *regex, char *why, size_t why_size);
must_check int select_ignore(struct select *s, const char *regex, char *why, size_t why_size);

/* @s NULL selects everything: it focuses on all stacks and ignores none. */
bool select_focuses(const struct select *s, const struct summary_frame *frames, size_t n);
bool select_ignores(const struct select *s, const struct summary_frame *frames, size_t n);

/* select_focuses and not select_ignores. */
bool select_wants(const struct select *s, const struct summary_frame *frames, size_t n);

#endif
