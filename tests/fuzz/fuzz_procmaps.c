/* SPDX-License-Identifier: MIT */
/*
 * procmaps: the target chooses the paths; each mapping is valid, its path is whole, and the mapping found
 * contains the address.
 */
#include "base/procmaps.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct procmaps pm = PROCMAPS_INIT;
	size_t paths = 0;

	if (procmaps_parse((const char *)data, size, &pm))
		return 0;
	for (size_t i = 0; i < pm.n; i++) {
		const struct mapping *m = &pm.maps[i], *found = procmaps_find(&pm, m->lo);

		promised(m->lo < m->hi && m->path);
		promised(!found || (found->lo <= m->lo && m->lo < found->hi));
		paths += strlen(m->path);
	}
	promised(paths <= size);
	procmaps_fini(&pm);
	return 0;
}
