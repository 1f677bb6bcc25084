/* SPDX-License-Identifier: MIT */
/*
 * units: finds the compilation unit of each of many addresses.
 *
 * It uses the ranges of the units' own DIEs, since .debug_aranges may be missing (clang) or incomplete. Each
 * range is looked up among the wanted addresses, not the other way round: nothing is stored for units that
 * are not wanted.
 */
#ifndef MM_UNITS_H
#define MM_UNITS_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"

#define UNIT_NONE UINT64_MAX

/*
 * @units[i]: offset of the DIE of the unit with the code at @addrs[i] (sorted), or UNIT_NONE. If several
 * units claim an address, it is the one whose range begins last, then the first in the file.
 */
void units_find(Dwarf *dbg, const taddr *addrs, size_t n, Dwarf_Off *units, taddr *begins);

/* The size of all units together. */
uint64_t units_size(Dwarf *dbg);

/* The index of the first of the sorted @addrs that is not below @addr; @n if there is none. */
size_t units_lower_bound(const taddr *addrs, size_t n, taddr addr);

#endif
