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
 * Let *@array (the address of a pointer; *@size elements of @element bytes) have an element number @n. 0, or
 * -ENOMEM: then it is as it was. What is new is not set.
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

#endif
