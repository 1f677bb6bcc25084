/* SPDX-License-Identifier: MIT */
/*
 * early_blocks: allocates blocks, calls begin(), and frees them one by one, each after another one of that size was
 * allocated: to a watch --from begin they are older. It prints how many there were.
 */
#include <stdio.h>
#include <stdlib.h>

#include "victim.h"

#define BLOCKS 500
#define SIZE 1000

static void *early[BLOCKS], *late[BLOCKS];

__attribute__((noipa)) void begin(void)
{
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (!(early[i] = malloc(SIZE)))
			victim_die("malloc");
	begin();
	for (int i = 0; i < BLOCKS; i++) {
		if (!(late[i] = malloc(SIZE)))
			victim_die("malloc");
		free(early[i]);
	}
	printf("%d\n", BLOCKS);
	return 0;
}
