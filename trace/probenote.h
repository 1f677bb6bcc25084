/* SPDX-License-Identifier: MIT */
/*
 * probenote: notes of probes (MMT_PROBE) by which readers tell one reason from others. A note says for people
 * why a rule is not watched; where two rules ask for one function, the second one's begins as below and goes
 * on with the first. Of rules of packs that is no news: two packs may know the same function.
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
