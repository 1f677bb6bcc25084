/* SPDX-License-Identifier: MIT */
/*
 * sampling_calls: what the code at a return address shows of the call there: can calls like it be found
 * in the files, which function does it go to, is it made each time, and is its result used?
 *
 *	call rel32		e8	to the function itself, or to a stub (PLT) that leads to it
 *	call *slot(%rip)	ff 15	through a slot that the linker has filled
 *
 * All addresses are those of the run.
 */
#ifndef MM_SAMPLING_CALLS_H
#define MM_SAMPLING_CALLS_H

#include <stdbool.h>

#include "attach/control/planting.h"
#include "attach/probes/code/body.h"
#include "base/taddr.h"

/* Is it one of these two? If a function is only called through pointers, its callers cannot be found. */
bool sampling_calls_is_direct(const struct planting *p, taddr ret);

/*
 * Is it the function at @function that is called before @ret, or one that always jumps there, if it is called by
 * its address? A stub and a slot are known by the name of what they lead to: two functions of that name are not
 * told apart. false: no, or that is not known.
 */
bool sampling_calls_goes_to(const struct planting *p, taddr ret, taddr function);

/*
 * Does the code at @function make the call that returns to @ret each time that it runs? true: it does; false:
 * that is not known. If it is a function's cold part, that says nothing of the function.
 */
bool sampling_calls_always(const struct planting *p, taddr function, taddr ret);

/* Does the code at @ret use the result of the call before it? */
enum body_result sampling_calls_result(const struct planting *p, taddr ret);

/* Does a function begin at @function that other files or objects can name? */
bool sampling_calls_is_global(const struct planting *p, taddr function);

#endif
