/* SPDX-License-Identifier: MIT */
/*
 * rules: allocators of every shape that a rule can describe, and functions in which they are called.
 *
 *	take N		pool_take: returns a status, stores the block where the caller wants it, gets a type
 *			name. Every third call fails
 *	chain N		pool_get: size and name behind two pointers, one of which may be NULL
 *	scope N		unit_take: odd sizes inside of handle, handle_deep, handle_jump, handle_through; even
 *			sizes outside: before, after, and after handle_jump was left by longjmp
 *	nest N		outer_take calls malloc, outer_jump jumps to it; outer_by and inner_by jump through a
 *			pointer
 *	drop N		unit_drop: the unit is freed when it returns 1, which is every second time
 *	answer: what each call returned, in order
 */
#include <setjmp.h>
#include <sys/mman.h>

#include "victim.h"

#define PAGE 4096
#define UNITS 4096

#define WATCHED __attribute__((noinline, noclone))

struct kind {
	uint32_t number, size;
	const char *name;
};

struct pool {
	uint64_t taken;
	const struct kind *kind;
	char blocks[UNITS][16];
};

static struct pool pool;
static char units[UNITS];
static unsigned nunits;

/* --- the functions that rules name --- */

/* The result is an int: the bits above its 32 are rubbish, and are left so. */
WATCHED int pool_take(struct pool *p, size_t n, void **out, const char *type)
{
	uint64_t status = 0x5a5a5a5a00000000u;

	__asm__ volatile("" : "+r"(status) : "r"(n), "r"(type) : "memory");
	if (p->taken++ % 3 == 2) {
		*out = (void *)(uintptr_t)0xbad;
		status |= 12;
	} else {
		*out = p->blocks[p->taken % UNITS];
	}
	__asm__ volatile("" : "+a"(status));
	return (int)status;
}

WATCHED void *pool_get(struct pool *p)
{
	void *block = p->blocks[p->taken++ % UNITS];

	escape(block);
	return block;
}

WATCHED void *unit_take(size_t n)
{
	void *p = &units[nunits++ % UNITS];

	__asm__ volatile("" : "+r"(p) : "r"(n) : "memory");
	return p;
}

WATCHED int unit_drop(char *unit)
{
	int gone = ++*unit % 2 == 0;

	escape(gone);
	return gone;
}

WATCHED void *outer_take(size_t n)
{
	char *p = malloc(n + 16);

	escape(p);
	return p + 16;
}

WATCHED void *outer_jump(size_t n)
{
	return malloc(n);
}

WATCHED void outer_give(void *p)
{
	free((char *)p - 16);
}

static void *(*volatile at_last)(size_t) = malloc;

WATCHED void *inner_by(size_t n)
{
	return at_last(n);
}

static void *(*volatile then)(size_t) = inner_by;

WATCHED void *outer_by(size_t n)
{
	return then(n);
}

/* --- inside and outside --- */

static jmp_buf back;

WATCHED void handle(size_t n)
{
	escape(n);
	unit_take(n);
	escape(n);
}

WATCHED void handle_deep(int depth, size_t n)
{
	unit_take(n);
	if (depth)
		handle_deep(depth - 1, n + 2);
	unit_take(n);
}

WATCHED void handle_jump(size_t n)
{
	escape(n);
	unit_take(n);
	longjmp(back, 1);
}

WATCHED void *handle_through(size_t n)
{
	return unit_take(n);
}

/* Called from the same function as handle_jump: its frame is where that of handle_jump was. */
WATCHED static void afterwards(size_t n)
{
	escape(n);
	unit_take(n);
	unit_take(n + 2);
	escape(n);
}

WATCHED static void jump_and_go_on(void)
{
	if (!setjmp(back))
		handle_jump(105);
	unit_take(106);
	afterwards(108);
}

static void scope(void)
{
	unit_take(100);
	handle(101);
	unit_take(102);
	handle_deep(3, 201);
	unit_take(104);
	jump_and_go_on();
	handle_through(107);
	unit_take(110);
	jump_and_go_on();
	handle(109);
	unit_take(112);
}

/* --- orders --- */

static char *page_end;	/* nothing is mapped behind it */

static void map_page(void)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || munmap(p + PAGE, PAGE))
		victim_die("mmap");
	page_end = p + PAGE;
	memcpy(page_end - 6, "edgeX", 6);
}

static const char *type_name(int i)
{
	static const char *const names[] = {
		"inode",
		"",
		"a name that is longer than what is kept of one, which is sixty-three bytes",
		NULL,
	};

	switch (i % 7) {
	case 4:
		return page_end - 6;	/* its NUL is the last mapped byte */
	case 5:
		return page_end - 2;
	case 6:
		return page_end;	/* not mapped */
	default:
		return names[i % 7];
	}
}

static void take(int n)
{
	printf("{\"taken\": [");
	for (int i = 0, told = 0; i < n; i++) {
		const char *name = type_name(i);
		void *out = NULL;

		if (pool_take(&pool, 16 + (size_t)i, &out, name) == 0)
			printf("%s[%lu, %d, %d]", told++ ? ", " : "", (unsigned long)(uintptr_t)out, 16 + i,
			       i % 7);
	}
	printf("], \"asked\": %d}\n", n);
}

static void chain(int n)
{
	static const struct kind kinds[] = { { 1, 1000, "first" }, { 2, 2000, NULL }, { 3, 3000, "third" } };

	printf("{\"taken\": [");
	for (int i = 0; i < n; i++) {
		pool.kind = i % 4 == 3 ? NULL : &kinds[i % 4];
		printf("%s[%lu, %u]", i ? ", " : "", (unsigned long)(uintptr_t)pool_get(&pool),
		       pool.kind ? pool.kind->size : 0);
	}
	printf("]}\n");
}

static void nest(int n)
{
	static void *held[4 * 64];

	for (int i = 0; i < n && i < 64; i++) {
		held[4 * i] = outer_take(1000);
		held[4 * i + 1] = outer_jump(2000);
		held[4 * i + 2] = outer_by(3000);
		held[4 * i + 3] = inner_by(4000);
	}
	for (int i = 0; i < n && i < 64; i++) {
		outer_give(held[4 * i]);
		for (int k = 1; k < 4; k++)
			free(held[4 * i + k]);
	}
	printf("{\"rounds\": %d}\n", n);
}

static void drop(int n)
{
	static char unit[2];
	int gone = 0;

	for (int i = 0; i < n; i++)
		gone += unit_drop(&unit[0]);
	printf("{\"unit\": %lu, \"gone\": %d}\n", (unsigned long)(uintptr_t)&unit[0], gone);
}

static void scopes(int n)
{
	unsigned before = nunits;

	for (int i = 0; i < n; i++)
		scope();
	printf("{\"units\": %u}\n", nunits - before);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(int n);
	} orders[] = {
		{ "take", take }, { "chain", chain }, { "scope", scopes }, { "nest", nest }, { "drop", drop }
	};
	static char buffer[1 << 16];
	char line[ORDER_MAX], name[ORDER_MAX];
	int n;

	/* stdio's own buffers are set before the watch begins */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	map_page();
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		bool known = false;

		for (size_t i = 0;
		     sscanf(line, "%127s %d", name, &n) == 2 && i < sizeof(orders) / sizeof(*orders); i++) {
			if (!strcmp(name, orders[i].name)) {
				orders[i].run(n);
				known = true;
			}
		}
		if (!known)
			printf("{\"error\": \"no such order\"}\n");
		fflush(stdout);
	}
	printf("{\"ended\": true}\n");
	return 0;
}
