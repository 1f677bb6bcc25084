/* SPDX-License-Identifier: MIT */
/*
 * python: the frames of a script, put into the call stack of the interpreter that executes it.
 *
 *	stack of C functions		the interpreter's own chain		result
 *
 *	list_resize			append_row	orders.py:41		list_resize
 *	_PyEval_EvalFrameDefault ◀──────  load (outermost of this call) :52	append_row (orders.py:41)
 *	_PyObject_Call						load (orders.py:52)
 *	_PyEval_EvalFrameDefault ◀────── main		:9			_PyObject_Call
 *	Py_RunMain							main (orders.py:9)
 *									Py_RunMain
 *
 * The chain was read at the hit (shared/chain.h). One call of the evaluation loop executes one frame or, from
 * 3.11 on, several: which of them begins such a call is marked in the chain, or by a frame of no code behind
 * it. Which frames of the stack are such calls: those in the code of that function; and as a compiler may
 * move parts of it elsewhere, also those whose piece of the stack has what the chain says is there: from 3.11
 * on something of each call is there. If both do not agree, the stack stays as it is, and that is counted:
 * nothing is guessed.
 *
 * A frame of a script is a number with UNWIND_SCRIPT in place of an address: that of a place
 * (scripts/script_places.h).
 */
#ifndef MM_PYTHON_H
#define MM_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/keeper/shared/shared.h"
#include "attach/stacks/python/codes.h"
#include "attach/stacks/python/runtime.h"
#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"

enum python_state {
	PYTHON_NONE,		/* there is no interpreter, or its frames are not wanted */
	PYTHON_REFUSED,		/* there is one whose frames cannot be read: why */
	PYTHON_WAITS,		/* it has no threads yet */
	PYTHON_ON,
};

struct python {
	struct modules *modules;
	struct shared *shared;
	bool wanted;
	enum python_state state;
	int mem;			/* of process pid; -1: there is no interpreter */
	pid_t pid;
	size_t looked;			/* at so many modules */
	uint64_t next_ns;		/* PYTHON_WAITS: when to look again, */
	uint8_t looks;			/* after so many that found nothing */
	struct python_runtime runtime;
	struct codes codes;
	char why[200];
	uint64_t stacks;		/* with frames of scripts */
	uint64_t misfits;		/* stacks that did not fit the chain */
	uint64_t lost;			/* chains that could not be read to the end */
	uint64_t without;		/* stacks of the interpreter at which there was no chain */
};

/* @ms, @shared and @places stay the caller's. */
void python_init(struct python *p, struct modules *ms, struct shared *shared,
		struct script_places *places, bool wanted);
void python_fini(struct python *p);

/* Something was mapped or unmapped, or it is another process. */
void python_modules_changed(struct python *p);
/* Another program: what was found is forgotten. */
void python_forget(struct python *p);

/* Put frames of scripts into @st, the stack of @hit; at most @max frames then. 0 or -ENOMEM. */
must_check int python_splice(struct python *p, const struct record_hit *hit, uint32_t max,
			     struct unwind_stack *st);

#endif
