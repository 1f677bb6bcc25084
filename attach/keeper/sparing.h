/* SPDX-License-Identifier: MIT */
/*
 * sparing: coming and leaving, each thread must be seen asleep or be interrupted once. One that runs may be in the middle of moving bytes, between
 * two sleeps of one call, which an interruption would cut short: so each has a while to be seen asleep, which is as good.
 */
#ifndef MM_SPARING_H
#define MM_SPARING_H

#include <stdbool.h>

#include "attach/keeper/tracee.h"

#define SPARING_NS 5000000		/* after that it is interrupted */
#define SPARING_LOOK_NS 200000		/* it is looked at so often */

struct keeper;

/* @t, which is spared, is looked at again; @late: it has had its while. true: it still runs, and is still spared. */
bool sparing_look(struct keeper *k, struct tracee *t, bool late);

#endif
