/* SPDX-License-Identifier: MIT */
/*
 * merge_folder: which traces are meant where a folder is named: all *.mmt in it, in the order of their names.
 */
#ifndef MM_MERGE_FOLDER_H
#define MM_MERGE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "report/merge/merge.h"

struct merge_folder {
	struct merge_input *inputs;
	size_t n, size;
	char **own;			/* paths that were made */
	size_t nown, own_size;
};

/* Is one of @paths a folder? */
bool merge_folder_is_among(const char *const *paths, size_t n);

/*
 * The files, and those of the folders, as inputs with @label. In a folder the file @output is left out, which
 * is about to be written (NULL: none). 0; -errno (logged). merge_folder_fini in any case.
 */
must_check int merge_folder_list(const char *const *paths, size_t n, const char *label, const char *output,
				 struct merge_folder *out);
void merge_folder_fini(struct merge_folder *f);

#endif
