/* SPDX-License-Identifier: MIT */
/*
 * ruby: frames of Ruby's scripts, as attach/stacks/scripts puts them into stacks.
 *
 * The outermost frame that a call of the evaluation loop executes is marked (finish). Methods in C have
 * frames, too: they belong to what has called them, and have its file and line. A block in C has no name, and
 * is not shown.
 */
#ifndef MM_RUBY_H
#define MM_RUBY_H

#include "attach/stacks/scripts/script_language.h"

/* Its runtime is a struct rb_runtime. */
extern const struct script_language ruby_language;

#endif
