/* SPDX-License-Identifier: MIT */
/*
 * uprobe_calls: what a hit means, as the keeper decides it (keeper/traps/hit_classify.h), from the records of the
 * kernel's ring, thread by thread.
 *
 *	entry (UPROBE_AT_ENTRY)		a call is opened
 *	exit, return			the call of the family that began with this rsp ends. Of a function with an
 *					entry the return means nothing if it is closed already: realloc(NULL) jumps to
 *					malloc, and both return there. If it is not, its beginning was lost, or came
 *					before a loss: RECORD_UNOPENED
 *	else				an event, unless it is internal to an open call of its family
 */
#ifndef MM_UPROBE_CALLS_H
#define MM_UPROBE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/site.h"
#include "attach/keeper/traps/calls.h"
#include "attach/uprobe/uprobe_hits.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

struct uprobe_calls {
	struct calls calls;
	struct addrmap threads;		/* tid -> struct uprobe_thread */
	uint32_t generation;		/* calls that were opened in an earlier one are forgotten */
	uint64_t dropped;		/* how many were */
	bool sampled;			/* outermost calls alone are recorded */
};

struct uprobe_thread {
	uint16_t open;			/* its innermost open call */
	/* of the call that a return has ended last in this generation: its family, */
	uint16_t closed_family;
	uint32_t generation;
	taddr closed;			/* and rsp at its entry; 0: none */
	uint64_t first_ns;		/* its first hit */
	uint64_t cost_ns;		/* what its probes took at least (uprobe_calls_cost) */
};

struct uprobe_meaning {
	bool emit;
	uint16_t flags;			/* enum record_flags */
	bool has_call;			/* args and site of the entry are in call */
	struct call call;
};

void uprobe_calls_init(struct uprobe_calls *c);
void uprobe_calls_fini(struct uprobe_calls *c);

/* @sp: rsp at the hit. @args: as in the record. 0 or -ENOMEM. */
must_check int uprobe_calls_hit(struct uprobe_calls *c, const struct uprobe_head *h, const struct site *s, taddr sp,
				const uint64_t args[6], struct uprobe_meaning *m);

/*
 * Records were lost: the end of any call that is open may be among them, and what is below a call that never ends
 * would be taken for internal.
 */
void uprobe_calls_forget(struct uprobe_calls *c);

/* The thread has ended. */
void uprobe_calls_end(struct uprobe_calls *c, uint32_t tid);

/* Add @ns to what the probes of @h's thread have cost it; NULL: nothing is known of the thread. */
const struct uprobe_thread *uprobe_calls_cost(struct uprobe_calls *c, const struct uprobe_head *h, uint64_t ns);

/* How many threads have hit, and exist. */
uint32_t uprobe_calls_threads(const struct uprobe_calls *c);

#endif
