/* SPDX-License-Identifier: MIT */
/*
 * complete: what can follow on a command line: mmattach complete WORD..., for the shells' completion
 * (completions/).
 *
 * The last WORD is the one to be completed, "" if it is not begun yet. A line for each word that it can
 * become, and behind a tab what that is. ":files": the name of a file; ":program": a command of the shell.
 * The shells do these themselves; for --report=... only what follows the = is the name.
 *
 * It reads the words as options.c does, by option_table, but refuses nothing: the line is not finished.
 */
#ifndef MM_COMPLETE_H
#define MM_COMPLETE_H

#include <stdio.h>

/* @words: without "mmattach" and "complete". Returns the exit status. */
int complete(int n, char **words, FILE *out);

#endif
