/* SPDX-License-Identifier: MIT */
#include "attach/watch/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/control/repair.h"
#include "attach/sampling/sampling_check.h"
#include "attach/target/openfiles.h"
#include "attach/verdicts/dying.h"
#include "attach/watch/coming.h"
#include "attach/watch/facts.h"
#include "attach/watch/gdb.h"
#include "attach/watch/session_look.h"
#include "attach/watch/session_record.h"
#include "base/log.h"
#include "trace/pieces.h"

/* --- opening --- */

/* What ends a watch. */
static sigset_t ends(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

static int open_signals(struct session *s)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set = ends();
	int r;

	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &s->before.mask);
	sigaction(SIGPIPE, &ignore, &s->before.pipe);
	/* ulimit -f: then writing fails with EFBIG */
	sigaction(SIGXFSZ, &ignore, &s->before.xfsz);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals >= 0)
		return 0;
	r = -errno;
	log_error_errno(r, "cannot wait for signals");
	return r;
}

/* Pieces of an older run must not be taken for ours later. */
static int look_for_pieces(const struct options *opt)
{
	uint32_t piece;
	int r = opt->rotate_bytes && piece_possible(opt->output) ? piece_first_there(opt->output, &piece) : -ENOENT;

	if (r == -ENOENT || (r == 0 && !piece))
		return 0;
	if (r < 0)
		return r;
	log_error("a piece number %u of %s is there already, of an older run", piece, opt->output);
	log_hint("move the older pieces away, or choose another name");
	return -EEXIST;
}

static int open_recorder(struct session *s)
{
	const struct recorder_trace trace = {
		.path = s->opt->output, .rotate_bytes = s->opt->rotate_bytes, .raw = s->opt->raw,
		.alone = s->opt->command == COMMAND_GDB,
	};
	int r = trace.path ? look_for_pieces(s->opt) : 0;

	if (r < 0)
		return r;
	r = recorder_init(&s->recorder);
	s->recorder_up = true;
	if (r < 0)
		log_error_errno(r, "cannot begin");
	else if (trace.path)
		r = recorder_want_trace(&s->recorder, &trace);
	return r;
}

/* --- interim reports --- */

/* In a copy of ourselves: nothing that is done here reaches the watch. */
static int report_interim(void *ctx, uint32_t round)
{
	struct session *s = ctx;
	struct reporting reporting;
	struct summary summary;
	int r;

	/* the trace is the parent's */
	s->recorder.trace = NULL;
	ledger_pass(&s->recorder.ledger, recorder_time(&s->recorder, link_clock_ns()));
	recorder_note(&s->recorder, s->recorder.ledger.now_us, "interim report %u: the watch goes on", round);
	look_judge(&s->look, &s->recorder, s->opt->exact_sizes, NULL);
	r = ledger_settle(&s->recorder.ledger);
	if (r == 0)
		r = session_record_names(s, false);
	if (r == 0)
		r = reporting_open(&reporting, s->opt, s->opt->report);
	if (r == 0) {
		reporting.round = round - 1;
		r = reporting_summary(&reporting, &s->recorder.ledger, &summary);
	}
	if (r == 0)
		r = reporting_print(&reporting, &summary, "");
	return r < 0;
}

static void make_interim(struct session *s, uint64_t now_ns)
{
	bool look;

	session_record_objects(s, now_ns);
	if (s->sampling)
		sampling_tell(s->sampling, now_ns);
	look = session_look_interim(s);
	interim_tick(&s->interim, now_ns);
	if (look)
		look_fini(&s->look);
}

static enum watch_end tick(void *ctx, uint64_t now_ns)
{
	struct session *s = ctx;
	uint64_t t = recorder_time(&s->recorder, now_ns);

	session_record_allocator(s, now_ns);
	watch_count_threads(&s->watch, now_ns);
	processes_look(&s->processes, &s->recorder, now_ns, false);
	facts_progress(&s->recorder, &s->watch, now_ns);
	recorder_tick(&s->recorder, t);
	if (s->watch.report_now)
		interim_ask(&s->interim);
	if (interim_due(&s->interim, now_ns))
		make_interim(s, now_ns);
	s->watch.report_now = false;
	if (s->recorder.out_of_memory)
		return WATCH_MEMORY;
	return s->recorder.trace_error && (s->opt->end_on_trace_error || s->recorder.wanted.alone) ? WATCH_TRACE : WATCH_GOES_ON;
}

static void at_end(void *ctx)
{
	struct session *s = ctx;

	s->processes.pid = s->target.pid;
	processes_look(&s->processes, &s->recorder, link_clock_ns(), true);
	session_look_at_end(s);
	if (s->look.state == LOOK_TAKEN)
		dying_step_out(&s->look.snapshot, s->modules, s->backtrace->cfi);
}

static void begin(struct session *s)
{
	uint64_t now = link_clock_ns();
	uint32_t threads = atomic_load(&s->link.shared->threads);

	if (s->opt->duration_ns)
		s->watch.end_ns = now + s->opt->duration_ns;
	s->watch.tick = tick;
	s->watch.tick_ctx = s;
	s->interim = (struct interim){ .interval_ns = s->opt->interval_ns, .report = report_interim, .ctx = s };
	interim_begin(&s->interim, now);
	watch_count_threads(&s->watch, now);
	s->processes.pid = s->target.pid;
	if (!s->opt->program)
		processes_look(&s->processes, &s->recorder, now, false);
	if (s->under_gdb) {
		gdb_begin(s);
		return;
	}
	log_announce("watching %d (%s), %zu functions, %u thread%s", s->target.pid, s->target.comm,
		     s->planting.nprobes, threads, threads == 1 ? "" : "s");
}

/* --- closing --- */

static void say_keeper_killed(struct session *s)
{
	uint32_t left, lifted = link_emergency_lift(&s->link, s->planting.mem, &left);

	if (s->under_gdb) {
		log_error("the process that gdb's breakpoints report to was killed: the watch ended there");
		/* our copy of its end of the socket: gdb must not wait for its answer, with a thread of the target */
		shutdown(s->opt->gdb_fds[0], SHUT_RDWR);
		return;
	}
	log_error("the keeper was killed: %u traps were put back%s", lifted, left ? "" : ", none is left");
	/* kernels that let only a tracer write: repair knows the way around */
	if (left && repair(s->target.pid, stderr) != 0)
		log_hint("%u traps still stand in %d: try `mmattach repair %d` as root", left, s->target.pid,
			 s->target.pid);
	else
		log_hint("a thread that ran into a trap meanwhile has ended the target; otherwise it goes on");
}

/* What is readable there from now on is to end what we do: the final report is coming anyway. */
static void ignore_wishes(struct session *s)
{
	const sigset_t set = ends();

	(void)!signalfd(s->signals, &set, 0);
}

static void leave(struct session *s)
{
	uint32_t left;

	ignore_wishes(s);
	session_look_last(s);
	if (s->watch.end == WATCH_KEEPER_KILLED) {
		say_keeper_killed(s);
		return;
	}
	come_undone(s);
	if (s->watch.link && s->backtrace)
		watch_drain(&s->watch);
	if (s->watch.end != WATCH_GOES_ON) {
		session_record_allocator(s, s->end_ns ? s->end_ns : link_clock_ns());
		session_record_objects(s, s->end_ns ? s->end_ns : link_clock_ns());
	}
	log_verbose("%" PRIu64 " waits for room in the ring, %.1f ms in all", atomic_load(&s->link.shared->stalls),
		    atomic_load(&s->link.shared->stall_ns) / 1e6);
	left = atomic_load(&s->link.shared->left);
	if (left != LEFT_NOT && left != LEFT_ASKED && left != LEFT_ENDED)
		log_error("the keeper lifted all traps and left: %s",
			  leave_reason_text(left));
	if (atomic_load(&s->link.shared->unlifted))
		log_error("%u traps could not be lifted", atomic_load(&s->link.shared->unlifted));
	if (atomic_load(&s->link.shared->uncleaned))
		log_error(UNCLEANED_TEXT, atomic_load(&s->link.shared->uncleaned));
}

static int finish_recording(struct session *s)
{
	interim_end(&s->interim, s->signals);
	facts_say_missing(&s->watch);
	return session_record_end(s);
}

/*
 * The target is free, the trace is whole: what is left is to print, and whoever reads that may have stopped
 * reading. From here on a signal ends us as it ends any program. (spawn_wait has its own way with them.)
 */
static void let_signals_end_us(const struct session *s)
{
	struct signalfd_siginfo si;

	/* what has come until now has ended the watch, or the looking up of names */
	while (read(s->signals, &si, sizeof(si)) == sizeof(si))
		;
	/* but that asks for what is coming anyway */
	signal(SIGUSR1, SIG_IGN);
	sigprocmask(SIG_SETMASK, &s->before.mask, NULL);
}

static int report(struct session *s)
{
	struct summary summary;
	int r, trace;

	if (!s->end_ns)
		s->end_ns = link_clock_ns();
	r = finish_recording(s);
	trace = recorder_end(&s->recorder);
	let_signals_end_us(s);
	/* what begins under gdb ends with a trace: whoever wants a report makes one of it */
	if (r == 0 && s->opt->command != COMMAND_GDB) {
		s->reporting.round = s->interim.round;
		r = reporting_summary(&s->reporting, &s->recorder.ledger, &summary);
		if (r == 0)
			r = reporting_print(&s->reporting, &summary, strbuf_str(&s->asked.answer));
		summary_fini(&summary);
	}
	return r < 0 ? r : trace;
}

static void close_session(struct session *s)
{
	look_fini(&s->look);
	strbuf_fini(&s->asked.answer);
	if (s->tally_up) {
		tally_fini(&s->tally);
		scope_fini(&s->scope);
	}
	sampling_free(s->sampling);
	backtrace_free(s->backtrace);
	if (s->planting_up)
		planting_fini(&s->planting);
	if (s->recorder_up)
		recorder_fini(&s->recorder);
	modules_free(s->modules);
	if (s->linked)
		link_close(&s->link);
	if (s->signals >= 0)
		close(s->signals);
	reporting_close(&s->reporting);
	targetfs_fini(&s->fs);
	target_fini(&s->target);
	ruleset_fini(&s->rules);
}

static int watch_and_report(struct session *s)
{
	int r;

	begin(s);
	watch_run(&s->watch);
	leave(s);
	r = report(s);
	gdb_end(s, r);
	if (s->watch.end == WATCH_KEEPER_KILLED || s->watch.end == WATCH_MEMORY || r < 0)
		return 1;
	return 0;
}

/* The program's own status counts, unless we have one to give. */
static int wait_for_program(struct session *s, int status)
{
	int program = spawn_wait(&s->spawn);

	return status == 0 && reporting_status(&s->reporting) == 0 ? program : status;
}

static int run(struct session *s, int argc, char **argv)
{
	int r = s->opt->program ? come_to_program(s, argc, argv) : come_to_running(s, argc, argv);
	int status = 1;

	if (r == 0)
		status = watch_and_report(s);
	else if (s->linked)
		leave(s);
	if (s->spawned && r == 0)
		status = wait_for_program(s, status);
	else if (s->spawned)
		(void)!spawn_wait(&s->spawn);
	return r == 0 && status == 0 ? reporting_status(&s->reporting) : status;
}

/* The exit status. What is wrong with them has been said. */
static int rules_refused(int r)
{
	if (r == -EINVAL)
		return 2;
	log_error_errno(r, "cannot begin");
	return 1;
}

int session_run(const struct options *opt, int argc, char **argv)
{
	struct session *s = calloc(1, sizeof(*s)); /* too large for a small stack */
	int status = 1, r;

	if (!s) {
		log_error_errno(ENOMEM, "cannot begin");
		return 1;
	}
	s->opt = opt;
	openfiles_raise(&s->before.files);
	s->signals = -1;
	s->control = opt->command == COMMAND_GDB ? opt->gdb_fds[1] : -1;
	s->under_gdb = opt->command == COMMAND_GDB;
	s->fs = (struct targetfs)TARGETFS_INIT;
	r = ruleset_choose(opt, &s->rules);
	if (r == 0 && opt->budget_ppm)
		r = sampling_check_rules(&s->rules);
	s->hold_end = r == 0 && session_look_wanted(s);
	s->at_end = at_end;
	s->asked = (struct look_asked){ .opt = opt, .answer = STRBUF_INIT };
	if (r < 0)
		status = rules_refused(r);
	else if (open_signals(s) == 0 && reporting_open(&s->reporting, opt, opt->report) == 0 && open_recorder(s) == 0)
		status = run(s, argc, argv);
	close_session(s);
	free(s);
	return status;
}
