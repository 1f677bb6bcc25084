/* SPDX-License-Identifier: MIT */
/*
 * options_help: the screens of help, from the table of options and the topics: an overview, a command, a
 * subject, and all options.
 */
#ifndef MM_OPTIONS_HELP_H
#define MM_OPTIONS_HELP_H

#include <stdio.h>

#define OPTIONS_HELP_ALL "all"	/* this topic is all options */

void options_usage(FILE *out);	/* one line for each form of the command line */

/* @topic: OPTIONS_HELP_ALL, or a word of which help_topic_find knows the topic; NULL: the overview. */
void options_help(const char *topic, FILE *out);

#endif
