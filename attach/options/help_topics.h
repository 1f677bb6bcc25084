/* SPDX-License-Identifier: MIT */
/*
 * help_topics: what `mmattach help TOPIC` is about: a command, or a subject of options. Texts of options are
 * in option_table; here is what they do not say: examples, and what is common to them. A topic is a screen of
 * at most 48 lines of 80 columns (tests/test_help.py).
 */
#ifndef MM_HELP_TOPICS_H
#define MM_HELP_TOPICS_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/options/option_table.h"

struct help_example {
	const char *line;	/* for a shell; it can be parsed: test_options_help.c */
	const char *what;
};

struct help_topic {
	const char *name;
	const char *what;			/* in a line, of at most 64 columns */
	struct help_example examples[6];	/* up to the first without a line */
	const char *usage;			/* of a command; NULL: the topic is a subject */
	const char *text;			/* whole lines; "" if there is nothing to add */
	enum command command;
	enum option_subject subject;		/* without usage */
	unsigned elsewhere;	/* of a command: a bit for each subject whose options are only named */
};

/* Commands first, in the order in which help lists them; after the last one, one without a name. */
extern const struct help_topic help_topics[];

bool help_topic_is_command(const struct help_topic *t);
const struct help_topic *help_topic_of_subject(enum option_subject subject);

/* By its name, or the one that explains the option @word ("--budget" or "budget"). NULL: there is none. */
const struct help_topic *help_topic_find(const char *word);

#endif
