/* SPDX-License-Identifier: MIT */
/*
 * cfisection: one section of call frame information, .eh_frame or .debug_frame, as a sorted table of the
 * functions it describes. It survives stripping, and is then the only source for where a static function
 * begins and ends.
 */
#ifndef MM_CFISECTION_H
#define MM_CFISECTION_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "symbolize/files/bytes.h"

/* The description of one function, ready to be run (attach/stacks/unwind/cfirun.h). */
struct cfi_program {
	struct bytes cie, fde;		/* the instructions */
	uint64_t code_align;
	int64_t data_align;
	taddr lo;			/* where the function begins */
	bool absolute;			/* DW_CFA_set_loc has plain addresses; otherwise it is refused */
	bool signal;
};

/* A function: [lo, hi) and where its entry lies in the section. */
struct cfi_extent {
	taddr lo, hi;
	Dwarf_Off at;
};

struct cfi_section {
	const unsigned char *ident;	/* of the ELF file; NULL: the section is not there */
	Elf_Data *data;
	taddr addr;			/* where the section is loaded */
	bool eh;			/* .eh_frame */
	struct cfi_extent *v;
	size_t n;
};

/*
 * Read @elf's .eh_frame (@eh) or .debug_frame. 0, or -ENOMEM; of a damaged section, all that is readable is
 * loaded.
 */
must_check int cfi_section_load(Elf *elf, bool eh, struct cfi_section *out);
void cfi_section_fini(struct cfi_section *s);

/* The number of functions that begin before or at @addr: only the last of these can contain it. */
size_t cfi_section_upto(const struct cfi_section *s, taddr addr);

/* The function that contains @addr, or NULL. */
const struct cfi_extent *cfi_section_over(const struct cfi_section *s, taddr addr);

/* Its program. 0 or -EINVAL. */
must_check int cfi_section_program(const struct cfi_section *s, const struct cfi_extent *f,
				   struct cfi_program *out);

#endif
