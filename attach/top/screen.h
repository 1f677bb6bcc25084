/* SPDX-License-Identifier: MIT */
/*
 * screen: draws the live view in the terminal (ncursesw).
 *
 *	svc (1234)  12s  1000 events/s  live 1.0 MiB +15 KiB/min		what is watched
 *	PAUSED  filter: my_lib (3 of 12)  stopped 3% of the time		how, and what that costs
 *	     *live        growth  calls/s  course      allocated by
 *	   1.0 MiB   +15 KiB/min      500  |..:-=+*%|  session_open svc.c:42	a row
 *	    #0 session_open (svc+0x1310) svc.c:42				and its stack, if it is open
 *	b g r c sort  Enter stack  / filter  m mark  s save  p pause  h help  q quit
 *
 * Whatever the size of the terminal, what does not fit is left out. What the target calls itself and its functions
 * cannot change the terminal.
 */
#ifndef MM_SCREEN_H
#define MM_SCREEN_H

#include <stdbool.h>

#include "attach/top/top.h"
#include "attach/top/top_names.h"
#include "base/strbuf.h"

/* What keys mean. */
enum screen_mode { SCREEN_ROWS, SCREEN_HELP, SCREEN_FILTER, SCREEN_SAVE };

struct screen {
	enum screen_mode mode;
	size_t first;		/* the first row that is shown */
	size_t page;		/* rows that fit, as it was drawn last */
	bool paused;
	char state[256];	/* "the watch has ended"; "": it goes on */
	char input[128];	/* of SCREEN_FILTER, SCREEN_SAVE: what was typed */
	char message[256];	/* until the next key */
};

/* False: the terminal cannot be used. */
bool screen_open(void);
void screen_close(void);

/* 0 or -errno: of the names of what is shown, which are looked up. */
must_check int screen_draw(struct screen *s, struct top *t, struct ledger *l, struct top_names *names);

/* Waits for a key for a tenth of a second. -1: none came. */
int screen_wait_key(void);

/* Has the terminal gone? */
bool screen_is_gone(void);

#endif
