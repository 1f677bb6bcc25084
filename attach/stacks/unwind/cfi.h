/* SPDX-License-Identifier: MIT */
/*
 * cfi: the call frame information of one ELF file: .eh_frame, and .debug_frame for what the former does not
 * describe.
 *
 *	address ──▶ FDE (a sorted table, made when the file is opened) ──▶ its program ──▶ rule
 *
 * libdw parses the entries (dwarf_next_cfi); .eh_frame_hdr's table is not used, since it may lead anywhere.
 * Addresses are the file's own. Nothing in the file is trusted.
 */
#ifndef MM_UNWIND_CFI_H
#define MM_UNWIND_CFI_H

#include <stddef.h>

#include "attach/stacks/unwind/cfirule.h"

struct Elf;
struct cfi;

/*
 * @elf must stay open until cfi_free. A file without tables describes nothing, and is no error. 0 or -ENOMEM.
 */
must_check int cfi_new(struct Elf *elf, struct cfi **out);
void cfi_free(struct cfi *c);

/*
 * The rule at file address @addr; its expressions are valid until cfi_free. 0; -ENOENT:
 * nothing describes @addr; -EINVAL: what describes it is broken.
 */
must_check int cfi_find(const struct cfi *c, taddr addr, struct cfi_rule *out);

/* The functions described, for tests: how many, and where the @i-th begins and ends. */
size_t cfi_count(const struct cfi *c);
void cfi_extent(const struct cfi *c, size_t i, taddr *lo, taddr *hi);

#endif
