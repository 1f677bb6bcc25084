/* SPDX-License-Identifier: MIT */
/* dwarfnames: see dwarfnames.h. */
#include "symbolize/dwarf/dwarfnames.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolize/dwarf/scopes.h"
#include "symbolize/dwarf/units.h"

#define CACHE_MAX_BYTES (UINT64_C(96) << 20)	/* of line tables, before libdw is reopened */
#define BUDGET_FACTOR 2				/* DIEs that may be read, per byte of debug information */

/* An address and the unit it is in. */
struct wanted {
	Dwarf_Off unit;
	taddr addr;
	size_t i;
};

struct run {
	Elf *elf, *alt;
	Dwarf *dbg, *altdbg;
	struct wanted *wanted;	/* by unit, then by address */
	taddr *addrs;		/* of the current unit */
	size_t n;
	struct scopes scopes;
	uint64_t cached;	/* bytes */
	dwarfnames_take *take;
	void *ctx;
};

static void close_dwarf(struct run *r)
{
	dwarf_end(r->dbg);
	dwarf_end(r->altdbg);
	r->dbg = r->altdbg = NULL;
}

/*
 * If libdw runs out of memory, it ends the program and runs the caller's atexit handlers; so we end the
 * process first.
 */
__attribute__((noreturn)) static void no_memory(void)
{
	_exit(DWARF_NO_MEMORY);
}

static int open_dwarf(struct run *r)
{
	r->dbg = dwarf_begin_elf(r->elf, DWARF_C_READ, NULL);
	if (!r->dbg)
		return -ENOENT;
	dwarf_new_oom_handler(r->dbg, no_memory);
	r->altdbg = r->alt ? dwarf_begin_elf(r->alt, DWARF_C_READ, NULL) : NULL;
	if (r->altdbg) {
		dwarf_new_oom_handler(r->altdbg, no_memory);
		dwarf_setalt(r->dbg, r->altdbg);
	}
	r->cached = 0;
	return 0;
}

static int compare_wanted(const void *pa, const void *pb)
{
	const struct wanted *a = pa, *b = pb;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

static int find_units(struct run *r, const taddr *addrs)
{
	cleanup_free Dwarf_Off *units = calloc(r->n + 1, sizeof(*units));
	cleanup_free taddr *begins = calloc(r->n + 1, sizeof(*begins));

	r->wanted = calloc(r->n + 1, sizeof(*r->wanted));
	r->addrs = calloc(r->n + 1, sizeof(*r->addrs));
	if (!units || !begins || !r->wanted || !r->addrs)
		return -ENOMEM;
	units_find(r->dbg, addrs, r->n, units, begins);
	for (size_t i = 0; i < r->n; i++)
		r->wanted[i] = (struct wanted){ units[i], addrs[i], i };
	if (r->n)
		qsort(r->wanted, r->n, sizeof(*r->wanted), compare_wanted);
	return 0;
}

/* The linkage name is unique, so it is preferred to the readable one. */
static const char *name_of(Dwarf_Die *die, bool *linkage)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));

	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
	*linkage = name != NULL;
	return name ? name : dwarf_diename(die);
}

static void take_nothing(struct run *r, size_t i)
{
	const struct dwarf_frame nothing = { 0 };

	r->take(r->ctx, i, &nothing, 1);
}

/* From the innermost function outwards: the call site of each is the position in the next one. */
static void take_chain(struct run *r, const struct lines *l, const struct wanted *w, uint32_t at)
{
	struct dwarf_frame frames[DWARF_FRAMES_MAX];
	struct source source = lines_at(l, w->addr);
	bool whole = false;
	size_t n = 0;

	while (!whole && at != SCOPE_NONE && n < DWARF_FRAMES_MAX - 1) {
		struct scope *scope = &r->scopes.v[at];

		frames[n].function = name_of(&scope->die, &frames[n].linkage);
		frames[n++].source = source;
		whole = !scope->inlined;
		source = lines_call(l, &scope->die);
		at = scope->outer;
	}
	if (!whole)
		frames[n++] = (struct dwarf_frame){ .source = source };
	r->take(r->ctx, w->i, frames, n);
}

/* The @n addresses at @w, all of one unit. */
static int run_unit(struct run *r, const struct wanted *w, size_t n)
{
	struct lines lines;
	Dwarf_Die unit;
	int rc;

	if (w->unit == UNIT_NONE || !dwarf_offdie(r->dbg, w->unit, &unit)) {
		for (size_t i = 0; i < n; i++)
			take_nothing(r, w[i].i);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		r->addrs[i] = w[i].addr;
	rc = scopes_walk(&r->scopes, &unit, r->addrs, n);
	if (rc)
		return rc;
	lines_init(&lines, &unit);
	for (size_t i = 0; i < n; i++)
		take_chain(r, &lines, &w[i], r->scopes.innermost[i]);
	r->cached += lines_memory(&lines);
	return 0;
}

static int reopen(struct run *r)
{
	scopes_forget(&r->scopes);
	close_dwarf(r);
	return open_dwarf(r) ? -EIO : 0;
}

static int run_units(struct run *r)
{
	int rc = 0;

	for (size_t i = 0, n; !rc && i < r->n; i += n) {
		for (n = 1; i + n < r->n && r->wanted[i + n].unit == r->wanted[i].unit; n++)
			;
		if (r->cached > CACHE_MAX_BYTES)
			rc = reopen(r);
		if (!rc)
			rc = run_unit(r, &r->wanted[i], n);
	}
	return rc;
}

static int run(struct run *r, const taddr *addrs)
{
	uint64_t size = units_size(r->dbg) + (r->altdbg ? units_size(r->altdbg) : 0);
	int rc = size ? scopes_init(&r->scopes, r->n, BUDGET_FACTOR * size) : -ENOENT;

	if (rc)
		return rc;
	rc = find_units(r, addrs);
	if (!rc)
		rc = run_units(r);
	free(r->wanted);
	free(r->addrs);
	scopes_fini(&r->scopes);
	return rc;
}

int dwarfnames_run(Elf *elf, Elf *alt, const taddr *addrs, size_t n, dwarfnames_take *take, void *ctx)
{
	struct run r = { .elf = elf, .alt = alt, .n = n, .take = take, .ctx = ctx };
	int rc = open_dwarf(&r);

	if (!rc)
		rc = run(&r, addrs);
	close_dwarf(&r);
	return rc;
}
