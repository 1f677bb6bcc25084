/* SPDX-License-Identifier: MIT */
/*
 * site: one address in the target's code where a trap is planted, as the controller planned it
 * (probes/plan.h) and the keeper carries it out (traps/trap.h).
 *
 * Plain data, copied into shared memory: the keeper follows it without knowing what an allocator is. A site
 * defines how to get past the displaced instruction, what to record when it is hit, and which calls it opens
 * or closes.
 */
#ifndef MM_SITE_H
#define MM_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/traps/emulate.h"
#include "base/taddr.h"

#define SITE_BYTES 16	/* bytes of code known at a trap, the trap's own first */
#define SITE_LOADS 5	/* what is read from the target's memory at a hit */
#define SITE_TEXT 64	/* a string that is read, with its NUL */
#define SITE_CHUNK (SITE_LOADS - 1)	/* the load that is glibc's chunk header, if there is one */
#define SITE_OLD_CHUNK (SITE_CHUNK - 1)	/* of a realloc: that of the old block */

#define SITE_FAMILY_NONE 0	/* start and end of counting, the dynamic linker */
#define SITE_FAMILY_IN 0xffff	/* functions inside of which a thread's hits count */

enum site_flags {
	SITE_EMIT = 1 << 0,	/* a hit is an event */
	SITE_ENTRY = 1 << 1,	/* opens a call: its arguments are stored for the thread until it closes */
	SITE_EXIT = 1 << 2,	/* the function returns here: closes the call with this rsp, if one is open */
	SITE_RETURN = 1 << 3,	/* (with ENTRY) not all exits are known: the return address needs a trap */
	/* planted at a return address: closes the call with rsp - 8 if one is open, else means nothing */
	SITE_AFTER = 1 << 4,
	SITE_SLICE = 1 << 5,	/* the event carries a slice of stack */
	SITE_WAIT = 1 << 6,	/* the thread is held until the controller answers */
	SITE_SIGINFO = 1 << 7,	/* "rip one past the trap" is possible without a trap: check si_code */
	/* no event while an outer call of its family is open (rsp below the call's) */
	SITE_INNER = 1 << 8,
	SITE_MODULES = 1 << 9,	/* the dynamic linker reports that the list of modules changes */
	SITE_SCOPE = 1 << 10,	/* begins or ends what is counted; no family */
	SITE_RELEASE = 1 << 12,	/* frees something: a marked event, also where SITE_INNER would give none */
	/*
	 * planted at a return address, whichever function returns: the result is there, and the stack begins
	 * with the caller
	 */
	SITE_BEHIND = 1 << 13,
	SITE_ALWAYS = 1 << 11,	/* carries its slice also outside of what is counted */
	/* not for the keeper: a function's entry that the kernel probes, with its return (attach/uprobe) */
	SITE_RETURNS = 1 << 14,
	SITE_OPENING = 1 << 15,	/* (with RETURNS) that the call begins is an event, too */
};

/* What the address of a load is computed from. */
enum site_base {
	SITE_BASE_NONE,
	SITE_BASE_ARG1,		/* ... ARG6: of the call that the hit ends, else as the registers are now */
	SITE_BASE_ARG6 = SITE_BASE_ARG1 + 5,
	SITE_BASE_RESULT,	/* the register that holds the function's result, at an exit */
	SITE_BASE_LOAD0,	/* ... LOAD4: the value of an earlier load of the site */
};

/* *(base + index * scale + disp). Not read if the base is 0. */
struct site_load {
	uint8_t base, index;	/* enum site_base; base NONE: no load */
	uint8_t scale;
	uint8_t width;		/* 1, 2, 4, 8; 0: a string */
	int32_t disp;
};

struct site {
	taddr addr;
	uint8_t bytes[SITE_BYTES];	/* the code at addr as in the file, from addr on */
	uint8_t nbytes;			/* how many of them are known (at least the displaced instruction) */
	uint8_t result;			/* enum emu_reg that holds the function's result at an exit */
	bool calls_none;		/* RETURNS: its function calls no other that is watched */
	uint16_t flags;			/* enum site_flags */
	uint16_t rule;			/* index of the rule that this site serves */
	/* calls nest within a family only; also SITE_FAMILY_NONE, _IN; AFTER: not used */
	uint16_t family;
	int16_t sp_delta;		/* rsp at the function's entry = rsp here + sp_delta */
	struct emu emu;			/* op EMU_NONE: stepped displaced, at scratch */
	taddr scratch;			/* padding in the same text, to run the displaced instruction; or 0 */
	uint8_t scratch_bytes[SITE_BYTES];	/* what the file has at scratch */
	/*
	 * what must be at scratch: the instruction, rip-relative parts moved, and if there is space a jump to
	 * what follows the displaced one: a thread may be there when the keeper is killed
	 */
	uint8_t step[SITE_BYTES];
	uint8_t step_len;		/* of both; the instruction has emu.len, as the displaced one */
	struct site_load loads[SITE_LOADS];	/* at the end of a call, those of the opening site are used */
};

#endif
