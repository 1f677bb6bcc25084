/* SPDX-License-Identifier: MIT */
/* expand: frames as the report prints them: with names and inlined functions. */
#ifndef MM_EXPAND_H
#define MM_EXPAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/model/summary.h"
#include "trace/defs.h"

#define EXPAND_MAX 4096	/* frames printed of one stack */

/*
 * Frames @path[0..n) (indices, leaf first): an inlined function comes before the function that contains it.
 * If there are more than EXPAND_MAX, the outer ones are left out. Free @out. 0 or -ENOMEM.
 */
must_check int expand_path(const struct defs *d, const uint32_t *path, uint32_t n, struct summary_frame **out,
			   size_t *count);

/* How many frames of @path lie wholly within the first @shown frames of what expand_path returns. */
uint32_t expand_frames_within(const struct defs *d, const uint32_t *path, uint32_t n, size_t shown);

/* The stack with index @stack (DEFS_NONE: none). Free out->frames. 0 or -ENOMEM. */
must_check int expand_stack(const struct defs *d, uint32_t stack, struct stack_view *out);

enum summary_stack_end expand_end(uint8_t end);

/* The end of what expand_path returns for @path: the stack's own end @end, unless frames were left out. */
enum summary_stack_end expand_path_end(const struct defs *d, const uint32_t *path, uint32_t n, uint8_t end);

#endif
