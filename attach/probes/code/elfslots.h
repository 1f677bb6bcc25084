/* SPDX-License-Identifier: MIT */
/*
 * elfslots: which function each slot of the global offset table is filled with.
 *
 * Read from the relocations: JUMP_SLOT and GLOB_DAT name a symbol, IRELATIVE a resolver, which has a name if
 * it is an exported IFUNC's. A RELATIVE in .got has the address of a function of the file itself: rustc calls
 * what it links statically through such slots.
 */
#ifndef MM_ELFSLOTS_H
#define MM_ELFSLOTS_H

#include <libelf.h>
#include <stddef.h>

#include "attach/probes/code/elfsyms.h"
#include "base/cleanup.h"
#include "base/taddr.h"

struct elfslot {
	taddr slot;
	const char *name;		/* "": a function of this file, without regard to its name: @addr */
	taddr addr;			/* 0: not known */
};

struct elfslots {
	struct elfslot *v;	/* by slot */
	size_t n;
};

/*
 * 0 or -ENOMEM; broken tables give what can be read. @syms must outlive the result, which may point to its
 * names.
 */
must_check int elfslots_load(Elf *elf, const struct elfsyms *syms, struct elfslots *out);
void elfslots_fini(struct elfslots *slots);

/* The function's name, or NULL. */
const char *elfslots_name(const struct elfslots *slots, taddr slot);

#endif
