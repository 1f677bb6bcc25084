/* SPDX-License-Identifier: MIT */
#include "attach/top/top_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/reporting/tracenames.h"

void top_names_fini(struct top_names *names)
{
	free(names->asked);
	*names = (struct top_names){ NULL, 0 };
}

static int make_room(struct top_names *names, size_t n)
{
	bool *asked;

	if (n <= names->n)
		return 0;
	asked = realloc(names->asked, n);
	if (!asked)
		return -ENOMEM;
	memset(asked + names->n, 0, n - names->n);
	names->asked = asked;
	names->n = n;
	return 0;
}

/* Is this frame to be looked up? It is not asked for again. */
static bool ask(struct top_names *names, const struct ledger *l, uint32_t frame)
{
	const bool is_new = !names->asked[frame] && !l->defs.frames[frame].nnames;

	names->asked[frame] = true;
	return is_new;
}

static bool ask_for_rows(struct top_names *names, const struct ledger *l, const struct top_row *rows, size_t n,
			 bool *wanted)
{
	uint32_t path[DEFS_DEPTH_MAX];
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const uint32_t depth = defs_path(&l->defs, rows[i].stack, path, DEFS_DEPTH_MAX);

		for (uint32_t k = 0; k < depth && k < DEFS_DEPTH_MAX; k++)
			if (ask(names, l, path[k]))
				any = wanted[path[k]] = true;
	}
	return any;
}

int top_names_look_up(struct top_names *names, struct ledger *l, const struct top_row *rows, size_t n)
{
	cleanup_free bool *wanted = calloc(l->defs.nframes + 1, sizeof(*wanted));
	bool any = false;
	int r = wanted ? make_room(names, l->defs.nframes) : -ENOMEM;

	if (r < 0)
		return r;
	if (rows)
		any = ask_for_rows(names, l, rows, n, wanted);
	for (uint32_t f = 0; !rows && f < l->defs.nframes; f++)
		if (ask(names, l, f))
			any = wanted[f] = true;
	return any ? tracenames_run(l, wanted, false) : 0;
}
