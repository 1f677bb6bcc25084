/* SPDX-License-Identifier: MIT */
/* keys: what a key does to the view; without a terminal. */
#ifndef MM_KEYS_H
#define MM_KEYS_H

#include "attach/top/screen.h"
#include "attach/top/top.h"

/* What is left to do for the caller: QUIT; of s->input: FILTER, SAVE; MARK and FILTER: refresh. */
enum key_effect { KEYS_NOTHING, KEYS_QUIT, KEYS_FILTER, KEYS_MARK, KEYS_SAVE };

/* @key as getch(3) of ncurses returns it; -1: none. */
enum key_effect keys_take(struct screen *s, struct top *t, int key);

#endif
