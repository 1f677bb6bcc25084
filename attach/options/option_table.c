/* SPDX-License-Identifier: MIT */
#include "attach/options/option_table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/option_arg.h"
#include "attach/options/option_blocks.h"
#include "attach/options/option_budget.h"
#include "attach/options/option_engine.h"
#include "attach/options/option_format.h"
#include "attach/options/option_many.h"
#include "attach/options/option_merge.h"
#include "attach/options/option_report.h"
#include "attach/options/option_rules.h"
#include "attach/options/option_scan.h"
#include "base/duration.h"

#define MAX_STALL_LIMIT_NS 2000000000ull	/* after that the keeper gives up anyway */

static int set_name(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "-n: the name is empty");
	if (o->name)
		return usage_refuse(err, "-n is given twice: one process at a time can be watched");
	o->name = arg;
	return 0;
}

static int set_duration(struct options *o, const char *arg, struct usage_error *err)
{
	if (duration_parse(arg, &o->duration_ns)) {
		usage_refuse(err, "-d %s: not a duration", arg);
		return usage_advise(err, "write it as 30s, 10m or 1h30m");
	}
	if (!o->duration_ns) {
		usage_refuse(err, "-d %s: must be longer than 0", arg);
		return usage_advise(err, "without -d the watch lasts until Ctrl-C, SIGTERM or the target's "
					 "end");
	}
	return 0;
}

static int set_sizes(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--sizes", SIZES_VALUES, arg, &which, err);

	if (ret == 0)
		o->what.exact_sizes = which;
	return ret;
}

static int set_stack_bytes(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long n;

	if (!option_number(arg, OPTIONS_STACK_BYTES_MAX, &n))
		return usage_refuse(err, "--stack-bytes %s: must be a number from 0 to %d", arg,
				    OPTIONS_STACK_BYTES_MAX);
	o->stacks.bytes = (unsigned)n;
	return 0;
}

static int set_depth(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long n;

	if (!option_number(arg, OPTIONS_DEPTH, &n) || !n)
		return usage_refuse(err, "--depth %s: must be a number from 1 to %d", arg, OPTIONS_DEPTH);
	o->stacks.depth = (unsigned)n;
	return 0;
}

static int set_unwinder(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--unwinder", UNWINDER_VALUES, arg, &which, err);

	if (ret == 0)
		o->stacks.unwinder = which;
	return ret;
}

static int set_python(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--python", SCRIPT_VALUES, arg, &which, err);

	if (ret == 0)
		o->stacks.python = which == 0;
	return ret;
}

static int set_ruby(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--ruby", SCRIPT_VALUES, arg, &which, err);

	if (ret == 0)
		o->stacks.ruby = which == 0;
	return ret;
}

static int set_max_stall(struct options *o, const char *arg, struct usage_error *err)
{
	if (duration_parse(arg, &o->max_stall_ns) || !o->max_stall_ns || o->max_stall_ns > MAX_STALL_LIMIT_NS) {
		usage_refuse(err, "--max-stall %s: must be a duration of at most 2s", arg);
		return usage_advise(err, "for example --max-stall 100ms");
	}
	return 0;
}

static int set_fds(struct options *o, const char *arg, struct usage_error *err)
{
	int end = 0;

	if (sscanf(arg, "%d,%d,%d%n", &o->gdb_fds[0], &o->gdb_fds[1], &o->gdb_fds[2], &end) != 3 || arg[end] ||
	    o->gdb_fds[0] < 3 || o->gdb_fds[1] < 3 || o->gdb_fds[2] < 3)
		return usage_refuse(err, "--fds %s: must be three numbers of open files", arg);
	return 0;
}

static int set_debug(struct options *o, const char *arg, struct usage_error *err)
{
	(void)err;
	o->debug = arg;
	return 0;
}

static int set_version(struct options *o, const char *arg, struct usage_error *err)
{
	(void)arg;
	(void)err;
	o->command = COMMAND_VERSION;
	return 0;
}

static int set_help(struct options *o, const char *arg, struct usage_error *err)
{
	(void)arg;
	(void)err;
	o->command = COMMAND_HELP;
	return 0;
}

#define FLAG(name) NULL, offsetof(struct options, name)

const struct option_line option_table[] = {
	{ "pid", 'p', "PID,...", FOR_RULES | FOR_SCAN | FOR_TOP, ABOUT_TARGET, option_pid, 0,
	  "the process to watch, or to scan\n"
	  "of a watch: several, as 12,34" },
	{ "name", 'n', "NAME", FOR_TARGET | FOR_SCAN | FOR_TOP, ABOUT_TARGET, set_name, 0,
	  "the same by name\n"
	  "if several processes have it, they are listed, each\n"
	  "with parent, memory and command line, and no more is\n"
	  "done" },
	{ "all", 0, NULL, FOR_WATCH, ABOUT_MANY, FLAG(many.all),
	  "watch all processes with the name of -n" },
	{ "tree", 0, "PID", FOR_WATCH, ABOUT_MANY, option_tree, 0,
	  "watch a process and its descendants" },
	{ "cgroup", 0, "PATH", FOR_WATCH, ABOUT_MANY, option_cgroup, 0,
	  "watch the processes of a cgroup\n"
	  "and of those below it; /system.slice/nginx.service,\n"
	  "as /proc/PID/cgroup shows it" },
	{ "unit", 0, "UNIT", FOR_WATCH, ABOUT_MANY, option_unit, 0,
	  "watch the processes of a unit of systemd\n"
	  "nginx.service, or nginx" },
	{ "container", 0, "ID", FOR_WATCH, ABOUT_MANY, option_container, 0,
	  "watch the processes of a container\n"
	  "of docker, podman, containerd or CRI-O; 12 digits of\n"
	  "its id at least" },
	{ "duration", 'd', "DURATION", FOR_WATCH | FOR_TOP, ABOUT_TARGET, set_duration, 0,
	  "how long to watch: 30s, 10m, 1h30m\n"
	  "without it: until Ctrl-C, SIGTERM or the target's end" },
	{ "engine", 0, "ENGINE", FOR_WATCH, ABOUT_BUDGET, option_engine, 0,
	  "how calls are seen (ptrace)\n"
	  "ptrace: the thread is stopped (if none is given and\n"
	  "that would harm it, uprobe); uprobe: in the kernel,\n"
	  "which costs much less; needs root, or CAP_BPF and\n"
	  "CAP_PERFMON; auto: uprobe if it sees all; the ways of\n"
	  "kernels: uprobe-session, uprobe-multi, uprobe-perf" },
	{ "sample", 0, "SIZE", FOR_WATCH, ABOUT_BUDGET, option_sample, 0,
	  "record one block for each SIZE allocated, by uprobes\n"
	  "512K is usual: for busy services; of any allocator;\n"
	  "numbers are estimates, with intervals of 95 %" },
	{ "budget", 0, "PCT", FOR_WATCH | FOR_TOP, ABOUT_BUDGET, option_budget, 0,
	  "stop the target for at most this share of the time\n"
	  "1% is usual: its threads are stopped for at most that\n"
	  "share of any ten seconds; what leaks is estimated\n"
	  "from samples" },
	{ "budget-of", 0, BUDGET_OF_VALUES, FOR_WATCH, ABOUT_MANY, option_budget_of, 0,
	  "of several processes: whose the budget is (each)\n"
	  "all: each gets a part: it is divided by the number of\n"
	  "those that are watched when it is attached to" },
	{ "family", 0, "NAME,...", FOR_RULES | FOR_REPORT | FOR_DIFF | FOR_TOP, ABOUT_RULES, option_family, 0,
	  "which families, or packs of rules (libc)\n"
	  "`mmattach probes` lists them; of report and diff:\n"
	  "which of the families that were watched to show (all)" },
	{ "growth", 0, NULL, FOR_TARGET | FOR_TOP, ABOUT_RULES, option_growth, 0,
	  "watch only where memory grows: sbrk, mmap, mprotect\n"
	  "and by which stacks; the cost is too small to\n"
	  "measure; a first answer to what fills the heap" },
	{ "probe", 0, "RULE", FOR_RULES | FOR_TOP, ABOUT_RULES, option_probe, 0,
	  "watch a function of your own allocator\n"
	  "'alloc my_alloc size=arg1' or 'free my_free'; may be\n"
	  "given several times" },
	{ "probes", 0, "FILE", FOR_RULES | FOR_TOP, ABOUT_RULES, option_probes, 0,
	  "the same from a file, one rule a line\n"
	  "may be given several times" },
	{ "ref", 0, "REF:UNREF[:argN][:count=+OFF/BYTES][:birth=F,...]", FOR_RULES | FOR_TOP,
	  ABOUT_REFERENCES, option_ref, 0,
	  "watch references: functions to acquire and release\n"
	  "which argument is the object (1), where in the object\n"
	  "its own count is, and which functions return a new\n"
	  "object; may be given several times" },
	{ "in", 0, "FUNC", FOR_RULES | FOR_TOP, ABOUT_SCOPE, option_in, 0,
	  "count only what happens inside calls of FUNC\n"
	  "in the thread that called it; may be given several\n"
	  "times" },
	{ "from", 0, "FUNC", FOR_RULES | FOR_TOP, ABOUT_SCOPE, option_from, 0, "begin to count when FUNC is entered" },
	{ "until", 0, "FUNC", FOR_RULES | FOR_TOP, ABOUT_SCOPE, option_until, 0, "stop counting when FUNC is entered" },
	{ "thread", 0, "TID|NAME", FOR_LIVE | FOR_TOP, ABOUT_SCOPE, option_thread, 0,
	  "count only allocations by this thread\n"
	  "its number, or its name, in which * and ? match any\n"
	  "letters; may be given several times" },
	{ "module", 0, "GLOB", FOR_LIVE | FOR_TOP, ABOUT_SCOPE, option_module, 0,
	  "count only allocations by code of this module\n"
	  "'lib*.so*': that of the caller, behind wrappers; may\n"
	  "be given several times" },
	{ "sizes", 0, SIZES_VALUES, FOR_RULES | FOR_TOP, ABOUT_RULES, set_sizes, 0,
	  "sizes as the allocator rounds them (usable)\n"
	  "exact: as they were requested, which costs one more\n"
	  "stop for each allocation; verdicts ignore what is\n"
	  "behind them" },
	{ "stack-bytes", 0, "N", FOR_LIVE | FOR_TOP, ABOUT_STACKS, set_stack_bytes, 0,
	  "copy at most N bytes of a stack (32768)\n"
	  "0 to 131072; how many are needed is learned for each\n"
	  "thread" },
	{ "depth", 0, "N", FOR_LIVE | FOR_TOP, ABOUT_STACKS, set_depth, 0,
	  "record at most N frames of a stack (256)\n"
	  "1 to 256" },
	{ "unwinder", 0, UNWINDER_VALUES, FOR_LIVE | FOR_TOP, ABOUT_STACKS, set_unwinder, 0,
	  "the stack unwinder (cfi)\n"
	  "cfi: mmattach's own, while the target runs; dwfl and\n"
	  "libunwind: these libraries, while the thread waits,\n"
	  "which is much slower; check: all three, and report\n"
	  "where they differ" },
	{ "python", 0, SCRIPT_VALUES, FOR_LIVE | FOR_TOP, ABOUT_STACKS, set_python, 0,
	  "frames of Python scripts in stacks (auto)\n"
	  "function, file and line, of CPython 3.9 to 3.13; off:\n"
	  "those of the interpreter only" },
	{ "ruby", 0, SCRIPT_VALUES, FOR_LIVE | FOR_TOP, ABOUT_STACKS, set_ruby, 0,
	  "frames of Ruby scripts in stacks (auto)\n"
	  "method, file and line, of Ruby 3.1 and 3.3; off:\n"
	  "those of the interpreter only" },
	{ "free-stacks", 0, NULL, FOR_LIVE | FOR_TOP, ABOUT_STACKS, FLAG(free_stacks),
	  "record the stacks of frees, too\n"
	  "each group shows which code freed its other blocks,\n"
	  "a double free both stacks; each free costs as much as\n"
	  "an allocation" },
	{ "debuginfod", 0, NULL, FOR_LIVE | FOR_REPORT | FOR_DIFF | FOR_IMPORT,
	  ABOUT_STACKS, FLAG(stacks.debuginfod),
	  "ask the servers of DEBUGINFOD_URLS for debug files\n"
	  "after the watch" },
	{ "max-stall", 0, "DURATION", FOR_LIVE | FOR_TOP, ABOUT_BUDGET, set_max_stall, 0,
	  "how long a thread may be held (100ms)\n"
	  "while mmattach cannot keep up; after that, events are\n"
	  "dropped, counted and reported; at most 2s" },
	{ "lose-sigtrap", 0, NULL, FOR_WATCH | FOR_TOP, ABOUT_TARGET, FLAG(lose_sigtrap),
	  "watch a target that handles or ignores SIGTRAP\n"
	  "a trap may reset its handling of SIGTRAP for good, so\n"
	  "ptrace is refused otherwise" },
	{ "output", 'o', "FILE", FOR_LIVE | FOR_FILES | FOR_SCAN | FOR_TOP, ABOUT_TRACE, option_output, 0,
	  "write the trace, or the report, to FILE\n"
	  "of report, diff and scan: the report, instead of to\n"
	  "stdout; of others: the trace, to report from later,\n"
	  "on any machine" },
	{ "rotate", 0, "SIZE", FOR_WATCH | FOR_TOP, ABOUT_TRACE, option_rotate, 0,
	  "begin a new piece of the trace after SIZE: 100M\n"
	  "64K at least" },
	{ "raw", 0, NULL, FOR_LIVE | FOR_IMPORT | FOR_TOP, ABOUT_TRACE, FLAG(trace.raw),
	  "leave the names of functions out of the trace" },
	{ "on-trace-error", 0, ON_TRACE_ERROR_VALUES, FOR_WATCH | FOR_TOP, ABOUT_TRACE, option_on_trace_error, 0,
	  "if the trace cannot be written (go-on)\n"
	  "a disk is full, for example: continue the watch\n"
	  "without it, or end the watch" },
	{ "interval", 0, "DURATION", FOR_WATCH | FOR_REPORT | FOR_TOP, ABOUT_OUTPUT, option_interval, 0,
	  "print an interim report this often\n"
	  "1s at least; of report: with --follow (10s); of top:\n"
	  "show what is new this often (1s), or print it (10s)" },
	{ "follow", 'f', NULL, FOR_WATCH | FOR_REPORT, ABOUT_MANY, FLAG(follow),
	  "watch new processes, too; of report: a growing trace\n"
	  "children of those that are watched, programs that\n"
	  "they exec, new ones of the name or cgroup; if they\n"
	  "live for 200 ms. Of report: wait for the end of a\n"
	  "trace that is being written, with interim reports\n"
	  "(--interval) if the report is text" },
	{ "format", 0, REPORT_FORMAT_ALTERNATIVES, FOR_REPORTS, ABOUT_OUTPUT, option_format, 0,
	  "form of the report (text)" },
	{ "report", 0, "FILE", FOR_WATCH | FOR_SCAN, ABOUT_OUTPUT, option_report_file, 0,
	  "write the report to FILE instead of to stdout" },
	{ "metrics", 0, "FILE", FOR_WATCH | FOR_TOP, ABOUT_OUTPUT, option_metrics, 0,
	  "write metrics (OpenMetrics), anew every 15 s" },
	{ "color", 0, COLOR_VALUES, FOR_REPORTS, ABOUT_OUTPUT, option_color, 0,
	  "colors in the text report (auto)\n"
	  "auto: on a terminal, unless NO_COLOR is set or TERM\n"
	  "is dumb; never in a file" },
	{ "no-pager", 0, NULL, FOR_REPORTS, ABOUT_OUTPUT, FLAG(no_pager),
	  "print the text report to a terminal as it is\n"
	  "otherwise it is shown with MMATTACH_PAGER, PAGER or\n"
	  "less" },
	{ "top", 0, "N", FOR_REPORTS, ABOUT_FILTERS, option_top, 0,
	  "show N groups, some of each part (20); 0: all" },
	{ "older-than", 0, "DURATION", FOR_WATCH | FOR_REPORT | FOR_DIFF, ABOUT_FILTERS, option_older_than, 0,
	  "report only blocks, and objects, at least this old" },
	{ "min-bytes", 0, "SIZE", FOR_REPORTS, ABOUT_FILTERS, option_min_bytes, 0,
	  "report only groups with at least SIZE of live memory" },
	{ "focus", 0, "REGEX", FOR_REPORTS, ABOUT_FILTERS, option_focus, 0,
	  "report only stacks with a frame that matches\n"
	  "by its function, module, source FILE:LINE or\n"
	  "MODULE+0xOFFSET; may be given several times" },
	{ "ignore", 0, "REGEX", FOR_REPORTS, ABOUT_FILTERS, option_ignore, 0,
	  "leave out stacks with a frame that matches\n"
	  "may be given several times" },
	{ "suppressions", 0, "FILE", FOR_REPORTS, ABOUT_FILTERS, option_suppressions, 0,
	  "leave out what the file names\n"
	  "in the form of valgrind or LeakSanitizer; may be\n"
	  "given several times" },
	{ "gen-suppressions", 0, NULL, FOR_WATCH | FOR_REPORT, ABOUT_FILTERS, FLAG(shown.gen_suppressions),
	  "print a suppression for each group after the report\n"
	  "to be put into such a file" },
	{ "wrappers", 0, WRAPPERS_VALUES, FOR_REPORTS, ABOUT_STACKS, option_wrappers, 0,
	  "wrappers at the front of stacks (skip)\n"
	  "functions that only forward an allocation, as\n"
	  "operator new, strdup or xmalloc" },
	{ "per-object", 0, NULL, FOR_WATCH | FOR_REPORT, ABOUT_REFERENCES, FLAG(shown.per_object),
	  "list each object with references after the groups\n"
	  "with the stacks that acquired and released them" },
	{ "block-list", 0, "[FAMILY:]N", FOR_REPORT, ABOUT_BLOCKS, option_block_list, 0,
	  "list each block, or object, of group N\n"
	  "instead of the report; oldest first; 20 of them, or\n"
	  "as many as --top says" },
	{ "block-at", 0, "ADDR,...", FOR_REPORT, ABOUT_BLOCKS, option_block_at, 0,
	  "show in which block each address lies\n"
	  "(hexadecimal), which stack allocated it, and its\n"
	  "group; instead of the report" },
	{ "error-exitcode", 0, "N", FOR_WATCH | FOR_REPORT | FOR_SCAN, ABOUT_OUTPUT, option_error_exitcode, 0,
	  "exit with N if the report has leaks or double frees\n"
	  "leaks: what is lost, what has no verdict, references\n"
	  "too many, with --budget what leaks (not what may);\n"
	  "of scan: what is lost; in a watch also if functions\n"
	  "that allocate could not be watched" },
	{ "verdicts", 0, VERDICTS_VALUES, FOR_LIVE | FOR_SCAN | FOR_TOP, ABOUT_VERDICTS, option_verdicts, 0,
	  "find out at the end which blocks are lost (auto)\n"
	  "the process is stopped once; auto: if that is\n"
	  "expected to last no longer than --max-pause; yes:\n"
	  "however long, and for each --interval, too; no:\n"
	  "never; of scan, auto means yes" },
	{ "max-pause", 0, "DURATION", FOR_WATCH | FOR_SCAN | FOR_TOP, ABOUT_VERDICTS, option_max_pause, 0,
	  "longest pause for verdicts (200ms; of scan: 1s)\n"
	  "if it is expected to last longer, the process is not\n"
	  "stopped, and there are none" },
	{ "core", 0, "FILE", FOR_SCAN, ABOUT_TARGET, option_core, 0,
	  "scan a core file instead of a process" },
	{ "exe", 0, "FILE", FOR_SCAN, ABOUT_TARGET, option_exe, 0,
	  "the program that left the core, if it was moved" },
	{ "who-points-at", 0, "ADDR,...|possible|reachable", FOR_WATCH | FOR_SCAN, ABOUT_BLOCKS,
	  option_who_points_at, 0,
	  "show what points at each address, or at its block\n"
	  "(hexadecimal); of scan: instead of the report; of\n"
	  "watch: after it, as it was when verdicts were made.\n"
	  "possible, reachable (watch only): for the oldest\n"
	  "block of each of the ten largest such groups" },
	{ "show", 0, "VERDICT,...", FOR_WATCH | FOR_REPORT | FOR_SCAN, ABOUT_VERDICTS, option_show, 0,
	  "report only blocks with such a verdict\n"
	  "definite, indirect, possible, reachable" },
	{ "with-trace", 0, "TRACE", FOR_SCAN, ABOUT_TRACE, option_with_trace, 0,
	  "take the stacks of blocks from a trace\n"
	  "of a watch of that process, which saw them allocated;\n"
	  "may be given several times" },
	{ "json", 0, NULL, FOR_PROBES, ABOUT_RULES, FLAG(json),
	  "print the plan of each function as JSON\n"
	  "of a process: with -p or -n" },
	{ "maps", 0, "FILE", FOR_IMPORT, ABOUT_TRACE, option_maps, 0,
	  "the mappings that mmleak saved, to look up names" },
	{ "label", 0, "KEY=VALUE,...", FOR_MERGE, ABOUT_TRACE, option_label, 0,
	  "labels of the processes: host=a1,pod=web-7\n"
	  "a key that a process has already keeps its value; may\n"
	  "be given several times" },
	{ "skip-damaged", 0, NULL, FOR_MERGE | FOR_REPORT | FOR_DIFF, ABOUT_TRACE, FLAG(skip_damaged),
	  "leave out what cannot be read, and say so\n"
	  "of several traces: one that is damaged, or no trace,\n"
	  "becomes a line of the report; otherwise an error" },
	{ "by", 0, BY_VALUES, FOR_REPORT, ABOUT_OUTPUT, option_by, 0,
	  "of a merged trace: what the table is of (group)" },
	{ "fds", 0, "HITS,CONTROL,MEM", FOR_GDB, ABOUT_GENERAL, set_fds, 0,
	  "of `mmattach gdb`: what gdbscripts/mmleak.py passes" },
	{ "quiet", 'q', NULL, FOR_ALL, ABOUT_GENERAL, FLAG(quiet), "print no messages but errors, no progress" },
	{ "verbose", 'v', NULL, FOR_ALL & ~FOR_TOP, ABOUT_GENERAL, FLAG(verbose), "print more messages" },
	{ "debug", 0, "DOMAIN,...", FOR_ALL & ~FOR_TOP, ABOUT_GENERAL, set_debug, 0,
	  "print what happens in these domains" },
	{ "version", 'V', NULL, FOR_ALL, ABOUT_GENERAL, set_version, 0, "print the version" },
	{ "help", 'h', NULL, FOR_ALL, ABOUT_GENERAL, set_help, 0,
	  "print help, of a command if one is given" },
};

_Static_assert(sizeof(option_table) / sizeof(option_table[0]) <= OPTION_LINES_MAX, "options.c");
const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);

/* Options of which some command takes only some of the alternatives. */
static const struct limited {
	const char *name;
	bool (*takes)(enum command command, const char *alternative);
} limited[] = {
	{ "format", option_format_takes }, { "who-points-at", option_who_points_at_takes },
};

static const struct limited *limits_of(const struct option_line *line)
{
	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
		if (!strcmp(limited[i].name, line->name))
			return &limited[i];
	return NULL;
}

const char *option_argument(const struct option_line *line, enum command command,
			    char text[OPTION_ARGUMENT_MAX])
{
	const struct limited *its = limits_of(line);
	size_t n = 0;

	if (!its)
		return line->arg;
	text[0] = '\0';
	for (const char *at = line->arg; *at; at += strspn(at, "|")) {
		const size_t length = strcspn(at, "|");
		char word[OPTION_ARGUMENT_MAX];

		snprintf(word, sizeof(word), "%.*s", (int)length, at);
		if (its->takes(command, word) && n < OPTION_ARGUMENT_MAX)
			n += (size_t)snprintf(text + n, OPTION_ARGUMENT_MAX - n, "%s%s", n ? "|" : "", word);
		at += length;
	}
	return text;
}
