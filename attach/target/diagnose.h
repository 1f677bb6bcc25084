/* SPDX-License-Identifier: MIT */
/*
 * diagnose: why attaching cannot work, or did not work, in the user's words: the obstacle, and in a second
 * text what to do about it.
 *
 *	mmattach: cannot attach to 1234 (nginx): it belongs to user www-data
 *	mmattach: hint: run mmattach as root, or as that user
 *
 * Pure but for diagnose_read_self: the texts are made from facts about the target (target.h) and about
 * ourselves. Half a dozen rules of the kernel return EPERM; they are checked in the same order as there.
 */
#ifndef MM_DIAGNOSE_H
#define MM_DIAGNOSE_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/target/target.h"

struct diagnosis {
	char text[512];
	char hint[512];		/* "" if nothing can be done */
	const char *listing;	/* lines that belong to it, or NULL; owned by the caller */
	const char *harm;	/* what ptrace could do to it, and the kernel's probes do not; or NULL */
	bool other_tracer;	/* it is in the way, and is no keeper */
};

/* What our permissions depend on. */
struct diagnose_self {
	pid_t pid;
	pid_t keeper;		/* 0: none yet */
	uid_t euid;
	bool cap_sys_ptrace, cap_dac_override;
	bool seccomp;		/* we run under a seccomp filter, as in a container */
	bool container;
	int yama_scope;		/* kernel.yama.ptrace_scope; 0 without yama */
};

void diagnose_read_self(struct diagnose_self *self);

/*
 * No target: target_read(@id) or target_find(@name) returned @err; @listing is from the latter. The other of
 * id and name is 0 or NULL.
 */
void diagnose_lookup(pid_t id, const char *name, int err, const char *listing, struct diagnosis *out);

/* true: the target cannot be attached to, for a reason that can be seen beforehand. */
bool diagnose_before(const struct target_info *t, const struct diagnose_self *self, struct diagnosis *out);

/*
 * true: a trap would permanently change what the target does with SIGTRAP. An int3 in a thread that blocks
 * SIGTRAP, or in a process that ignores it, makes the kernel set its action to the default
 * (force_sig), and no other process can set it back. The kernel's probes raise no signal; @probes: they can be had
 * by --engine uprobe, so the hint names that.
 */
bool diagnose_sigtrap(const struct target_info *t, bool probes, struct diagnosis *out);

/*
 * Attaching failed with @err (negative or positive errno). Best with facts read again after the
 * failure: another tracer may have been faster. For a target that is gone, use diagnose_vanished.
 */
void diagnose_attach(const struct target_info *t, const struct diagnose_self *self, int err,
		     struct diagnosis *out);

/* None of the functions to watch was found in the target; @is_static: it has no dynamic linker. */
void diagnose_no_allocator(const struct target_info *t, bool is_static, struct diagnosis *out);

/* The target has ended; or, @there, the process lives but has begun another program. */
void diagnose_vanished(const struct target_info *t, bool there, struct diagnosis *out);

/* Name one more thing that can be done. */
void diagnose_add_hint(struct diagnosis *d, const char *what);

/* Log it on stderr. */
void diagnose_log(const struct diagnosis *d);

#endif
