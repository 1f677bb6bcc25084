/* SPDX-License-Identifier: MIT */
/*
 * many: several processes, each with a watch of its own, from beginning to end.
 *
 *	choose (choice.h) ──▶ start a few at a time (members.h) ──▶ wait; with --follow choose again
 *	      ──▶ end them: -d, a signal, or none is left ──▶ one report of their traces (many_report.h)
 *
 * The end of one process, or of its watch, ends nothing else. What may not be attached to is a line of the
 * report.
 */
#ifndef MM_MANY_H
#define MM_MANY_H

#include "base/cleanup.h"

struct options;

/* Watch as @opt says. Returns the exit status. */
must_check int many_run(const struct options *opt, int argc, char **argv);

#endif
