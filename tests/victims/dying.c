/* SPDX-License-Identifier: MIT */
/*
 * dying MODE: memory that is still allocated at a program's end, and stale pointers to it.
 *
 *	returns		three blocks are lost, by a function that had their addresses on its stack in many
 *			places; then main returns
 *	exits		the same, and main calls exit from a function that it has called, with a block in a
 *			variable of its own
 *	ends		the same with _exit
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define escape(p) __asm__ volatile("" : "+r"(p) : : "memory")
#define PLACES 16

__attribute__((noinline)) static void lose(void)
{
	char *volatile places[PLACES];
	char *lost = malloc(1000);

	memset(lost, 0, 1000);
	for (unsigned i = 0; i < PLACES; i++)
		places[i] = lost;
	(void)places;
}

__attribute__((noinline)) static void leave(int at_once)
{
	if (at_once)
		_exit(0);
	exit(0);
}

int main(int argc, char **argv)
{
	char *volatile kept = NULL;
	char *in_register = NULL;

	for (unsigned i = 0; i < 3; i++)
		lose();
	if (argc > 1 && strcmp(argv[1], "returns") != 0) {
		kept = malloc(2000);
		in_register = malloc(3000);
		escape(in_register);
		leave(strcmp(argv[1], "ends") == 0);
	}
	/* keeps the variable live until here */
	escape(in_register);
	return kept == in_register ? 0 : 1;
}
