/* SPDX-License-Identifier: MIT */
/*
 * link: the controller's end of its connection to the keeper: the shared mapping, the doorbell, commands, and
 * what to do if the keeper is killed.
 */
#ifndef MM_LINK_H
#define MM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/keeper/shared/shared.h"
#include "attach/keeper/shared/slots.h"
#include "attach/uprobe/uprobe.h"
#include "base/cleanup.h"
#include "base/taddr.h"

struct link {
	struct shared *shared;
	size_t shared_bytes;
	/* the kernel takes the hits, and there is no keeper; NULL: there is one */
	struct uprobe *uprobe;
	/* while the keeper holds a program until its modules are mapped: it takes the keeper's place then */
	struct uprobe *prepared;
	/* of a keeper that is only there for a pause: where the events come from; NULL: from this link */
	struct link *events;
	struct slot *slot;	/* the keeper is that of the process which has forked this one; NULL: ours */
	pid_t keeper;
	int keeper_fd;		/* pidfd: readable when it is gone */
	int bell;		/* eventfd: readable when the keeper wants our attention */
	uint32_t nsites;	/* all site numbers at and above it are unused */
	bool used[SHARED_SITES];
	bool planted[SHARED_SITES];	/* is planted, or may be */
	struct traps *traps;		/* for link_emergency_lift, when memory may be short */
};

/* What the keeper needs to know from the start; it does not change. */
struct link_settings {
	uint32_t slice_bytes;
	uint64_t max_stall_ns;
	uint32_t budget_ppm;	/* as in struct shared */
	bool one_of_many;	/* as in struct shared; with less memory for records */
	bool sampled;		/* as in struct shared */
	bool inherits;		/* as in struct shared */
	struct slots *slots;	/* as in struct shared */
	int gdb, gdb_mem;	/* as in struct shared; -1: the keeper itself is the tracer */
};

/* Make the shared mapping and fork the keeper. Call it before any expensive work. 0 or -errno. */
must_check int link_open(struct link *l, const struct link_settings *set, int argc, char **argv);

/*
 * The same for a copy that a keeper watches already, in @slot. When all is planned, link_adopt: from then on
 * the keeper has our numbers of the sites; planted[] says which are planted. link_map: the numbers of a hit
 * that was recorded before; false: its trap is not one of ours. link_close ends the watch, if it has not
 * ended. 0 or -errno.
 */
must_check int link_open_slot(struct link *l, struct slot *slot);
must_check int link_adopt(struct link *l);
bool link_map(struct link *l, const struct record_hit *hit);

/*
 * The same without a keeper: for the process @pid, by the second engine (attach/uprobe), in the way @way, NULL: the
 * best. 0; -errno, with the reason in @why.
 */
must_check int link_open_uprobe(struct link *l, const struct link_settings *set, pid_t pid, const char *way, char *why,
				size_t n);

/*
 * The second engine beside the keeper of @l, for a program that is to be started. When its thread is held, at @rec,
 * and all modules are mapped:
 *
 *	link_lift	the keeper's traps are lifted; what is planted from now on are the kernel's probes
 *	link_hand_over	the keeper leaves, and the thread runs on
 *
 * 0 or -errno. If they fail, the keeper has not left.
 */
must_check int link_prepare_uprobe(struct link *l, pid_t pid, const char *way, char *why, size_t n);
must_check int link_lift(struct link *l);
must_check int link_hand_over(struct link *l, const struct record *rec, uint64_t limit_ns);
void link_close(struct link *l);	/* the keeper must be gone, or about to end */

/*
 * Have the keeper do @op. Its result; -EPIPE if it is gone, -ETIMEDOUT if it does not answer within
 * @limit_ns. Meanwhile the ring is not read and events pile up in it: not for long work.
 */
must_check int64_t link_call(struct link *l, enum command_op op, int64_t arg, int64_t arg2,
			     uint64_t limit_ns);

/* Allocate the number @i for a site to be planted; the caller fills shared->sites[*i]. 0 or -ENOSPC. */
must_check int link_new_site(struct link *l, uint32_t *i);

/* Plant the sites numbered @sites[0..n); results in shared->plant_result. 0 or -errno of the keeper. */
must_check int link_plant(struct link *l, const uint32_t *sites, size_t n);

/* Begin a round of @site, then release the thread held at @hit. true: the trap of @site is planted. */
bool link_lead(struct link *l, const struct record_hit *hit, uint32_t site);

/* Is any trap planted now, and how many are? */
bool link_any_planted(const struct link *l);
uint32_t link_count_planted(const struct link *l);

/*
 * The memory of the @n sites from @first on is unmapped: the keeper will not touch them again, and their
 * numbers are free. 0 or -errno.
 */
must_check int link_forget(struct link *l, uint32_t first, uint32_t n);

/* The target exec'ed: all sites are gone, as the keeper knows already. */
void link_forget_all(struct link *l);

/* gdb has detached: the keeper is the target's tracer from now on, and nothing is planted. 0 or -errno. */
must_check int link_take_over(struct link *l);

/* Have the keeper leave, and wait for its end. 0; -ETIMEDOUT. Read the ring afterwards: it may have more. */
must_check int link_leave(struct link *l, uint64_t limit_ns);

/* It has left the target; mostly it has ended. */
bool link_keeper_gone(const struct link *l);

/* Has it ended without leaving: was it killed? */
bool link_keeper_died(const struct link *l);

/* It has left the target, but has not ended: it has other processes to serve. */
bool link_left_alone(const struct link *l);

/* May the keeper be killed? It has planted nothing, and serves no other process. */
bool link_may_kill(const struct link *l);

/* Send the keeper a signal. */
void link_signal(struct link *l, int sig);

/*
 * Where events come from the kernel: put those there are into the ring, at most those before the position @until.
 * With a keeper it does nothing, as the keeper puts them there.
 */
void link_pump(struct link *l, uint64_t until);

/*
 * After link_leave, when the ring is read: are there hits of which no record was read? Then those that were about to be
 * recorded are there now, and the ring is to be read again. What is missing after that is in the counts.
 */
bool link_settle(struct link *l);

/* The reader is about to sleep until the bell, or has woken. */
void link_sleeps(struct link *l, bool sleeps);

/* The position behind the last event there is: of the ring, or of the kernel's. */
uint64_t link_position(const struct link *l);

/* A quarter of the ring of events is unread: there is no time for anything else. */
bool link_is_crowded(const struct link *l);

/* Show the keeper that we are alive, although we are not reading the ring just now. */
void link_alive(struct link *l);

/*
 * The keeper was killed with traps planted: lift what we can through @mem (/proc/PID/mem), as the keeper
 * would have: only where the memory mapped there now has our int3. @left: how many traps are still planted.
 * Returns how many were lifted. Then link_lift_copies: the same in what @pid, the target, has forked.
 */
uint32_t link_emergency_lift(struct link *l, int mem, uint32_t *left);
void link_lift_copies(struct link *l, pid_t pid);

uint64_t link_clock_ns(void);

#endif
