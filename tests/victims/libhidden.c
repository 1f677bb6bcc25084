/* SPDX-License-Identifier: MIT */
/*
 * libhidden: for LD_PRELOAD: a malloc that ends in a jump to where a variable points, as others do to a hook. Nothing is
 * ever used again.
 */
#include <stddef.h>
#include <string.h>

#define ROOM ((size_t)64 << 20)
#define HEAD 16u

static _Alignas(4096) char room[ROOM];
static size_t used;

static void *take(size_t n)
{
	const size_t at = __atomic_fetch_add(&used, (n + 2 * HEAD - 1) / HEAD * HEAD, __ATOMIC_RELAXED);

	if (n > ROOM / 2 || at > ROOM - n - 2 * HEAD)
		return NULL;
	*(size_t *)(void *)(room + at) = n;
	return room + at + HEAD;
}

static void *(*volatile how)(size_t) = take;

void *malloc(size_t n)
{
	return how(n);
}

void free(void *p)
{
	(void)p;
}

/* Nothing was there before. */
void *calloc(size_t n, size_t size)
{
	return size && n > ROOM / size ? NULL : how(n * size);
}

void *realloc(void *p, size_t n)
{
	const size_t had = p ? *(size_t *)(void *)((char *)p - HEAD) : 0;
	void *q = malloc(n);

	return q && p ? memcpy(q, p, had < n ? had : n) : q;
}
