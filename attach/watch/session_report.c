/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_report.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/control/planting.h"
#include "attach/events/recorder.h"
#include "attach/options/options.h"
#include "attach/reporting/reporting.h"
#include "attach/sampling/sampling.h"
#include "attach/verdicts/verdict_pointers.h"
#include "attach/verdicts/verdict_snapshot.h"
#include "attach/watch/session.h"
#include "attach/watch/session_record.h"
#include "attach/watch/session_verdicts.h"
#include "base/log.h"
#include "report/model/summary.h"

int session_report_open(struct session *s)
{
	int r = s->opt->metrics ? reporting_check_metrics(s->opt->metrics) : 0;

	if (r < 0)
		return r;
	s->reporting = calloc(1, sizeof(*s->reporting));
	if (s->reporting)
		return reporting_open(s->reporting, s->opt, s->opt->report);
	log_error_errno(ENOMEM, "cannot begin");
	return -ENOMEM;
}

void session_report_close(struct session *s)
{
	if (s->reporting)
		reporting_close(s->reporting);
	free(s->reporting);
}

/*
 * Verdicts are the last report's, and that of SIGUSR1: a process under load is not stopped for each of the
 * others.
 */
static void say_interim(const struct session *s, struct summary *out, uint32_t round)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_printf(&text, "interim report %u: the watch goes on", round);
	if (!out->run.verdicts.wanted && !s->sampling && session_verdicts_wanted(s))
		strbuf_printf(&text,
			      ", and there are no verdicts yet: the last report has them; kill -USR1 %d "
			      "makes one with verdicts now",
			      (int)s->interim.watcher);
	if (strbuf_error(&text) && !out->err)
		out->err = strbuf_error(&text);
	out->interim = summary_string(out, strbuf_str(&text));
}

/* Until now; in a copy of ourselves, to whose parent the trace belongs. */
static void pass_time(struct session *s)
{
	s->recorder->trace = NULL;
	ledger_pass(&s->recorder->ledger, recorder_time(s->recorder, link_clock_ns()));
}

int session_report_interim(void *ctx, uint32_t round)
{
	struct session *s = ctx;
	struct reporting reporting;
	struct summary summary;
	int r;

	pass_time(s);
	recorder_note(s->recorder, s->recorder->ledger.now_us, "interim report %u: the watch goes on", round);
	verdict_snapshot_judge(s->snapshot, s->recorder, s->planting->options.exact_sizes, NULL);
	r = ledger_settle(&s->recorder->ledger);
	if (r == 0)
		r = session_record_names(s, false);
	if (r == 0)
		r = reporting_open(&reporting, s->opt, s->opt->report);
	if (r == 0) {
		reporting.round = round - 1;
		r = reporting_summary(&reporting, &s->recorder->ledger, &summary);
	}
	if (r == 0) {
		say_interim(s, &summary, round);
		r = reporting_print(&reporting, &summary, "");
	}
	return r < 0;
}

int session_report_metrics(void *ctx, uint32_t round)
{
	struct session *s = ctx;
	struct reporting reporting;
	struct summary summary;
	int r;

	(void)round;
	pass_time(s);
	if (s->sampling)	/* here, and not in the parent: it is not for the trace */
		sampling_record(s->sampling, link_clock_ns());
	r = ledger_settle(&s->recorder->ledger);
	if (r == 0)
		r = session_record_names_here(s);
	if (r == 0)
		r = reporting_open(&reporting, s->opt, NULL);
	if (r == 0)
		r = reporting_summary(&reporting, &s->recorder->ledger, &summary);
	return r < 0 || reporting_metrics(&reporting, &summary) < 0;
}

/* The answers to --who-points-at are printed after the report, and use its numbers of groups. */
static int print(struct session *s, struct summary *summary)
{
	cleanup_strbuf struct strbuf behind = STRBUF_INIT;
	int r = reporting_summary(s->reporting, &s->recorder->ledger, summary);

	if (r < 0)
		return r;
	r = verdict_pointers_put(s->asked, summary, &s->reporting->lookup, &behind);
	return r < 0 ? r : reporting_print(s->reporting, summary, strbuf_str(&behind));
}

int session_report_print(struct session *s)
{
	struct summary summary;
	taddr *addrs;
	size_t n;
	int r = verdict_pointers_addrs(s->asked, &addrs, &n);

	if (r < 0)
		return r;
	s->reporting->round = s->interim.round;
	/* a program that we have started has the terminal until it ends */
	s->reporting->is_last = !s->spawned || !spawn_runs(&s->spawn);
	reporting_look_up(s->reporting, addrs, n);
	r = print(s, &summary);
	if (r == 0)
		r = reporting_metrics(s->reporting, &summary);
	reporting_look_up(s->reporting, NULL, 0);
	summary_fini(&summary);
	free(addrs);
	return r;
}

int session_report_status(const struct session *s)
{
	return reporting_status(s->reporting);
}
