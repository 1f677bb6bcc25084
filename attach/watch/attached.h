/* SPDX-License-Identifier: MIT */
/*
 * attached: a process that was found, and the keeper that traces it: how a watch and a scan begin and end, or
 * the message with the reason and a hint.
 *
 *	find it ──▶ keeper ──▶ (what is mapped, where traps go) ──▶ seize
 *
 * Until it is seized nothing in the target is touched. Seizing plants nothing; it interrupts once each thread
 * that runs on for some milliseconds (keeper/seize.h).
 */
#ifndef MM_ATTACHED_H
#define MM_ATTACHED_H

#include <stdbool.h>

#include "attach/control/link.h"
#include "attach/target/target.h"
#include "attach/target/targetfs.h"
#include "base/cleanup.h"

struct modules;
struct options;

/* What is not open yet is zero; ATTACHED_INIT. */
struct attached {
	const struct options *opt;
	struct target_info target;
	struct targetfs fs;
	struct link link;
	struct modules *modules;
	uint64_t start_ns;	/* when the process was started that is meant; 0: any */
	bool under_gdb;		/* gdb is the tracer at present */
	bool linked;
	bool no_uprobe;		/* the kernel's probes cannot be had */
	char other[400];	/* attached_other, if it is known */
	const char *harm;	/* by the kernel's probes, though not asked for: what ptrace could do to it; or NULL */
	bool inherits;		/* as in struct shared */
	struct slots *slots;	/* for its keeper: where the copies that it forks are recorded; or NULL */
	struct slot *slot;	/* it is such a copy itself; or NULL */
	bool inside;		/* an `in` rule: not with the kernel's probes */
};

#define ATTACHED_INIT { .fs = TARGETFS_INIT }

/* Find the process that the options name. 0 or -errno (logged). */
must_check int attached_find(struct attached *a);

/* Start a keeper for it; the keeper does not touch it yet. 0 or -errno (logged). */
must_check int attached_open(struct attached *a, int argc, char **argv);

/*
 * It is to be watched by the kernel's probes because --engine auto takes them; and ptrace could be had. attached_turn:
 * by ptrace after all, as @why says: what the kernel's probes do not see. Nothing is planted yet. 0 or -errno (logged;
 * nothing is linked then).
 */
bool attached_may_turn(const struct attached *a);
must_check int attached_turn(struct attached *a, const char *why, int argc, char **argv);

/*
 * The keeper's process is a program that is to be started: let the kernel take its hits, if the options want it.
 * 0 (also if --engine auto goes on without) or -errno (logged).
 */
must_check int attached_add_uprobe(struct attached *a);

/*
 * Why it could not be by the other engine, as far as is known: "the kernel's probes cannot be had: ...". NULL: it
 * could. Once it is linked.
 */
const char *attached_other(const struct attached *a);

/* Seize the process. 0 or -errno, for attached_log_failed. */
must_check int attached_seize(struct attached *a);

/*
 * Is it still the process that was found? Its number may have become another's, until it is traced. 0 or -ESRCH, for
 * attached_log_failed.
 */
must_check int attached_check_same(const struct attached *a);

/*
 * All of these, for a process that is to be stopped and copied once (attach/snapshot/pause.h). The list of
 * modules is read before seizing. (The fence of seizing is needed here too: a thread that is just being
 * created would not be traced, and could not be stopped.) 0 or -errno (logged).
 */
must_check int attached_look(struct attached *a, int argc, char **argv);

/*
 * Log why something failed with @err. If our own keeper could be the reason, it has left when this returns.
 */
void attached_log_failed(struct attached *a, int err);

/* Log, before there is a keeper, that @what is not permitted. */
void attached_log_not_permitted(struct attached *a, int err, const char *what);

/*
 * Have the keeper lift all traps and leave; one that was stopped is continued. If it does not end, that is
 * logged.
 */
void attached_undo(struct attached *a);

/* Call it in any case. The keeper has left, or does so when its link is closed. */
void attached_close(struct attached *a);

#endif
