/* SPDX-License-Identifier: MIT */
/*
 * site: one place in the target's code where a trap stands, as the controller
 * planned it (probes/plan) and the keeper carries it out (keeper/trap).
 *
 * Plain data, copied into shared memory: the keeper follows it without knowing
 * what an allocator is. A site says how to get past the displaced instruction,
 * what to note when it is hit, and which calls it opens or closes.
 */
#ifndef MM_SITE_H
#define MM_SITE_H

#include <stdint.h>

#include "attach/keeper/emulate.h"
#include "base/taddr.h"

#define SITE_BYTES 16	/* bytes of code kept around a trap, the trap's own first */
#define SITE_AUX 2	/* words read from the target at a hit */

enum site_flags {
	SITE_EMIT = 1 << 0,	/* a hit is an event */
	SITE_ENTRY = 1 << 1,	/* opens a call: arguments are kept for the thread until it closes */
	SITE_EXIT = 1 << 2,	/* the function returns here: closes the thread's call with this rsp, if one is open */
	SITE_RETURN = 1 << 3,	/* (with ENTRY) the exits are not all known: the return address needs a trap too */
	SITE_AFTER = 1 << 4,	/* stands at a return address: closes the call with rsp - 8 if one is open, else means nothing */
	SITE_SLICE = 1 << 5,	/* the event carries a slice of stack */
	SITE_WAIT = 1 << 6,	/* the thread is held until the controller answers */
	SITE_SIGINFO = 1 << 7,	/* "rip is one past the trap" can come about without the trap: ask for the signal's origin */
	SITE_INNER = 1 << 8,	/* an exit that is silent while an outer call of its family is open (rsp below the call's) */
	SITE_MODULES = 1 << 9,	/* the dynamic linker says: the list of modules changes */
	SITE_SCOPE = 1 << 10,	/* begins or ends what is counted; no family */
};

/* Where a word that is read at the hit lies. */
enum site_aux_kind {
	SITE_AUX_NONE,
	SITE_AUX_REG,	/* *(register reg + disp), not read if the register is 0 */
	SITE_AUX_ARG,	/* *(argument reg of the open call + disp), not read if none is open or it is 0 */
};

struct site_aux {
	uint8_t kind;
	uint8_t reg;	/* enum emu_reg, or argument number 0..5 */
	int32_t disp;
};

struct site {
	taddr addr;
	uint8_t bytes[SITE_BYTES];	/* the code at addr as in the file, from addr on */
	uint8_t nbytes;			/* how many of them are known (at least the displaced instruction) */
	uint8_t result;			/* enum emu_reg that holds the function's result at an exit */
	uint16_t flags;			/* enum site_flags */
	uint16_t rule;			/* index of the rule that this site serves */
	uint16_t family;		/* calls nest within a family only */
	int16_t sp_delta;		/* rsp at the function's entry = rsp here + sp_delta */
	struct emu emu;			/* op EMU_NONE: stepped displaced, at scratch */
	taddr scratch;			/* padding in the same text where the displaced instruction is run, or 0 */
	uint8_t scratch_bytes[SITE_BYTES];	/* what stands at scratch in the file */
	uint8_t step[SITE_BYTES];	/* the instruction as it must read at scratch (rip-relative parts moved) */
	uint8_t step_len;		/* its length; the displaced one's length is emu.len */
	struct site_aux aux[SITE_AUX];
};

#endif
