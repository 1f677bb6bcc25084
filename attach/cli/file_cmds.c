/* SPDX-License-Identifier: MIT */
#include "attach/cli/file_cmds.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "attach/reporting/reporting.h"
#include "attach/reporting/trace_report.h"
#include "attach/reporting/tracenames.h"
#include "base/log.h"
#include "report/diff/diff.h"
#include "report/import/import.h"
#include "report/merge/merge.h"
#include "report/merge/merge_folder.h"
#include "report/tracefiles/follow.h"
#include "report/tracefiles/replay.h"
#include "report/tracefiles/shrink.h"

static int read_traces(const char *const *paths, size_t n, bool keep_orphans, struct ledger *l)
{
	const struct replay_options replay = { .keep_orphans = keep_orphans };

	return replay_files(paths, n, &replay, l);
}

/* --- report --- */

static int follow_cmd(const struct options *opt)
{
	struct follow f;
	int r = follow_open(&f, opt->files.all[0]), status = 1;

	if (r < 0)
		log_error_errno(r, "cannot begin");
	else if (trace_report_follow(opt, &f) == 0)
		status = trace_report_followed(opt, &f);
	follow_close(&f);
	return status;
}

static int report_cmd(const struct options *opt)
{
	return opt->follow ? follow_cmd(opt) : trace_report(opt, opt->files.all, opt->files.n);
}

/* --- diff --- */

static int print_diff(const struct options *opt, struct reporting *reporting, const struct diff *d)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	int r = opt->format->diff(d, opt->shown.top, &sb);

	if (r == 0)
		return reporting_print_text(reporting, strbuf_str(&sb), sb.len);
	log_error_errno(r, "cannot make the report");
	return r;
}

/* A sampled run tracks few blocks of a stack, however many are live: its sums cannot be compared. */
static int refuse_sampled(const struct options *opt, const struct summary *old, const struct summary *new)
{
	const bool first = summary_is_sampled(&old->run);

	if (!first && !summary_is_sampled(&new->run))
		return 0;
	log_error("cannot compare %s: it is of a sampled run (--budget), which has only some of the "
		  "live blocks", opt->files.all[first ? 0 : 1]);
	log_hint("compare the rates of each allocation site in both reports: mmattach report --format csv");
	return -EINVAL;
}

static int diff_summaries(const struct options *opt, struct reporting *reporting, struct summary *old,
			  struct summary *new)
{
	struct diff d;
	int r = trace_report_summary(opt, reporting, &opt->files.all[0], 1, old);

	if (r == 0)
		r = trace_report_summary(opt, reporting, &opt->files.all[1], 1, new);
	if (r == 0)
		r = refuse_sampled(opt, old, new);
	if (r < 0)
		return r;
	r = diff_make(old, new, &d);
	if (r < 0) {
		log_error_errno(r, "cannot make the report");
		return r;
	}
	r = print_diff(opt, reporting, &d);
	diff_fini(&d);
	return r;
}

static int diff_cmd(const struct options *opt)
{
	struct summary old, new;
	struct reporting reporting;
	int r = reporting_open(&reporting, opt, opt->output);

	if (r == 0) {
		reporting.is_last = true;
		summary_init(&old);
		summary_init(&new);
		r = diff_summaries(opt, &reporting, &old, &new);
		summary_fini(&old);
		summary_fini(&new);
	}
	reporting_close(&reporting);
	return r < 0;
}

/* --- shrink --- */

static int write_out(const struct options *opt, struct ledger *l)
{
	int r = shrink_write(l, opt->output);

	if (r < 0)
		log_error_errno(r, "cannot write %s", opt->output);
	return r;
}

static int shrink_cmd(const struct options *opt)
{
	struct ledger l;
	int r = read_traces(opt->files.all, opt->files.n, true, &l);

	if (r == 0)
		r = write_out(opt, &l);
	ledger_fini(&l);
	return r < 0;
}

/* --- merge --- */

static int join_labels(const struct options *opt, struct strbuf *out)
{
	for (size_t i = 0; i < opt->labels.n; i++) {
		strbuf_puts(out, i ? "," : "");
		strbuf_puts(out, opt->labels.all[i]);
	}
	return strbuf_error(out);
}

static int merge_cmd(const struct options *opt)
{
	const struct merge_options merge = { .skip_damaged = opt->skip_damaged };
	cleanup_strbuf struct strbuf label = STRBUF_INIT;
	struct merge_folder folder = { 0 };
	struct ledger l;
	int r = join_labels(opt, &label);

	if (r < 0)
		log_error_errno(r, "cannot merge the traces");
	else
		r = merge_folder_list(opt->files.all, opt->files.n, label.len ? strbuf_str(&label) : NULL,
				      opt->output, &folder);
	if (r == 0) {
		r = merge_files(folder.inputs, folder.n, &merge, &l);
		if (r == 0)
			r = write_out(opt, &l);
		ledger_fini(&l);
	}
	merge_folder_fini(&folder);
	return r < 0;
}

/* --- import --- */

static int import_cmd(const struct options *opt)
{
	struct ledger l;
	int r;

	if (opt->import == IMPORT_MMLEAK)
		r = import_mmleak(opt->files.all, opt->files.n, opt->maps, &l);
	else
		r = import_mtrace(opt->files.all, opt->files.n, &l);
	if (r == 0 && !opt->trace.raw) {
		r = tracenames_run(&l, NULL, opt->stacks.debuginfod);
		if (r < 0)
			log_error_errno(r, "cannot look up names");
	}
	if (r == 0)
		r = write_out(opt, &l);
	ledger_fini(&l);
	return r < 0;
}

/* --- all --- */

/* An input must not be overwritten. (shrink may: it reads all inputs before it writes.) */
static bool writes_its_input(const struct options *opt)
{
	struct stat in, out;

	if (!opt->output || opt->command == COMMAND_SHRINK || stat(opt->output, &out) < 0)
		return false;
	for (size_t i = 0; i < opt->files.n; i++) {
		if (stat(opt->files.all[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
			log_error("cannot write %s: it is also an input", opt->output);
			return true;
		}
	}
	return false;
}

int file_cmd(const struct options *opt)
{
	/* with a ulimit -f, writing then fails with EFBIG, which is reported */
	signal(SIGXFSZ, SIG_IGN);
	if (writes_its_input(opt))
		return 2;
	switch (opt->command) {
	case COMMAND_REPORT:
		return report_cmd(opt);
	case COMMAND_DIFF:
		return diff_cmd(opt);
	case COMMAND_SHRINK:
		return shrink_cmd(opt);
	case COMMAND_MERGE:
		return merge_cmd(opt);
	case COMMAND_IMPORT:
		return import_cmd(opt);
	default:
		return 2;
	}
}
