/* SPDX-License-Identifier: MIT */
/*
 * patience: a timeout that counts only the time in which we were running. The clock also counts time in which
 * everything was stopped, as when a virtual machine or a group of processes is frozen; but then the awaited
 * thread or process could not do anything either. So a look that comes late counts no more than
 * PATIENCE_LOOK_NS. Pure.
 */
#ifndef MM_PATIENCE_H
#define MM_PATIENCE_H

#include <stdint.h>

#define PATIENCE_LOOK_NS 600000000ull	/* a waiting loop looks more often */

struct patience {
	uint64_t looked_ns, waited_ns;
};

static inline struct patience patience_begin(uint64_t now_ns)
{
	return (struct patience){ .looked_ns = now_ns };
}

/* How long we have waited until now. */
static inline uint64_t patience_look(struct patience *p, uint64_t now_ns)
{
	uint64_t since = now_ns - p->looked_ns;

	p->waited_ns += since < PATIENCE_LOOK_NS ? since : PATIENCE_LOOK_NS;
	p->looked_ns = now_ns;
	return p->waited_ns;
}

#endif
