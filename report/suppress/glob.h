/* SPDX-License-Identifier: MIT */
/*
 * glob: the two kinds of patterns for names in suppressions.
 *
 * Both take at most time in proportion to length of pattern times length of text.
 */
#ifndef MM_GLOB_H
#define MM_GLOB_H

#include <stdbool.h>

/* Valgrind's: the whole @text; '*' is any characters, '?' is one. */
bool glob_matches(const char *pattern, const char *text);

/*
 * LeakSanitizer's: somewhere in @text; '*' is any characters, '^' at the beginning and '$' at the end anchor
 * it there.
 */
bool glob_finds(const char *pattern, const char *text);

#endif
