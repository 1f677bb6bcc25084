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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/python/layouts.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

struct python_runtime {
	struct layout layout;		/* of this process */
	char version[16];		/* "3.11.2" */
	taddr runtime;			/* _PyRuntime */
	taddr code_type;		/* PyCode_Type */
	struct code_range eval;		/* _PyEval_EvalFrameDefault */
};

/*
 * Look for an interpreter among the modules from number *@from on, of a process whose memory is @mem; they
 * are not looked at again. 0; -ENOENT: there is none; -ENOTSUP: there is one that cannot be read, @why (@n
 * bytes) says which and why; -errno.
 */
must_check int python_runtime_find(const struct modules *ms, size_t *from, int mem,
				   struct python_runtime *out, char *why, size_t n);

/*
 * Where the threads' states begin: completes layout.chain. 0; -EAGAIN: no thread has a state (yet).
 */
must_check int python_runtime_locate(struct python_runtime *rt, int mem);

#endif
