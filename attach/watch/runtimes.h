/* SPDX-License-Identifier: MIT */
/*
 * runtimes: finds a language runtime with a heap of its own, outside of malloc: "CPython", "JVM", "Go", "V8".
 * The report has a hint for each (report/text/text_memory.c).
 *
 * A program may have the library of one and never start it: unbound has CPython's for modules that few users
 * write, and its small objects are not in Python's arenas then. So what shows that it was started is looked for:
 *
 *	CPython		it has an interpreter, by its own list, if its version is known (attach/stacks/python)
 *	JVM		HotSpot's "VM Thread"
 *	V8		it is the program itself, or there is code of no file
 *	Go		starts with the program, or when its library is loaded
 */
#ifndef MM_RUNTIMES_H
#define MM_RUNTIMES_H

#include "attach/target/modules.h"
#include "attach/target/target.h"

enum runtime_state {
	RUNTIME_NONE,
	RUNTIME_LINKED,		/* whether it was started is not known */
	RUNTIME_RUNS,
};

struct runtime_found {
	enum runtime_state state;
	const char *name;		/* of the runtime */
	const char *module;		/* the modules' */
};

/* One that runs, if there is one; else one of which that is not known. */
struct runtime_found runtimes_find(const struct modules *ms, const struct target_info *target);

#endif
