/* SPDX-License-Identifier: MIT */
#include "attach/options/options_check.h"

#include <errno.h>
#include <string.h>

#include "attach/options/option_arg.h"
#include "attach/options/option_budget.h"
#include "attach/options/option_engine.h"
#include "attach/options/option_format.h"
#include "attach/options/option_many.h"
#include "attach/options/option_merge.h"
#include "attach/options/option_scan.h"
#include "attach/options/option_table.h"

const char *options_command_name(enum command c)
{
	static const char *const names[] = {
		[COMMAND_WATCH] = "watch", [COMMAND_PROBES] = "probes", [COMMAND_REPAIR] = "repair",
		[COMMAND_REPORT] = "report", [COMMAND_DIFF] = "diff", [COMMAND_SHRINK] = "shrink",
		[COMMAND_MERGE] = "merge", [COMMAND_IMPORT] = "import",
		[COMMAND_SCAN] = "scan", [COMMAND_TOP] = "top", [COMMAND_FORMATS] = "formats", [COMMAND_GDB] = "gdb",
	};

	return names[c];
}

bool command_takes_files(enum command c)
{
	return c == COMMAND_REPORT || c == COMMAND_DIFF || c == COMMAND_SHRINK || c == COMMAND_MERGE ||
	       c == COMMAND_IMPORT || c == COMMAND_TOP;
}

static void refuse_option(const struct options *o, const struct option_line *line, struct usage_error *err)
{
	cleanup_strbuf struct strbuf others = STRBUF_INIT;

	for (enum command c = 0; c < COMMAND_HELP; c++)
		if (line->commands >> c & 1)
			strbuf_printf(&others, "%s%s", others.len ? ", " : "", options_command_name(c));
	usage_refuse(err, "--%s is no option of %s", line->name, options_command_name(o->command));
	if (o->command == COMMAND_REPAIR && o->pid)
		usage_advise(err, "mmattach repair %d", (int)o->pid);
	else
		usage_advise(err, "it is one of %s; `mmattach help %s` lists the options of %s",
			     strbuf_str(&others), options_command_name(o->command),
			     options_command_name(o->command));
}

/* `mmattach top TRACE` watches nothing. */
static bool is_for_watch_only(const struct option_line *line)
{
	return line->commands & FOR_WATCH && line->commands != FOR_ALL && strcmp(line->name, "interval") != 0;
}

static int check_watched(const struct options *o, const bool *used, struct usage_error *err)
{
	for (size_t i = 0; i < option_count && o->command == COMMAND_TOP && o->files.n; i++) {
		if (!used[i] || !is_for_watch_only(&option_table[i]) || o->pid || o->name)
			continue;
		usage_refuse(err, "--%s: a trace is shown, and nothing is watched", option_table[i].name);
		return usage_advise(err, "it is for a watch: mmattach top -p PID");
	}
	return 0;
}

static int check_follow(const struct options *o, struct usage_error *err)
{
	if (o->command != COMMAND_REPORT)
		return 0;
	if (o->interval_ns && !o->follow) {
		usage_refuse(err, "--interval: a trace that is complete has one report");
		return usage_advise(err, "of a trace that is still being written: --follow");
	}
	if (o->follow && o->files.n > 1) {
		usage_refuse(err, "--follow: one trace can be followed");
		return usage_advise(err, "name the first piece; later ones are found");
	}
	if (o->follow && (o->single.block_entry || o->single.nblock_at))
		return usage_refuse(err, "--follow and %s: one is for a trace that grows, the other for single "
				    "blocks at its end", o->single.block_entry ? "--block-list" : "--block-at");
	return 0;
}

/* Options that do not apply to the command are refused rather than ignored. */
static int check_used(const struct options *o, const bool *used, struct usage_error *err)
{
	for (size_t i = 0; i < option_count; i++) {
		if (!used[i] || (option_table[i].commands >> o->command & 1))
			continue;
		refuse_option(o, &option_table[i], err);
		return -EINVAL;
	}
	return 0;
}

static int check_target(const struct options *o, struct usage_error *err)
{
	int given = !!o->pid + !!o->name + !!o->program + option_many_groups(o);

	if (given > 1 && option_many_groups(o))
		return usage_refuse(err, "--tree, --cgroup, --unit, --container, -p, -n and --: only one of them");
	if (given > 1 && !(o->command == COMMAND_SCAN && o->program)) {
		usage_refuse(err, "%s: only one process can be watched",
		       !o->program ? "-p and -n" : o->pid ? "-p and --" : "-n and --");
		return usage_advise(
			err,
			"either a running process (-p PID or -n NAME), or a program to start (-- PROGRAM)");
	}
	if (o->command == COMMAND_PROBES && o->program)
		return usage_refuse(err, "probes is for a running process: mmattach probes -p PID");
	if (o->command == COMMAND_PROBES && o->json && !given)
		return usage_refuse(err, "--json needs a process: mmattach probes --json -p PID");
	if (o->command == COMMAND_GDB && (!o->pid || !o->gdb_fds[0])) {
		usage_refuse(err, "mmattach gdb is started by gdbscripts/mmleak.py");
		return usage_advise(err, "in gdb: source gdbscripts/mmleak.py, then mmleak start");
	}
	if (o->command == COMMAND_REPAIR && o->program)
		return usage_refuse(err, "repair is for a running process: mmattach repair PID");
	if (o->command == COMMAND_REPAIR && !o->pid) {
		usage_refuse(err, "repair needs the id of a process");
		return usage_advise(err, "mmattach repair PID");
	}
	if (o->command == COMMAND_WATCH && !given) {
		usage_refuse(err, "nothing to watch");
		return usage_advise(err, "name a process or a program: -p PID, -n NAME, or -- PROGRAM "
					 "ARG...");
	}
	return 0;
}

static int check_trace(const struct options *o, struct usage_error *err)
{
	if ((o->command == COMMAND_WATCH || (o->command == COMMAND_TOP && !o->files.n)) && !o->output &&
	    (o->trace.rotate_bytes || o->trace.raw || o->trace.end_on_error)) {
		usage_refuse(err, "%s: no trace is written",
			     o->trace.rotate_bytes ? "--rotate"
			     : o->trace.raw	   ? "--raw"
						   : "--on-trace-error");
		return usage_advise(err, "-o FILE saves one");
	}
	if (o->command == COMMAND_WATCH && o->output && o->report && !strcmp(o->output, o->report))
		return usage_refuse(
			err, "-o and --report name the same file: one is the trace, the other the report");
	return 0;
}

static int check_top(const struct options *o, struct usage_error *err)
{
	if (o->files.n > 1 || (o->files.n && (o->pid || o->name)))
		return usage_refuse(err, "top shows one trace, or one process");
	if (o->files.n || o->pid || o->name)
		return 0;
	usage_refuse(err, "nothing to show");
	return usage_advise(err, "mmattach top TRACE, or -p PID or -n NAME");
}

static int check_files(const struct options *o, struct usage_error *err)
{
	if (!command_takes_files(o->command))
		return 0;
	if (o->command == COMMAND_IMPORT && !o->import) {
		usage_refuse(err, "import needs a kind: mmleak or mtrace");
		return usage_advise(err, "mmattach import mmleak|mtrace FILE... [--maps FILE] -o OUT");
	}
	if (o->command == COMMAND_IMPORT && o->import == IMPORT_MTRACE && o->maps)
		return usage_refuse(err, "--maps is no option of import mtrace, whose lines name the files");
	if (o->command == COMMAND_DIFF && o->files.n != 2) {
		usage_refuse(err, "diff compares two traces, but %zu %s given", o->files.n,
			     o->files.n == 1 ? "is" : "are");
		return usage_advise(err, "mmattach diff OLD NEW; mmattach shrink joins the pieces of one "
					 "watch");
	}
	if (o->command == COMMAND_TOP)
		return check_top(o, err);
	if (!o->files.n) {
		usage_refuse(err, "%s needs the name of a file", options_command_name(o->command));
		return usage_advise(err, "mmattach %s%s FILE...%s", options_command_name(o->command),
				    o->import == IMPORT_MMLEAK	 ? " mmleak"
				    : o->import == IMPORT_MTRACE ? " mtrace"
								 : "",
				    o->command == COMMAND_REPORT ? "" : " -o OUT");
	}
	if ((o->command == COMMAND_SHRINK || o->command == COMMAND_MERGE || o->command == COMMAND_IMPORT) &&
	    !o->output) {
		usage_refuse(err, "%s needs the name of the file to write", options_command_name(o->command));
		return usage_advise(err, "-o OUT.mmt");
	}
	return 0;
}

static int check_report(const struct options *o, struct usage_error *err)
{
	if (o->command != COMMAND_SCAN && option_format_check(o, err))
		return -EINVAL;
	if (o->shown.older_than_ns && o->format->has_freed && o->command != COMMAND_DIFF)
		return usage_refuse(err, "--older-than: --format %s has all that was allocated, of any age",
				    o->format->name);
	if (o->shown.gen_suppressions &&
	    option_format_check_can(o, report_format_for_people, "--gen-suppressions", err))
		return -EINVAL;
	return o->shown.per_object ? option_format_check_can(o, report_format_has_singles, "--per-object", err)
				   : 0;
}

/* Their answer replaces the text report, and is part of the JSON report. */
static int check_blocks(const struct options *o, struct usage_error *err)
{
	const char *option = o->single.block_entry ? "--block-list" : "--block-at";

	if (!o->single.block_entry && !o->single.nblock_at)
		return 0;
	if (option_format_check_can(o, report_format_has_singles, option, err))
		return -EINVAL;
	if (o->shown.gen_suppressions)
		return usage_refuse(err,
				    "%s and --gen-suppressions: one is for single blocks, the other for the "
				    "whole report",
				    option);
	if (o->shown.per_object && o->format->for_people)
		return usage_refuse(err,
				    "%s and --per-object: one is for single blocks, the other for the whole "
				    "report",
				    option);
	return 0;
}

static int check_verdicts(const struct options *o, struct usage_error *err)
{
	if (o->command == COMMAND_GDB && o->verdicts == VERDICTS_YES) {
		usage_refuse(err, "--verdicts yes: " VERDICTS_UNDER_GDB);
		return usage_advise(err, "mmleak hand-over passes the watch to mmattach itself; or save a "
					 "core and scan it: "
					 "generate-core-file, mmattach scan --core FILE");
	}
	if (o->command != COMMAND_SCAN && o->verdicts == VERDICTS_NO && o->max_pause_ns)
		return usage_refuse(err, "--max-pause and --verdicts no: without verdicts the process is not "
					 "paused");
	return 0;
}

/* Options that would need many more traps, or would have no effect. */
static const char *against_growth(const struct options *o)
{
	if (o->what.families.n > 1 || o->what.probes.len || o->what.probe_files.n || o->what.rules.len)
		return "--growth watches only where memory grows, and no other rules";
	if (o->verdicts == VERDICTS_YES || o->max_pause_ns)
		return "--growth has no verdicts: ranges of memory are no blocks";
	if (o->what.exact_sizes)
		return "--growth and --sizes exact: sizes of ranges are exact already";
	if (o->free_stacks)
		return "--growth and --free-stacks: stacks that return memory are not recorded";
	return o->shown.per_object ? "--growth and --per-object: no references are counted" : NULL;
}

static int check_growth(const struct options *o, struct usage_error *err)
{
	const char *why = o->what.growth ? against_growth(o) : NULL;

	if (!why)
		return 0;
	usage_refuse(err, "%s", why);
	return usage_advise(err, "together with others: --family libc,growth");
}

int options_check(const struct options *o, const bool *used, struct usage_error *err)
{
	int ret = check_used(o, used, err);

	if (ret == 0)
		ret = check_watched(o, used, err);
	if (ret == 0)
		ret = option_many_check(o, err);
	if (ret == 0)
		ret = check_target(o, err);
	if (ret == 0)
		ret = check_trace(o, err);
	if (ret == 0)
		ret = check_files(o, err);
	if (ret == 0)
		ret = check_follow(o, err);
	if (ret == 0)
		ret = check_report(o, err);
	if (ret == 0)
		ret = check_blocks(o, err);
	if (ret == 0)
		ret = check_verdicts(o, err);
	if (ret == 0)
		ret = check_growth(o, err);
	if (ret == 0)
		ret = option_budget_check(o, err);
	if (ret == 0)
		ret = option_engine_check(o, err);
	if (ret == 0)
		ret = option_scan_check(o, err);
	if (ret == 0)
		ret = option_merge_check(o, err);
	if (ret == 0 && o->quiet && o->verbose)
		ret = usage_refuse(err, "-q and -v contradict each other");
	return ret;
}
