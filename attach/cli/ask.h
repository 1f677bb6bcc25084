/* SPDX-License-Identifier: MIT */
/*
 * ask: started with no arguments on a terminal, we ask: which process, what to watch in it, how long, where
 * to save. The answers make an ordinary command line, which is shown, so that the user can type it the next
 * time.
 */
#ifndef MM_ASK_H
#define MM_ASK_H

#include <stdio.h>

#include "base/cleanup.h"

#define ASK_ARGS 16

struct ask {
	char *argv[ASK_ARGS];	/* with argv[0] and the final NULL */
	int argc;
};

/* 0; -ECANCELED: the input ended; -ENOMEM. Call ask_fini in any case. */
must_check int ask(const char *program, FILE *in, FILE *out, struct ask *a);
void ask_fini(struct ask *a);

#endif
