/* SPDX-License-Identifier: MIT */
/*
 * coming: from the options to a target in which traps stand, or to a message that
 * says why not and what to do about it; and back.
 *
 *	find it ──▶ keeper ──▶ what is mapped, where traps go ──▶ seize ──▶ plant
 *
 * Until it is seized nothing in the target is touched. A program that we start is seized before its
 * first instruction, and planted when it has been loaded (watch.c, on its exec).
 */
#ifndef MM_COMING_H
#define MM_COMING_H

#include <stdint.h>

#include "base/cleanup.h"

struct session;

/* Attach to the running process that the options name. 0 or -errno (said). */
must_check int come_to_running(struct session *s, int argc, char **argv);

/* Start the program that the options name. 0 or -errno (said). */
must_check int come_to_program(struct session *s, int argc, char **argv);

/* gdb has let the target go, as it was: the keeper attaches to it, and all goes on. 0 or -errno (said). */
must_check int come_over(struct session *s);

/* It is watched, by so many functions: say so. */
void come_announce(const struct session *s);

/* The keeper was killed: put back what it cannot any more, and say so. */
void come_killed(struct session *s);

/* What these have opened, but for what is attached. In any case. */
void come_close(struct session *s);

#endif
