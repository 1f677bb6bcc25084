/* SPDX-License-Identifier: MIT */
/*
 * linker: what the target's dynamic linker shows to debuggers: the function that it calls when the list of
 * modules changes, and the order in which it searches for a symbol.
 *
 *	/proc/PID/auxv ──▶ main program ──▶ PT_DYNAMIC ──▶ DT_DEBUG ──▶ r_debug ──▶ link_map, r_brk
 *
 * All of it is in memory that the target can write: an address counts only if a module is there, and a list
 * that is too long is cut off.
 */
#ifndef MM_LINKER_H
#define MM_LINKER_H

#include <stddef.h>

#include "attach/target/modules.h"
#include "base/cleanup.h"

/* The main program (where AT_ENTRY of /proc/PID/auxv points), or NULL. */
const struct module *linker_program(const struct modules *ms);

/*
 * The function that it calls when the list of modules changes: r_debug's r_brk; right after exec, when
 * r_debug is not filled in yet, _dl_debug_state in the interpreter (AT_BASE), or in the main program itself
 * (ld.so PROGRAM). 0 with @addr, -ENOENT for a program that loads no modules, or -errno.
 */
must_check int linker_break(const struct modules *ms, taddr *addr);

/* The program's first instruction, to which the dynamic linker goes in the end (AT_ENTRY); 0: not known. */
taddr linker_entry(const struct modules *ms);

/* Has the kernel mapped a dynamic linker beside the program, which then loads its modules? */
bool linker_is_separate(const struct modules *ms);

/*
 * Is no change of the list under way? The linker calls that function twice, and maps and unmaps modules
 * between the two calls. true if that is not known. Namespaces other than the first are visible only from
 * glibc 2.35 on.
 */
bool linker_is_done(const struct modules *ms);

/*
 * The module whose function @name the other modules call: the first that exports it, in the search order of
 * the linker (the main program, preloaded modules, then libraries). A program without a linker has only
 * itself. NULL: none.
 */
const struct module *linker_binds(const struct modules *ms, const char *name);

#endif
