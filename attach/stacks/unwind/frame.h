/* SPDX-License-Identifier: MIT */
/*
 * frame: from the registers in one frame to those of its caller, by a rule.
 *
 * Memory is read through struct frame_memory: from the slice that the keeper copied, otherwise by the
 * caller's function.
 */
#ifndef MM_UNWIND_FRAME_H
#define MM_UNWIND_FRAME_H

#include "attach/stacks/unwind/cfirule.h"
#include "attach/stacks/unwind/unwind.h"

#define FRAME_BIT(reg) (1u << (reg))

struct frame_memory {
	const struct unwind_from *from;
	uint32_t used;		/* bytes of the slice that were needed */
	taddr missed;		/* what could not be read last */
};

/* @n bytes at @addr, from the slice or by the caller's function. 0 or -EFAULT. */
must_check int frame_read(struct frame_memory *m, taddr addr, void *buf, size_t n);

/* The same from the slice only. */
bool frame_slice(struct frame_memory *m, taddr addr, void *buf, size_t n);

/*
 * true if @addr, where an interrupted function has saved a register according to its tables, is just below
 * its @rsp. Either the register was popped already, which the tables do not record, and both the word and the
 * register have the saved value; or it was saved in the red zone, as compilers did fifteen years ago, and
 * only the word has it.
 */
static inline bool frame_below(taddr rsp, taddr addr)
{
	return addr < rsp && rsp - addr <= 128;
}

/* The start of a walk: @regs, all of them known. */
void frame_begin(const struct user_regs_struct *regs, struct frame_regs *out);

/*
 * Replace @regs of one frame by its caller's: those in @want (FRAME_BIT, always rip and rsp); the others are
 * unknown then. @exact: the frame was interrupted at its pc, and is not in a call.
 *
 * 0; -ENODATA: needs a register that is not known; -EFAULT: memory that cannot be read; -EINVAL: a rule that
 * leads nowhere.
 */
must_check int frame_step(const struct cfi_rule *rule, bool exact, uint32_t want, struct frame_memory *m,
			  struct frame_regs *regs);

#endif
