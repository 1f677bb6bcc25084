/* SPDX-License-Identifier: MIT */
/*
 * remains: pointers that stay behind what was requested. 100 lost blocks of 200 bytes, to each of which points
 * only the last word of a block of 56 bytes in use, of which the program has requested 48: that word was
 * written when the block belonged to something else.
 *
 * Then it ends.
 */
#include <stdlib.h>
#include <string.h>

#define N 100
#define LOST_BYTES 200
#define REQUESTED 48
#define BEFORE 56	/* of the same size for malloc */

/* neither inlined nor cloned: the name in the report is the one here */
#define noinline __attribute__((noipa))

static char *volatile kept[N];
static char **before[N];

static void *need(void *p)
{
	if (!p)
		exit(1);
	return p;
}

noinline static void lost_new(int i)
{
	char *lost = need(malloc(LOST_BYTES));

	memset(lost, 'l', LOST_BYTES);
	before[i][REQUESTED / sizeof(char *)] = lost;
}

noinline static void kept_new(int i)
{
	kept[i] = need(malloc(REQUESTED));
	memset(kept[i], 'k', REQUESTED);
}

noinline static void wipe_stack(void)
{
	char volatile space[4096];

	memset((char *)space, 0, sizeof(space));
}

int main(void)
{
	for (int i = 0; i < N; i++)
		before[i] = need(malloc(BEFORE));
	for (int i = 0; i < N; i++)
		lost_new(i);
	for (int i = 0; i < N; i++)
		free(before[i]);
	memset(before, 0, sizeof(before));
	for (int i = 0; i < N; i++)
		kept_new(i);
	wipe_stack();
	return 0;
}
