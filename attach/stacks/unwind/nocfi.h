/* SPDX-License-Identifier: MIT */
/*
 * nocfi: what the code itself says where no table describes it.
 *
 * Four places are certain in any function: at its first instruction, at a `ret` and at
 * a `jmp *slot` (a PLT stub, a tail call) the return address is on top of the stack; and the
 * kernel's signal frame is known by the two instructions that it returns to.
 */
#ifndef MM_UNWIND_NOCFI_H
#define MM_UNWIND_NOCFI_H

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/unwind/cfirule.h"

/*
 * The rule for a thread at file address @pc, which stands there if @exact, else has called and will return
 * there. 0; -ENOENT: there is code, and it does not say; -ENXIO: no code there.
 */
must_check int nocfi_rule(const struct elfimage *img, taddr pc, bool exact, struct cfi_rule *out);

/*
 * true if the function around @pc calls on another stack than it was called on, and its tables do not say so: what they lead to is
 * what other functions left there. Go's way to C.
 */
bool nocfi_changes_stack(const struct elfimage *img, taddr pc);

/* true if a `ret` stands at @pc. */
bool nocfi_at_return(const struct elfimage *img, taddr pc);

/* true if `lea -N(%r10),%rsp` and a `ret` stand at @pc: the end of a function that aligned its stack. */
bool nocfi_at_realigned_end(const struct elfimage *img, taddr pc);

/* true if the instruction before @pc is a call, so that @pc can be a return address. */
bool nocfi_after_call(const struct elfimage *img, taddr pc);

#endif
