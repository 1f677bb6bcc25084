/* SPDX-License-Identifier: MIT */
/*
 * script_join: the frames of a script, put into the call stack of the interpreter that executes it.
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
 * The chain was read at the hit (shared/chain.h). One call of the evaluation loop executes one frame or
 * several: which of them begins such a call is marked in the chain. Which frames of the stack are such calls:
 * those in the code of that function; and as a compiler may move parts of it elsewhere, also those whose
 * piece of the stack has what the chain says is there. If both do not agree, the stack stays as it is:
 * nothing is guessed. What the chain did not have, as it was not read to its end, ends the stack, which is
 * marked.
 *
 * A frame of a script is a number with UNWIND_SCRIPT in place of an address: that of a place
 * (script_places.h).
 */
#ifndef MM_SCRIPT_JOIN_H
#define MM_SCRIPT_JOIN_H

#include "attach/stacks/scripts/script_codes.h"
#include "attach/stacks/unwind/unwind.h"

/* Does the interpreter execute something in this stack? */
bool script_join_any(const struct script_runtime *rt, const struct unwind_stack *st);

/*
 * Put the frames of the chain of @hit into @st, its stack; at most @max frames then. 0; -EBADMSG: they do not
 * fit, and @st is as it was; -ENOMEM.
 */
must_check int script_join(struct script_codes *codes, const struct record_hit *hit, uint32_t max,
			   struct unwind_stack *st);

#endif
