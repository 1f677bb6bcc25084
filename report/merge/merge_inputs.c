/* SPDX-License-Identifier: MIT */
/* merge_inputs: see merge_inputs.h. */
#include "report/merge/merge_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/tracefiles/tracelist.h"

struct known {
	struct tracelist_file file;
	bool is_piece;
	size_t given;
};

/* Pieces of one run side by side, everything else in its place. */
static int compare(const void *pa, const void *pb)
{
	const struct known *a = pa, *b = pb;
	int order = a->is_piece && b->is_piece ? memcmp(a->file.id, b->file.id, sizeof(a->file.id))
					       : a->is_piece - b->is_piece;

	return order ? order : (a->given > b->given) - (a->given < b->given);
}

static bool same_run(const struct known *a, const struct known *b)
{
	return a->is_piece && b->is_piece && !memcmp(a->file.id, b->file.id, sizeof(a->file.id));
}

static void make_runs(const struct merge_input *in, const struct known *all, size_t n,
		      struct merge_inputs *out)
{
	for (size_t i = 0; i < n; i++) {
		struct merge_run *run = &out->runs[out->n];
		const struct merge_input *given = &in[all[i].given];

		out->paths[i] = given->path;
		if (i && same_run(&all[i - 1], &all[i])) {
			run[-1].n++;
			continue;
		}
		*run = (struct merge_run){ &out->paths[i], 1, given->label, given->process };
		out->n++;
	}
}

int merge_inputs_make(const struct merge_input *in, size_t n, struct merge_inputs *out)
{
	cleanup_free struct known *all = calloc(n + 1, sizeof(*all));
	int r = 0;

	out->n = 0;
	out->runs = calloc(n + 1, sizeof(*out->runs));
	out->paths = calloc(n + 1, sizeof(*out->paths));
	if (!all || !out->runs || !out->paths)
		return -ENOMEM;
	for (size_t i = 0; i < n && r != -ENOMEM; i++) {
		all[i] = (struct known){ .file = { .path = in[i].path }, .given = i };
		r = n > 1 ? tracelist_peek(&all[i].file) : 0;
		all[i].is_piece = all[i].file.known && all[i].file.piece;
	}
	if (r == -ENOMEM)
		return r;
	if (n)
		qsort(all, n, sizeof(*all), compare);
	make_runs(in, all, n, out);
	return 0;
}

void merge_inputs_fini(struct merge_inputs *m)
{
	free(m->runs);
	free(m->paths);
}
