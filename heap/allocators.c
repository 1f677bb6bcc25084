/* SPDX-License-Identifier: MIT */
#include "heap/allocators.h"

#include <string.h>

#include "heap/glibc/glibc_census.h"
#include "heap/jemalloc/jemalloc_census.h"
#include "heap/mimalloc/mimalloc.h"
#include "heap/musl/musl.h"
#include "heap/tcmalloc/tcmalloc.h"

const struct allocator allocators[] = {
	{ "glibc", "glibc's malloc", glibc_census },
	{ "jemalloc", "jemalloc", jemalloc_census },
	{ "mimalloc", "mimalloc", mimalloc_census },
	{ "musl", "musl's malloc", musl_census },
	{ "tcmalloc", "tcmalloc", tcmalloc_census },
	{ 0 },
};

const char *allocators_text(const char *name)
{
	for (const struct allocator *a = allocators; a->name; a++)
		if (!strcmp(a->name, name))
			return a->text;
	return name;
}
