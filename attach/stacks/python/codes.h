/* SPDX-License-Identifier: MIT */
/*
 * codes: code objects of an interpreter, and the places in scripts that their instructions are: function,
 * file, line.
 *
 * A code object never changes. But it can be freed, and another one made at its address. So what is known of
 * an address is compared with what is there when it is seen again after CODES_TRUSTED_NS: of the frames of a
 * function that was made anew within that time, at the same address, the old name is shown.
 */
#ifndef MM_PYTHON_CODES_H
#define MM_PYTHON_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/stacks/python/runtime.h"
#include "attach/stacks/scripts/script_places.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

#define CODES_TRUSTED_NS 20000000u

struct code;

struct codes {
	const struct python_runtime *runtime;
	int mem;
	struct code *all;
	size_t n, size, table_bytes;
	struct addrmap by_addr;		/* -> index in all */
	struct addrmap by_position;	/* code and offset -> place */
	struct script_places *places;
	uint64_t gone;			/* frames whose code could not be read any more */
};

/* @rt, @places and @mem stay the caller's. */
void codes_init(struct codes *c, const struct python_runtime *rt, struct script_places *places, int mem);
void codes_fini(struct codes *c);

/* Forget what is at addresses, but not the places: the process runs another program. */
void codes_forget(struct codes *c);

/*
 * The place of the frame that executes code @code at position @at, at time @now_ns. 0; -ENOENT: the frame is
 * not to be shown, as the interpreter's own tracebacks do not (@shown: it is in any case); -ENOMEM.
 */
must_check int codes_place(struct codes *c, taddr code, uint64_t at, bool shown, uint64_t now_ns,
			   uint32_t *place);

#endif
