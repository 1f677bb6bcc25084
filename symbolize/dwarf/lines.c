/* SPDX-License-Identifier: MIT */
/* lines: see lines.h. */
#include "symbolize/dwarf/lines.h"

#include <dwarf.h>
#include <limits.h>

#define LINE_BYTES 64	/* of one row in libdw, the pointer to it, and temporary memory for reading */

void lines_init(struct lines *l, Dwarf_Die *unit)
{
	Dwarf_Attribute attr;

	*l = (struct lines){ .unit = unit, .dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr)) };
	if (dwarf_getsrclines(unit, &l->table, &l->n))
		l->table = NULL;
	if (dwarf_getsrcfiles(unit, &l->files, NULL))
		l->files = NULL;
}

uint64_t lines_memory(const struct lines *l)
{
	return l->table ? l->n * LINE_BYTES : 0;
}

static struct source source_of(const struct lines *l, const char *file, int line)
{
	if (!file)
		return (struct source){ NULL, NULL, 0 };
	return (struct source){ file[0] == '/' ? NULL : l->dir, file, line > 0 ? line : 0 };
}

struct source lines_at(const struct lines *l, taddr addr)
{
	Dwarf_Line *row = l->table ? dwarf_getsrc_die(l->unit, addr) : NULL;
	int line = 0;

	if (!row || dwarf_lineno(row, &line))
		return source_of(l, NULL, 0);
	return source_of(l, dwarf_linesrc(row, NULL, NULL), line);
}

struct source lines_call(const struct lines *l, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	const char *name = NULL;

	if (l->files && dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &file) == 0)
		name = dwarf_filesrc(l->files, file, NULL, NULL);
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &line) || line > INT_MAX)
		line = 0;
	return source_of(l, name, (int)line);
}
