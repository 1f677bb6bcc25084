/* SPDX-License-Identifier: MIT */
/*
 * forwarders: wrappers that no list can name: those of a program's own, in stripped code (jv_mem_alloc, qmalloc,
 * MemPoolMalloc::allocate, tmux+0xa9fce). A function that calls malloc, or another wrapper, is one if the run shows
 * it: many functions call it, and get blocks of several sizes. What makes objects of a type has many callers,
 * too, but blocks of one size.
 *
 *	#0 jv_mem_alloc		12 callers, several sizes	left out at the front, as operator new is
 *	#1 jvp_string_alloc	3 callers			the allocation site
 */
#ifndef MM_FORWARDERS_H
#define MM_FORWARDERS_H

#include "base/cleanup.h"
#include "report/groups/stack_groups.h"

/*
 * Of stack groups whose known wrappers are counted (`skip`, `wrappers`), and that are not merged yet: count such frames
 * among them. 0 or -ENOMEM.
 */
must_check int forwarders_skip(struct stack_groups *ds);

#endif
