/* SPDX-License-Identifier: MIT */
/*
 * early: calls early_alloc and early_free before main, as soon as a program can, to show a watch from the
 * first instruction: "calls" in the one line it prints is exact only for a watch that began with the program.
 */
#define _GNU_SOURCE
#include "victim.h"

#define BEFORE 10
#define AFTER 7

void *early_alloc(size_t n);
void early_free(void *p);

static char block[64];
static unsigned calls;

__attribute__((noipa)) void *early_alloc(size_t n)
{
	calls++;
	return n <= sizeof(block) ? block : NULL;
}

__attribute__((noipa)) void early_free(void *p)
{
	escape(p);
}

static void pairs(int n)
{
	for (int i = 0; i < n; i++)
		early_free(early_alloc(32));
}

/* Run by the dynamic linker before any constructor. */
static void before(void)
{
	pairs(BEFORE);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before;

__attribute__((constructor)) static void constructor(void)
{
	pairs(BEFORE);
}

int main(void)
{
	pairs(AFTER);
	printf("{\"calls\": %u}\n", calls);
	return 3;
}
