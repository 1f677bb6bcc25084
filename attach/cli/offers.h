/* SPDX-License-Identifier: MIT */
/*
 * offers: which families of all packs can be watched in a process: those whose functions are there. If
 * several modules have the allocator, the one that the linker has bound counts (linker.h).
 */
#ifndef MM_OFFERS_H
#define MM_OFFERS_H

#include <stddef.h>
#include <sys/types.h>

#include "attach/rules/rulefile.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

struct offer {
	const struct rule_family *family;
	size_t found;		/* how many of its functions are there */
	const char *module;	/* base name of the first module that has one */
};

struct offers {
	struct ruleset rules;	/* of all packs */
	struct modules *modules;
	struct offer *all;	/* in the order of the packs */
	size_t n;
};

/* 0 or -errno; call offers_fini after 0. */
must_check int offers_find(pid_t pid, struct offers *out);
void offers_fini(struct offers *o);

/* What the blocks or references of @f are: "file descriptors", "references to dicts (glusterfs)". */
void offers_put_what(struct strbuf *sb, const struct rule_family *f);

#endif
