/* SPDX-License-Identifier: MIT */
/*
 * select: which stacks the user wants to see (--focus, --ignore): regular expressions, matched against
 * each frame's function, module path and source file. With several --focus one must match; no --ignore may.
 */
#ifndef MM_SELECT_H
#define MM_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

struct select;

must_check int select_new(struct select **out);	/* 0 or -ENOMEM */
void select_free(struct select *s);		/* NULL is taken */

/* POSIX extended. 0; -EINVAL with @why what is wrong with it; -ENOMEM. */
must_check int select_focus(struct select *s, const char *regex, char *why, size_t why_size);
must_check int select_ignore(struct select *s, const char *regex, char *why, size_t why_size);

/* NULL as @s wants everything: focuses on all, ignores nothing. */
bool select_focuses(const struct select *s, const struct summary_frame *frames, size_t n);
bool select_ignores(const struct select *s, const struct summary_frame *frames, size_t n);

/* The first and not the second. */
bool select_wants(const struct select *s, const struct summary_frame *frames, size_t n);

#endif
