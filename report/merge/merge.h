/* SPDX-License-Identifier: MIT */
/*
 * merge: many traces become one, of several processes.
 *
 *	merge_files	reads traces one after the other, adds each to one ledger, and puts that in order
 *	shrink_write	writes the result as a trace (report/tracefiles/shrink.h)
 *
 * What is the same code is put together: the same offset in files with the same build id (without one: with
 * the same path), code without a file by its name. A merged trace may be an input, too: however traces are
 * merged, in which order and in how many steps, the result is the same.
 *
 * Memory: the result, of which each distinct stack takes about a kilobyte and each process some bytes a
 * stack, and one input.
 */
#ifndef MM_MERGE_H
#define MM_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* A process of which there is no trace. */
struct merge_absent {
	pid_t pid;
	const char *comm, *exe, *host, *label;	/* NULL: not known */
	const char *why;	/* "refused: it has a debugger", "ended while attaching" */
};

struct merge_input {
	const char *path;	/* of a trace, or a piece of one: pieces of one run are read as one */
	const char *label;	/* "host=a1,pod=x": of its processes; NULL: none */
	/* if it cannot be read, what is known of its process otherwise; NULL: nothing */
	const struct merge_absent *process;
};

struct merge_options {
	bool skip_damaged;	/* an input that is damaged, or no trace, becomes a process without numbers */
	const struct merge_absent *absent;
	size_t nabsent;
};

/*
 * Fill @out (initialised here; ledger_fini in any case), settled. @opt NULL: no options. 0; -ENOMEM; -EINVAL
 * and other -errno: logged (log_error), with the file and what to do.
 */
must_check int merge_files(const struct merge_input *in, size_t n, const struct merge_options *opt,
			   struct ledger *out);

#endif
