/* SPDX-License-Identifier: MIT */
/*
 * families: an allocator that is built on malloc, with a header of 32 bytes and a type's name, as GlusterFS
 * has one; and calls that return two handles, or store one where it cannot be read.
 *
 *	types N		N blocks of each of three types, by own_malloc and by own_calloc. All but one of each
 *			are freed
 *	grow N		one block, resized N times by own_realloc, still allocated at the end; every third
 *			resize fails
 *	plain N		N blocks of malloc, leaked
 *	pipes N		N pipes; of each the write end is closed
 *	pairs N		N pairs of handles; the second of every other pair is closed. Every fifth call fails
 *	blind N		N blocks stored at an address that cannot be read, and N stored where it can
 *	answer: {"done": true}
 */
#include <sys/mman.h>

#include "victim.h"

#define HEADER 32
#define HANDLES 4096

#define WATCHED __attribute__((noinline, noclone))

/* --- the functions that rules name --- */

WATCHED void *own_malloc(size_t n, int type, const char *name)
{
	char *p = malloc(n + HEADER);

	escape(type);
	escape(name);
	return p ? p + HEADER : NULL;
}

WATCHED void *own_calloc(size_t n, size_t size, int type, const char *name)
{
	char *p = calloc(1, n * size + HEADER);

	escape(type);
	escape(name);
	return p ? p + HEADER : NULL;
}

WATCHED void *own_realloc(void *old, size_t n)
{
	char *p = realloc(old ? (char *)old - HEADER : NULL, n + HEADER);

	return p ? p + HEADER : NULL;
}

WATCHED void own_free(void *p)
{
	if (p)
		free((char *)p - HEADER);
}

static char handles[HANDLES][8];
static unsigned nhandles;

/* 0 and two handles; or -1, and *two is unchanged. */
WATCHED int pair_open(void **two)
{
	static unsigned calls;

	escape(two);
	if (calls++ % 5 == 4)
		return -1;
	two[0] = handles[nhandles++ % HANDLES];
	two[1] = handles[nhandles++ % HANDLES];
	return 0;
}

WATCHED int pair_close(void *one)
{
	escape(one);
	return one ? 0 : -1;
}

/* Stores a block at @to if @to is even. */
WATCHED void blind_take(void **to)
{
	static char block[16];

	escape(to);
	if (!((uintptr_t)to & 1))
		*to = block;
}

/* --- orders --- */

static void types(int n)
{
	static const char *const names[] = { "inode_t", "fd_t", "dict_t" };

	for (int i = 0; i < 3 * n; i++) {
		char *a = own_malloc(100, i % 3, names[i % 3]), *b = own_calloc(2, 60, i % 3, names[i % 3]);

		escape(a);
		escape(b);
		if (i >= 3)
			own_free(a);
		if (i >= 3)
			own_free(b);
	}
}

static void grow(int n)
{
	char *p = NULL;

	for (int i = 1; i <= n; i++) {
		char *q = own_realloc(p, i % 3 ? (size_t)i * 1000 : (size_t)1 << 60);

		escape(q);
		p = q ? q : p;
	}
}

static void plain(int n)
{
	while (n--) {
		char *p = malloc(50);

		escape(p);
	}
}

static void pipes(int n)
{
	int ends[2];

	while (n--)
		if (pipe(ends) || close(ends[1]))
			victim_die("pipe");
}

static void pairs(int n)
{
	void *two[2] = { NULL, NULL };

	for (int i = 0; i < n; i++)
		if (pair_open(two) == 0 && i % 2)
			pair_close(two[1]);
}

static void blind(int n)
{
	char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *seen;

	for (int i = 0; i < n; i++) {
		blind_take((void **)(nothing + 1));
		blind_take(&seen);
		escape(seen);
	}
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(int n);
	} orders[] = {
		{ "types", types }, { "grow", grow },	{ "plain", plain },
		{ "pipes", pipes }, { "pairs", pairs }, { "blind", blind },
	};
	static char in[4096], out[4096];
	char line[ORDER_MAX], name[ORDER_MAX];
	int n;

	setvbuf(stdin, in, _IOFBF, sizeof(in));
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		for (size_t i = 0;
		     sscanf(line, "%127s %d", name, &n) == 2 && i < sizeof(orders) / sizeof(*orders); i++)
			if (!strcmp(name, orders[i].name))
				orders[i].run(n);
		printf("{\"done\": true}\n");
		fflush(stdout);
	}
	printf("{}\n");
	return 0;
}
