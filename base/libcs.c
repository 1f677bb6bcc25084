/* SPDX-License-Identifier: MIT */
#include "base/libcs.h"

#include <string.h>

bool libcs_allocator(const char *name)
{
	static const char *const names[] = { "malloc",	       "calloc",   "realloc",
					     "reallocarray",   "memalign", "aligned_alloc",
					     "posix_memalign", "valloc",   "pvalloc" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}
