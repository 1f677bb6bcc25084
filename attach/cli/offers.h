/* SPDX-License-Identifier: MIT */
/*
 * offers: which families of all packs can be watched in a process: those whose functions are there. Of an allocator that
 * several modules have, the one counts that the linker has bound (linker.h).
 */
#ifndef MM_OFFERS_H
#define MM_OFFERS_H

#include <stddef.h>
#include <sys/types.h>

#include "attach/rules/rulefile.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

struct offer {
	const struct rule_family *family;
	size_t found;		/* functions of it that are there */
	const char *module;	/* base name of the first that has one */
};

struct offers {
	struct ruleset rules;	/* of all packs */
	struct modules *modules;
	struct offer *all;	/* in the order of the packs */
	size_t n;
};

/* 0 or -errno; offers_fini after 0. */
must_check int offers_find(pid_t pid, struct offers *out);
void offers_fini(struct offers *o);

#endif
