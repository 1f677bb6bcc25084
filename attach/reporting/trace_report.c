/* SPDX-License-Identifier: MIT */
/*
 * trace_report: see trace_report.h. A ledger that takes further facts may not be settled: so a copy of ourselves
 * (fork) makes each interim report, as it does in a watch.
 */
#include "attach/reporting/trace_report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/reporting/tracenames.h"
#include "base/clock.h"
#include "base/endsignals.h"
#include "base/log.h"
#include "report/groups/groups.h"
#include "report/merge/merge.h"
#include "report/merge/merge_folder.h"
#include "report/tracefiles/replay.h"

#define INTERVAL_S 10
#define COPY_NS 10000000		/* how often to look whether an interim report is printed */
#define LOOK_NS 250000000	/* how often to look whether the trace has grown */
#define ENDED_LOOKS 40		/* after its end the writer appends names: how long to wait for it */
#define UNWRITTEN_LOOKS 3	/* so often in turn no process writes it: it is not between two pieces */

static int name_what_is_reported(const struct options *opt, struct ledger *l)
{
	cleanup_free bool *wanted = calloc(l->defs.nframes + 1, sizeof(*wanted));
	int r = wanted ? groups_wanted(l, opt->format->has_freed, wanted) : -ENOMEM;

	if (r == 0)
		r = tracenames_run(l, wanted, opt->stacks.debuginfod);
	if (r < 0)
		log_error_errno(r, "cannot look up names");
	return r;
}

static int settle_and_name(const struct options *opt, struct ledger *l)
{
	int r = ledger_settle(l);

	if (r == 0)
		return name_what_is_reported(opt, l);
	log_error_errno(r, "cannot make the report");
	return r;
}

/* --- traces that are complete --- */

/* A folder stands for the traces in it, of several processes. */
static int merge_folders(const struct options *opt, const char *const *paths, size_t n, struct ledger *l)
{
	const struct merge_options merge = { .skip_damaged = opt->skip_damaged };
	struct merge_folder folder;
	int r = merge_folder_list(paths, n, NULL, opt->output, &folder);

	if (r == 0)
		r = merge_files(folder.inputs, folder.n, &merge, l);
	else if (ledger_init(l) < 0)
		r = -ENOMEM;
	merge_folder_fini(&folder);
	return r;
}

/* A merged trace has sums, and no blocks. */
static int refuse_single_blocks(const struct options *opt, const struct ledger *l)
{
	const char *option = opt->shown.older_than_ns	 ? "--older-than"
			     : opt->single.block_entry ? "--block-list"
			     : opt->single.nblock_at   ? "--block-at"
			     : opt->shown.per_object   ? "--per-object"
						       : NULL;

	if (!ledger_is_merged(l) && opt->shown.by_process) {
		log_error("--by process: the trace is of one process");
		log_hint("`mmattach merge` makes one trace of several processes");
		return -EINVAL;
	}
	if (!ledger_is_merged(l) || !option)
		return 0;
	log_error("%s: a merged trace has sums of many processes, and no single blocks", option);
	log_hint("ask the trace of one process");
	return -EINVAL;
}

int trace_report_summary(const struct options *opt, struct reporting *reporting, const char *const *paths,
			 size_t n, struct summary *out)
{
	const struct replay_options replay = { .keep_orphans = false };
	struct ledger l;
	int r = merge_folder_is_among(paths, n) ? merge_folders(opt, paths, n, &l)
						: replay_files(paths, n, &replay, &l);

	summary_init(out);
	if (r == 0)
		r = refuse_single_blocks(opt, &l);
	if (r == 0)
		r = settle_and_name(opt, &l);
	if (r == 0) {
		summary_fini(out);
		r = reporting_summary(reporting, &l, out);
	}
	ledger_fini(&l);
	return r < 0 ? r : summary_error(out);
}

int trace_report_of_ledger(const struct options *opt, struct reporting *reporting, struct ledger *l,
			   struct summary *out)
{
	int r = settle_and_name(opt, l);

	if (r == 0)
		return reporting_summary(reporting, l, out);
	summary_init(out);
	return r;
}

int trace_report(const struct options *opt, const char *const *paths, size_t n)
{
	struct reporting reporting;
	struct summary s;
	int r = reporting_open(&reporting, opt, opt->command == COMMAND_REPORT ? opt->output : NULL), status = 1;

	if (r == 0) {
		reporting.is_last = true;
		r = trace_report_summary(opt, &reporting, paths, n, &s);
		if (r == 0)
			r = reporting_print(&reporting, &s, "");
		if (r == 0)
			status = reporting_status(&reporting);
		summary_fini(&s);
	}
	reporting_close(&reporting);
	return status;
}

/* --- a trace that grows --- */

static void say_interim(struct summary *s, uint32_t round)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_printf(&text, "interim report %u: the watch goes on", round);
	if (strbuf_error(&text) && !s->err)
		s->err = strbuf_error(&text);
	s->interim = summary_string(s, strbuf_str(&text));
}

/* In the copy. */
static int print_interim(const struct options *opt, struct follow *f, uint32_t round)
{
	struct reporting reporting;
	struct summary s;
	int r = settle_and_name(opt, &f->ledger);

	if (r == 0)
		r = reporting_open(&reporting, opt, opt->command == COMMAND_REPORT ? opt->output : NULL);
	if (r == 0) {
		reporting.round = round - 1;
		r = reporting_summary(&reporting, &f->ledger, &s);
	}
	if (r == 0 && f->damages)
		summary_note(&s, "what could not be read of the trace is not counted: %" PRIu64 " parts", f->damages);
	if (r == 0 && f->missed)
		summary_note(&s, "what is gone of the trace is not counted: %" PRIu64 " pieces", f->missed);
	if (r == 0) {
		say_interim(&s, round);
		r = reporting_print(&reporting, &s, "");
	}
	return r < 0;
}

/* The names that were looked up stay known, since that is done before the copy is made. */
static int interim(const struct options *opt, struct follow *f, uint32_t round)
{
	const struct timespec pause = { 0, COPY_NS };
	int r = name_what_is_reported(opt, &f->ledger), status = 0;
	pid_t copy;

	if (r < 0)
		return r;
	copy = fork();
	if (copy == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(print_interim(opt, f, round));
	}
	if (copy < 0) {
		r = -errno;
		log_error_errno(r, "cannot make an interim report");
		return r;
	}
	/* where its reader does not read, the copy waits for ever: the end is not to wait for that */
	while (waitpid(copy, &status, WNOHANG) != copy) {
		if (endsignals_came())
			kill(copy, SIGKILL);
		nanosleep(&pause, NULL);
	}
	return status && !endsignals_came() ? -EIO : 0;	/* the copy has logged why */
}

struct end_signs {
	unsigned unwritten, after_end;	/* looks */
	uint64_t facts;			/* at the last look */
};

/*
 * May more come? A writer that has written the end still appends names, for some seconds at most. Where something
 * came since the last look, the kernel is not asked whether there is a writer.
 */
static bool goes_on(const struct follow *f, struct end_signs *signs)
{
	const bool written = f->facts != signs->facts || follow_is_written(f);

	signs->facts = f->facts;
	signs->unwritten = written ? 0 : signs->unwritten + 1;
	signs->after_end += f->ledger.ended;
	if (f->ledger.ended)
		return written && signs->after_end < ENDED_LOOKS;
	return written || (f->ledger.run.piece && signs->unwritten < UNWRITTEN_LOOKS);
}

static int look_until_end(const struct options *opt, struct follow *f)
{
	const double interval = opt->interval_ns ? (double)opt->interval_ns / 1e9 : INTERVAL_S;
	const struct timespec pause = { 0, LOOK_NS };
	const bool prints = report_format_for_people(opt->format);
	double next = clock_seconds() + interval;
	uint64_t shown = 0;
	uint32_t round = 0;
	struct end_signs signs = { 0 };
	int r = follow_more(f);

	while (r == 0 && !endsignals_came() && goes_on(f, &signs)) {
		nanosleep(&pause, NULL);
		r = follow_more(f);
		if (r < 0 || !prints || clock_seconds() < next || f->facts == shown || f->ledger.ended)
			continue;
		r = interim(opt, f, ++round);
		if (r < 0)
			return r;
		shown = f->facts;
		next = clock_seconds() + interval;
	}
	if (r == 0)
		r = follow_more(f);	/* what was written before the writer went */
	if (r < 0)
		follow_log(f, r);
	return r;
}

int trace_report_follow(const struct options *opt, struct follow *f)
{
	int r;

	endsignals_catch();
	r = look_until_end(opt, f);
	endsignals_release();	/* the report that follows may be long: it is not waited for */
	return r;
}

/* A piece of a rotated trace may have been moved away since it was read. */
int trace_report_followed(const struct options *opt, const struct follow *f)
{
	cleanup_free const char **paths = calloc(f->npaths, sizeof(*paths));
	size_t n = 0;

	if (!paths) {
		log_error_errno(ENOMEM, "cannot make the report");
		return 1;
	}
	for (size_t i = 0; i < f->npaths; i++)
		if (i + 1 == f->npaths || access(f->paths[i], F_OK) == 0)
			paths[n++] = f->paths[i];
	return trace_report(opt, paths, n);
}
