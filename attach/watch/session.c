/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_sample.h"
#include "attach/watch/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "attach/control/link.h"
#include "attach/events/recorder.h"
#include "attach/events/tally.h"
#include "attach/options/option_engine.h"
#include "attach/options/options.h"
#include "attach/options/ruleset.h"
#include "attach/sampling/sampling.h"
#include "attach/sampling/sampling_check.h"
#include "attach/stacks/backtrace.h"
#include "attach/target/diagnose.h"
#include "attach/target/openfiles.h"
#include "attach/watch/attach.h"
#include "attach/watch/facts.h"
#include "attach/watch/gdb.h"
#include "attach/watch/member.h"
#include "attach/watch/session_record.h"
#include "attach/watch/session_loss.h"
#include "attach/watch/session_probes.h"
#include "attach/watch/session_report.h"
#include "attach/watch/session_verdicts.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/statusline.h"

#define METRICS_NS 15000000000ull	/* as often as collectors read such files */
#define LONG_NS 5000000000ull	/* what is beside the watch: if it takes longer, a message says so */

/* --- opening --- */

/* The signals that end a watch. */
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
	/* its starter has blocked them already, so that none ends it before this */
	if (s->member)
		s->before.mask = s->member->mask;
	sigaction(SIGPIPE, &ignore, &s->before.pipe);
	/* with a ulimit -f, writing then fails with EFBIG */
	sigaction(SIGXFSZ, &ignore, &s->before.xfsz);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals >= 0)
		return 0;
	r = -errno;
	log_error_errno(r, "cannot wait for signals");
	return r;
}

/* --- during the watch --- */

static void make_interim(struct session *s, uint64_t now_ns)
{
	bool snapshot;

	tally_settle(s->tally);
	session_record_objects(s, now_ns);
	if (s->sampling)
		sampling_record(s->sampling, now_ns);
	snapshot = session_verdicts_interim(s);
	interim_tick(&s->interim, now_ns);
	if (snapshot)
		session_verdicts_drop(s);
}

static void show_member(const struct session *s)
{
	struct member *m = s->member;
	const struct ledger *l = &s->recorder->ledger;

	if (!m)
		return;
	atomic_store(&m->events, s->tally->events);
	atomic_store(&m->blocks, l->held_blocks);
	atomic_store(&m->bytes, l->held_bytes);
}

static enum watch_end tick(void *ctx, uint64_t now_ns)
{
	struct session *s = ctx;

	show_member(s);
	session_record_tick(s, now_ns);
	if (s->watch.report_now)
		interim_ask(&s->interim);
	session_loss_tick(s, now_ns);
	if (interim_due(&s->interim, now_ns))
		make_interim(s, now_ns);
	if (interim_due(&s->metrics, now_ns))
		tally_settle(s->tally);
	interim_tick(&s->metrics, now_ns);
	s->watch.report_now = false;
	s->watch.line.held = !interim_ready(&s->interim);
	return session_record_may_go_on(s);
}

static void at_end(void *ctx)
{
	struct session *s = ctx;

	s->processes.pid = s->at.target.pid;
	processes_sample(&s->processes, s->recorder, link_clock_ns(), true);
	session_verdicts_at_end(s);
}

/*
 * A member's process may have allocated before it was found. In steps, so that a report of many processes has few
 * different ones.
 */
static void note_missed(struct session *s, uint64_t now_ns)
{
	static const unsigned steps_ms[] = { 100, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000, 10000 };
	const size_t n = sizeof(steps_ms) / sizeof(steps_ms[0]);
	const uint64_t missed_ms = member_missed_ms(s->member), t = recorder_time(s->recorder, now_ns);
	size_t i = 0;

	while (i < n && missed_ms > steps_ms[i])
		i++;
	if (!missed_ms)
		return;
	if (i < n)
		recorder_note(s->recorder, t, "watched from at most %u ms after its start", steps_ms[i]);
	else
		recorder_note(s->recorder, t, "watched from more than %u s after its start", steps_ms[n - 1] / 1000);
}

static void begin_member(struct session *s, uint64_t now_ns)
{
	if (!s->at.slot)
		note_missed(s, now_ns);
	log_divert(NULL, 0);
	member_set(s->member, MEMBER_WATCHING);
}

static void begin(struct session *s)
{
	uint64_t now = link_clock_ns();

	if (s->opt->duration_ns)
		s->watch.end_ns = now + s->opt->duration_ns;
	s->watch.tick = tick;
	s->watch.tick_ctx = s;
	s->interim = (struct interim){
		.name = "interim report", .interval_ns = s->opt->interval_ns,
		.report = session_report_interim, .ctx = s,
	};
	interim_begin(&s->interim, now);
	s->metrics = (struct interim){
		.name = "file of metrics", .silent = true, .interval_ns = s->opt->metrics ? METRICS_NS : 0,
		.report = session_report_metrics, .ctx = s,
	};
	interim_begin(&s->metrics, now);
	watch_count_threads(&s->watch, now);
	link_alive(&s->at.link);
	s->processes.pid = s->at.target.pid;
	if (!s->opt->program)
		processes_sample(&s->processes, s->recorder, now, false);
	link_alive(&s->at.link);
	if (s->at.under_gdb) {
		gdb_begin(s);
		return;
	}
	if (s->member)
		begin_member(s, now);
	else
		attach_announce(s);
}

/* --- closing --- */

/*
 * From now on only a signal that ends us makes the signalfd readable: SIGUSR1 asks for a report, and the
 * final one is made anyway.
 */
static void ignore_report_requests(struct session *s)
{
	const sigset_t set = ends();

	(void)!signalfd(s->signals, &set, 0);
}

/* Also while it planted, or after the end of the watch: then nothing else has noticed it. */
static bool keeper_was_killed(const struct session *s)
{
	const struct link *l = &s->at.link;

	return s->watch.end == WATCH_KEEPER_KILLED ||
	       (s->planting && !l->uprobe && link_any_planted(l) && link_keeper_died(l));
}

/* The keeper lifts the traps and leaves. false: it was killed, and we have put back what it had planted. */
static bool leave_target(struct session *s)
{
	const bool killed = keeper_was_killed(s);

	if (killed)
		attach_killed(s); /* before anything else: each moment a thread may run into a trap */
	session_verdicts_last(s);
	session_probes_stop(s);
	if (killed)
		return false;
	if (!keeper_was_killed(s))
		attached_undo(&s->at);
	if (!keeper_was_killed(s))
		return true;
	attach_killed(s); /* in the pause for verdicts, or while it lifted */
	return false;
}

/* What the kernel's programs were about to record when they were switched off is there once they are out. */
static void read_to_the_end(struct session *s)
{
	watch_drain(&s->watch);
	if (!link_settle(&s->at.link))
		return;
	watch_drain(&s->watch);
	(void)link_settle(&s->at.link);
}

static void leave(struct session *s)
{
	uint32_t left;

	ignore_report_requests(s);
	if (!leave_target(s))
		return;
	/* nothing is watched any more: what is read from here on has happened before, however long that takes */
	if (!s->end_ns)
		s->end_ns = link_clock_ns();
	if (s->watch.link && s->backtrace)
		read_to_the_end(s);
	if (s->watch.end != WATCH_GOES_ON) {
		session_record_allocator(s, s->end_ns ? s->end_ns : link_clock_ns());
		session_record_runtime(s, s->end_ns ? s->end_ns : link_clock_ns());
		session_record_objects(s, s->end_ns ? s->end_ns : link_clock_ns());
	}
	log_verbose("%" PRIu64 " waits for room in the ring, %.1f ms in all",
		    atomic_load(&s->at.link.shared->counts.stalls),
		    atomic_load(&s->at.link.shared->counts.stall_ns) / 1e6);
	left = atomic_load(&s->at.link.shared->end.left);
	if (left != LEFT_NOT && left != LEFT_ASKED && left != LEFT_ENDED)
		log_error("the keeper lifted all traps and left: %s",
			  leave_reason_text(left));
	if (atomic_load(&s->at.link.shared->end.unlifted))
		log_error("%u traps could not be lifted", atomic_load(&s->at.link.shared->end.unlifted));
	if (atomic_load(&s->at.link.shared->end.uncleaned))
		log_error(UNCLEANED_TEXT, atomic_load(&s->at.link.shared->end.uncleaned));
}

/*
 * The target is detached, the trace is whole: only printing is left, and the reader of our output may have
 * stopped reading. From here on a signal ends us as it ends any program. (spawn_wait handles signals itself.)
 */
static void let_signals_end_us(const struct session *s)
{
	struct signalfd_siginfo si;

	/* the signals so far have ended the watch, or the look-up of names */
	while (read(s->signals, &si, sizeof(si)) == sizeof(si))
		;
	/* but SIGUSR1 only asks for the report that is made anyway */
	signal(SIGUSR1, SIG_IGN);
	sigprocmask(SIG_SETMASK, &s->before.mask, NULL);
}

/*
 * A watch that begins under gdb ends with a trace, of which `mmattach report` makes a report. So does a watch that is
 * one of several.
 */
static bool makes_report(const struct session *s)
{
	return s->opt->command != COMMAND_GDB && !s->member;
}

/*
 * What was not the watch: on a busy machine, or with much code whose names are looked up, that may take longer. Five
 * seconds were asked for; it is stated why it took more.
 */
static void log_times(const struct session *s)
{
	const uint64_t before_ns = s->watch.start_ns > s->begun_ns ? s->watch.start_ns - s->begun_ns : 0,
		       after_ns = link_clock_ns() - s->end_ns;
	char before[DURATION_TEXT], after[DURATION_TEXT];
	static const char fmt[] = "attaching took %s, and %s after the watch were for leaving, names and the report";

	duration_format(before_ns, before, sizeof(before));
	duration_format(after_ns, after, sizeof(after));
	if (!s->member && before_ns + after_ns > LONG_NS)
		log_info(fmt, before, after);
	else
		log_verbose(fmt, before, after);
}

static int report(struct session *s)
{
	int r, trace;

	if (!s->end_ns)
		s->end_ns = link_clock_ns();
	interim_end(&s->interim, s->signals);
	interim_end(&s->metrics, s->signals);
	facts_log_missing(&s->watch);
	if (s->tally)
		tally_await_ends(s->tally);
	member_take_turn(s->member);
	r = session_record_end(s, &trace);
	member_give_turn(s->member);
	if (s->at.link.uprobe)
		uprobe_wait_left(s->at.link.uprobe);
	log_times(s);
	/* a member may have a folder to remove yet; one that has started a program waits for that */
	if (!s->member || s->spawned)
		let_signals_end_us(s);
	if (r == 0 && makes_report(s))
		r = session_report_print(s);
	if (r == 0 && trace == 0)
		member_set(s->member, MEMBER_DONE);
	return r < 0 ? r : trace;
}

static void close_session(struct session *s)
{
	session_verdicts_close(s);
	session_loss_close(s);
	session_probes_close(s);
	attach_close(s);
	session_record_close(s);
	attached_close(&s->at);
	if (s->signals >= 0)
		close(s->signals);
	session_report_close(s);
	ruleset_fini(&s->rules);
}

static void end_member(struct session *s)
{
	if (!s->member)
		return;
	atomic_store(&s->member->end, s->watch.end);
	member_set(s->member, MEMBER_LEAVING);
}

static int watch_and_report(struct session *s)
{
	int r;

	begin(s);
	/* what its keeper has recorded before counts, also if we are to end already */
	if (s->at.slot)
		watch_drain_until(&s->watch, s->at.slot->mapped_until);
	watch_run(&s->watch);
	end_member(s);
	leave(s);
	r = report(s);
	gdb_end(s, r);
	if (s->watch.end == WATCH_KEEPER_KILLED || s->watch.end == WATCH_MEMORY || r < 0)
		return 1;
	return 0;
}

/* The program's own status, unless we have failed or the report has a status. */
static int wait_for_program(struct session *s, int status)
{
	int program = spawn_wait(&s->spawn);

	return status == 0 && session_report_status(s) == 0 ? program : status;
}

static int run(struct session *s, int argc, char **argv)
{
	int r = s->opt->program ? attach_to_program(s, argc, argv) : attach_to_running(s, argc, argv);
	int status = 1;

	if (r == 0)
		status = watch_and_report(s);
	else if (s->at.linked)
		leave(s);
	if (s->spawned && r == 0)
		status = wait_for_program(s, status);
	else if (s->spawned)
		(void)!spawn_wait(&s->spawn);
	return r == 0 && status == 0 ? session_report_status(s) : status;
}

/* The exit status. Errors in the rules are logged already. */
static int rules_refused(int r)
{
	if (r == -EINVAL)
		return 2;
	log_error_errno(r, "cannot begin");
	return 1;
}

/* Does only what happens inside of some functions count? */
static bool has_inside(const struct ruleset *rules)
{
	for (size_t i = 0; i < rules->nrules; i++)
		if (rules->rules[i].op == RULE_IN)
			return true;
	return false;
}

/*
 * A set-uid program, as sudo, does not get its privileges while a tracer without CAP_SYS_PTRACE has the
 * process that executes it: most children of fork execute a program at once.
 */
static bool keeps_privileges(void)
{
	struct diagnose_self self;

	diagnose_read_self(&self);
	return self.cap_sys_ptrace;
}

/*
 * With a budget traps come and go, and where gdb's unwinder is asked each hit is held: both need the watch
 * from the first hit on. The second engine has no keeper.
 */
bool session_uses_slots(const struct options *opt)
{
	const bool keeper = opt->engine == ENGINE_PTRACE || (opt->engine == ENGINE_AUTO && !opt->sample_bytes);

	return keeper && !opt->budget_ppm && !backtrace_holds(opt->stacks.unwinder) && keeps_privileges();
}

/* A copy that has exec'ed or ended meanwhile is not in its slot any more. */
static void take_slots(struct session *s)
{
	if (!s->member || !session_uses_slots(s->opt))
		return;
	s->at.slots = s->member->slots;
	if (s->member->slot && !atomic_load(&s->member->slot->shared.end.left))
		s->at.slot = s->member->slot;
}

int session_run(const struct options *opt, struct member *member, int argc, char **argv)
{
	struct session *s = calloc(1, sizeof(*s)); /* too large for a small stack */
	int status = 1, r;

	if (!s) {
		log_error_errno(ENOMEM, "cannot begin");
		return 1;
	}
	s->opt = opt;
	s->member = member;
	s->argc = argc;
	s->argv = argv;
	s->begun_ns = link_clock_ns();
	openfiles_raise(&s->before.files);
	s->signals = -1;
	s->gdb.control = opt->command == COMMAND_GDB ? opt->gdb_fds[1] : -1;
	s->at = (struct attached)ATTACHED_INIT;
	s->at.opt = opt;
	s->at.under_gdb = opt->command == COMMAND_GDB;
	s->at.inherits = member && member->inherits;
	s->at.start_ns = member ? member->start_ns : 0;
	take_slots(s);
	r = ruleset_choose(opt, &s->rules);
	if (r == 0 && opt->budget_ppm)
		r = sampling_check_rules(&s->rules);
	if (r == 0 && opt->sample_bytes)
		r = uprobe_sample_check(&s->rules);
	s->at.inside = r == 0 && has_inside(&s->rules);
	if (r == 0)
		r = option_engine_check_rules(opt, s->at.inside);
	/* with a budget a process that ends is not held for them */
	s->hold_end = r == 0 && !opt->budget_ppm && session_verdicts_wanted(s);
	s->at_end = at_end;
	if (r == 0)
		r = session_verdicts_open(s);
	if (r < 0)
		status = rules_refused(r);
	else if (open_signals(s) == 0 && session_report_open(s) == 0 && session_record_open(s) == 0)
		status = run(s, argc, argv);
	close_session(s);
	free(s);
	return status;
}
