/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_report.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/events/recorder.h"
#include "attach/options/options.h"
#include "attach/reporting/reporting.h"
#include "attach/verdicts/verdict_pointers.h"
#include "attach/verdicts/verdict_snapshot.h"
#include "attach/watch/session.h"
#include "attach/watch/session_record.h"
#include "base/log.h"
#include "report/model/summary.h"

int session_report_open(struct session *s)
{
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

int session_report_interim(void *ctx, uint32_t round)
{
	struct session *s = ctx;
	struct reporting reporting;
	struct summary summary;
	int r;

	/* the trace belongs to the parent */
	s->recorder->trace = NULL;
	ledger_pass(&s->recorder->ledger, recorder_time(s->recorder, link_clock_ns()));
	recorder_note(s->recorder, s->recorder->ledger.now_us, "interim report %u: the watch goes on", round);
	verdict_snapshot_judge(s->snapshot, s->recorder, s->opt->what.exact_sizes, NULL);
	r = ledger_settle(&s->recorder->ledger);
	if (r == 0)
		r = session_record_names(s, false);
	if (r == 0)
		r = reporting_open(&reporting, s->opt, s->opt->report);
	if (r == 0) {
		reporting.round = round - 1;
		r = reporting_summary(&reporting, &s->recorder->ledger, &summary);
	}
	if (r == 0)
		r = reporting_print(&reporting, &summary, "");
	return r < 0;
}

int session_report_print(struct session *s)
{
	struct summary summary;
	int r;

	s->reporting->round = s->interim.round;
	/* a program that we have started has the terminal until it ends */
	s->reporting->is_last = !s->spawned || !spawn_runs(&s->spawn);
	r = reporting_summary(s->reporting, &s->recorder->ledger, &summary);
	if (r == 0)
		r = reporting_print(s->reporting, &summary, strbuf_str(&s->asked->answer));
	summary_fini(&summary);
	return r;
}

int session_report_status(const struct session *s)
{
	return reporting_status(s->reporting);
}
