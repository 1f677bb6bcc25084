/* SPDX-License-Identifier: MIT */
/*
 * member: a watch that is one of several (attach/many): what it shares with the process that has started
 * it, in a page of memory that both have.
 *
 *	STARTING ──▶ WATCHING ──▶ LEAVING ──▶ DONE	the trace is whole; nothing more is printed
 *	    └── ended without: `why` has the reason
 *
 * Names for stacks take time and memory, so only a few members look them up at once: each waits for its turn.
 */
#ifndef MM_MEMBER_H
#define MM_MEMBER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct slot;
struct slots;

enum member_state { MEMBER_STARTING, MEMBER_WATCHING, MEMBER_LEAVING, MEMBER_DONE };

struct member {
	/* set before it starts */
	pid_t starter;		/* mmattach, which waits for it */
	uint64_t start_ns;	/* CLOCK_BOOTTIME: when the process was started that is meant */
	uint64_t born_ns;	/* the same, if it was during the watch; else 0 */
	struct slots *slots;	/* for the copies that it forks: keeper/shared/slots.h; or NULL */
	struct slot *slot;	/* it is one of these itself, and was recorded from its birth on; or NULL */
	bool inherits;		/* it may be a copy of a process that was watched */
	int bell;		/* an eventfd, written to when the state changes */
	sigset_t mask;		/* of signals, as it was before those that end a watch were blocked */
	int turns[2];		/* a pipe: a byte in it is a turn: read it, and write it afterwards */
	/* its own */
	_Atomic uint32_t state;	/* enum member_state */
	_Atomic uint32_t end;	/* enum watch_end */
	_Atomic bool has_turn;
	_Atomic int32_t spawned;	/* the program that it has started; 0: none */
	_Atomic uint64_t events, blocks, bytes;
	char why[400];		/* why there is no watch */
};

/* In the starter, before the first one is forked: what is found out by one member is known to all. */
void member_prepare(void);

/* All others do nothing without a member: @m is NULL. */

void member_set(struct member *m, enum member_state state);

/* The program @pid was started, and waits for its exec. */
void member_spawned(struct member *m, pid_t pid);

/* How long ago its process was started, in ms; 0: before the watch. */
uint64_t member_missed_ms(const struct member *m);

/* Wait for a turn, or until the starter is gone. */
void member_take_turn(struct member *m);
void member_give_turn(struct member *m);

#endif
