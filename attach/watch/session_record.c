/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_record.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/options/option_scan.h"
#include "attach/watch/coming.h"
#include "attach/watch/facts.h"
#include "attach/watch/livenames.h"
#include "attach/watch/recount.h"
#include "attach/watch/session_look.h"
#include "base/log.h"

void session_record_objects(struct session *s, uint64_t now_ns)
{
	int r = 0;

	if (s->watch.end != WATCH_TARGET_ENDED && s->watch.end != WATCH_EXEC)
		r = recount(&s->recorder, &s->planting, recorder_time(&s->recorder, now_ns));
	if (r < 0 && r != -ESRCH)
		log_warn_errno(r, "the objects' counts are as they were at their last call");
}

int session_record_names(struct session *s, bool all)
{
	const struct livenames_options opt = { .debuginfod = s->opt->debuginfod, .stop = s->signals, .all = all };

	return livenames_run(&s->recorder, s->modules, &s->fs, &opt);
}

void session_record_allocator(struct session *s, uint64_t now_ns)
{
	if (!s->allocator_told)
		facts_allocator(&s->recorder, s->modules, now_ns);
	s->allocator_told = true;
}

static bool asks_for_pointers(const struct options *opt)
{
	return opt->nwho_points_at || opt->who_points_at_verdict != VERDICT_UNKNOWN;
}

int session_record_end(struct session *s)
{
	int r;

	tally_end(&s->tally);
	if (s->sampling)
		sampling_end(s->sampling, s->end_ns);
	watch_count_threads(&s->watch, s->end_ns);
	if (s->watch.end != WATCH_EXEC)
		processes_look(&s->processes, &s->recorder, s->end_ns, true);
	facts_end(&s->recorder, &s->watch, s->end_ns);
	s->asked.modules = s->modules;
	look_judge(&s->look, &s->recorder, s->opt->exact_sizes, asks_for_pointers(s->opt) ? &s->asked : NULL);
	r = ledger_settle(&s->recorder.ledger);
	if (r == 0)
		r = session_record_names(s, s->recorder.trace && !s->opt->raw);
	facts_close(&s->recorder, s->end_ns);
	if (r == 0 && s->recorder.out_of_memory)
		r = -ENOMEM;
	if (r < 0)
		log_error_errno(r, "cannot make the report");
	return r;
}

/* --- under gdb: the trace so far --- */

static int save(struct session *s, const char *path)
{
	int r = recorder_move(&s->recorder, path), whole;

	if (r < 0)
		return r;
	s->end_ns = link_clock_ns();
	whole = session_record_end(s);
	r = recorder_end(&s->recorder);
	return whole < 0 ? whole : r;
}

int session_record_save(struct session *s, const char *path, void (*done)(struct session *s, int r))
{
	pid_t self = getpid(), pid;

	session_record_allocator(s, link_clock_ns());
	session_record_objects(s, link_clock_ns());
	if (s->under_gdb && session_look_wanted(s))
		look_fail(&s->look, VERDICTS_UNDER_GDB);
	/* it has answered, or gdb's user did not wait for it: we must not either, events want to be read */
	if (s->copy) {
		kill(s->copy, SIGKILL);
		waitpid(s->copy, NULL, 0);
	}
	s->copy = 0;
	pid = fork();
	if (pid < 0)
		return -errno;
	s->copy = pid;
	if (pid > 0) {
		look_fini(&s->look);
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == self)
		done(s, save(s, path));
	/* not exit: what is buffered is the parent's */
	_exit(0);
}
