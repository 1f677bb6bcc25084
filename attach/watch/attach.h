/* SPDX-License-Identifier: MIT */
/*
 * attach: from the options to a target in which traps are planted, or to a message with the reason and a
 * hint; and back.
 *
 *	find it ──▶ keeper ──▶ what is mapped, where traps go ──▶ seize ──▶ plant
 *
 * Until it is seized nothing in the target is touched. A program that mmattach starts is seized before its
 * first instruction, and its traps are planted when it has been loaded (watch_records.c, on its exec).
 */
#ifndef MM_ATTACH_H
#define MM_ATTACH_H

#include <stdint.h>

#include "base/cleanup.h"

struct session;

/* Attach to the running process that the options name. 0 or -errno (logged). */
must_check int attach_to_running(struct session *s, int argc, char **argv);

/* Start the program that the options name. 0 or -errno (logged). */
must_check int attach_to_program(struct session *s, int argc, char **argv);

/*
 * gdb has detached from the target and left it as it was: the keeper attaches to it, and the watch continues.
 * 0 or -errno (logged).
 */
must_check int attach_after_gdb(struct session *s);

/* Announce that the target is watched, and how many functions. */
void attach_announce(const struct session *s);

/* The keeper was killed: restore the code under its traps, and log that. */
void attach_killed(struct session *s);

/* Close what these have opened, except s->at. Call it in any case. */
void attach_close(struct session *s);

#endif
