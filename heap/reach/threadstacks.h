/* SPDX-License-Identifier: MIT */
/*
 * threadstacks: which part of a stack is alive.
 *
 *	lo        guard                     sp-128                    pthread          hi
 *	 |--------|  dead: what was called   | frames of now            | struct, TLS    |
 *
 * What lies below sp - 128 is no root: calls that have returned have left their pointers there. This may be said of
 * the kernel's [stack], and of what glibc's struct pthread says is its stack (its address and size, and the guard's, stand in it in a row); never
 * of another place where an sp is: a coroutine's stack is just memory, and all of it a root.
 *
 * Threads that have ended leave their stacks mapped: glibc keeps them for the next ones, in a list. Their frames are dead altogether. Of a
 * thread that nobody has joined yet the struct pthread is not: it has the result; of one in the cache only the word with which
 * the next thread will find the DTV.
 *
 * All of that is found by what holds: a struct pthread has its own address in its first and third word, and is in a ring of such. What
 * does not hold is not believed, and then the memory is a root: `unsure`.
 */
#ifndef MM_THREADSTACKS_H
#define MM_THREADSTACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "heap/snapshot/snapshot.h"

struct stack {
	pid_t tid;			/* 0: a thread that has ended */
	taddr lo, sp, hi;		/* sp: of a living one. lo and hi are 0: the thread is elsewhere, only its TLS is known */
	taddr pthread;			/* 0: there is none there: the kernel's [stack] */
	taddr self;			/* struct pthread, on the stack or not; 0: not known */
	taddr tls, tls_end;		/* thread-local variables and struct pthread; 0: not known. The main thread's are not on its stack */
};

struct threadstacks {
	struct stack *all;		/* in no order */
	size_t n, room;
	struct snapshot_range *dead;
	size_t ndead, dead_room;
	size_t ended;			/* threads, recognised */
	bool unsure;			/* the lists of stacks could not be read: those of ended threads are roots */
	size_t unknown;			/* threads whose sp is not known, or that ran: their stacks are roots from end to end */
	size_t elsewhere;		/* threads whose sp is on no stack that was recognised */
};

/* 0 or -ENOMEM. */
must_check int threadstacks_find(struct threadstacks *st, const struct snapshot *s);
void threadstacks_fini(struct threadstacks *st);

#endif
