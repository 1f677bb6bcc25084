/* SPDX-License-Identifier: MIT */
#include "attach/reporting/tracenames.h"

#include "report/names/naming.h"

static int put(void *ctx, const struct fact *f)
{
	struct ledger *l = ctx;
	struct fact now = *f;

	now.time_us = l->now_us;
	return ledger_take(l, &now);
}

int tracenames_run(struct ledger *l, const bool *wanted, bool debuginfod)
{
	const struct naming_options naming = { .debuginfod = debuginfod, .put = put, .ctx = l };
	struct naming_local *local;
	struct naming_files files;
	int r = naming_local_new(&l->defs, &local, &files);

	if (r < 0)
		return r;
	r = naming_run(&l->defs, wanted, &files, &naming);
	naming_local_free(local);
	return r;
}
