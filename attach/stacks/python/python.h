/* SPDX-License-Identifier: MIT */
/*
 * python: frames of CPython's scripts, as attach/stacks/scripts puts them into stacks.
 *
 * Each call of the evaluation loop executes one frame or, from 3.11 on, several. Which of them begins such a
 * call is marked in the chain (3.11), or by a frame of no code behind it, which lies on the C stack (3.12).
 * From 3.11 on something of each call is on the C stack, too: so a call is known even if its C code was moved
 * away.
 */
#ifndef MM_PYTHON_H
#define MM_PYTHON_H

#include "attach/stacks/scripts/script_language.h"

/* Its runtime is a struct python_runtime. */
extern const struct script_language python_language;

#endif
