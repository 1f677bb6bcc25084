/* SPDX-License-Identifier: MIT */
/* scan_places: what is at an address that is in no block: the module's data, the variable, the mapping. */
#ifndef MM_SCAN_PLACES_H
#define MM_SCAN_PLACES_H

#include "attach/scan/scan_parts.h"

/* Fill module, offset and symbol of @out with what is known of the data at @at. */
void scan_place_data(struct scan *sc, taddr at, struct scan_pointer *out);

/* What @addr is in, as text for users; owned by the report. */
const char *scan_place_text(struct scan *sc, taddr addr);

#endif
