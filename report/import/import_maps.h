/* SPDX-License-Identifier: MIT */
/*
 * import_maps: which file was mapped where, according to a saved copy of /proc/PID/maps. It may have been cut
 * or edited: lines that the kernel would not write are left out.
 */
#ifndef MM_IMPORT_MAPS_H
#define MM_IMPORT_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "report/import/textlines.h"

/* A mapping of a file, and what it belongs to. */
struct import_map {
	taddr lo, hi;
	uint64_t offset;
	char *path;
	size_t file;		/* the first mapping of the same file loaded at the same place */
};

struct import_maps {
	struct import_map *v;	/* by address */
	size_t n, size;
};

/* 0, -ENOMEM or -errno of reading; import_maps_fini in any case. */
must_check int import_maps_read(struct textlines *t, struct import_maps *out);
void import_maps_fini(struct import_maps *m);

/* The mapping that contains @addr, or NULL. */
const struct import_map *import_maps_find(const struct import_maps *m, taddr addr);

/*
 * The load bias of the file that @map belongs to, which is its addresses minus those in its ELF file; and its
 * end.
 */
taddr import_maps_bias(const struct import_maps *m, const struct import_map *map);
taddr import_maps_end(const struct import_maps *m, const struct import_map *map);

#endif
