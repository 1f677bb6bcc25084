/* SPDX-License-Identifier: MIT */
/*
 * character: one strict reading of UTF-8, and which characters must not reach a terminal as they are. Text that a
 * target or a file has chosen is printed by what is here: strbuf.h escapes it, the log replaces it.
 */
#ifndef MM_CHARACTER_H
#define MM_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The length of the well-formed UTF-8 sequence at @s, which ends with a NUL (Unicode, table 3-7: no overlong
 * forms, no surrogates, nothing above U+10FFFF), and the character in @code; 0 if there is none.
 */
size_t character_read(const unsigned char *s, uint32_t *code);

/* Does it move the cursor, end a line, turn the direction of what follows, or have no width? */
bool character_is_control(uint32_t code);

#endif
