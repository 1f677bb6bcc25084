/* SPDX-License-Identifier: MIT */
#include "attach/options/option_table.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/option_arg.h"
#include "attach/options/option_blocks.h"
#include "attach/options/option_budget.h"
#include "attach/options/option_format.h"
#include "attach/options/option_report.h"
#include "attach/options/option_rules.h"
#include "attach/options/option_scan.h"
#include "base/duration.h"

#define MAX_STALL_LIMIT_NS 2000000000ull	/* after that the keeper gives up anyway */

/* "1,2", or the output of pgrep. */
static bool is_list_of_numbers(const char *arg)
{
	const size_t first = strspn(arg, "0123456789"), between = strspn(arg + first, ", \n");

	return first && between && isdigit((unsigned char)arg[first + between]) &&
	       !arg[strspn(arg, "0123456789, \n")];
}

static int set_pid(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long pid;

	if (!option_number(arg, INT_MAX, &pid) || !pid) {
		usage_refuse(err, "-p %s: not a process id", arg);
		if (is_list_of_numbers(arg))
			return usage_advise(
				err, "one process at a time can be watched: run mmattach -p once for each");
		return usage_advise(
			err, "a process id is a number, as `ps -e` shows it; to choose by name: -n %s", arg);
	}
	if (o->pid && o->pid != (pid_t)pid)
		return usage_refuse(
			err,
			"-p is given twice: one process at a time can be watched; run mmattach -p once for each");
	o->pid = (pid_t)pid;
	return 0;
}

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
		usage_refuse(err, "-d %s: nothing can be seen in no time", arg);
		return usage_advise(err, "without -d it watches until Ctrl-C, SIGTERM, or the target's end");
	}
	return 0;
}

static int set_sizes(struct options *o, const char *arg, struct usage_error *err)
{
	if (!strcmp(arg, "exact"))
		o->what.exact_sizes = true;
	else if (!strcmp(arg, "usable"))
		o->what.exact_sizes = false;
	else
		return usage_refuse(err, "--sizes %s: it is either usable or exact", arg);
	return 0;
}

static int set_stack_bytes(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long n;

	if (!option_number(arg, OPTIONS_STACK_BYTES_MAX, &n))
		return usage_refuse(err, "--stack-bytes %s: it is a number from 0 to %d", arg,
				    OPTIONS_STACK_BYTES_MAX);
	o->stacks.bytes = (unsigned)n;
	return 0;
}

static int set_depth(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long n;

	if (!option_number(arg, OPTIONS_DEPTH, &n) || !n)
		return usage_refuse(err, "--depth %s: it is a number from 1 to %d", arg, OPTIONS_DEPTH);
	o->stacks.depth = (unsigned)n;
	return 0;
}

static int set_unwinder(struct options *o, const char *arg, struct usage_error *err)
{
	static const char *const names[] = {
		[UNWINDER_CFI] = "cfi", [UNWINDER_DWFL] = "dwfl", [UNWINDER_LIBUNWIND] = "libunwind",
		[UNWINDER_CHECK] = "check",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(arg, names[i])) {
			o->stacks.unwinder = i;
			return 0;
		}
	}
	return usage_refuse(err, "--unwinder %s: it is cfi, dwfl, libunwind or check", arg);
}

static int set_max_stall(struct options *o, const char *arg, struct usage_error *err)
{
	if (duration_parse(arg, &o->max_stall_ns) || !o->max_stall_ns || o->max_stall_ns > MAX_STALL_LIMIT_NS) {
		usage_refuse(err, "--max-stall %s: it is a duration of at most 2s", arg);
		return usage_advise(err, "for example --max-stall 100ms");
	}
	return 0;
}

static int set_fds(struct options *o, const char *arg, struct usage_error *err)
{
	int end = 0;

	if (sscanf(arg, "%d,%d,%d%n", &o->gdb_fds[0], &o->gdb_fds[1], &o->gdb_fds[2], &end) != 3 ||
	    arg[end] || o->gdb_fds[0] < 3 || o->gdb_fds[1] < 3 || o->gdb_fds[2] < 3)
		return usage_refuse(err, "--fds %s: it is three numbers of open files", arg);
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
	o->help_about = o->command;
	o->command = COMMAND_HELP;
	return 0;
}

#define FLAG(name) NULL, offsetof(struct options, name)

const struct option_line option_table[] = {
	{ "pid", 'p', "PID", FOR_RULES | FOR_SCAN, set_pid, 0, "the process to watch, or to scan" },
	{ "name", 'n', "NAME", FOR_TARGET | FOR_SCAN, set_name, 0,
	  "the same by name; if several have it, they are listed" },
	{ "duration", 'd', "DURATION", FOR_WATCH, set_duration, 0,
	  "how long: 30s, 10m, 1h30m; without it: until Ctrl-C,\nSIGTERM, or the target's end" },
	{ "budget", 0, "PCT", FOR_WATCH, option_budget, 0,
	  "cost the target no more than that (1%): threads of it stand\nstill for us for at most such a share of any ten seconds;\n"
	  "what leaks is then estimated from samples" },
	{ "family", 0, "NAME,...", FOR_RULES | FOR_REPORT | FOR_DIFF, option_family, 0,
	  "what to watch: families or packs of rules, as `mmattach\nprobes` lists them (default libc); for report and diff:\n"
	  "which families to show (default all that were watched)" },
	{ "growth", 0, NULL, FOR_TARGET, option_growth, 0,
	  "watch only where memory grows (sbrk, mmap, mprotect, ...) and\nwho was at it: a cost that cannot be measured, and a first\n"
	  "answer to what fills the heap" },
	{ "probe", 0, "RULE", FOR_RULES, option_probe, 0,
	  "watch a function, e.g. 'alloc my_alloc size=arg1' or\n'free my_free'; may be given again" },
	{ "probes", 0, "FILE", FOR_RULES, option_probes, 0,
	  "the same from a file, a rule a line; may be given again" },
	{ "ref", 0, "REF:UNREF[:argN][:count=+OFF/BYTES][:birth=F,...]", FOR_RULES, option_ref, 0,
	  "watch references: functions that take and drop one; which\nargument the object is (1), where in it its own count lies,\n"
	  "and which functions return a new one; may be given again" },
	{ "in", 0, "FUNC", FOR_RULES, option_in, 0, "count only what happens inside FUNC; may be given again" },
	{ "from", 0, "FUNC", FOR_RULES, option_from, 0, "begin to count when FUNC is entered" },
	{ "until", 0, "FUNC", FOR_RULES, option_until, 0, "stop counting when FUNC is entered" },
	{ "thread", 0, "TID|NAME", FOR_LIVE, option_thread, 0,
	  "count only what threads of this number or name take (* and ?\nin a name); may be given again" },
	{ "module", 0, "GLOB", FOR_LIVE, option_module, 0,
	  "count only what code of such a module takes ('lib*.so*'):\nthe caller's, behind wrappers; may be given again" },
	{ "sizes", 0, "usable|exact", FOR_RULES, set_sizes, 0,
	  "sizes as the allocator keeps them (default), or as they\nwere asked for (one more stop for each allocation)" },
	{ "stack-bytes", 0, "N", FOR_LIVE, set_stack_bytes, 0,
	  "the most that is copied of a stack, 0 to 131072 (default\n32768); how much is needed is learned for each thread" },
	{ "depth", 0, "N", FOR_LIVE, set_depth, 0, "frames of a stack that are kept, 1 to 256 (default 256)" },
	{ "unwinder", 0, "cfi|dwfl|libunwind|check", FOR_LIVE, set_unwinder, 0,
	  "stack unwinder: cfi (the default; ours, while the target\nruns), libdwfl or libunwind (while the thread waits)\n"
	  "(much slower); check: all three, and say where they differ" },
	{ "free-stacks", 0, NULL, FOR_LIVE, FLAG(free_stacks),
	  "record the stacks of frees, too: of a double free both are\nshown (each free costs as much as an allocation)" },
	{ "debuginfod", 0, NULL, FOR_LIVE | FOR_REPORT | FOR_DIFF | FOR_IMPORT, FLAG(stacks.debuginfod),
	  "ask the debuginfod servers of DEBUGINFOD_URLS for debug files,\nafter the watch" },
	{ "max-stall", 0, "DURATION", FOR_LIVE, set_max_stall, 0,
	  "how long the target may be held while we cannot keep up\n(default 100ms); then events are dropped and counted" },
	{ "lose-sigtrap", 0, NULL, FOR_WATCH, FLAG(lose_sigtrap),
	  "watch a target even if it loses its handling of SIGTRAP\nby that (it is refused otherwise)" },
	{ "output", 'o', "FILE", FOR_LIVE | FOR_FILES | FOR_SCAN, option_output, 0,
	  "save a trace of the watch, to report from later, elsewhere;\nfor report, diff and scan: write there instead of to stdout" },
	{ "rotate", 0, "SIZE", FOR_WATCH, option_rotate, 0,
	  "begin a new piece of the trace when one has reached SIZE (100M)" },
	{ "raw", 0, NULL, FOR_LIVE | FOR_IMPORT, FLAG(trace.raw),
	  "leave the names of functions out of the trace" },
	{ "on-trace-error", 0, "go-on|end", FOR_WATCH, option_on_trace_error, 0,
	  "when the trace cannot be written (disk full): watch on\nwithout it (default), or end the watch" },
	{ "interval", 0, "DURATION", FOR_WATCH, option_interval, 0, "an interim report every so often" },
	{ "format", 0, REPORT_FORMAT_ALTERNATIVES, FOR_REPORTS, option_format, 0,
	  "form of the report (default text)" },
	{ "report", 0, "FILE", FOR_WATCH | FOR_SCAN, option_report_file, 0,
	  "write the report there instead of to stdout" },
	{ "color", 0, "auto|always|never", FOR_REPORTS, option_color, 0,
	  "colors in the text report (default auto: on a terminal,\n"
	  "unless NO_COLOR is set or TERM is dumb); never in a file" },
	{ "top", 0, "N", FOR_REPORTS, option_top, 0, "show the N largest groups (default 20; 0: all)" },
	{ "older-than", 0, "DURATION", FOR_WATCH | FOR_REPORT | FOR_DIFF, option_older_than, 0,
	  "report only blocks, and objects, of that age at least" },
	{ "min-bytes", 0, "SIZE", FOR_REPORTS, option_min_bytes, 0,
	  "report only groups that keep so much memory" },
	{ "focus", 0, "REGEX", FOR_REPORTS, option_focus, 0,
	  "report only stacks with a frame whose function, module or\nsource file matches; may be given again" },
	{ "ignore", 0, "REGEX", FOR_REPORTS, option_ignore, 0,
	  "leave out stacks with such a frame; may be given again" },
	{ "suppressions", 0, "FILE", FOR_REPORTS, option_suppressions, 0,
	  "leave out what the file names, in valgrind's or\nLeakSanitizer's form; may be given again" },
	{ "gen-suppressions", 0, NULL, FOR_WATCH | FOR_REPORT, FLAG(shown.gen_suppressions),
	  "print an entry for each group behind the report, to be\nkept in such a file" },
	{ "wrappers", 0, "skip|show", FOR_REPORTS, option_wrappers, 0,
	  "functions that only pass an allocation on (operator new,\nstrdup, xmalloc) at the front of stacks (default skip)" },
	{ "per-object", 0, NULL, FOR_WATCH | FOR_REPORT, FLAG(shown.per_object),
	  "of objects with references: list each one behind the groups,\nwith the stacks that acquired and released it" },
	{ "block-list", 0, "[FAMILY:]N", FOR_REPORT, option_block_list, 0,
	  "instead of the report, list each block (or object) of its\nentry N, oldest first; --top 0 for more than 20" },
	{ "block-at", 0, "ADDR,...", FOR_REPORT, option_block_at, 0,
	  "instead of the report, say in which block each address lies\n(hexadecimal), which stack allocated it, and its group" },
	{ "error-exitcode", 0, "N", FOR_WATCH | FOR_REPORT | FOR_SCAN, option_error_exitcode, 0,
	  "exit with N if anything is reported; of scan: if\nanything is lost" },
	{ "verdicts", 0, "auto|yes|no", FOR_LIVE | FOR_SCAN, option_verdicts, 0,
	  "find out at the end which blocks are lost, for which the\nprocess is stopped once (default auto: if it stands still for\n"
	  "no longer than --max-pause); yes: at any length, and at each\n--interval too; of scan: default yes" },
	{ "max-pause", 0, "DURATION", FOR_WATCH | FOR_SCAN, option_max_pause, 0,
	  "do not stop the process for verdicts if it is expected to\nstand still for longer (default 200ms; of scan: 1s)" },
	{ "core", 0, "FILE", FOR_SCAN, option_core, 0, "scan a core file instead of a process" },
	{ "exe", 0, "FILE", FOR_SCAN, option_exe, 0,
	  "the program that left the core, if it is not where it was" },
	{ "who-points-at", 0, "ADDR,...|VERDICT", FOR_WATCH | FOR_SCAN, option_who_points_at, 0,
	  "instead of the report of a scan, what points at each address,\nor at the block in which it lies (hexadecimal); of a watch,\n"
	  "behind its report, as it was when verdicts were made: also of\nblocks with the verdict possible or reachable, one a stack" },
	{ "show", 0, "VERDICT,...", FOR_WATCH | FOR_REPORT | FOR_SCAN, option_show, 0,
	  "report only blocks with such a verdict: definite,\nindirect, possible, reachable" },
	{ "with-trace", 0, "TRACE", FOR_SCAN, option_with_trace, 0,
	  "the trace of a watch of that process: blocks that it saw\nbeing taken get their stacks; may be given again" },
	{ "json", 0, NULL, FOR_PROBES, FLAG(json), "of a process: the plan of each function as JSON" },
	{ "maps", 0, "FILE", FOR_IMPORT, option_maps, 0,
	  "what was mapped where, as mmleak saved it: for names" },
	{ "fds", 0, "HITS,CONTROL,MEM", FOR_GDB, set_fds, 0,
	  "of `mmattach gdb`: what gdbscripts/mmleak.py hands over" },
	{ "quiet", 'q', NULL, FOR_ALL, FLAG(quiet), "no messages but errors" },
	{ "verbose", 'v', NULL, FOR_ALL, FLAG(verbose), "more messages" },
	{ "debug", 0, "DOMAIN,...", FOR_ALL, set_debug, 0,
	  "print what happens inside; domains are listed below" },
	{ "version", 'V', NULL, FOR_ALL, set_version, 0, "print the version" },
	{ "help", 'h', NULL, FOR_ALL, set_help, 0, "print this" },
};

_Static_assert(sizeof(option_table) / sizeof(option_table[0]) <= 64,
	       "which lines were given is a bit each of a uint64_t (options_check.h)");
const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);
