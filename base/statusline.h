/* SPDX-License-Identifier: MIT */
/*
 * statusline: one line on the terminal (stderr) that tells what takes so long. It overwrites itself and is
 * erased in the end; before a message of the log, too (log.h), and it comes back with the next
 * statusline_show. Cut to the terminal's width of that moment, so that it never wraps.
 *
 * It never waits: while the controller waits, the target's threads may have to wait. A terminal that is
 * stopped (Ctrl-S), or whose reader does not read, misses the line. POLLOUT would not be enough for that: it
 * means that a terminal takes one byte, and the rest of the line would block. O_NONBLOCK on stderr would hold
 * for every process that shares it, the shell and the target included. So the line is written to the terminal
 * opened once more.
 *
 * What it overwrites must not be text of another program that has the terminal: see statusline_open.
 */
#ifndef MM_STATUSLINE_H
#define MM_STATUSLINE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Begin, if stderr is a terminal that can erase a line. Until then, and after statusline_close, and while
 * another job has the terminal, nothing is shown. Not for a program that has been started on the same
 * terminal, which would lose its own line.
 */
void statusline_open(void);

/* Erase it, and show nothing more. A copy of ourselves (fork) does so first of all. */
void statusline_close(void);

bool statusline_is_open(void);

/* @text is safe for a terminal (strbuf_text). */
void statusline_show(const char *text);
void statusline_erase(void);

/* The characters that erase it if it is shown, and then it counts as erased; else "". For the log. */
const char *statusline_take(void);

/* A step whose end cannot be foreseen, on @bytes of memory: shown if they are so many that it takes a second. */
void statusline_step(const char *what, uint64_t bytes);

/* Work that may take long: its line appears after a second, and is renewed a few times a second. */
struct statusline_work {
	uint64_t began_ns, shown_ns;	/* CLOCK_MONOTONIC; 0: not yet */
};

/* Is a line due? The first call begins the work. */
bool statusline_due(struct statusline_work *w);

#endif
