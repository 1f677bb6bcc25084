/* SPDX-License-Identifier: MIT */
/* code_copies: see code_copies.h. */
#include "attach/events/code_copies.h"

#include <string.h>

#include "attach/snapshot/resident.h"
#include "base/procmaps.h"

#define RUNS 64u
#define PAGES_AT_A_TIME 4096u

static bool is_code(const struct mapping *m)
{
	return m->ino && m->perms & MAPPING_EXEC && !(m->perms & MAPPING_SHARED);
}

static uint64_t copied_in(struct resident *r, const struct mapping *m)
{
	struct resident_run runs[RUNS];
	uint64_t sum = 0;
	taddr at = m->lo;

	while (at < m->hi) {
		const int n = resident_next(r, &at, m->hi, true, PAGES_AT_A_TIME, runs, RUNS);

		if (n < 0)
			break;
		for (int i = 0; i < n; i++)
			sum += runs[i].hi - runs[i].lo;
	}
	return sum;
}

uint64_t code_copies(pid_t pid, const char *maps)
{
	struct resident r = RESIDENT_INIT;
	struct procmaps all = PROCMAPS_INIT;
	uint64_t sum = 0;

	if (procmaps_parse(maps, strlen(maps), &all) == 0 && resident_open(&r, pid) == 0)
		for (size_t i = 0; i < all.n; i++)
			sum += is_code(&all.maps[i]) ? copied_in(&r, &all.maps[i]) : 0;
	resident_close(&r);
	procmaps_fini(&all);
	return sum;
}
