/* SPDX-License-Identifier: MIT */
/*
 * pager: a text for people is shown as git shows it: through $MMATTACH_PAGER, else $PAGER, else less, if
 * stdout is a terminal. An empty name, or cat, means none.
 *
 * The text is whole before the pager starts, so whatever becomes of the pager, nothing is lost: if it cannot
 * be started or fails, the caller prints the text itself. A pager takes as long as its user reads: start none
 * while anything waits for us. A watch has left its target by then.
 */
#ifndef MM_PAGER_H
#define MM_PAGER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Show the text, and wait for the pager's end. true: it was shown, as much of it as the user wanted to see.
 * false: print it, there is no pager, or it has failed. SIGINT and SIGQUIT meanwhile are the pager's alone;
 * another signal that ends us ends the pager too.
 */
bool pager_show(const char *text, size_t n);

#endif
