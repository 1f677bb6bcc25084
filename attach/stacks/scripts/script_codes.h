/* SPDX-License-Identifier: MIT */
/*
 * script_codes: the code objects of an interpreter, and the places in scripts that their positions are:
 * function, file, line.
 *
 *	address ──▶ code object: bytes as they were read, function, file		(script_codes_find)
 *	code object, position ──▶ place						(script_codes_place)
 *
 * A code object never changes. But it can be freed, and another one made at its address. So what is known of
 * an address is compared with what is there when it is seen again after SCRIPT_TRUSTED_NS: of the frames of a
 * function that was made anew within that time, at the same address, the old name is shown.
 */
#ifndef MM_SCRIPT_CODES_H
#define MM_SCRIPT_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "attach/stacks/scripts/script_language.h"
#include "base/addrmap.h"

#define SCRIPT_TRUSTED_NS 20000000u
#define SCRIPT_CODE_MOST 208u

struct script_code {
	taddr addr;
	uint32_t kind;			/* of the language; 0 if it has only one */
	uint32_t nlines;
	uint8_t bytes[SCRIPT_CODE_MOST];	/* as it was; all 0: it could not be read */
	const char *function, *file;	/* of the places */
	uint8_t *lines;			/* nlines bytes of a table; NULL: it is read when it is needed */
	uint64_t checked_ns;
	bool gone;			/* there was nothing of its kind, or not all of it */
};

struct script_codes {
	const struct script_language *language;
	const struct script_runtime *runtime;
	struct script_places *places;
	struct script_code *all;
	size_t n, size, table_bytes;
	struct addrmap by_addr;		/* -> index in all */
	struct addrmap by_position;	/* index and position -> place */
	uint64_t gone;			/* frames whose code could not be read any more */
};

/* @places stays the caller's. */
void script_codes_init(struct script_codes *c, struct script_places *places);
void script_codes_fini(struct script_codes *c);

/*
 * From now on they are those of @rt, which stays the caller's. What was at addresses is forgotten, but not
 * the places: the process runs another program.
 */
void script_codes_begin(struct script_codes *c, const struct script_language *l,
			const struct script_runtime *rt);

/* The one of kind @kind at @addr, as of @now_ns; valid until the next call. 0 or -ENOMEM. */
must_check int script_codes_find(struct script_codes *c, taddr addr, uint32_t kind, uint64_t now_ns,
				 struct script_code **out);

/* The place of position @position in @code, which was just found. 0 or -ENOMEM. */
must_check int script_codes_place(struct script_codes *c, const struct script_code *code, uint32_t position,
				  uint32_t *place);

static inline uint64_t script_code_word(const struct script_code *code, uint32_t offset)
{
	uint64_t w;

	memcpy(&w, code->bytes + offset, sizeof(w));
	return w;
}

static inline int32_t script_code_number(const struct script_code *code, uint32_t offset)
{
	int32_t n;

	memcpy(&n, code->bytes + offset, sizeof(n));
	return n;
}

#endif
