/* SPDX-License-Identifier: MIT */
#include "attach/options/option_scan.h"

#include <errno.h>
#include <string.h>

#include "attach/options/option_arg.h"
#include "attach/options/option_blocks.h"
#include "attach/options/option_format.h"
#include "base/duration.h"
#include "base/verdict.h"

int option_core(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "--core: the file name is empty");
	if (o->core)
		return usage_refuse(err, "--core is given twice: one core at a time can be scanned");
	o->core = arg;
	return 0;
}

int option_exe(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "--exe: the file name is empty");
	o->exe = arg;
	return 0;
}

static enum verdict verdict_called(const char *name, size_t n)
{
	for (enum verdict v = 0; v < VERDICT_COUNT; v++)
		if (strlen(verdict_name(v)) == n && !strncmp(verdict_name(v), name, n))
			return v;
	return VERDICT_COUNT;
}

/* Of the verdicts from @first on. */
static int suggest_verdict(const char *word, size_t n, enum verdict first, struct usage_error *err)
{
	struct nearest near = nearest_to(word, n);

	for (enum verdict v = first; v < VERDICT_COUNT; v++)
		nearest_try(&near, verdict_name(v), strlen(verdict_name(v)));
	return usage_suggest(err, "", &near);
}

int option_who_points_at(struct options *o, const char *arg, struct usage_error *err)
{
	const enum verdict v = verdict_called(arg, strlen(arg));
	int ret;

	if (v == VERDICT_POSSIBLE || v == VERDICT_REACHABLE) {
		o->single.who_points_at_verdict = v;
		return 0;
	}
	ret = option_addresses("--who-points-at", &o->single.who_points_at, &o->single.nwho_points_at, arg,
			       err);
	if (ret == -EINVAL)
		usage_advise(err, "write addresses in hexadecimal: 0x7f12a4003010, several with commas between "
				  "them; or a verdict: possible, reachable");
	return ret == -EINVAL ? suggest_verdict(arg, strlen(arg), VERDICT_POSSIBLE, err) : ret;
}

/* Only a watch knows the stacks of the blocks of a verdict. */
bool option_who_points_at_takes(enum command command, const char *alternative)
{
	return command != COMMAND_SCAN || verdict_called(alternative, strlen(alternative)) == VERDICT_COUNT;
}

int option_verdicts(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--verdicts", VERDICTS_VALUES, arg, &which, err);

	if (ret == 0)
		o->verdicts = which;
	return ret;
}

int option_max_pause(struct options *o, const char *arg, struct usage_error *err)
{
	if (duration_parse(arg, &o->max_pause_ns) || !o->max_pause_ns) {
		usage_refuse(err, "--max-pause %s: must be a duration, and not 0", arg);
		return usage_advise(err, "for example --max-pause 200ms");
	}
	return 0;
}

int option_with_trace(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "--with-trace: the file name is empty");
	return option_add(&o->with_traces, arg);
}

/* --- --show --- */

int option_show(struct options *o, const char *arg, struct usage_error *err)
{
	for (const char *at = arg;; at++) {
		size_t n = strcspn(at, ",");
		enum verdict v = verdict_called(at, n);

		if (v == VERDICT_COUNT || v == VERDICT_UNKNOWN) {
			usage_refuse(err, "--show %.*s: not a verdict", (int)n, at);
			usage_advise(err, "verdicts are definite, indirect, possible and reachable: --show "
					  "definite,possible");
			return suggest_verdict(at, n, VERDICT_DEFINITE, err);
		}
		o->shown.verdicts |= 1u << v;
		at += n;
		if (!*at)
			return 0;
	}
}

/* --- combinations --- */

static int check_what(const struct options *o, struct usage_error *err)
{
	if (o->program)
		return usage_refuse(err, "scan is for a running process or a core file: mmattach scan -p "
					 "PID");
	if (!o->pid && !o->name && !o->core) {
		usage_refuse(err, "nothing to scan");
		return usage_advise(err, "name a process or a core file: mmattach scan -p PID, -n NAME, or "
					 "--core FILE");
	}
	if (o->core && (o->pid || o->name))
		return usage_refuse(err, "%s and --core: only one process or core file can be scanned",
				    o->pid ? "-p" : "-n");
	if (o->exe && !o->core)
		return usage_refuse(err, "--exe goes with --core: the program of a running process is known");
	if (o->core && o->max_pause_ns)
		return usage_refuse(err, "--max-pause and --core: no process is stopped to scan a core file");
	return 0;
}

static int check_pointers(const struct options *o, struct usage_error *err)
{
	const bool asked = o->single.nwho_points_at || o->single.who_points_at_verdict != VERDICT_UNKNOWN;

	if (!asked)
		return 0;
	if (o->command == COMMAND_SCAN && o->single.who_points_at_verdict != VERDICT_UNKNOWN) {
		usage_refuse(err, "--who-points-at %s: only a watch knows the stacks of such blocks",
			     verdict_name(o->single.who_points_at_verdict));
		return usage_advise(err,
				    "--show %s lists such blocks; --who-points-at ADDR is for one of them",
				    verdict_name(o->single.who_points_at_verdict));
	}
	if (o->command == COMMAND_WATCH &&
	    option_format_check_can(o, report_format_for_people, "--who-points-at of a watch", err))
		return -EINVAL;
	if (o->command == COMMAND_WATCH && o->verdicts == VERDICTS_NO)
		return usage_refuse(err, "--who-points-at needs the memory that is copied for verdicts, and "
					 "with --verdicts no none is copied");
	if (o->command == COMMAND_WATCH && o->budget_ppm)
		return usage_refuse(err, "--who-points-at needs the memory that is copied for verdicts, and "
					 "with --budget only the tracked blocks are looked for in it");
	return 0;
}

/* In a watch, --error-exitcode depends on what is reported, whatever its verdict. */
static int check_verdicts(const struct options *o, struct usage_error *err)
{
	if (o->verdicts != VERDICTS_NO ||
	    (!o->shown.verdicts && (!o->error_exitcode || o->command != COMMAND_SCAN)))
		return 0;
	return usage_refuse(err, "%s needs verdicts, and with --verdicts no there are none",
			    o->shown.verdicts ? "--show" : "--error-exitcode");
}

static int check_form(const struct options *o, struct usage_error *err)
{
	if (option_format_check(o, err))
		return -EINVAL;
	if (o->report && o->output)
		return usage_refuse(err, "-o and --report are the same for scan: give one of them");
	return o->single.nwho_points_at ?
		       option_format_check_can(o, report_format_has_singles, "--who-points-at", err) : 0;
}

int option_scan_check(const struct options *o, struct usage_error *err)
{
	int ret = check_verdicts(o, err);

	if (ret == 0)
		ret = check_pointers(o, err);
	if (ret || o->command != COMMAND_SCAN)
		return ret;
	ret = check_what(o, err);
	return ret ? ret : check_form(o, err);
}
