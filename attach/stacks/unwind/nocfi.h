/* SPDX-License-Identifier: MIT */
/*
 * nocfi: how to find the caller from the code itself, where no table describes it.
 *
 * Four places are certain in any function: at its first instruction, at a `ret` and at a `jmp *slot` (a PLT
 * stub, a tail call) the return address is on top of the stack; and the kernel's signal frame is known by the
 * two instructions that it returns to. And the code at which a file is entered has no caller.
 */
#ifndef MM_UNWIND_NOCFI_H
#define MM_UNWIND_NOCFI_H

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/unwind/cfirule.h"

/*
 * The rule for a thread at file address @pc: it is there if @exact, otherwise it is in a call that will
 * return there. 0; -ENOENT: there is code, but no rule can be found; -ENXIO: no code there.
 */
must_check int nocfi_rule(const struct elfimage *img, taddr pc, bool exact, struct cfi_rule *out);

/*
 * true if the function around @pc switches to another stack for its calls, and its tables do not describe
 * that: they lead to old words of other functions on that stack. Go calls C in this way.
 */
bool nocfi_changes_stack(const struct elfimage *img, taddr pc);

/* true if there is a `ret` at @pc. */
bool nocfi_at_return(const struct elfimage *img, taddr pc);

/* true if `lea -N(%r10),%rsp` and a `ret` are at @pc: the end of a function that aligned its stack. */
bool nocfi_at_realigned_end(const struct elfimage *img, taddr pc);

/* true if the instruction before @pc is a call, so that @pc can be a return address. */
bool nocfi_after_call(const struct elfimage *img, taddr pc);

#endif
