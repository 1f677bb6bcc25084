/* SPDX-License-Identifier: MIT */
#include "trace/rotate_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where the number goes: before the last dot of the file's name, unless that is its first character. */
static size_t stem(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return dot && dot > name ? (size_t)(dot - path) : strlen(path);
}

int rotate_name(const char *path, uint32_t piece, char **out)
{
	size_t n = stem(path);

	return asprintf(out, "%.*s.%04u%s", (int)n, path, piece, path + n) < 0 ? -ENOMEM : 0;
}

int rotate_first_present(const char *path, uint32_t *piece)
{
	struct stat st;

	for (*piece = 1; *piece < 10000; ++*piece) {
		cleanup_free char *name = NULL;
		int r = rotate_name(path, *piece, &name);

		if (r < 0)
			return r;
		if (lstat(name, &st) == 0)
			return 0;
	}
	*piece = 0;
	return 0;
}

/* Where the number begins that ends before path[end]; @end: there is none of at least four digits behind a dot. */
static size_t number_before(const char *path, size_t end)
{
	size_t at = end;

	while (at > 0 && isdigit((unsigned char)path[at - 1]))
		at--;
	return end - at >= 4 && end - at <= 9 && at > 1 && path[at - 1] == '.' ? at : end;
}

int rotate_later(const char *path, uint32_t by, char **out)
{
	size_t end = stem(path), at = number_before(path, end);

	if (at == end) {	/* of a name without a suffix: the number is the suffix */
		end = strlen(path);
		at = number_before(path, end);
	}
	if (at == end)
		return -EINVAL;
	return asprintf(out, "%.*s%04lu%s", (int)at, path, strtoul(path + at, NULL, 10) + by, path + end) < 0
		       ? -ENOMEM : 0;
}

bool rotate_possible(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode);
}
