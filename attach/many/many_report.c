/* SPDX-License-Identifier: MIT */
#include "attach/many/many_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/many/folder.h"
#include "attach/many/members.h"
#include "attach/reporting/trace_report.h"
#include "base/grow.h"
#include "base/log.h"
#include "report/merge/merge.h"
#include "report/tracefiles/shrink.h"

int many_report_open(struct many_report *r, const struct options *opt)
{
	r->opt = opt;
	return reporting_open(&r->reporting, opt, opt->report);
}

void many_report_close(struct many_report *r)
{
	for (size_t i = 0; i < r->nrefused; i++) {
		free(r->refused[i].comm);
		free(r->refused[i].why);
	}
	free(r->refused);
	if (r->opt)
		reporting_close(&r->reporting);
}

int many_report_check_output(const char *path)
{
	struct outfile file = OUTFILE_INIT;
	int r = outfile_open(&file, path);

	outfile_abort(&file);
	if (r < 0)
		log_error_errno(r, "cannot write the trace to %s", path);
	return r;
}

int many_report_refused(struct many_report *r, pid_t pid, const char *comm, const char *why)
{
	struct many_refused x = { .pid = pid, .comm = strdup(comm), .why = strdup(why) };

	if (x.comm && x.why && grow_for(&r->refused, r->nrefused, &r->room, sizeof(*r->refused)) == 0) {
		r->refused[r->nrefused++] = x;
		return 0;
	}
	free(x.comm);
	free(x.why);
	return -ENOMEM;
}

int many_report_none(const struct many_report *r, uint64_t brief)
{
	const char *one = r->nrefused == 1 ? "process" : "processes";

	if (!r->nrefused) {
		log_error("no process to watch%s", brief ? " lived long enough to be attached to" : " was found");
		return 1;
	}
	for (size_t i = 0; i < r->nrefused; i++)
		log_error("%s%s%d: %s", r->refused[i].comm, *r->refused[i].comm ? " " : "",
			  (int)r->refused[i].pid, r->refused[i].why);
	log_error("none of %zu %s can be watched", r->nrefused, one);
	return 1;
}

/* --- the report --- */

/*
 * Those that were watched, and those that were not, or whose watch could not write a trace. A trace that is not
 * whole was cut off by the end of its watch.
 */
struct collected {
	struct merge_input *inputs;
	struct merge_absent *absent, *watched;
	size_t ninputs, nabsent;
};

static void collected_fini(struct collected *p)
{
	free(p->inputs);
	free(p->absent);
	free(p->watched);
}

static void gather_one(const struct watched *w, struct collected *p)
{
	const struct merge_absent known = { .pid = w->process.pid, .comm = w->process.comm, .why = w->why };

	if (w->why && access(w->trace, F_OK) < 0) {
		p->absent[p->nabsent++] = known;
		return;
	}
	p->watched[p->ninputs] = known;
	p->inputs[p->ninputs] = (struct merge_input){ .path = w->trace, .process = &p->watched[p->ninputs] };
	p->ninputs++;
}

static int gather(const struct many_report *r, const struct members *m, struct collected *p)
{
	*p = (struct collected){
		.inputs = calloc(m->n + 1, sizeof(*p->inputs)),
		.absent = calloc(m->n + r->nrefused + 1, sizeof(*p->absent)),
		.watched = calloc(m->n + 1, sizeof(*p->watched)),
	};
	if (!p->inputs || !p->absent || !p->watched)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		if (m->all[i].state != MEMBER_STARTING)
			gather_one(&m->all[i], p);
	for (size_t i = 0; i < r->nrefused; i++)
		p->absent[p->nabsent++] = (struct merge_absent){
			.pid = r->refused[i].pid, .comm = r->refused[i].comm, .why = r->refused[i].why,
		};
	return 0;
}

static int merge(const struct many_report *r, const struct members *m, struct ledger *l)
{
	struct merge_options how = { .skip_damaged = true };
	struct collected p;
	int e = gather(r, m, &p);

	how.absent = p.absent;
	how.nabsent = p.nabsent;
	if (e == 0)
		e = merge_files(p.inputs, p.ninputs, &how, l);
	else if (ledger_init(l) < 0)
		e = -ENOMEM;
	collected_fini(&p);
	return e;
}

/* -o FILE; of a folder, the traces in it are what was asked for. */
static int save(const struct many_report *r, const struct folder *f, struct ledger *l)
{
	int e = r->opt->output && f->ours ? shrink_write(l, r->opt->output) : 0;

	if (e < 0)
		log_error_errno(e, "cannot write %s", r->opt->output);
	return e;
}

static int note_brief(struct ledger *l, uint64_t brief)
{
	char text[120];
	const struct fact note = {
		.kind = MMT_INFO, .info = MMT_NOTE, .note = text,
	};

	snprintf(text, sizeof(text), "at least %" PRIu64 " %s had ended before %s attached to", brief,
		 brief == 1 ? "process" : "processes", brief == 1 ? "it was" : "they were");
	return brief ? ledger_take(l, &note) : 0;
}

static int print_all(struct many_report *r, const struct members *m, const struct folder *f, uint64_t brief)
{
	struct ledger l;
	struct summary s;
	int e = merge(r, m, &l), saved = 0;

	summary_init(&s);
	if (e == 0)
		e = note_brief(&l, brief);
	if (e == 0) {
		saved = save(r, f, &l);
		summary_fini(&s);
		e = trace_report_of_ledger(r->opt, &r->reporting, &l, &s);
	}
	if (e == 0)
		e = reporting_print(&r->reporting, &s, "");
	summary_fini(&s);
	ledger_fini(&l);
	return e < 0 ? e : saved;
}

int many_report_print(struct many_report *r, const struct members *m, const struct folder *f, uint64_t brief)
{
	r->reporting.is_last = !r->opt->program;
	return print_all(r, m, f, brief) < 0 ? 1 : reporting_status(&r->reporting);
}
