/* SPDX-License-Identifier: MIT */
#include "base/inpath.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool is_in_path(const char *program)
{
	const char *path = getenv("PATH");

	for (const char *at = path ?: ""; *at; at += strspn(at, ":")) {
		const size_t n = strcspn(at, ":");
		char file[PATH_MAX];

		snprintf(file, sizeof(file), "%.*s/%s", (int)n, at, program);
		if (!access(file, X_OK))
			return true;
		at += n;
	}
	return false;
}
