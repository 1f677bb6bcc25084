/* SPDX-License-Identifier: MIT */
/* options_help: what --help says, from the table of options. */
#ifndef MM_OPTIONS_HELP_H
#define MM_OPTIONS_HELP_H

#include <stdio.h>

#include "attach/options/options.h"

void options_usage(FILE *out);	/* one line for each form of the command line */
void options_help(enum command about, FILE *out);	/* the options of one command; COMMAND_WATCH: all */

#endif
