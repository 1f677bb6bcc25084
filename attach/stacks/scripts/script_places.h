/* SPDX-License-Identifier: MIT */
/*
 * script_places: the places in scripts that frames of an interpreter are at: function, file, line. They are
 * numbered, and each is there once: code that is made anew from the same script has the same places.
 */
#ifndef MM_SCRIPT_PLACES_H
#define MM_SCRIPT_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/intern.h"

#define PLACES_GONE "(code that is gone)"	/* as a file, too: so it is known as a frame of a script */

struct script_place {
	const char *function, *file;	/* never NULL; of the pool */
	uint32_t line;			/* 0: none */
};

struct script_places {
	struct script_place *all;
	size_t n, size;
	struct addrmap by_hash;		/* of a place -> its number */
	struct intern pool;
};

void script_places_init(struct script_places *p);
void script_places_fini(struct script_places *p);

/* @text in the pool; one for all, if there are too many. NULL: memory is short. */
const char *script_places_text(struct script_places *p, const char *text);

/*
 * The number of @place, whose texts are of the pool; if there are too many, one for all that are more. 0, or
 * -ENOMEM, also if a text is NULL.
 */
must_check int script_places_number(struct script_places *p, const struct script_place *place,
				    uint32_t *number);

#endif
