/* SPDX-License-Identifier: MIT */
/*
 * refused_returns: return addresses at which no trap can be planted: code made at run time, an instruction
 * that can have no trap, no number left. Without them a thread would be held at each such call, for an answer
 * that is known.
 *
 * The controller adds them, before it releases the thread that has asked, and forgets all when a module comes
 * or goes: only then can the answer be another one. The keeper only reads. An address is in one of WAYS slots
 * from its own on; when all of these are taken the first one is overwritten: that address is asked for again.
 */
#ifndef MM_REFUSED_RETURNS_H
#define MM_REFUSED_RETURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/taddr.h"

#define REFUSED_RETURNS 8192u
#define REFUSED_RETURNS_WAYS 8u

struct refused_returns {
	_Atomic taddr at[REFUSED_RETURNS];	/* 0: free */
	bool any;				/* for the controller: is there one? */
};

/* Is no trap possible at @addr? */
bool refused_returns_has(const struct refused_returns *r, taddr addr);

void refused_returns_add(struct refused_returns *r, taddr addr);
void refused_returns_forget(struct refused_returns *r);

#endif
