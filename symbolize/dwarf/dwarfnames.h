/* SPDX-License-Identifier: MIT */
/*
 * dwarfnames: functions, inlined functions, files and lines of many addresses at
 * once, from the debug information of one file.
 *
 * One compilation unit after the other is read (symbolize/dwarf/units.h, scopes.h, lines.h). libdw keeps what it
 * has read of each, so from time to time it is closed and opened again: memory
 * does not grow with the number of units.
 */
#ifndef MM_DWARFNAMES_H
#define MM_DWARFNAMES_H

#include <libelf.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "symbolize/dwarf/lines.h"

#define DWARF_FRAMES_MAX 256
#define DWARF_NO_MEMORY 2	/* libdw cannot say it: the process exits with this status */

struct dwarf_frame {
	const char *function;	/* as the linker has it, where that is said; NULL: not known */
	bool linkage;		/* it is said */
	struct source source;
};

/* Of addrs[i]: all frames but the last are inlined. Valid during the call. */
typedef void dwarfnames_take(void *ctx, size_t i, const struct dwarf_frame *frames, size_t n);

/*
 * Read the debug information in @elf, and in @alt what dwz moved out of it (NULL: nothing), for the @n sorted
 * @addrs; each is taken once, as one frame of nothing if it is not known. 0; -ENOENT: no debug information
 * that can be read, none was taken; -ENOMEM, -EIO: some were not taken.
 */
must_check int dwarfnames_run(Elf *elf, Elf *alt, const taddr *addrs, size_t n, dwarfnames_take *take, void *ctx);

#endif
