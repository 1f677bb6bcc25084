/* SPDX-License-Identifier: MIT */
/*
 * wire: what the relay and gdb's Python (gdbscripts/mmgdb/wire.py) send each other, over a SOCK_SEQPACKET
 * socket: a message is a datagram, little endian, and begins with struct wire_head.
 *
 *	gdb                                       relay
 *	HIT seq, site, tid, registers  ─────────▶ recorded
 *	                               ◀───────── GO seq: the thread may run on
 *	                               ◀───────── PLANT seq, places     at any time; gdb checks for it
 *	PLANTED seq, results           ─────────▶                       while it waits for GO, and while
 *	                                                                it waits for mmattach's answers
 *
 * A hit's number is one more than that of the last hit that was answered. gdb sends no other hit before GO;
 * if there is no GO in time, it ends the watch and sends no more hits. If it sends a hit nevertheless, that
 * ends the wait for the one before.
 */
#ifndef MM_KEEPER_WIRE_H
#define MM_KEEPER_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "attach/keeper/shared/site.h"
#include "base/cleanup.h"

enum wire_kind {
	/* from gdb */
	WIRE_HIT = 1,		/* value: site; tid; struct wire_hit */
	WIRE_PLANTED = 2,	/* the answer to PLANT of that seq; value: number of struct wire_result */
	WIRE_FORGOTTEN = 3,	/* the answer to FORGET of that seq */
	WIRE_END = 4,		/* the target has ended; value: wait status */
	WIRE_EXEC = 5,		/* the target runs another program */
	/*
	 * gdb now follows another process, a copy of the target; value: its pid; its /proc/PID/mem comes
	 * along. Without that, the previous one is read on
	 */
	WIRE_MOVED = 6,
	WIRE_THREAD_END = 7,	/* tid */
	/* to gdb */
	WIRE_GO = 101,		/* the hit of that seq is recorded; value 1: the watch is over */
	WIRE_PLANT = 102,	/* value: how many struct wire_place follow */
	WIRE_FORGET = 103,	/* value: how many site numbers, 4 bytes each, follow: now unmapped */
	WIRE_BYE = 104,		/* the watch is over: nothing may stay planted */
};

struct wire_head {
	uint32_t kind;
	uint32_t seq;
	uint32_t value;
	uint32_t tid;
};

/*
 * Followed by as many frames as fit: the stack as gdb unwinds it, 8 bytes a frame; bit 63: the pc is exact.
 */
struct wire_hit {
	struct wire_head head;
	struct user_regs_struct regs;	/* rip at the site */
};

struct wire_place {
	uint32_t site;
	uint32_t nbytes;
	uint64_t addr;
	uint8_t bytes[SITE_BYTES];	/* the code there must begin with these @nbytes */
};

struct wire_result {
	uint32_t site;
	int32_t result;		/* 0, or -errno: -EILSEQ the code is not the expected code */
};

#define WIRE_FRAMES 256	/* the most frames of a stack that are sent */
#define WIRE_MAX (200u << 10)	/* of a message: what a socket accepts at once */

/* Send one message of @n bytes, head included. 0; -EPIPE: the other end is closed; -errno. Does not wait. */
must_check int wire_send(int socket, const void *message, size_t n);

/*
 * Receive the next message into @buf of @size bytes. Returns its length, at least a head; 0: the other end is
 * closed; -EAGAIN: none has come; -EPROTO: it was not a message; -errno. @fd: a descriptor that came with it,
 * which the caller owns now, or -1.
 */
must_check int wire_receive(int socket, void *buf, size_t size, int *fd);

#endif
