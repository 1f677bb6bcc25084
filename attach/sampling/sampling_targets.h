/* SPDX-License-Identifier: MIT */
/*
 * sampling_targets: the functions behind whose calls a sampled watch has traps: those of the run's rules, and
 * the wrappers of these.
 *
 *	level 0		malloc, calloc, realloc, ...: a rule names it
 *	level 1		operator new, xmalloc, __gf_malloc: its result is a block of level 0, or lies at a
 *			fixed offset (delta) inside one
 *	level 2, 3	the same once more
 *
 * A target is known by its name, as other files import it, by its address in the file that has it, or both.
 */
#ifndef MM_SAMPLING_TARGETS_H
#define MM_SAMPLING_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/control/planting.h"
#include "attach/probes/callsites.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

#define SAMPLING_NONE UINT32_MAX
#define SAMPLING_LEVELS 3
#define SAMPLING_TARGETS 512

struct sampling_target {
	char *name;			/* NULL: no file imports it */
	const struct module *home;	/* level 1 and above: where it is */
	taddr addr;			/* its file address there; 0: by its name alone */
	taddr begin;			/* of a wrapper: where it begins in the target's memory; 0: not known */
	uint16_t rule;			/* the rule of its blocks */
	uint8_t level;
	uint32_t delta;			/* the block begins so many bytes before what it returns */
};

struct sampling_targets {
	struct sampling_target all[SAMPLING_TARGETS];
	size_t n;
	const struct planting *planting;
	const struct module *libc, *cxx;	/* whose malloc, and whose operator new, is used; NULL: none is */
};

/*
 * The functions of the rules of @planting whose result is a block; the wrappers in C++'s library. 0; -ENOSPC:
 * there are too many; -ENOMEM.
 */
must_check int sampling_targets_init(struct sampling_targets *t, const struct planting *planting);
void sampling_targets_fini(struct sampling_targets *t);

/*
 * The function at file address @addr of @home is a wrapper of target @of: what it returns lies @delta bytes
 * inside a block. Its number in @i. -EEXIST: it is a target already; -ENOSPC: there are too many, or it is
 * too many levels up.
 */
must_check int sampling_targets_add_wrapper(struct sampling_targets *t, uint32_t of, struct module *home,
					    taddr addr, uint32_t delta, uint32_t *i);

/*
 * Targets from number @first on are new. Functions of @m that end with a jump to a target, or to one of
 * several, and so return its result, become targets, too; so do those that end with a jump to these; those
 * for which there is no room are left out. 0 or -ENOMEM.
 */
must_check int sampling_targets_tails(struct sampling_targets *t, struct module *m, uint32_t first);

/* Which target begins at file address @addr (not 0) of @m; SAMPLING_NONE: none does. */
uint32_t sampling_targets_at(const struct sampling_targets *t, const struct module *m, taddr addr);

/* File address of target @i in @m, if it is defined there; else 0. */
taddr sampling_targets_in(const struct sampling_targets *t, uint32_t i, const struct module *m);

/*
 * Where target @i begins in the target's memory, if it is a wrapper and that is known; else 0. It is the same for the
 * whole watch: whether a stack begins with the wrapper is not stored with the stack.
 */
taddr sampling_targets_wrapper(const struct sampling_targets *t, uint32_t i);

/* How @m calls each of them, for callsites_find. The caller's to free. 0 or -ENOMEM. */
must_check int sampling_targets_for(const struct sampling_targets *t, const struct module *m,
				    struct callsite_target **out);

#endif
