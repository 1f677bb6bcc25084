/* SPDX-License-Identifier: MIT */
/*
 * members: the watches of several processes. Each is a process of its own, a copy of ours (fork), which
 * runs the usual session (attach/watch/session.h) for one target and writes its trace; so nothing that
 * happens to one of them can reach another, or its target. If we die, in whatever way, each ends as on
 * SIGTERM.
 *
 *	members_start ──▶ attaching ──▶ watching ──▶ leaving ──▶ ended
 *	                      └───────── ended: there is no watch, and `why` has the reason
 */
#ifndef MM_MEMBERS_H
#define MM_MEMBERS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/many/choice.h"
#include "attach/many/folder.h"
#include "attach/watch/member.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

struct options;

struct watched {
	struct choice_found process;
	pid_t watcher;		/* the watch; 0: it has ended */
	struct member *page;	/* while the watch runs */
	char *trace;		/* its path */
	enum member_state state;	/* the last that was seen */
	uint32_t end;		/* enum watch_end */
	bool counted;		/* as one that attaches */
	bool asked;		/* to end */
	bool is_program;	/* which its watch has started */
	bool over;		/* its trace is whole, or there will be none */
	bool adopted;		/* the choice knows of that program */
	int status;		/* its exit status, when it has ended: a program's own */
	char *why;		/* of one that has ended: why there is no watch, or how it was lost; or NULL */
};

struct members {
	const struct options *opt;
	int argc;
	char **argv;
	const struct folder *folder;
	sigset_t mask;		/* of signals, as it was before us */
	int bell;		/* readable: a member's state has changed */
	int turns[2];		/* member.h */
	struct slots *slots;	/* slotted.h; or NULL */
	struct watched *all;
	size_t n, room;
	size_t attaching, running;
	size_t waiting;		/* how many more are to be started: a shared budget is for them, too */
};

/* 0 or -errno (logged). members_close in any case. */
must_check int members_open(struct members *m);
void members_close(struct members *m);

/*
 * Start a watch of @process; with pid 0: of the program of the options, which it starts. 0 or -errno
 * (logged).
 */
must_check int members_start(struct members *m, const struct choice_found *process);

/*
 * See which have got further, and wait for those that have ended. @ended is called once for each, when its
 * trace is whole, or its watch has ended without. (The watch of a program that it has started goes on until
 * that ends.)
 */
void members_look(struct members *m, void (*ended)(void *ctx, struct watched *w), void *ctx);

/* Ask those that have not been asked to end, but at most @at_once at a time; all have been asked: true. */
bool members_end(struct members *m, size_t at_once);

/* The signal again, to all that run: names are not looked up any more. */
void members_hurry(struct members *m);

/* Kill those that still run: what their traces have by now is reported. Their keepers leave the processes as ever. */
void members_give_up(struct members *m);

/* "sh 1234, sh 1235 and 7 more": those that have not ended. */
void members_name_rest(const struct members *m, struct strbuf *out);

#endif
