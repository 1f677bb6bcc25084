/* SPDX-License-Identifier: MIT */
/*
 * cfisection: one section of call frame information, .eh_frame or .debug_frame,
 * as a sorted table of the functions it describes. It survives stripping: the one
 * thing that still tells where a static function begins and ends.
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

/* What describes one function, ready to be run (attach/stacks/unwind/cfirun.h). */
struct cfi_program {
	struct bytes cie, fde;		/* the instructions */
	uint64_t code_align;
	int64_t data_align;
	taddr lo;			/* where the function begins */
	bool absolute;			/* DW_CFA_set_loc has plain addresses; else it is refused */
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

/* Read @elf's .eh_frame (@eh) or .debug_frame. 0, or -ENOMEM; a broken one gives what can be read of it. */
must_check int cfi_section_load(Elf *elf, bool eh, struct cfi_section *out);
void cfi_section_fini(struct cfi_section *s);

/* How many functions begin before or at @addr: the last of them is the one that may hold it. */
size_t cfi_section_upto(const struct cfi_section *s, taddr addr);

/* The function that holds @addr, or NULL. */
const struct cfi_extent *cfi_section_over(const struct cfi_section *s, taddr addr);

/* Its program. 0 or -EINVAL. */
must_check int cfi_section_program(const struct cfi_section *s, const struct cfi_extent *f, struct cfi_program *out);

#endif
