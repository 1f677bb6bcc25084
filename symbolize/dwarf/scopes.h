/* SPDX-License-Identifier: MIT */
/*
 * scopes: in which functions, including inlined ones, the addresses of one compilation unit lie.
 *
 * The unit's DIEs are walked once for all its addresses: a DIE with code claims those of its parent's
 * addresses that are in its ranges; a DIE that claims none is not entered. The first claim counts, as in
 * libdw's dwarf_getscopes. Unlike there, functions inside a namespace are found (Rust puts all its functions
 * into namespaces; and older ones, as Debian 12 has, methods into their types).
 *
 * Imported units (dwz) are walked as if they were part of the importing unit, and not again if they had no
 * code.
 *
 * The tree may be damaged: siblings must go forward, the depth is limited, and all walks over one file
 * together have a budget of DIEs.
 */
#ifndef MM_SCOPES_H
#define MM_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"

#define SCOPE_NONE UINT32_MAX

/* A function, or an inlined copy of one. */
struct scope {
	Dwarf_Die die;
	uint32_t outer;		/* the one around it, SCOPE_NONE */
	bool inlined;
};

struct scopes {
	struct scope *v;
	size_t n, room;
	uint32_t *innermost;	/* per address: the innermost scope, SCOPE_NONE */
	uint32_t *owner;	/* per address: number of the DIE that holds it (while walking) */
	uint32_t owners;
	const taddr *addrs;	/* sorted */
	size_t naddrs;
	bool code_in_types;	/* of this unit's language */
	struct addrmap barren;	/* imported units without code */
	uint64_t budget;	/* of DIEs; 0: used up */
	int err;
};

/* For at most @n addresses at a time. 0 or -ENOMEM. */
must_check int scopes_init(struct scopes *s, size_t n, uint64_t budget);
void scopes_fini(struct scopes *s);

/* Forget the imported units: addresses of DIEs are no longer valid. */
void scopes_forget(struct scopes *s);

/* Walk @unit for the @n sorted @addrs; then v and innermost are set, until the next walk. 0 or -ENOMEM. */
must_check int scopes_walk(struct scopes *s, Dwarf_Die *unit, const taddr *addrs, size_t n);

#endif
