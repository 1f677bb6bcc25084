/* SPDX-License-Identifier: MIT */
/*
 * serve: each stop of a thread, by what it is: a hit, a signal, a birth, an end, a stop of the whole process.
 */
#ifndef MM_SERVE_H
#define MM_SERVE_H

#include "attach/keeper/state.h"

/* Serve each thread of the queue once: a round without the waiting and the limits. */
void serve_queue(struct keeper *k);

#endif
