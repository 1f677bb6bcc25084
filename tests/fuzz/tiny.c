/* SPDX-License-Identifier: MIT */
/*
 * tiny: a few kilobytes of allocator, the seed of fuzz_elfimage: small enough that a random change hits
 * something that matters. It is never run. Each function has another kind of exit: ret, tail call, a jump
 * through a slot, a wrapper, an IFUNC. With -DVAST there is also a function whose size goes past the end of
 * the address space.
 */
#include <stddef.h>

#define keep __attribute__((noipa))

void *malloc(size_t n);
void free(void *p);
void *elsewhere(size_t n);
int main(void);

static char pool[4096];
static size_t used;
void *(*volatile hook)(size_t n);

#ifdef VAST
__asm__(".type vast, @function\nvast:\tret\n\t.size vast, -16\n");
#endif

keep static void *carve(size_t n)
{
	void *p = pool + used;

	if (n > sizeof(pool) - used)
		return NULL;
	used += n;
	return p;
}

keep void *malloc(size_t n)
{
	return n ? carve(n + 16) : pool;
}

keep void *calloc(size_t n, size_t each)
{
	char *p = malloc(n * each);

	for (size_t i = 0; p && i < n * each; i++)
		p[i] = 0;
	return p;
}

keep void *realloc(void *p, size_t n)
{
	if (!p)
		return malloc(n);
	free(p);
	return n ? carve(n) : NULL;
}

keep int posix_memalign(void **out, size_t align, size_t n)
{
	*out = malloc(n + align);
	return *out ? 0 : 12;
}

keep void *valloc(size_t n)
{
	return hook(n);
}

static void *memalign_small(size_t align, size_t n)
{
	return align > 16 ? NULL : carve(n);
}

static void *(*choose(void))(size_t, size_t)
{
	return memalign_small;
}

void *memalign(size_t align, size_t n) __attribute__((ifunc("choose")));

keep void free(void *p)
{
	if (p)
		used--;
}

int main(void)
{
	free(malloc(1));
	return 0;
}
