/* SPDX-License-Identifier: MIT */
/* merge_folder: see merge_folder.h. */
#include "report/merge/merge_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/log.h"

#define SUFFIX ".mmt"

void merge_folder_fini(struct merge_folder *f)
{
	for (size_t i = 0; i < f->nown; i++)
		free(f->own[i]);
	free(f->own);
	free(f->inputs);
	*f = (struct merge_folder){ 0 };
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool merge_folder_is_among(const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_folder(paths[i]))
			return true;
	return false;
}

static int add(struct merge_folder *f, const char *path, const char *label)
{
	if (grow_for(&f->inputs, f->n, &f->size, sizeof(*f->inputs)) < 0)
		return -ENOMEM;
	f->inputs[f->n++] = (struct merge_input){ .path = path, .label = label };
	return 0;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return b && stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
		sa.st_ino == sb.st_ino;
}

static int add_own(struct merge_folder *f, const char *folder, const char *name, const char *label,
		   const char *output)
{
	char *path;

	if (grow_for(&f->own, f->nown, &f->own_size, sizeof(*f->own)) < 0 ||
	    asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	f->own[f->nown++] = path;
	return same_file(path, output) ? 0 : add(f, path, label);
}

static int is_trace(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && end != entry->d_name && entry->d_name[0] != '.' && !strcmp(end, SUFFIX);
}

static int add_folder(struct merge_folder *f, const char *folder, const char *label, const char *output)
{
	struct dirent **entries = NULL;
	const size_t before = f->n;
	int n = scandir(folder, &entries, is_trace, alphasort), r = n < 0 ? -errno : 0;

	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = add_own(f, folder, entries[i]->d_name, label, output);
		free(entries[i]);
	}
	free(entries);
	if (r < 0) {
		log_error_errno(r, "cannot read %s", folder);
	} else if (f->n == before) {
		log_error("there is no trace in %s", folder);
		log_hint("all files *" SUFFIX " in it are read, but not those in folders below");
		r = -ENOENT;
	}
	return r;
}

int merge_folder_list(const char *const *paths, size_t n, const char *label, const char *output,
		      struct merge_folder *out)
{
	int r = 0;

	*out = (struct merge_folder){ 0 };
	for (size_t i = 0; i < n && r == 0; i++) {
		if (is_folder(paths[i])) {
			r = add_folder(out, paths[i], label, output);
			continue;
		}
		r = add(out, paths[i], label);
		if (r < 0)
			log_error_errno(r, "cannot merge the traces");
	}
	return r;
}
