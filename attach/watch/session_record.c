/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_record.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/control/planting.h"
#include "attach/events/recorder.h"
#include "attach/events/tally.h"
#include "attach/options/option_scan.h"
#include "attach/sampling/sampling.h"
#include "attach/verdicts/verdict_pointers.h"
#include "attach/verdicts/verdict_snapshot.h"
#include "attach/watch/facts.h"
#include "attach/watch/livenames.h"
#include "attach/watch/recount.h"
#include "attach/watch/session.h"
#include "attach/watch/session_loss.h"
#include "attach/watch/session_verdicts.h"
#include "base/log.h"
#include "trace/rotate_names.h"

/* Pieces of an older run must not be taken for ours later. */
static int check_pieces(const struct options *opt)
{
	uint32_t piece;
	bool in_pieces = opt->trace.rotate_bytes && rotate_possible(opt->output);
	int r = in_pieces ? rotate_first_present(opt->output, &piece) : -ENOENT;

	if (r == -ENOENT || (r == 0 && !piece))
		return 0;
	if (r < 0)
		return r;
	log_error("a piece number %u of %s is there already, of an older run", piece, opt->output);
	log_hint("move the older pieces away, or choose another name");
	return -EEXIST;
}

int session_record_open(struct session *s)
{
	const struct recorder_trace trace = {
		.path = s->opt->output, .rotate_bytes = s->opt->trace.rotate_bytes, .raw = s->opt->trace.raw,
		.alone = s->opt->command == COMMAND_GDB,
	};
	int r = trace.path ? check_pieces(s->opt) : 0;

	if (r < 0)
		return r;
	s->recorder = calloc(1, sizeof(*s->recorder));
	r = s->recorder ? recorder_init(s->recorder) : -ENOMEM;
	if (r < 0)
		log_error_errno(r, "cannot begin");
	else if (trace.path)
		r = recorder_want_trace(s->recorder, &trace);
	return r;
}

void session_record_close(struct session *s)
{
	if (s->recorder)
		recorder_fini(s->recorder);
	free(s->recorder);
}

/* --- during the watch --- */

void session_record_objects(struct session *s, uint64_t now_ns)
{
	int r = 0;

	if (s->watch.end != WATCH_TARGET_ENDED && s->watch.end != WATCH_EXEC)
		r = recount(s->recorder, s->planting, recorder_time(s->recorder, now_ns));
	if (r < 0 && r != -ESRCH)
		log_warn_errno(r, "the objects' counts are as they were at their last call");
}

int session_record_names(struct session *s, bool all)
{
	const struct livenames_options opt = {
		.debuginfod = s->opt->stacks.debuginfod, .stop = s->signals, .all = all,
		.freed = s->opt->format->has_freed,
	};

	return livenames_run(s->recorder, s->at.modules, &s->at.fs, &opt);
}

int session_record_names_here(struct session *s)
{
	const struct livenames_options opt = { .stop = s->signals };

	return livenames_run(s->recorder, s->at.modules, &s->at.fs, &opt);
}

void session_record_allocator(struct session *s, uint64_t now_ns)
{
	if (s->allocator_reported)
		return;
	facts_allocator(s->recorder, s->at.modules, now_ns);
	s->runtime_reported = facts_runtime(s->recorder, s->at.modules, &s->at.target, false, now_ns);
	s->allocator_reported = true;
}

void session_record_runtime(struct session *s, uint64_t now_ns)
{
	if (!s->runtime_reported && s->watch.end != WATCH_EXEC)
		s->runtime_reported = facts_runtime(s->recorder, s->at.modules, &s->at.target, true, now_ns);
}

void session_record_tick(struct session *s, uint64_t now_ns)
{
	const uint64_t t = recorder_time(s->recorder, now_ns);

	session_record_allocator(s, now_ns);
	watch_count_threads(&s->watch, now_ns);
	processes_sample(&s->processes, s->recorder, now_ns, false);
	facts_progress(s->recorder, &s->watch, now_ns);
	recorder_tick(s->recorder, t);
}

enum watch_end session_record_may_go_on(const struct session *s)
{
	const struct recorder *r = s->recorder;

	if (r->out_of_memory)
		return WATCH_MEMORY;
	return r->trace_error && (s->opt->trace.end_on_error ||
				  r->wanted.alone) ? WATCH_TRACE : WATCH_GOES_ON;
}

/* --- the end --- */

static bool asks_for_pointers(const struct options *opt)
{
	return opt->single.nwho_points_at || opt->single.who_points_at_verdict != VERDICT_UNKNOWN;
}

static int complete(struct session *s)
{
	int r;

	tally_end(s->tally);
	if (s->sampling) {
		session_loss_end(s);
		sampling_end(s->sampling, s->end_ns);
	}
	watch_count_threads(&s->watch, s->end_ns);
	if (s->watch.end != WATCH_EXEC)
		processes_sample(&s->processes, s->recorder, s->end_ns, true);
	facts_end(s->recorder, &s->watch, s->end_ns);
	s->asked->modules = s->at.modules;
	if (!s->sampling)
		verdict_snapshot_judge(s->snapshot, s->recorder, s->planting->options.exact_sizes,
				       asks_for_pointers(s->opt) ? s->asked : NULL);
	r = ledger_settle(&s->recorder->ledger);
	if (r == 0)
		r = session_record_names(s, s->recorder->trace && !s->opt->trace.raw);
	facts_close(s->recorder, s->end_ns);
	if (r == 0 && s->recorder->out_of_memory)
		r = -ENOMEM;
	if (r < 0)
		log_error_errno(r, "cannot make the report");
	return r;
}

int session_record_end(struct session *s, int *trace)
{
	const int r = complete(s);

	*trace = recorder_end(s->recorder);
	return r;
}

/* --- under gdb: the trace so far --- */

static int save(struct session *s, const char *path)
{
	int r = recorder_move(s->recorder, path), whole;

	if (r < 0)
		return r;
	s->end_ns = link_clock_ns();
	whole = session_record_end(s, &r);
	return whole < 0 ? whole : r;
}

int session_record_save(struct session *s, const char *path, void (*done)(struct session *s, int r))
{
	pid_t self = getpid(), pid;

	session_record_allocator(s, link_clock_ns());
	session_record_objects(s, link_clock_ns());
	if (s->at.under_gdb && session_verdicts_wanted(s))
		verdict_snapshot_fail(s->snapshot,
				      VERDICTS_UNDER_GDB " (`mmleak hand-over` makes mmattach the tracer)");
	/*
	 * the previous copy has answered, or gdb's user did not wait for it; we must not wait either, since
	 * events must be read
	 */
	if (s->gdb.copy) {
		kill(s->gdb.copy, SIGKILL);
		waitpid(s->gdb.copy, NULL, 0);
	}
	s->gdb.copy = 0;
	pid = fork();
	if (pid < 0)
		return -errno;
	s->gdb.copy = pid;
	if (pid > 0) {
		session_verdicts_drop(s);
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == self)
		done(s, save(s, path));
	/* not exit(), which would write what the parent has buffered */
	_exit(0);
}
