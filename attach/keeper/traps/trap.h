/* SPDX-License-Identifier: MIT */
/*
 * trap: int3 in the target's code, planted and lifted.
 *
 * The keeper's own copy of the sites (same numbers as in shared memory), found by address. Every trap is one
 * byte, written through /proc/PID/mem, after it was read what is there: a trap is planted only if code is
 * mapped there and is the file's, and lifted only if there is still an int3 among bytes that are mostly the
 * file's. If a module was unmapped and something else is there now, nothing is written.
 *
 * Nothing is written into padding before a thread is to step there: with a budget most traps are lifted by
 * their own hit, and no thread steps. So there is little to clean in a copy, and little is left if the keeper
 * is killed.
 *
 * A lifted trap stays known: a thread may have run into it just before, and its SIGTRAP is still on the way.
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
	TRAP_REFUSED,	/* could not be planted: an int3 there is not ours */
	TRAP_GONE,	/* its memory was unmapped; earlier copies may still have it. The number is free */
};

struct trap {
	struct site site;
	uint8_t state;	/* enum trap_state */
	bool shelved;	/* lifted for a while: the end of a step does not plant it again */
	/* its instruction is in padding; taken out when no thread can be there any more */
	bool padded;
	bool unreturned;	/* of a scope: that its end is not seen is counted already */
	uint16_t steppers;	/* threads that step in place: the trap is lifted until the last is done */
};

struct traps {
	uint32_t bound;			/* all traps at and above it are NONE */
	bool frozen;			/* nothing is planted: mappings may change at any moment */
	int maps;			/* /proc/PID/maps, asked before planting (codemap.h); 0: not open */
	uint16_t slots[TRAP_HASH];	/* open addressing by address: index + 1 */
	struct trap all[SHARED_SITES];
	/* how many traps are gone and had their number reused; the last of them are in gone[] */
	uint32_t ngone;
	struct trap gone[SHARED_SITES];
};

/* The trap at @addr, whatever its state (never NONE), or NO_TRAP. */
uint32_t trap_find(const struct traps *ts, taddr addr);

/* It is not there, as it was refused or could not be written. */
bool trap_is_refused(const struct trap *t);

/*
 * Was there a trap at @addr that is gone, and is the file's code there now? Then a thread that has run into
 * an int3 there ran into ours: its memory was thought to be unmapped, and was not. Its number may be reused
 * by now.
 */
bool trap_was_at(const struct traps *ts, int mem, taddr addr);

/* Was one of our traps ever at @addr, or is one there now? */
bool trap_was_ever_at(const struct traps *ts, taddr addr);

/*
 * The site of the trap that was at @addr, if only one code can ever have been there; so a copy has it,
 * whenever it was made. Otherwise NULL. Valid until the next command.
 */
const struct site *trap_only_code_at(const struct traps *ts, taddr addr);

/*
 * Plant @site as trap number @i. 0; -EILSEQ: the code there is not the file's; -ETXTBSY: it is mapped shared
 * (not planted); -EEXIST: another trap has that address; -errno of the write.
 */
must_check int trap_plant(struct traps *ts, int mem, uint32_t i, const struct site *site);

/*
 * A debugger, or a keeper that was killed, has planted @site as number @i, or has lifted the @n traps from
 * number @first on: only the table changes. 0 or as trap_plant.
 */
must_check int trap_adopt(struct traps *ts, uint32_t i, const struct site *site);
void trap_disown(struct traps *ts, uint32_t first, uint32_t n);

/*
 * Put the byte back (twice is fine). 0, also if the int3 is not ours any more; -errno if our int3 is there
 * and cannot be overwritten.
 */
must_check int trap_lift(struct traps *ts, int mem, uint32_t i);
/*
 * The same for an adopted trap: 1 if it was planted. All traps that may be planted must be in the table
 * before: the bytes behind one may be another trap's.
 */
must_check int trap_lift_left(struct traps *ts, int mem, uint32_t i);

/*
 * A thread has run into trap @i, which is lifted: mostly it was lifted just after. If there is still an int3,
 * threads would run into it again and again; only we can have put it there, so it is removed. As trap_lift.
 */
must_check int trap_lift_found(struct traps *ts, int mem, uint32_t i);

/* Plant a lifted trap again, if the code is the file's; also if the file was mapped anew. */
must_check int trap_replant(struct traps *ts, int mem, uint32_t i);

/*
 * From trap_freeze on nothing is planted: a trap that should be stays lifted until trap_thaw plants it.
 * trap_thaw returns how many could not be planted.
 */
void trap_freeze(struct traps *ts);
must_check uint32_t trap_thaw(struct traps *ts, int mem);

/*
 * Is trap @i gone from memory, though it was not lifted? The file may have been mapped anew. Then it counts
 * as lifted.
 */
bool trap_is_lost(struct traps *ts, int mem, uint32_t i);

/* Add @site as number @i without planting it: shelved. As trap_plant. */
must_check int trap_prepare(struct traps *ts, int mem, uint32_t i, const struct site *site);

/*
 * trap_shelve lifts it for a while, also if it is already lifted for a step. trap_unshelve plants it again,
 * or has that step plant it when it is done. 0 or -errno.
 */
must_check int trap_shelve(struct traps *ts, int mem, uint32_t i);
must_check int trap_unshelve(struct traps *ts, int mem, uint32_t i);

/*
 * Before a thread steps trap @i's instruction in padding: put it there, unless it is there. false: something
 * else is there.
 */
bool trap_prepare_step(struct traps *ts, int mem, uint32_t i);

/* A thread begins to step in place over trap @i; and is done, or dead. 0 or -errno. */
must_check int trap_step_begin(struct traps *ts, int mem, uint32_t i);
must_check int trap_step_end(struct traps *ts, int mem, uint32_t i);

/* Lift all; returns how many could not be. Padding stays as it is: see trap_restore_scratch. */
uint32_t trap_lift_all(struct traps *ts, int mem);

/* Restore the padding in which displaced instructions were run; no thread may be there any more. */
void trap_restore_scratch(struct traps *ts, int mem);

/*
 * Take every trap, also those that are gone, and what displaced steps left, out of another process's copy of
 * the memory. 0 or -errno.
 */
must_check int trap_clean_copy(const struct traps *ts, int mem);

/*
 * A copy of the memory that is watched itself: it begins with the table of what it was copied from
 * (trap_copy_table, all but `maps`). trap_begin_copy: no thread steps in it; traps that were lifted for a
 * step are planted, those that are gone are taken out. 0 or -errno: then clean it.
 */
void trap_copy_table(struct traps *to, const struct traps *from);
must_check int trap_begin_copy(struct traps *ts, int mem);

/*
 * To give traps other numbers: @to has none yet, and remembers those that are gone from @from; and also @t.
 */
void trap_empty(struct traps *to, const struct traps *from);
void trap_keep_gone(struct traps *to, const struct trap *t);

/*
 * The memory of the @n traps from number @first on is unmapped (if it is not, the trap is lifted): from now
 * on they are only looked for in copies.
 */
void trap_forget(struct traps *ts, int mem, uint32_t first, uint32_t n);
/* The same for all, which are lifted already, when the whole memory goes. */
void trap_forget_all(struct traps *ts);

#endif
