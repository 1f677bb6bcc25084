/* SPDX-License-Identifier: MIT */
/*
 * dwarfnames: functions, inlined functions, files and lines of many addresses at once, from the debug
 * information of one file.
 *
 * Compilation units are read one after the other (symbolize/dwarf/units.h, scopes.h, lines.h). libdw keeps in
 * memory what it has read of each, so it is closed and reopened from time to time: memory does not grow with
 * the number of units.
 */
#ifndef MM_DWARFNAMES_H
#define MM_DWARFNAMES_H

#include <libelf.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "symbolize/dwarf/lines.h"

#define DWARF_FRAMES_MAX 256
#define DWARF_NO_MEMORY 2	/* libdw cannot report this: the process exits with this status */

struct dwarf_frame {
	const char *function;	/* the linkage name if there is one; NULL: not known */
	bool linkage;		/* function is a linkage name */
	struct source source;
};

/* For addrs[i]: all frames but the last are inlined. Valid during the call. */
typedef void dwarfnames_take(void *ctx, size_t i, const struct dwarf_frame *frames, size_t n);

/*
 * Read the debug information in @elf, and in @alt what dwz moved out of it (NULL: nothing), for the @n sorted
 * @addrs. Each is taken once, as one frame with nothing known if it cannot be named. 0; -ENOENT: no readable
 * debug information, none was taken; -ENOMEM, -EIO: some were not taken.
 */
must_check int dwarfnames_run(Elf *elf, Elf *alt, const taddr *addrs, size_t n, dwarfnames_take *take,
			      void *ctx);

#endif
