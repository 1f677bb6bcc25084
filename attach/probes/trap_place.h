/* SPDX-License-Identifier: MIT */
/*
 * trap_place: which instruction a trap may be planted on, and how a thread gets past it.
 *
 * An instruction is emulated if that is exact even while other threads run: registers, the thread's own
 * stack, the module's own data. A load or store through any other pointer could fault, tear, or be lost
 * between the keeper's read and write, so such an instruction runs as a copy, in padding of the same text.
 */
#ifndef MM_TRAP_PLACE_H
#define MM_TRAP_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/keeper/shared/site.h"
#include "attach/probes/code/body.h"
#include "attach/probes/code/decode.h"
#include "attach/probes/code/elfimage.h"
#include "base/cleanup.h"

struct trap_place {
	struct elfimage *img;
	struct decoder *d;
	bool shadow_stack;		/* no call or ret may be emulated */
	bool kernel;			/* the kernel traps, and emulates what it can */
	uint16_t wanted;		/* entries: a bit for each enum emu_reg that is read as the caller left it */
	bool memory;			/* entries: what the function was given pointers to is read, too */
	const struct body *body;	/* the containing function, or NULL */
	const taddr *taken;		/* other traps */
	size_t ntaken;
};

/*
 * All of these fill in the fields of @out that describe the location (addr, bytes, emu, scratch, step,
 * SITE_SIGINFO), and none of those for what to record. 0 or -EILSEQ.
 */

/* At @addr, emulated; with the kernel's traps, however it gets past the instruction. */
must_check int trap_place_emulated(const struct trap_place *p, taddr addr, struct site *out);

/* At @addr, stepped in padding. */
must_check int trap_place_displaced(const struct trap_place *p, taddr addr, struct site *out);

/*
 * At @addr in the first way that works: emulated, in padding, emulated though it reads memory through a
 * pointer, or without scratch (the keeper then steps it in place, the trap lifted for a moment).
 */
must_check int trap_place_anyhow(const struct trap_place *p, taddr addr, struct site *out);

/*
 * A probe of the function's entry and its return (SITE_RETURNS): at the entry, or behind it before anything is pushed,
 * where there is an instruction that the kernel emulates. 0 or -EILSEQ.
 */
must_check int trap_place_returns(const struct trap_place *p, taddr entry, struct site *out);

/*
 * At or near the function's @entry while p->wanted are still what they were, and with p->memory before it has
 * written to memory: `lock sub $1,(%rdi)` may be all of an unref. It is the first instruction
 * that can be emulated, otherwise the very first, in padding. out->sp_delta is set to how far rsp has moved.
 */
must_check int trap_place_entry(const struct trap_place *p, taddr entry, struct site *out);

#endif
