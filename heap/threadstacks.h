/* SPDX-License-Identifier: MIT */
/*
 * threadstacks: which part of a stack is in use.
 *
 *	lo        guard                     sp-128                    pthread          hi
 *	 |--------|  dead: calls of before    | frames of now            | struct, TLS    |
 *
 * Memory below sp - 128 is no root: calls that have returned have left their pointers there. This holds only
 * for the kernel's [stack], and for the stack that glibc's struct pthread describes (its address and size,
 * and the guard's, are adjacent in it). It does not hold for other memory to which an sp points: a
 * coroutine's stack is ordinary memory, and all of it a root.
 *
 * Threads that have ended leave their stacks mapped: glibc stores them in a list for the next ones. All their
 * frames are dead. (Not so the main thread's, whose stack is the kernel's: where it was there is not known.)
 * The struct pthread of a thread that was not joined yet is not dead: it has the result. Of
 * one in the cache, only the word is in use by which the next thread will find the DTV.
 *
 * All of this is found by invariants: a struct pthread has its own address in its first and third word, and
 * is in a ring of such structs. If they do not hold, the memory is a root: `unsure`.
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
	taddr lo, sp, hi;		/* sp: if living. lo and hi 0: elsewhere, only its TLS is known */
	taddr pthread;			/* 0: there is none on it: the kernel's [stack] */
	taddr self;			/* struct pthread, on the stack or not; 0: not known */
	/* thread-local variables and struct pthread; 0: not known. The main thread's are not on its stack */
	taddr tls, tls_end;
};

struct threadstacks {
	struct stack *all;		/* in no order */
	size_t n, room;
	struct snapshot_range *dead;
	size_t ndead, dead_room;
	size_t ended;			/* ended threads that were recognised */
	bool unsure;			/* lists are unreadable: stacks of ended threads are roots */
	size_t unknown;			/* threads that ran, or of unknown sp: the whole stack is a root */
	size_t elsewhere;		/* threads whose sp is on no recognised stack */
	bool main_ended;		/* or is not in this child of fork: all of its stack is a root */
};

/*
 * The lowest of the variables, not below @least, that the thread with this struct pthread has in the modules
 * that were loaded at the start; @pthread: none is found.
 */
taddr threadstacks_tls(const struct snapshot *s, taddr pthread, taddr least);

/* 0 or -ENOMEM. */
must_check int threadstacks_find(struct threadstacks *st, const struct snapshot *s);
void threadstacks_fini(struct threadstacks *st);

#endif
