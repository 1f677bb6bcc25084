/* SPDX-License-Identifier: MIT */
/*
 * loss_probes: which code allocates the blocks that the process loses.
 *
 * In a watch with a budget, two copies of the process show of which sizes it loses blocks (loss.h), but not which
 * code allocates them: of a thousand calls the keeper's traps see one or two, for a stop costs a hundred times as much as a
 * probe of the kernel's (attach/uprobe). So where these can be had, the functions that allocate are probed for short
 * times (loss_windows.h), and each block of such a size is recorded, with its stack; of other sizes nothing is.
 *
 *	window begins	probes are made
 *	  is over	the process is to be copied (loss_probes_wants_copy), with the probes still there: so what has
 *			the address of a recorded block in the copy is that block
 *	  ends		the probes are taken out (loss_probes_copied)
 *	copy searched	which of the blocks are lost (loss_probes_found; loss_blocks.h). Then the next window may begin
 *
 * The keeper stays the target's tracer, and has the account of what the probes cost. It has no trap where a probe is:
 * probed are the first instructions of the functions that allocate, and their returns by way of the stack. If we end in
 * whatever way, the kernel takes the probes out.
 */
#ifndef MM_LOSS_PROBES_H
#define MM_LOSS_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/loss/loss_blocks.h"
#include "base/cleanup.h"

struct backtrace;
struct link;
struct planting;

struct loss_probes;

/* All of it stays the caller's. */
struct loss_probes_of {
	pid_t pid;
	struct link *keeper;
	struct planting *planting;	/* modules, rules; where to read the target's memory */
	struct backtrace *backtrace;
	uint32_t ppm;			/* of the time: their part of the budget */
};

/*
 * Look for blocks of these usable sizes. Nothing is probed yet. 0; -errno, with the reason in @why: the kernel's probes
 * cannot be had.
 */
must_check int loss_probes_open(const struct loss_probes_of *of, const uint64_t *sizes, size_t n,
				struct loss_probes **out, char *why, size_t why_size);
void loss_probes_close(struct loss_probes *p);	/* NULL is fine */

/* Probes are made, as it is time, and what they have recorded is read. Returns when it is time again. */
uint64_t loss_probes_turn(struct loss_probes *p, uint64_t now_ns);

/* What it will cost to copy the process at a window's end: the window leaves that. */
void loss_probes_copy_costs(struct loss_probes *p, uint64_t ns);

/* A window is over: copy the process. */
bool loss_probes_wants_copy(const struct loss_probes *p);

/* While the copy is prepared, and the probes still cost something: too much of that, and they are taken out. */
void loss_probes_meanwhile(struct loss_probes *p);

/* That was done, and loss_probes_found will follow; or it cannot be, or its result is not known. */
void loss_probes_copied(struct loss_probes *p);
void loss_probes_not_copied(struct loss_probes *p);

/* What that copy shows. 0 or -ENOMEM. */
must_check int loss_probes_found(struct loss_probes *p, const struct loss_copied *copy);

/* The probes are taken out, and no more are made. If a window was not over yet, its blocks stay to be looked for. */
void loss_probes_stop(struct loss_probes *p);

struct loss_blocks *loss_probes_blocks(struct loss_probes *p);

/* Are there probes now? */
bool loss_probes_are_there(const struct loss_probes *p);

/* No more probes are made. */
bool loss_probes_are_over(const struct loss_probes *p);

/* How often there were probes, and for how long in all. */
void loss_probes_windows(const struct loss_probes *p, unsigned *n, uint64_t *ns);

#endif
