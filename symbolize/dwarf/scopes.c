/* SPDX-License-Identifier: MIT */
/* scopes: see scopes.h. */
#include "symbolize/dwarf/scopes.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "symbolize/dwarf/units.h"

#define DEPTH_MAX 256
#define UNIT_OWNER 0	/* the unit itself */

/* The current position of the walk. */
struct place {
	uint32_t owner;		/* the nearest DIE that holds addresses */
	uint32_t scope;
	size_t *held;		/* how many of its addresses no child has claimed yet */
	unsigned depth;
};

static void walk_children(struct scopes *s, Dwarf_Die *parent, const struct place *at);

int scopes_init(struct scopes *s, size_t n, uint64_t budget)
{
	*s = (struct scopes){ .budget = budget };
	addrmap_init(&s->barren, 0);
	s->innermost = calloc(n + 1, sizeof(*s->innermost));
	s->owner = calloc(n + 1, sizeof(*s->owner));
	if (s->innermost && s->owner)
		return 0;
	scopes_fini(s);
	return -ENOMEM;
}

void scopes_fini(struct scopes *s)
{
	addrmap_fini(&s->barren);
	free(s->innermost);
	free(s->owner);
	free(s->v);
	*s = (struct scopes){ 0 };
}

void scopes_forget(struct scopes *s)
{
	addrmap_clear(&s->barren);
	s->n = 0;
}

/*
 * Those addresses in [lo, hi) that belong to @from now belong to @to, and lie in @scope. Code at 0 was
 * discarded by the linker.
 */
static size_t claim_range(struct scopes *s, taddr lo, taddr hi, uint32_t from, uint32_t to, uint32_t scope)
{
	size_t claimed = 0;

	if (!lo)
		return 0;
	for (size_t i = units_lower_bound(s->addrs, s->naddrs, lo); i < s->naddrs && s->addrs[i] < hi; i++) {
		if (s->owner[i] != from)
			continue;
		s->owner[i] = to;
		s->innermost[i] = scope;
		claimed++;
	}
	return claimed;
}

/* Give the addresses of @at that @die covers to a new owner, s->owners. Returns their number. */
static size_t claim(struct scopes *s, Dwarf_Die *die, const struct place *at, uint32_t scope)
{
	Dwarf_Addr base, lo, hi;
	size_t claimed = 0;
	ptrdiff_t next = 0;

	if (s->owners == UINT32_MAX)
		return 0;
	while (*at->held > claimed && (next = dwarf_ranges(die, next, &base, &lo, &hi)) > 0)
		claimed += claim_range(s, lo, hi, at->owner, s->owners + 1, scope);
	if (claimed)
		s->owners++;
	*at->held -= claimed;
	return claimed;
}

static int reserve_scope(struct scopes *s)
{
	return s->n < SCOPE_NONE ? grow_for(&s->v, s->n, &s->room, sizeof(*s->v)) : -ENOMEM;
}

static void enter_code(struct scopes *s, Dwarf_Die *die, int tag, const struct place *at)
{
	bool is_inlined = tag == DW_TAG_inlined_subroutine, is_scope = is_inlined || tag == DW_TAG_subprogram;
	struct place inside = { .scope = at->scope, .depth = at->depth + 1 };
	size_t held;

	s->err = reserve_scope(s);
	if (s->err)
		return;
	if (is_scope)
		inside.scope = (uint32_t)s->n;
	held = claim(s, die, at, inside.scope);
	if (!held)
		return;
	if (is_scope)
		s->v[s->n++] = (struct scope){ .die = *die, .outer = at->scope, .inlined = is_inlined };
	inside.owner = s->owners;
	inside.held = &held;
	walk_children(s, die, &inside);
}

static void enter_group(struct scopes *s, Dwarf_Die *die, const struct place *at)
{
	struct place inside = { at->owner, at->scope, at->held, at->depth + 1 };

	walk_children(s, die, &inside);
}

static void enter_import(struct scopes *s, Dwarf_Die *die, const struct place *at)
{
	Dwarf_Attribute attr;
	Dwarf_Die unit;
	uint32_t owners = s->owners;
	uint64_t key;

	if (!dwarf_formref_die(dwarf_attr(die, DW_AT_import, &attr), &unit))
		return;
	key = (uint64_t)(uintptr_t)unit.addr;
	if (addrmap_get(&s->barren, key))
		return;
	enter_group(s, &unit, at);
	if (s->owners == owners && addrmap_put(&s->barren, key, NULL))
		s->err = -ENOMEM;
}

static void enter(struct scopes *s, Dwarf_Die *die, const struct place *at)
{
	int tag = dwarf_tag(die);

	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_entry_point:
	case DW_TAG_module:
		enter_code(s, die, tag, at);
		break;
	case DW_TAG_namespace:
		enter_group(s, die, at);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_union_type:
		if (s->code_in_types)
			enter_group(s, die, at);
		break;
	case DW_TAG_imported_unit:
		enter_import(s, die, at);
		break;
	}
}

static void walk_children(struct scopes *s, Dwarf_Die *parent, const struct place *at)
{
	Dwarf_Die child, last;

	if (at->depth >= DEPTH_MAX || dwarf_child(parent, &child))
		return;
	do {
		if (!s->budget || s->err)
			return;
		s->budget--;
		enter(s, &child, at);
		last = child;
	} while (*at->held && dwarf_siblingof(&last, &child) == 0 && child.addr > last.addr);
}

int scopes_walk(struct scopes *s, Dwarf_Die *unit, const taddr *addrs, size_t n)
{
	struct place at = { UNIT_OWNER, SCOPE_NONE, &n, 0 };

	s->addrs = addrs;
	s->naddrs = n;
	s->n = 0;
	s->owners = UNIT_OWNER;
	s->err = 0;
	s->code_in_types = dwarf_srclang(unit) == DW_LANG_Rust;
	for (size_t i = 0; i < n; i++) {
		s->owner[i] = UNIT_OWNER;
		s->innermost[i] = SCOPE_NONE;
	}
	walk_children(s, unit, &at);
	return s->err;
}
