/* SPDX-License-Identifier: MIT */
/*
 * probenote: a note of a probe (MMT_PROBE) that programs recognise. Notes are for people, and say why a rule
 * is not watched. If two rules name the same function, the note of the second begins as below, and continues
 * with the first rule. For rules of packs that is normal: two packs may know the same function.
 */
#ifndef MM_PROBENOTE_H
#define MM_PROBENOTE_H

#include <stdbool.h>
#include <string.h>

#define MMT_NOTE_OTHER_RULE "another rule has this function"

/* @note may be NULL. */
static inline bool probenote_is_other_rule(const char *note)
{
	return note && strncmp(note, MMT_NOTE_OTHER_RULE, sizeof(MMT_NOTE_OTHER_RULE) - 1) == 0;
}

#endif
