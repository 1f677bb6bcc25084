/* SPDX-License-Identifier: MIT */
/*
 * runtime: the CPython interpreter in a process: which version it is, how its structures are laid out, and
 * where the frames of each thread begin.
 *
 * A thread's state is found by the thread itself in one of its thread-specific values (pthread_getspecific),
 * which CPython sets for each thread that runs Python code, and which stays when the thread gives up the
 * interpreter's lock. Where that value lies in glibc's thread descriptor is not computed but looked for: the
 * states of all threads are in a list, each with its pthread_self(). So a state that is found at a hit is
 * always checked against the thread.
 */
#ifndef MM_PYTHON_RUNTIME_H
#define MM_PYTHON_RUNTIME_H

#include <stdint.h>

#include "attach/stacks/python/layouts.h"
#include "attach/stacks/scripts/script_language.h"

struct python_runtime {
	struct script_runtime base;	/* first */
	struct layout layout;		/* of this process; its chain is in base, with the slot */
	taddr runtime;			/* _PyRuntime */
	taddr code_type;		/* PyCode_Type */
};

static inline const struct python_runtime *python_runtime_of(const struct script_runtime *rt)
{
	return (const void *)rt;
}

/* What follows from @rt->layout, for base. */
void python_runtime_lay_out(struct python_runtime *rt);

/* Of struct script_language. */
must_check int python_runtime_find(struct script_runtime *rt, const struct module *m, int mem, char *why,
				   size_t n);
must_check int python_runtime_locate(struct script_runtime *rt, const struct module *m);

/* Has it an interpreter? 1 or 0; -errno: that is not known, as for a version whose structures are not. */
must_check int python_runtime_started(const struct module *m, int mem);

#endif
