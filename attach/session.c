/* SPDX-License-Identifier: MIT */
#include "attach/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/diagnose.h"
#include "attach/keeper/procfs.h"
#include "attach/repair.h"
#include "attach/rehearse.h"
#include "attach/results.h"
#include "attach/ruleset.h"
#include "attach/spawn.h"
#include "attach/watch.h"
#include "base/log.h"

#define LEAVE_NS 6000000000ull
#define SEIZE_NS 10000000000ull

struct session {
	const struct options *opt;
	struct target_info target;
	struct targetfs fs;
	struct link link;
	struct modules *modules;
	struct planting planting;
	struct tally tally;
	struct backtrace *backtrace;
	struct spawn spawn;
	struct spawn_before before;
	struct watch watch;
	int signals;
	struct outfile report;
	bool linked, planting_up, tally_up, spawned;
	int64_t wall_start_ns;
};

/* --- the target --- */

static int find_target(struct session *s)
{
	cleanup_strbuf struct strbuf listing = STRBUF_INIT;
	struct diagnose_self self;
	struct diagnosis d;
	pid_t pid = s->opt->pid;
	int r = 0;

	if (s->opt->name)
		r = target_find(s->opt->name, &pid, &listing);
	if (r == 0)
		r = target_read(pid, &s->target);
	if (r < 0) {
		diagnose_lookup(s->opt->pid, s->opt->name, r, strbuf_str(&listing), &d);
		diagnose_log(&d);
		return r;
	}
	diagnose_read_self(&self);
	if (diagnose_before(&s->target, &self, &d) ||
	    (!s->opt->lose_sigtrap && diagnose_sigtrap(&s->target, &d))) {
		diagnose_log(&d);
		return -EPERM;
	}
	return 0;
}

/*
 * Have the keeper leave. One that does not answer is continued, in case that
 * somebody stopped it; if that does not help, and nothing was ever planted, it
 * can be killed without harm, which frees whoever waits for it.
 */
static void end_keeper(struct session *s)
{
	if (link_leave(&s->link, LEAVE_NS) == 0)
		return;
	link_signal(&s->link, SIGCONT);
	if (!link_any_planted(&s->link))
		link_signal(&s->link, SIGKILL);
	if (link_leave(&s->link, LEAVE_NS) == 0)
		return;
	log_error("the keeper (%d) does not end; the traps are %s", s->link.keeper,
		  atomic_load(&s->link.shared->left_ns) ? "lifted" : "perhaps not lifted");
}

static void say_attach_failed(struct session *s, int err)
{
	struct diagnose_self self;
	struct target_info now;
	struct diagnosis d;
	int r;

	if (err == -EOPNOTSUPP) {
		log_error("cannot attach to %d (%s): kcmp is not there", s->target.pid, s->target.comm);
		log_hint("the kernel must have CONFIG_KCMP, and a container's seccomp filter must let the system call through");
		return;
	}
	if (err == -EPIPE) {
		log_error("cannot attach to %d (%s): the keeper ended at once", s->target.pid, s->target.comm);
		return;
	}
	if (err == -ETIMEDOUT) {
		log_error("cannot attach to %d (%s): a thread of it stays inside fork", s->target.pid, s->target.comm);
		log_hint("its child could carry traps that nobody serves; try again when it has finished");
		return;
	}
	/* our own keeper may still hold it, and must not be taken for the reason */
	if (s->linked)
		end_keeper(s);
	diagnose_read_self(&self);
	/* another tracer may have been faster, or it may have ended */
	r = target_read(s->target.pid, &now);
	if (r == 0) {
		if (err == -ESRCH && now.state != 'Z')
			diagnose_attach(&now, &self, err, &d);
		else if (err == -ESRCH)
			diagnose_vanished(&s->target, &d);
		else
			diagnose_attach(&now, &self, err, &d);
		target_fini(&now);
	} else if (r == -ESRCH || r == -ENOENT) {
		diagnose_vanished(&s->target, &d);
	} else {
		/* it may well be there, only we cannot look: then what failed first is the reason */
		diagnose_attach(&s->target, &self, err == -ESRCH ? r : err, &d);
	}
	diagnose_log(&d);
}

/* --- opening --- */

static int open_signals(struct session *s)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
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

/* Before there is a keeper. The usual reasons have their own words. */
static void say_not_permitted(struct session *s, int err, const char *what)
{
	struct diagnose_self self;
	struct diagnosis d;

	log_error_errno(err, "cannot watch: %s", what);
	if (!s->target.pid)
		return;
	diagnose_read_self(&self);
	diagnose_attach(&s->target, &self, err, &d);
	diagnose_log(&d);
}

static int open_link(struct session *s, int argc, char **argv)
{
	const struct link_settings set = {
		.slice_bytes = s->opt->stack_bytes, .max_stall_ns = s->opt->max_stall_ns,
	};
	const char *what;
	int r = rehearse(&what);

	if (r < 0) {
		say_not_permitted(s, r, what);
		return r;
	}
	r = link_open(&s->link, &set, argc, argv);

	if (r < 0)
		log_error_errno(r, "cannot start the keeper");
	s->linked = r == 0;
	if (r == 0)
		s->link.shared->lose_sigtrap = s->opt->lose_sigtrap;
	return r;
}

static int stack_of(void *ctx, const struct record_hit *hit, const struct site *at, bool skip, uint32_t *number)
{
	struct session *s = ctx;

	return backtrace_of(s->backtrace, hit, at, skip, number);
}

static int open_planting(struct session *s)
{
	const struct backtrace_options stacks = { .which = s->opt->unwinder, .depth = s->opt->depth };
	const struct plan_options options = {
		.exact_sizes = s->opt->exact_sizes, .shadow_stack = s->target.shadow_stack,
	};
	cleanup_free struct rule *rules = NULL;
	int mem, r;
	size_t n;

	r = ruleset_choose(s->opt, &rules, &n);
	if (r < 0)
		return r;
	mem = procfs_open_mem(s->target.pid);
	if (mem < 0)
		return mem == -EACCES ? -EPERM : mem == -ENOENT ? -ESRCH : mem;
	r = planting_init(&s->planting, &s->link, s->modules, mem, rules, n, &options);
	if (r < 0)
		return r;
	s->planting_up = true;
	s->planting.hold = backtrace_holds(s->opt->unwinder);
	tally_init(&s->tally, &s->planting, stack_of, s);
	targetfs_open(s->target.pid, &s->fs);
	s->tally.pid = s->target.pid;
	s->tally_up = true;
	return backtrace_new(s->target.pid, s->modules, s->link.shared, &stacks, &s->backtrace);
}

/* The functions that the user named are not there. */
static void say_none_found(const struct session *s)
{
	for (size_t i = 0; i < s->opt->nrules; i++) {
		char rule[256];

		rule_format(&s->opt->rules[i], rule, sizeof(rule));
		log_error("nothing in %d (%s) to watch by the rule: %s", s->target.pid, s->target.comm, rule);
	}
	log_hint("a function without a name in the file can be given as 0xADDRESS or MODULE+0xOFFSET; a module that is loaded later is watched once one of the rules is found");
}

/* Read what is mapped, decide where traps go. Touches nothing. */
static int plan(struct session *s)
{
	struct diagnosis d;
	taddr linker;
	int r = modules_refresh(s->modules, false);

	if (r == 0)
		r = planting_plan(&s->planting);
	if (r < 0)
		return r;
	if (!planting_any(&s->planting) && ruleset_is_own(s->opt)) {
		say_none_found(s);
		return -ENOENT;
	}
	if (!planting_any(&s->planting)) {
		diagnose_no_allocator(&s->target, modules_linker_break(s->modules, &linker) == -ENOENT, &d);
		diagnose_log(&d);
		return -ENOENT;
	}
	r = planting_plan_linker(&s->planting);
	if (r < 0) {
		log_warn_errno(r, "modules that are loaded later will not be watched");
		r = 0;
	}
	return r;
}

static int seize(struct session *s)
{
	return link_call(&s->link, COMMAND_SEIZE, s->target.pid, 0, SEIZE_NS);
}

/* A module may come between our look and the linker's trap: so look again until nothing is new. */
static int plant(struct session *s)
{
	size_t known;
	int r;

	do {
		known = modules_count(s->modules);
		r = planting_plan(&s->planting);
		if (r == 0)
			r = planting_plant(&s->planting);
		if (r == 0)
			r = modules_refresh(s->modules, false);
		if (r == 0)
			r = planting_forget_gone(&s->planting);
	} while (r == 0 && modules_count(s->modules) > known);
	backtrace_modules_changed(s->backtrace);
	if (r == 0 && !link_any_planted(&s->link)) {
		log_error("cannot watch %d (%s): no trap could be planted", s->target.pid, s->target.comm);
		r = -ENOENT;
	}
	return r;
}

static struct timespec wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts;
}

static void begin(struct session *s)
{
	struct timespec now = wall_clock();

	s->wall_start_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	s->watch.start_ns = link_clock_ns();
	if (s->opt->duration_ns)
		s->watch.end_ns = s->watch.start_ns + s->opt->duration_ns;
	log_announce("watching %d (%s), %zu functions, %u threads", s->target.pid, s->target.comm,
		     s->planting.nprobes, atomic_load(&s->link.shared->threads));
}

static void prepare_watch(struct session *s)
{
	s->watch = (struct watch){
		.link = &s->link, .modules = s->modules, .planting = &s->planting, .tally = &s->tally,
		.backtrace = s->backtrace,
		.pid = s->target.pid, .signals = s->signals,
		.progress = isatty(STDERR_FILENO) && !s->opt->quiet,
		.start_ns = link_clock_ns(),
	};
}

static int attach(struct session *s, int argc, char **argv)
{
	int r = find_target(s);

	if (r < 0)
		return r; /* said */
	r = open_link(s, argc, argv);
	if (r < 0)
		return r;
	r = modules_new(s->target.pid, &s->modules);
	if (r == 0)
		r = open_planting(s);
	if (r < 0) {
		say_attach_failed(s, r);
		return r;
	}
	prepare_watch(s);
	r = plan(s);
	if (r == -ENOENT)
		return r; /* said */
	if (r == 0)
		r = seize(s);
	if (r == 0)
		r = plant(s);
	if (r < 0 && r != -ENOENT)
		say_attach_failed(s, r);
	return r;
}

static int start_program(struct session *s, int argc, char **argv)
{
	int r = open_link(s, argc, argv), err;
	struct diagnosis d;

	if (r < 0)
		return r;
	r = spawn_start(&s->spawn, s->opt->program, s->link.keeper, &s->before);
	if (r < 0) {
		log_error_errno(r, "cannot start %s", s->opt->program[0]);
		return r;
	}
	s->spawned = true;
	r = target_read(s->spawn.pid, &s->target);
	s->link.shared->lose_sigtrap = s->opt->lose_sigtrap;
	if (r == 0 && !s->opt->lose_sigtrap && diagnose_sigtrap(&s->target, &d)) {
		diagnose_log(&d);
		spawn_cancel(&s->spawn);
		s->spawned = false;
		return -EPERM;
	}
	if (r == 0)
		r = modules_new(s->spawn.pid, &s->modules);
	if (r == 0)
		r = open_planting(s);
	prepare_watch(s);
	s->watch.awaiting_exec = true;
	if (r == 0)
		r = seize(s);
	if (r < 0) {
		spawn_cancel(&s->spawn);
		s->spawned = false;
		say_attach_failed(s, r);
		return r;
	}
	r = spawn_go(&s->spawn);
	if (r == 0)
		watch_until_started(&s->watch);
	err = s->watch.started ? 0 : spawn_exec_error(&s->spawn);
	if (err) {
		log_error_errno(err, "cannot run %s", s->opt->program[0]);
		if (err == ENOENT)
			log_hint("the program is looked for in PATH; give its path if it is elsewhere");
		return -err;
	}
	if (!s->watch.started) {
		log_error("%s was ended before it ran", s->opt->program[0]);
		return -ECANCELED;
	}
	target_fini(&s->target);
	return target_read(s->spawn.pid, &s->target);
}

/* --- closing --- */

static void say_keeper_killed(struct session *s)
{
	uint32_t left, lifted = link_emergency_lift(&s->link, s->planting.mem, &left);

	log_error("the keeper was killed: %u traps were put back%s", lifted, left ? "" : ", none is left");
	/* kernels that let only a tracer write: repair knows the way around */
	if (left && repair(s->target.pid, stderr) != 0)
		log_hint("%u traps still stand in %d: try `mmattach repair %d` as root", left, s->target.pid,
			 s->target.pid);
	else
		log_hint("a thread that ran into a trap meanwhile has ended the target; otherwise it goes on");
}

static void leave(struct session *s)
{
	uint32_t left;

	if (s->watch.end == WATCH_KEEPER_KILLED) {
		say_keeper_killed(s);
		return;
	}
	end_keeper(s);
	if (s->watch.link && s->backtrace)
		watch_drain(&s->watch);
	log_verbose("%" PRIu64 " waits for room in the ring, %.1f ms in all", atomic_load(&s->link.shared->stalls),
		    atomic_load(&s->link.shared->stall_ns) / 1e6);
	left = atomic_load(&s->link.shared->left);
	if (left != LEFT_NOT && left != LEFT_ASKED && left != LEFT_ENDED)
		log_error("the keeper lifted all traps and left: %s",
			  leave_reason_text(left));
	if (atomic_load(&s->link.shared->unlifted))
		log_error("%u traps could not be lifted", atomic_load(&s->link.shared->unlifted));
}

/* What the user asked for by name, and what was never there. */
static void say_not_found(const struct summary *summary)
{
	for (size_t i = 0; i < summary->run.nprobes; i++)
		if (!summary->run.probes[i].module)
			log_warn("not found in the target: %s", summary->run.probes[i].rule);
}

static int report(struct session *s)
{
	const struct results_run run = {
		.wall_start_ns = s->wall_start_ns, .start_ns = s->watch.start_ns, .end_ns = link_clock_ns(),
		.target = &s->target, .fs = &s->fs, .debuginfod = s->opt->debuginfod, .stop = s->signals,
	};
	struct summary summary;
	int r;

	tally_end(&s->tally);
	r = results_summary(&s->watch, &run, &summary);

	if (r < 0)
		log_error_errno(r, "cannot make the report");
	else
		say_not_found(&summary);
	if (r == 0)
		r = results_print(&summary, s->opt, &s->report);
	summary_fini(&summary);
	return r;
}

static void close_session(struct session *s)
{
	if (s->tally_up)
		tally_fini(&s->tally);
	backtrace_free(s->backtrace);
	if (s->planting_up)
		planting_fini(&s->planting);
	modules_free(s->modules);
	if (s->linked)
		link_close(&s->link);
	if (s->signals >= 0)
		close(s->signals);
	outfile_abort(&s->report);
	targetfs_fini(&s->fs);
	target_fini(&s->target);
}

static int watch_and_report(struct session *s)
{
	int r;

	begin(s);
	watch_run(&s->watch);
	leave(s);
	r = report(s);
	if (s->watch.end == WATCH_KEEPER_KILLED || s->watch.end == WATCH_MEMORY)
		return 1;
	return r < 0;
}

/* Before anything is touched: a report that cannot be written is known now, not after eight hours. */
static int open_report(struct session *s)
{
	int r = s->opt->report ? outfile_open(&s->report, s->opt->report) : 0;

	if (r < 0)
		log_error_errno(r, "cannot write the report to %s", s->opt->report);
	return r;
}

int session_run(const struct options *opt, int argc, char **argv)
{
	struct session *s = calloc(1, sizeof(*s)); /* too large for a small stack */
	int status = 1;

	if (!s) {
		log_error_errno(ENOMEM, "cannot begin");
		return 1;
	}
	s->opt = opt;
	s->signals = -1;
	s->fs = (struct targetfs)TARGETFS_INIT;
	s->report = (struct outfile)OUTFILE_INIT;
	if (open_report(s) == 0 && open_signals(s) == 0) {
		int r = opt->program ? start_program(s, argc, argv) : attach(s, argc, argv);

		if (r == 0)
			status = watch_and_report(s);
		else if (s->linked)
			leave(s);
		if (s->spawned) {
			int program = spawn_wait(&s->spawn);

			if (r == 0 && status == 0)
				status = program;
		}
	}
	close_session(s);
	free(s);
	return status;
}
