/* SPDX-License-Identifier: MIT */
/* grow: arrays that double. */
#ifndef MM_GROW_H
#define MM_GROW_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define GROW_FIRST 64

/*
 * Grow *@array (the address of a pointer; *@size elements of @element bytes) so that it has an element number
 * @n. 0, or -ENOMEM: then it is unchanged. New elements are not initialised.
 */
must_check static inline int grow_for(void *array, size_t n, size_t *size, size_t element)
{
	size_t more = *size ? *size : GROW_FIRST;
	void *old, *grown;

	if (n < *size)
		return 0;
	while (more <= n)
		more *= 2;
	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, more, element);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*size = more;
	return 0;
}

/*
 * Room for an element number @n at the end of *@array, which doubles at powers of two: for lists that have no
 * size field. NULL if memory is short: then it is unchanged. The caller increments @n.
 */
must_check static inline void *grow_by_one(void *array, size_t n, size_t element)
{
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	if ((n & (n - 1)) == 0) {
		grown = reallocarray(old, n ? n * 2 : 1, element);
		if (!grown)
			return NULL;
		memcpy(array, &grown, sizeof(grown));
		old = grown;
	}
	return (char *)old + n * element;
}

#endif
