/* SPDX-License-Identifier: MIT */
/*
 * return_probe: may the kernel replace the return address of a function's calls (SITE_RETURNS)? For plan.c only.
 *
 * What walks the stack meanwhile finds the kernel's trampoline instead of the caller: an exception that leaves the
 * function would end the target, and a profile that the allocator makes of its callers would be another one. So it
 * is allowed for functions that allocate, of C libraries and of allocators that are known to do neither:
 *
 *	glibc		its heap's functions (reads_chunk)
 *	others		plan_options.other_returns, as attach/target/allocators.h decides of the module;
 *			and no code of the function has an LSDA, or calls what throws
 *
 * What it calls may throw (a handler that it calls by a pointer, a function of the file that operator new shares),
 * but nothing may leave it: C++ declares these functions noexcept, and a compiler that makes such a function of C++
 * gives it an LSDA if something could. So not operator new, whatever it calls.
 */
#ifndef MM_RETURN_PROBE_H
#define MM_RETURN_PROBE_H

#include "attach/probes/plan_exits.h"

bool may_probe_return(const struct planning *pl, const struct plan *p, const struct body *b);

#endif
