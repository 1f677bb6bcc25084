/* SPDX-License-Identifier: MIT */
/*
 * body: all the code that a function may run as its own, and every way out of it.
 *
 *	entry ─▶ own extent ──jmp──▶ cold part, shared static tail     (followed)
 *	              │  └────jmp──▶ another function, by symbol or PLT (a way out)
 *	              └──ret                                           (a way out)
 *
 * Code without a global symbol of its own is taken as a part of the function that jumps there, so that a
 * stripped file and an unstripped one give the same result.
 */
#ifndef MM_BODY_H
#define MM_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/probes/code/decode.h"
#include "attach/probes/code/elfimage.h"
#include "base/cleanup.h"

#define BODY_EXTENTS 8

struct addrs {
	taddr *v;
	size_t n, room;
};

struct body_exit {
	taddr addr;
	bool tail;		/* a jump to another function; else a ret */
	bool conditional;	/* the jump may not be taken */
	taddr target;		/* tail: in this file, also through the PLT; or 0 */
	const char *name;	/* tail: the function's name, or NULL; the elfimage's */
};

struct body_call {
	taddr target;		/* in this file, also through the PLT; or 0 */
	const char *name;	/* through the PLT; the elfimage's */
};

struct body {
	struct code_range extents[BODY_EXTENTS];	/* the function's own first */
	size_t nextents;				/* 0: not even that is known */
	struct body_exit *exits;
	size_t nexits, exits_room;
	struct body_call *calls;
	size_t ncalls, calls_room;
	struct addrs starts;	/* of instructions, ascending */
	struct addrs targets;	/* of jumps within the body, ascending */
	bool complete;		/* every way out is in exits */
	char why[120];		/* if not: the reason, for the user */
};

/*
 * Scan the function at @entry. @stops: functions that are watched themselves, never taken as a part even if
 * they have no symbol. 0 or -ENOMEM; code that cannot be followed makes the body incomplete, and is no error.
 */
must_check int body_scan(const struct elfimage *img, struct decoder *d, taddr entry, const taddr *stops,
			 size_t nstops, struct body *out);
void body_fini(struct body *b);

/* A jump within the body goes to @addr. */
bool body_jumps_to(const struct body *b, taddr addr);

/* @addr lies in one of the extents. */
bool body_covers(const struct body *b, taddr addr);

/*
 * true if an instruction begins at @addr: the containing code, decoded from its beginning, reaches it. Also
 * false if the extent of that code is unknown: an int3 in the middle of an instruction, or in data, would
 * turn it into something else.
 */
bool body_has_instruction(const struct elfimage *img, struct decoder *d, taddr addr);

/* true if a call returns to @addr: by the same decoding, a call ends there. */
bool body_has_return(const struct elfimage *img, struct decoder *d, taddr addr);

/*
 * true if every call of the function at @entry makes the call that returns to @ret: no instruction before
 * that branches. (A call in between need not return.)
 */
bool body_always_calls(const struct elfimage *img, struct decoder *d, taddr entry, taddr ret);

/*
 * Where the first jump goes that the code at @entry makes, if no instruction before that branches; 0: there is
 * none, or the target is not known. (A call in between need not return.)
 */
taddr body_always_jumps_to(const struct elfimage *img, struct decoder *d, taddr entry);

/*
 * What becomes of the value in rax at @ret, where a call returns. USED: it is read on some way from there;
 * UNUSED: on every way it is overwritten, or a function is called, before it is read; UNKNOWN: neither is
 * certain, as the code returns, or needs too many instructions. (A compiler that sees both functions may keep
 * the value in rax over a call.)
 */
enum body_result { BODY_RESULT_UNKNOWN, BODY_RESULT_USED, BODY_RESULT_UNUSED };

enum body_result body_result_at(const struct elfimage *img, struct decoder *d, taddr ret);

/*
 * The name of the function that the PLT stub at @addr goes to; NULL if it is no such stub or the name is
 * unknown.
 */
const char *body_plt_name(const struct elfimage *img, struct decoder *d, taddr addr);

#endif
