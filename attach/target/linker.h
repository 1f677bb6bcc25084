/* SPDX-License-Identifier: MIT */
/*
 * linker: what the target's dynamic linker says of itself: where it calls out, and in which order it looks for a symbol.
 *
 *	/proc/PID/auxv ──▶ main program ──▶ PT_DYNAMIC ──▶ DT_DEBUG ──▶ r_debug ──▶ link_map, r_brk
 *
 * All of it lies in memory that the target may write as it likes: an address counts only if a module is there, a list is cut
 * off where it gets too long.
 */
#ifndef MM_LINKER_H
#define MM_LINKER_H

#include <stddef.h>

#include "attach/target/modules.h"
#include "base/cleanup.h"

/* The main program (where AT_ENTRY of /proc/PID/auxv points), or NULL. */
const struct module *linker_program(const struct modules *ms);

/*
 * Where it calls out when the list of modules changes: r_debug's r_brk; right after exec, when r_debug is not filled yet,
 * _dl_debug_state in the interpreter (AT_BASE), or in the main program itself (ld.so PROGRAM). 0 with @addr,
 * -ENOENT for a program that loads no modules, or -errno.
 */
must_check int linker_break(const struct modules *ms, taddr *addr);

/*
 * Is the linker in the middle of nothing? Between its two calls there things are mapped and unmapped. true where it cannot be told; of namespaces other than
 * the first only from glibc 2.35 on.
 */
bool linker_is_done(const struct modules *ms);

/*
 * The module whose function @name the others call: the first that exports it, in the order in which the linker
 * looks (the main program, what is preloaded, then libraries). A program without a linker has only itself. NULL: none.
 */
const struct module *linker_binds(const struct modules *ms, const char *name);

#endif
