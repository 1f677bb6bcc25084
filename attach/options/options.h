/* SPDX-License-Identifier: MIT */
/*
 * options: the command line as plain data.
 *
 *	mmattach [watch] [options] (-p PID,... | -n NAME | --tree PID | --cgroup PATH ... | -- PROGRAM ARG...)
 *	mmattach top [options] (TRACE | -p PID | -n NAME)
 *	mmattach report [options] (TRACE... | FOLDER)
 *	mmattach diff [options] OLD NEW
 *	mmattach shrink TRACE... -o OUT
 *	mmattach merge [options] (TRACE | FOLDER)... -o OUT
 *	mmattach import mmleak|mtrace FILE... [--maps FILE] -o OUT
 *	mmattach scan [options] (-p PID | -n NAME | --core FILE [--exe FILE])
 *	mmattach probes [options] [-p PID | -n NAME]
 *	mmattach repair [options] PID
 *	mmattach help [TOPIC]
 *	mmattach gdb --fds N,N,N -p PID [options]	for gdbscripts/mmleak.py alone
 *
 * Every option is a line of one table (option_table.h), which both parsing and help use. A command line that
 * cannot be understood is refused with what is wrong and what to write instead; nothing is guessed.
 */
#ifndef MM_OPTIONS_H
#define MM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/options/engines.h"
#include "attach/options/unwinders.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/taddr.h"
#include "base/verdict.h"
#include "report/formats.h"

#define OPTIONS_STACK_BYTES 32768
#define OPTIONS_STACK_BYTES_MAX 131072
#define OPTIONS_DEPTH 256
#define OPTIONS_MAX_STALL_NS 100000000ull
#define OPTIONS_MAX_PAUSE_NS 200000000ull	/* of a watch */
#define OPTIONS_TOP 20
#define OPTIONS_INTERVAL_MIN_NS 1000000000ull
#define OPTIONS_ROTATE_MIN 65536

enum command {
	COMMAND_WATCH,
	COMMAND_PROBES,
	COMMAND_REPAIR,
	COMMAND_REPORT,
	COMMAND_DIFF,
	COMMAND_SHRINK,
	COMMAND_MERGE,
	COMMAND_IMPORT,
	COMMAND_SCAN,
	COMMAND_TOP,
	COMMAND_FORMATS,
	COMMAND_GDB,
	COMMAND_HELP,
	COMMAND_VERSION
};

enum import_kind { IMPORT_NONE, IMPORT_MMLEAK, IMPORT_MTRACE };
enum formats_kind { FORMATS_LIST, FORMATS_JSON, FORMATS_CSV, FORMATS_SCHEMA };

enum verdicts_wish { VERDICTS_AUTO, VERDICTS_YES, VERDICTS_NO };

/* Colors in a report for people: auto is on a terminal that has some, and unless NO_COLOR says otherwise. */
enum color_wish { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* An option that may be given again. */
struct option_list {
	const char **all;
	size_t n;
};

/* What is watched. */
struct options_what {
	struct option_list families;	/* of --family, each NAME,NAME... */
	struct option_list probe_files;
	struct strbuf probes;		/* of --probe: lines of a rule file */
	struct strbuf rules;		/* of --ref, --from, --until, --in: likewise */
	struct option_list threads, modules;	/* only their calls count; none: all calls */
	bool growth;			/* watch only where memory grows */
	bool exact_sizes;
};

struct options_stacks {
	unsigned bytes;			/* the most that is copied of a stack */
	unsigned depth;			/* the most frames that are recorded of a stack */
	enum unwinders unwinder;
	bool python, ruby;		/* the frames of such scripts, too */
	bool debuginfod;
};

struct options_trace {
	uint64_t rotate_bytes;		/* 0: one file */
	bool raw;			/* without names */
	bool end_on_error;		/* if it cannot be written, end the watch; else go on without it */
};

/* Which of the findings are shown. */
struct options_shown {
	unsigned top;			/* groups; 0: all */
	uint64_t older_than_ns, min_bytes;
	struct option_list focus, ignore, suppressions;
	bool gen_suppressions;
	bool keep_wrappers;
	bool per_object;
	bool by_process;		/* of a merged trace: a table of processes, and no groups */
	unsigned verdicts;		/* a bit for each enum verdict; 0: all */
	enum color_wish color;
};

/* Questions about single blocks. */
struct options_single {
	char *block_family;		/* the family of group block_entry; NULL: not given */
	unsigned long block_entry;	/* number of a group, of --block-list; 0: not given */
	taddr *block_at;		/* of --block-at */
	size_t nblock_at;
	taddr *who_points_at;
	size_t nwho_points_at;
	enum verdict who_points_at_verdict;	/* of a watch, instead: blocks with it; UNKNOWN: none */
};

/* Several processes, each with a watch of its own (attach/many). */
struct options_many {
	pid_t *pids;			/* of -p */
	size_t npids;
	bool all;			/* all that have the name of -n */
	pid_t tree;			/* it and its descendants; 0: not given */
	const char *cgroup, *unit, *container;	/* NULL: not given */
	bool budget_shared;		/* the budget is for all of them together */
};

struct options {
	enum command command;
	/* Of COMMAND_HELP; NULL: the overview. Else the word of the command line that names the command, or NULL. */
	const char *help_topic;
	pid_t pid;			/* the first of `many`; 0: not given */
	struct options_many many;	/* of watch: several processes */
	/* of COMMAND_GDB: hits, control, memory (keeper/shared/wire.h, gdb.h); the first 0: not given */
	int gdb_fds[3];
	const char *name;		/* NULL: not given */
	char **program;			/* PROGRAM ARG... and NULL; NULL: not given */
	uint64_t duration_ns;		/* 0: until it is ended */
	enum engine engine;		/* how hits are taken */
	bool engine_given;
	uint64_t sample_bytes;		/* one byte in so many is sampled; 0: all calls are recorded */
	uint32_t budget_ppm;		/* the share of time it may be stopped, in millionths; 0: no limit */
	struct options_what what;
	struct options_stacks stacks;
	uint64_t max_stall_ns;
	bool lose_sigtrap;		/* the target's handler of SIGTRAP may be lost */
	bool free_stacks;
	const char *output;		/* -o: the trace; of report, diff and scan, the report; NULL: none */
	struct options_trace trace;
	uint64_t interval_ns;		/* between interim reports, or looks; 0: not given */
	const struct report_format *format;
	const char *report;		/* NULL: stdout */
	const char *metrics;		/* file of gauges, written again and again; NULL: none */
	struct options_shown shown;
	struct options_single single;
	enum verdicts_wish verdicts;
	uint64_t max_pause_ns;		/* 0: not given */
	const char *core, *exe;		/* of scan; NULL: not given */
	struct option_list with_traces;
	int error_exitcode;		/* 0: reported leaks are not an error */
	enum import_kind import;
	enum formats_kind formats;
	/* of report: the trace is still being written; of watch: new processes are watched, too */
	bool follow;
	bool member;			/* this is the watch of one of several processes */
	bool json;			/* of probes */
	struct option_list labels;	/* of merge */
	bool skip_damaged;		/* of merge, and of a report of a folder */
	const char *maps;		/* NULL: none */
	struct option_list files;	/* of report, diff, shrink, merge, import */
	bool quiet, verbose;
	bool no_pager;
	const char *debug;		/* NULL: none */
};

struct usage_error {
	char text[320];		/* what is wrong */
	char hint[320];		/* what to do; "" if the text says it */
};

/*
 * Parse @argv, which must stay valid: @out points into it. 0; -EINVAL with @err filled; -ENOMEM. It looks at
 * nothing but its arguments. Call options_fini in any case.
 */
must_check int options_parse(int argc, char **argv, struct options *out, struct usage_error *err);
void options_fini(struct options *o);

/*
 * The same, and in addition errors, --help and --version are
 * printed, and -q, -v and --debug take effect. true: carry out @out->command (one before COMMAND_HELP).
 * false: exit with @status.
 */
bool options_start(int argc, char **argv, struct options *out, int *status);

#endif
