/* SPDX-License-Identifier: MIT */
/*
 * uprobe: the second engine. The kernel takes the hits, in BPF programs; no thread is stopped, and nothing is
 * traced. It takes the keeper's place behind struct link:
 *
 *	keeper				uprobe
 *	COMMAND_PLANT			uprobe_plant: probes of the file behind each site
 *	COMMAND_FORGET			uprobe_forget
 *	the ring, by the keeper		uprobe_pump: the kernel's ring, as records of the same format
 *	COMMAND_LEAVE			uprobe_close; or our end: the kernel takes the probes out
 *
 * A program that is started is held by a keeper until its modules are mapped, which then leaves (link_hand_over).
 *
 * So what comes after the ring is one code for both engines. What a hit means is decided as the keeper decides it
 * (uprobe_calls.c), from records that are in the order of the calls.
 *
 * What it does not do: hold a thread. So modules that are loaded later are probed some milliseconds after they
 * are mapped, and functions whose exits are not all known are not watched.
 */
#ifndef MM_UPROBE_H
#define MM_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/keeper/shared/shared.h"
#include "attach/rules/rule.h"
#include "base/cleanup.h"

struct uprobe;
struct uprobe_size;

/*
 * Load what is needed to watch @pid; @way: NULL, or "session", "multi", "perf". 0; -errno with the reason in @why.
 * -EOPNOTSUPP: this program was built without BPF.
 */
must_check int uprobe_open(pid_t pid, struct shared *shared, const char *way, struct uprobe **out, char *why, size_t n);

/*
 * Can @pid be watched, as far as that is known without loading anything: by this program, by this kernel, with our
 * rights? What a hint may name.
 */
bool uprobe_expected(pid_t pid);

/*
 * May functions have return probes? From Linux 6.11 on their return is a system call, which a seccomp filter of the
 * target may forbid, which would end it; since 6.14 filters are not asked. And a call in a signal handler, on an
 * alternate stack above the thread's own one, makes the kernel forget the return probe of the call that the signal
 * has interrupted, which ends the target: so not if there is such a stack; and if one comes later, those calls are
 * left out, which only the way "session" can do.
 */
bool uprobe_may_return(const struct uprobe *u);

/* The process has exec'ed the program that is to be watched: what was watched for until then was this exec. */
void uprobe_begin_program(struct uprobe *u);

/* Begin to take all probes out, and record nothing more; what was recorded can still be read. */
void uprobe_leave(struct uprobe *u);
/*
 * Wait until they are out. No signal may end us before: the kernel does not put back the code of a process for a
 * thread that is being killed.
 */
void uprobe_wait_left(struct uprobe *u);
void uprobe_close(struct uprobe *u);	/* all are out. NULL is fine */

/*
 * Hits that the kernel's programs have run for, and of which there is neither a record that was read, nor a reason why
 * there is none: not in the sample, or lost. 0, if all is well, once uprobe_wait_left() was called and the ring is
 * read.
 * It is in shared->counts from then on.
 */
uint64_t uprobe_unaccounted(struct uprobe *u);

/*
 * What a call costs its thread here, as the self-test has found it: by one probe, as of free, and by those at its entry
 * and its exit, with a stack.
 */
struct uprobe_hit_cost {
	uint64_t brief_ns, pair_ns;
};

const struct uprobe_hit_cost *uprobe_cost(const struct uprobe *u);

/* Processes that are forked from now on need one self-test of a way for all (uprobe_selftest.h). */
void uprobe_selftest_share(void);

/* "uprobe session", ... */
const char *uprobe_way(const struct uprobe *u);

/* Readable when there is something to read, if uprobe_sleeps() was called before; or when the target ends. */
int uprobe_fd(const struct uprobe *u);
void uprobe_sleeps(struct uprobe *u, bool sleeps);

/*
 * Record a sample, of one byte in @interval (uprobe_sample.h). @rules: those of the sites' numbers; they stay the
 * caller's. Before the first site is probed.
 */
void uprobe_sample(struct uprobe *u, uint64_t interval, const struct rule *rules);

/*
 * Record allocations of these sizes only, at most UPROBE_SIZES, and nothing that is freed (attach/loss/loss_probes.h).
 * @rules as above. Before the first site is probed.
 */
void uprobe_record_sizes(struct uprobe *u, const struct uprobe_size *sizes, size_t n, const struct rule *rules);

/* Nothing is recorded from here on, until uprobe_begin is called again. */
void uprobe_rest(struct uprobe *u);

/*
 * How long the probes have taken threads so far, by what the self-test has found, as far as it is known how often their
 * programs have run: also while nothing is recorded.
 */
uint64_t uprobe_took_ns(const struct uprobe *u);

/* Does another process run in the target's memory, which is not probed? */
bool uprobe_has_sharers(const struct uprobe *u);

/* Was anything lost that is in no RECORD_LOST which was read? Once all records are. */
bool uprobe_lost_unsaid(const struct uprobe *u);

/* Probe the sites @sites[0..n); results in shared->plant_result, as the keeper's. 0 or -errno. */
must_check int uprobe_plant(struct uprobe *u, const uint32_t *sites, size_t n);

/* The memory of the @n sites from @first on is unmapped. */
void uprobe_forget(struct uprobe *u, uint32_t first, uint32_t n);

/* Put records into shared->ring, as far as there are any and there is space, at most up to position @until. */
void uprobe_pump(struct uprobe *u, uint64_t until);
#define UPROBE_ALL UINT64_MAX

/*
 * Hits are recorded from here on, and not while the first probes are made: frees would be seen, but not yet the
 * allocations that got their addresses.
 */
void uprobe_begin(struct uprobe *u);

/* The position behind the last record there is now: all before it have happened before. */
uint64_t uprobe_position(const struct uprobe *u);

/* A quarter of the ring is unread. */
bool uprobe_is_crowded(const struct uprobe *u);

#endif
