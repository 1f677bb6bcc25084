/* SPDX-License-Identifier: MIT */
/*
 * scripts: the interpreter of a process, and its frames in call stacks.
 *
 *	NONE ──one is found──▶ WAITS ──it has threads──▶ ON: chains are read from the next hit on
 *	  └─────it cannot be read──▶ REFUSED
 *
 * Of two interpreters in a process, the frames of one are read: the one that is found first.
 */
#ifndef MM_SCRIPTS_H
#define MM_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/keeper/shared/shared.h"
#include "attach/stacks/scripts/script_codes.h"
#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"

#define SCRIPTS_MOST 2u		/* languages */

enum scripts_state {
	SCRIPTS_NONE,		/* there is no interpreter of a language that is wanted */
	SCRIPTS_REFUSED,	/* there is one whose frames cannot be read: why */
	SCRIPTS_WAITS,		/* it has no threads yet */
	SCRIPTS_ON,
};

/* A language that is wanted, and what became of its stacks. */
struct scripts_of {
	const struct script_language *language;
	struct script_runtime *runtime;
	uint64_t stacks;		/* with frames of scripts */
	uint64_t misfits;		/* stacks that did not fit the chain */
	uint64_t lost;			/* chains that could not be read to the end */
	uint64_t without;		/* stacks of the interpreter at which there was no chain */
	uint64_t gone;			/* frames whose code could not be read any more */
};

struct scripts {
	struct modules *modules;
	struct shared *shared;
	struct scripts_of all[SCRIPTS_MOST];
	uint32_t n;
	enum scripts_state state;
	struct scripts_of *found;	/* unless SCRIPTS_NONE; in module number `module` */
	size_t module;
	int mem;			/* of process pid; -1: there is no interpreter */
	pid_t pid;
	size_t looked;			/* at so many modules */
	uint64_t next_ns;		/* SCRIPTS_WAITS: when to look again, */
	uint8_t looks;			/* after so many that found nothing */
	struct script_codes codes;	/* of the one that was found */
	char why[200];
};

/* @ms, @shared and @places stay the caller's. No language is wanted yet. */
void scripts_init(struct scripts *s, struct modules *ms, struct shared *shared, struct script_places *places);
void scripts_fini(struct scripts *s);

/* Frames of @l are wanted. @rt, the language's own, stays the caller's. */
void scripts_want(struct scripts *s, const struct script_language *l, struct script_runtime *rt);

/* Something was mapped or unmapped, or it is another process. */
void scripts_modules_changed(struct scripts *s);
/* Another program: what was found is forgotten. */
void scripts_forget(struct scripts *s);

/* Put frames of scripts into @st, the stack of @hit; at most @max frames then. 0 or -ENOMEM. */
must_check int scripts_put(struct scripts *s, const struct record_hit *hit, uint32_t max,
			   struct unwind_stack *st);

#endif
