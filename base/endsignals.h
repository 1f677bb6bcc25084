/* SPDX-License-Identifier: MIT */
/*
 * endsignals: SIGINT, SIGTERM and SIGHUP as the wish that a command ends, for one that looks for it now and then.
 * A signal that is ignored, as by nohup, stays so.
 */
#ifndef MM_ENDSIGNALS_H
#define MM_ENDSIGNALS_H

#include <stdbool.h>

void endsignals_catch(void);
/* As they are usually: the next one ends the process. */
void endsignals_release(void);
/* Did one come? */
bool endsignals_came(void);

#endif
