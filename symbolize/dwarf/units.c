/* SPDX-License-Identifier: MIT */
/* units: see units.h. */
#include "symbolize/dwarf/units.h"

#include <dwarf.h>

struct search {
	const taddr *addrs;
	size_t n;
	Dwarf_Off *units;
	taddr *begins;	/* of the range that an address was found in */
};

size_t units_lower_bound(const taddr *addrs, size_t n, taddr addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addrs[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A range at 0 is code that the linker discarded. */
static void claim(struct search *s, taddr lo, taddr hi, Dwarf_Off unit)
{
	if (!lo)
		return;
	for (size_t i = units_lower_bound(s->addrs, s->n, lo); i < s->n && s->addrs[i] < hi; i++) {
		if (s->units[i] != UNIT_NONE && s->begins[i] >= lo)
			continue;
		s->units[i] = unit;
		s->begins[i] = lo;
	}
}

static void claim_unit(struct search *s, Dwarf_Die *unit)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &lo, &hi)) > 0)
		claim(s, lo, hi, dwarf_dieoffset(unit));
}

void units_find(Dwarf *dbg, const taddr *addrs, size_t n, Dwarf_Off *units, taddr *begins)
{
	struct search s = { addrs, n, units, begins };
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	for (size_t i = 0; i < n; i++)
		units[i] = UNIT_NONE;
	while (dwarf_get_units(dbg, cu, &cu, NULL, &type, &die, NULL) == 0) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			claim_unit(&s, &die);
	}
}

uint64_t units_size(Dwarf *dbg)
{
	Dwarf_Off at = 0, next;
	size_t header;

	while (dwarf_nextcu(dbg, at, &next, &header, NULL, NULL, NULL) == 0 && next > at)
		at = next;
	return at;
}
