/* SPDX-License-Identifier: MIT */
/* terminal: questions about the terminal that a descriptor refers to. They change nothing and do not wait. */
#ifndef MM_TERMINAL_H
#define MM_TERMINAL_H

#include <stdbool.h>

/* Is it a terminal that knows colors, and how to erase a line? Not one without TERM, or with TERM=dumb. */
bool terminal_is_capable(int fd);

/* Is it our controlling terminal, and are we in its foreground? */
bool terminal_is_ours(int fd);

/*
 * May a background job write there unasked? Not to our controlling terminal if another job has it: with stty
 * tostop SIGTTOU would stop us. Any other terminal is as good as ours.
 */
bool terminal_may_write(int fd);

/* Its width in characters; 80 if it does not say. */
unsigned terminal_columns(int fd);

#endif
