/* SPDX-License-Identifier: MIT */
/*
 * libbump: for LD_PRELOAD: a malloc that no census knows: it never reuses anything. It has functions of
 * tcmalloc's, so that reports name it; as there, free and memalign have other names, by which other functions go on
 * to them, through the PLT.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROOM ((size_t)256 << 20)
#define HEAD 16u

static _Alignas(4096) char room[ROOM];
static size_t used;

void *memalign(size_t align, size_t n)
{
	const size_t most = n + align + 2 * HEAD;
	const size_t at = __atomic_fetch_add(&used, (most + HEAD - 1) / HEAD * HEAD, __ATOMIC_RELAXED);
	char *p = room + (at + HEAD + align - 1) / align * align;

	if (n > ROOM / 2 || align > ROOM / 2 || at > ROOM - most)
		return NULL;
	*(size_t *)(void *)(p - HEAD) = n;
	return p;
}

/* Whole pages begin at one. */
void *malloc(size_t n)
{
	return memalign(n && n % 4096 == 0 ? 4096 : HEAD, n);
}

void free(void *p)
{
	(void)p;
}

void tc_free(void *p) __attribute__((alias("free")));
void *tc_memalign(size_t align, size_t n) __attribute__((alias("memalign")));

void *valloc(size_t n)
{
	return tc_memalign(4096, n);
}

/* tcmalloc does not know from the size alone where blocks at the beginning of a page are. */
void tc_free_sized(void *p, size_t n)
{
	if ((uintptr_t)p % 4096 == 0)
		tc_free(p);
	else
		*(volatile size_t *)(void *)((char *)p - HEAD) = n;
}

void sized_delete(void *p, size_t n) __asm__("_ZdlPvm") __attribute__((alias("tc_free_sized")));

/* Nothing was there before. */
void *calloc(size_t n, size_t size)
{
	return size && n > ROOM / size ? NULL : malloc(n * size);
}

void *realloc(void *p, size_t n)
{
	const size_t had = p ? *(size_t *)(void *)((char *)p - HEAD) : 0;
	void *q = malloc(n);

	return q && p ? memcpy(q, p, had < n ? had : n) : q;
}

size_t tc_malloc_size(void *p)
{
	return *(size_t *)(void *)((char *)p - HEAD);
}
