/* SPDX-License-Identifier: MIT */
/*
 * endnote: a note (MMT_NOTE) that the target ended before the watch did. Notes are for people; the report says
 * this one in its first lines.
 */
#ifndef MM_ENDNOTE_H
#define MM_ENDNOTE_H

#include <stdbool.h>
#include <string.h>

#define MMT_NOTE_KILLED "the target was ended by signal "
#define MMT_NOTE_EXITED "the target ended with status "
#define MMT_NOTE_ENDED "the target ended"	/* how is not known */

static inline bool endnote_is(const char *note)
{
	return !strncmp(note, MMT_NOTE_KILLED, sizeof(MMT_NOTE_KILLED) - 1) ||
	       !strncmp(note, MMT_NOTE_ENDED, sizeof(MMT_NOTE_ENDED) - 1);
}

#endif
