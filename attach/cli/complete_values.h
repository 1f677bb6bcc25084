/* SPDX-License-Identifier: MIT */
/*
 * complete_values: which arguments an option can have, by the name that its argument has in option_table.
 *
 * "yes|no" is a list of what it can be; FILE, PID, VERDICT and the like are names with one meaning each. A
 * name that is not known here has no completion.
 */
#ifndef MM_COMPLETE_VALUES_H
#define MM_COMPLETE_VALUES_H

#include <stdbool.h>
#include <stdio.h>

/* What is printed, and where. */
struct complete_out {
	FILE *out;
	const char *prefix;	/* before the value in its word: "--format=", "--show=possible," */
	size_t nprefix;
	const char *begun;	/* only what begins so is printed */
};

/* A line: prefix, @value and, behind a tab, @what up to its first sentence's end (NULL: nothing). */
void complete_put(const struct complete_out *to, const char *value, const char *what);

/* All values of an argument called @arg. */
void complete_values(const struct complete_out *to, const char *arg);

/* Is @arg a name with a meaning here, or a list of values? */
bool complete_knows(const char *arg);

/* Numbers of processes, each with its name. */
void complete_processes(const struct complete_out *to);

#endif
