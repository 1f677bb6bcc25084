/* SPDX-License-Identifier: MIT */
/*
 * elfsyms: the function symbols of one ELF file, by address and by name.
 *
 * .symtab and .dynsym together, undefined ones left out. Names point into libelf's data, and are valid as
 * long as the Elf is open.
 */
#ifndef MM_ELFSYMS_H
#define MM_ELFSYMS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/taddr.h"

/* How good a symbol is as an answer to a name; lower is better. */
enum elfsym_rank { RANK_GLOBAL, RANK_OLD_VERSION, RANK_LOCAL };

struct elfsym {
	taddr addr;
	uint64_t size;
	const char *name;	/* in .symtab perhaps with "@VERSION" or "@@VERSION" */
	bool ifunc;		/* addr is a resolver's */
	uint8_t rank;		/* enum elfsym_rank */
};

struct elfsyms {
	struct elfsym *v;	/* by address; at one address by rank, then the name for the user first */
	taddr *reach;		/* the highest end of v[0] to v[i] */
	size_t n;
};

/* Where @sym ends; a size that goes past the end of the address space is cut there. */
taddr elfsym_end(const struct elfsym *sym);

/* 0 or -ENOMEM; a file without symbols, or with broken tables, gives what can be read. */
must_check int elfsyms_load(Elf *elf, struct elfsyms *out);
void elfsyms_fini(struct elfsyms *syms);

/* The best symbol called @name; 0, -ENOENT, or -EEXIST if equally good ones lie at different addresses. */
must_check int elfsyms_find(const struct elfsyms *syms, const char *name, const struct elfsym **out);

/* The symbol for the user that starts at @addr, or NULL. @ifunc: only IFUNC symbols. */
const struct elfsym *elfsyms_at(const struct elfsyms *syms, taddr addr, bool ifunc);

/* The symbol whose size covers @addr and that starts nearest, or NULL. */
const struct elfsym *elfsyms_over(const struct elfsyms *syms, taddr addr);

#endif
