/* SPDX-License-Identifier: MIT */
/*
 * trap: int3 in the target's code, put there and taken away again.
 *
 * The keeper's own copy of the sites (same numbers as in shared memory), found
 * by address. Every write is one byte, through /proc/PID/mem, after a look at
 * what stands there: a trap is planted only where code is mapped and is the file's, and
 * lifted only where an int3 still stands among bytes that are mostly the
 * file's. If a module was unmapped and something else lies there now, nothing
 * is written.
 *
 * Into padding nothing is written before a thread is to step there: metered traps mostly lift themselves, and nobody steps. So there is little to
 * clean in a copy, and little is left should we be killed.
 *
 * A lifted trap stays known: a thread may have run into it just before, and
 * its SIGTRAP is still on the way.
 */
#ifndef MM_TRAP_H
#define MM_TRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/shared.h"
#include "attach/keeper/tracee.h"

#define TRAP_HASH (4 * SHARED_SITES)

enum trap_state {
	TRAP_NONE,
	TRAP_PLANTED,
	TRAP_LIFTED,
	TRAP_REFUSED,	/* could not be planted; the address is known not to be ours */
	TRAP_GONE,	/* its memory was unmapped; copies of it, made before, may still have it. The number is free */
};

struct trap {
	struct site site;
	uint8_t state;	/* enum trap_state */
	bool shelved;	/* lifted for a while: the end of a step does not plant it again */
	bool padded;		/* its instruction was put into padding; it is taken out again when nobody can be there any more */
	uint16_t steppers;	/* threads that step in place: it is lifted until the last is done */
};

struct traps {
	uint32_t bound;			/* all traps at and above it are NONE */
	bool frozen;			/* nothing is planted: what is mapped may change at any moment */
	int maps;			/* /proc/PID/maps, asked before anything is planted (codemap.h); 0: nobody is */
	uint16_t slots[TRAP_HASH];	/* open addressing by address: index + 1 */
	struct trap all[SHARED_SITES];
	uint32_t ngone;			/* how many there were whose numbers are other traps' by now; the last of them are kept */
	struct trap gone[SHARED_SITES];
};

/* The trap at @addr, whatever its state (never NONE), or NO_TRAP. */
uint32_t trap_find(const struct traps *ts, taddr addr);

/*
 * Has a trap that is gone stood at @addr, and does the file's code stand there now? Then a thread that has run into an int3 there ran into
 * ours: its memory was taken for unmapped, and was not. Its number may be another's by now.
 */
bool trap_was_at(const struct traps *ts, int mem, taddr addr);

/* Has one of ours ever stood at @addr, or does so? */
bool trap_was_ever_at(const struct traps *ts, taddr addr);

/* What a copy has there, whenever it was made: the site, if one has stood there and certainly no other code, or NULL. Valid until the next command. */
const struct site *trap_only_code_at(const struct traps *ts, taddr addr);

/*
 * Plant @site as trap number @i. 0; -EILSEQ the code there is not the file's, -ETXTBSY it is mapped shared
 * (not planted); -EEXIST another trap has that address; -errno of the write.
 */
must_check int trap_plant(struct traps *ts, int mem, uint32_t i, const struct site *site);

/*
 * Somebody else, a debugger or a keeper that was killed, has planted @site as number @i, or has taken the @n from number @first on away: only the table
 * changes. 0 or as trap_plant.
 */
must_check int trap_adopt(struct traps *ts, uint32_t i, const struct site *site);
void trap_disown(struct traps *ts, uint32_t first, uint32_t n);

/* Put the byte back (twice is fine). 0, also where it is no longer ours; -errno if our int3 is there and cannot be written. */
must_check int trap_lift(struct traps *ts, int mem, uint32_t i);
/* The same of one that was adopted: 1 if it stood. All that may stand must be in the table before: what is behind it may be another trap's. */
must_check int trap_lift_left(struct traps *ts, int mem, uint32_t i);

/*
 * A thread has run into trap @i, which is lifted: just before that, mostly. Should an int3 stand there all the same, it would do so again and again:
 * nobody but we has put one there, so it is taken away. As trap_lift.
 */
must_check int trap_lift_found(struct traps *ts, int mem, uint32_t i);

/* Plant a lifted trap again, where the code is the file's; also if the file was mapped anew. */
must_check int trap_replant(struct traps *ts, int mem, uint32_t i);

/*
 * From trap_freeze on nothing is planted; what is to stand is lifted until trap_thaw plants it. That one: how many could not be.
 */
void trap_freeze(struct traps *ts);
must_check uint32_t trap_thaw(struct traps *ts, int mem);

/* Is it not there any more, though nobody has lifted it? The file may have been mapped anew. Then it counts as lifted. */
bool trap_is_lost(struct traps *ts, int mem, uint32_t i);

/* Take @site in as number @i without planting it: shelved. As trap_plant. */
must_check int trap_prepare(struct traps *ts, int mem, uint32_t i, const struct site *site);

/* Lift it for a while, though it may be lifted for a step already; and plant it again, at the latest when that step is done. 0 or -errno. */
must_check int trap_shelve(struct traps *ts, int mem, uint32_t i);
must_check int trap_unshelve(struct traps *ts, int mem, uint32_t i);

/* Before a thread steps trap @i's instruction in padding: is it there? Else it is put there. false: it cannot be, as something else is there. */
bool trap_prepare_step(struct traps *ts, int mem, uint32_t i);

/* A thread steps in place over trap @i; and is done, or dead. 0 or -errno. */
must_check int trap_step_begin(struct traps *ts, int mem, uint32_t i);
must_check int trap_step_end(struct traps *ts, int mem, uint32_t i);

/* Lift all; the number that could not be. Scratch places are left: see trap_restore_scratch. */
uint32_t trap_lift_all(struct traps *ts, int mem);

/* Put back the padding in which displaced instructions were run; no thread may be there any more. */
void trap_restore_scratch(struct traps *ts, int mem);

/* Take every trap, those that are gone too, and what displaced steps left, out of another process's copy of the memory. 0 or -errno. */
must_check int trap_clean_copy(const struct traps *ts, int mem);

/* The memory of the @n traps from number @first on is unmapped (where it is not, the trap is lifted): they are only looked for in copies from now on. */
void trap_forget(struct traps *ts, int mem, uint32_t first, uint32_t n);
/* The same for all, lifted already, when the whole memory goes. */
void trap_forget_all(struct traps *ts);

#endif
