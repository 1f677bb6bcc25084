/* SPDX-License-Identifier: MIT */
#include "packs/packs.h"

/* Made by the Makefile from the list of files. */
extern const struct pack packs_list[];
extern const size_t packs_count;

const struct pack *packs_all(size_t *n)
{
	*n = packs_count;
	return packs_list;
}
