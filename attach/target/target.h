/* SPDX-License-Identifier: MIT */
/*
 * target: finds the process that the user means, and reads what /proc has about it before we touch it.
 *
 * It only reads; everything here may be out of date a moment later, and may be missing if we lack the
 * permission. diagnose.h makes messages from it.
 */
#ifndef MM_TARGET_H
#define MM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

#define TARGET_COMM 64	/* 15 bytes for a program, longer for some kernel threads */

/* The name of our tracer process, by which another mmattach recognizes it. */
#define TARGET_KEEPER_COMM "mm-keeper"

struct target_info {
	pid_t pid;		/* the process (thread group) */
	pid_t asked;		/* the id we were given: perhaps that of one of its threads */
	char comm[TARGET_COMM];
	char *exe;		/* "" if unknown; without " (deleted)" */
	char **argv;		/* NULL-terminated; empty for kernel threads and zombies */
	size_t argc;
	char state;		/* as in ps: R S D T t Z X */
	uint64_t start_ns;	/* when it was started (procstat.h) */
	pid_t parent;		/* 0: not visible from here */
	uint64_t rss_bytes;	/* resident memory */
	uid_t uid, euid;
	uint64_t cap_prm;	/* its permitted capabilities */
	pid_t tracer_pid;	/* the tracer of it, or of one of its threads; 0: none */
	pid_t tracer_parent;	/* the tracer's parent; 0: not visible from here */
	char tracer_comm[TARGET_COMM];
	unsigned threads;
	int bits;		/* 64 or 32 by its executable; 0: not known */
	bool kernel_thread;
	bool not_dumpable;	/* ran a setuid program, or made itself so: its /proc belongs to root */
	bool shadow_stack;
	bool sigtrap_ignored;
	bool sigtrap_caught;
	bool other_pid_ns;
	bool other_user_ns;
};

/*
 * Fill @out with the facts about process @id, or about the process that thread @id belongs to (logged with
 * log_info). 0; -ESRCH there is none; -EACCES it exists, but /proc hides it from us (hidepid); -ENOMEM.
 */
must_check int target_read(pid_t id, struct target_info *out);
void target_fini(struct target_info *t);

/*
 * The two parts of it: without its threads, so that its tracer is not known, nor the state of a process whose first
 * thread has ended; and what those add, which takes 20 us a thread.
 */
must_check int target_read_process(pid_t id, struct target_info *out);
void target_read_threads(struct target_info *t);

/* A number in /proc/PID/status, which takes no more than that: "Threads", "TracerPid". 0: it is not there. */
uint32_t target_status_number(pid_t pid, const char *field);

/* The command line for users, or [comm] if there is none; appended to @sb. */
void target_format_cmdline(const struct target_info *t, struct strbuf *sb);

/*
 * The same, but only what tells one process from another: no threads are read, no files opened. 0 or -errno as
 * above; target_fini in any case.
 */
must_check int target_read_names(pid_t pid, struct target_info *out);

#endif
