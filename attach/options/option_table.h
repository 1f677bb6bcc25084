/* SPDX-License-Identifier: MIT */
/*
 * option_table: one line for each option: its name, the commands it is for, what it is about, its text in
 * help, and the handler that puts its argument into struct options. options.c parses by this table, and
 * options_help.c prints it.
 */
#ifndef MM_OPTION_TABLE_H
#define MM_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/options/options.h"

enum {
	FOR_WATCH = 1 << COMMAND_WATCH, FOR_PROBES = 1 << COMMAND_PROBES, FOR_REPAIR = 1 << COMMAND_REPAIR,
	FOR_REPORT = 1 << COMMAND_REPORT, FOR_DIFF = 1 << COMMAND_DIFF, FOR_SHRINK = 1 << COMMAND_SHRINK,
	FOR_IMPORT = 1 << COMMAND_IMPORT, FOR_GDB = 1 << COMMAND_GDB, FOR_SCAN = 1 << COMMAND_SCAN,
	FOR_TOP = 1 << COMMAND_TOP, FOR_MERGE = 1 << COMMAND_MERGE,
	FOR_FORMATS = 1 << COMMAND_FORMATS,
};
#define FOR_TARGET (FOR_WATCH | FOR_PROBES)
#define FOR_FILES (FOR_REPORT | FOR_DIFF | FOR_SHRINK | FOR_MERGE | FOR_IMPORT)
#define FOR_LIVE (FOR_WATCH | FOR_GDB)
#define FOR_RULES (FOR_TARGET | FOR_GDB)
#define FOR_REPORTS (FOR_WATCH | FOR_REPORT | FOR_DIFF | FOR_SCAN)
#define FOR_ALL (FOR_WATCH | FOR_PROBES | FOR_REPAIR | FOR_FILES | FOR_GDB | FOR_SCAN | FOR_TOP | FOR_FORMATS)

/* Each is a topic of `mmattach help` (help_topics.h), in this order. */
enum option_subject {
	ABOUT_TARGET, ABOUT_MANY, ABOUT_RULES, ABOUT_REFERENCES, ABOUT_SCOPE, ABOUT_BUDGET, ABOUT_STACKS, ABOUT_TRACE,
	ABOUT_OUTPUT, ABOUT_FILTERS, ABOUT_VERDICTS, ABOUT_BLOCKS, ABOUT_GENERAL,
	SUBJECT_COUNT
};

struct option_line {
	const char *name;	/* long */
	char letter;		/* short; 0: only long */
	const char *arg;	/* the name of its argument, or its values "a|b"; NULL: takes none */
	unsigned commands;
	enum option_subject subject;
	/* 0, -ENOMEM, or -EINVAL with @err filled */
	int (*handler)(struct options *o, const char *arg, struct usage_error *err);
	size_t flag;		/* handler NULL: which bool in struct options becomes true */
	/*
	 * The first line says enough to stand alone, with the default in parentheses; the others are details.
	 * At most 53 columns.
	 */
	const char *help;
};

#define OPTION_LINES_MAX 128
#define OPTION_ARGUMENT_MAX 128

/* The argument (not NULL) with the alternatives that the command takes, in @text or the line's own. */
const char *option_argument(const struct option_line *line, enum command command,
			    char text[OPTION_ARGUMENT_MAX]);

extern const struct option_line option_table[];
extern const size_t option_count;

#endif
