/* SPDX-License-Identifier: MIT */
#include "attach/watch/coming.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/events/tally_ranges.h"
#include "attach/keeper/procfs.h"
#include "attach/options/ruleset.h"
#include "attach/rules/ruletext.h"
#include "attach/sampling/sampling_check.h"
#include "attach/target/diagnose.h"
#include "attach/target/linker.h"
#include "attach/target/rehearse.h"
#include "attach/watch/facts.h"
#include "base/log.h"

#define LEAVE_NS 6000000000ull
#define SEIZE_NS 20000000000ull	/* longer than the keeper's own limits (seize.c), unless it does not get to run */

/* --- the target --- */

/* gdb has it, and knows what it does. */
static int find_gdbs_target(struct session *s)
{
	int r = target_read(s->opt->pid, &s->target);

	if (r < 0)
		log_error_errno(r, "cannot watch %d", s->opt->pid);
	return r;
}

/* Who only looks plants nothing. */
static bool plants(const struct session *s)
{
	return s->opt->command != COMMAND_SCAN;
}

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
	    (plants(s) && !s->opt->lose_sigtrap && diagnose_sigtrap(&s->target, &d))) {
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
void come_undone(struct session *s)
{
	if (link_leave(&s->link, LEAVE_NS) == 0)
		return;
	link_signal(&s->link, SIGCONT);
	if (!link_any_planted(&s->link))
		link_signal(&s->link, SIGKILL);
	if (link_leave(&s->link, LEAVE_NS) == 0)
		return;
	log_error("the keeper (%d) does not end; %s", s->link.keeper,
		  !link_any_planted(&s->link) ? "it had planted nothing" :
		  atomic_load(&s->link.shared->left_ns) ? "the traps are lifted" : "the traps are perhaps not lifted");
}

/* A thread was waited for in vain; or all are, one after the other. */
static void say_too_late(const struct session *s)
{
	const struct shared *sh = s->link.shared;
	const pid_t tid = (pid_t)atomic_load(&sh->late);
	const char state = (char)atomic_load(&sh->late_state);

	if (tid && state != 'R') {
		log_error("cannot attach to %d (%s): its thread %d (state %c) has not come by; it may be inside fork", s->target.pid, s->target.comm,
			  tid, state);
		log_hint("a child under way could carry traps that nobody serves; try again when it has finished");
		return;
	}
	if (tid)
		log_error("cannot attach to %d (%s): its thread %d gets no processor", s->target.pid, s->target.comm, tid);
	else
		log_error("cannot attach to %d (%s): its threads did not all come by in time", s->target.pid, s->target.comm);
	log_hint("before traps are set, each thread that runs must come by once; try again when the machine has less to do");
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
		say_too_late(s);
		return;
	}
	/* our own keeper may still hold it, and must not be taken for the reason */
	if (s->linked)
		come_undone(s);
	diagnose_read_self(&self);
	/* another tracer may have been faster, or it may have ended */
	r = target_read(s->target.pid, &now);
	if (r == 0) {
		if (err == -ESRCH && now.state != 'Z')
			diagnose_attach(&now, &self, err, &d);
		else if (err == -ESRCH)
			diagnose_vanished(&s->target, false, &d);
		else
			diagnose_attach(&now, &self, err, &d);
		target_fini(&now);
	} else if (r == -ESRCH || r == -ENOENT) {
		diagnose_vanished(&s->target, false, &d);
	} else {
		/* it may well be there, only we cannot look: then what failed first is the reason */
		diagnose_attach(&s->target, &self, err == -ESRCH ? r : err, &d);
	}
	diagnose_log(&d);
}

/* --- opening --- */

/* Before there is a keeper. The usual reasons have their own words. */
static void say_not_permitted(struct session *s, int err, const char *what)
{
	struct diagnose_self self;
	struct diagnosis d;

	log_error_errno(err, "cannot %s: %s", plants(s) ? "watch" : "scan", what);
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
		.budget_ppm = s->opt->budget_ppm,
		.gdb = s->under_gdb ? s->opt->gdb_fds[0] : -1, .gdb_mem = s->under_gdb ? s->opt->gdb_fds[2] : -1,
	};
	const char *what;
	/* where gdb is the tracer, we need not be able to */
	int r = s->under_gdb ? 0 : rehearse(&what);

	if (r < 0) {
		say_not_permitted(s, r, what);
		return r;
	}
	r = link_open(&s->link, &set, argc, argv);

	if (r < 0)
		log_error_errno(r, "cannot start the keeper");
	s->linked = r == 0;
	if (r < 0)
		return r;
	s->link.shared->lose_sigtrap = s->opt->lose_sigtrap || !plants(s);
	s->link.shared->hold_end = s->hold_end;
	return 0;
}

static int stack_of(void *ctx, const struct record_hit *hit, const struct site *at, uint32_t skip, const char *tag,
		    uint32_t *number)
{
	struct session *s = ctx;

	return backtrace_of(s->backtrace, hit, at, skip, tag, number);
}

/* Before anything is done, so that one can think better of it. */
static void say_notes(const struct ruleset *rules)
{
	for (size_t i = 0; i < rules->nfamilies; i++)
		if (*rules->families[i].note)
			log_warn("family %s: %s", rules->families[i].name, rules->families[i].note);
}

static int open_planting(struct session *s)
{
	const struct backtrace_options stacks = { .which = s->opt->unwinder, .depth = s->opt->depth };
	const struct plan_options options = {
		.exact_sizes = s->opt->exact_sizes, .shadow_stack = s->target.shadow_stack,
	};
	int mem = s->under_gdb ? fcntl(s->opt->gdb_fds[2], F_DUPFD_CLOEXEC, 3) : procfs_open_mem(s->target.pid), r;

	say_notes(&s->rules);
	if (mem < 0)
		return mem == -EACCES ? -EPERM : mem == -ENOENT ? -ESRCH : mem;
	r = planting_init(&s->planting, &s->link, s->modules, mem, &s->rules, &options);
	if (r < 0)
		return r;
	s->planting_up = true;
	s->planting.hold = backtrace_holds(s->opt->unwinder);
	s->planting.free_stacks = s->opt->free_stacks;
	scope_init(&s->scope, s->target.pid, s->modules, &s->opt->threads, &s->opt->modules);
	r = tally_init(&s->tally, &s->planting, &s->recorder, &s->scope, stack_of, s);
	s->tally_up = true;
	s->tally.pid = s->target.pid;
	targetfs_open(s->target.pid, &s->fs);
	if (r == 0)
		r = backtrace_new(s->target.pid, s->modules, s->link.shared, &s->recorder.ledger.defs, &stacks,
				  &s->backtrace);
	if (r == 0)
		backtrace_skip(s->backtrace, skips_has, &s->planting.skips);
	return r;
}

/* The functions that the user named are not there. */
static void say_none_found(const struct session *s)
{
	for (size_t i = 0; i < s->opt->families.n; i++)
		log_error("nothing in %d (%s) to watch of --family %s", s->target.pid, s->target.comm, s->opt->families.all[i]);
	for (size_t i = 0; i < s->rules.nrules; i++) {
		char rule[256];

		if (s->rules.rules[i].builtin)
			continue;
		rule_format(&s->rules.rules[i], rule, sizeof(rule));
		log_error("nothing in %d (%s) to watch by the rule: %s", s->target.pid, s->target.comm, rule);
	}
	log_hint("a function without a name in the file can be given as 0xADDRESS or MODULE+0xOFFSET; a module that is loaded later is watched once one of the rules is found");
}

/* With a budget the traps go elsewhere: who decides that must know what is mapped. */
static int open_sampling(struct session *s)
{
	int r = sampling_check_allocator(s->modules);

	return r < 0 ? r : sampling_new(s->target.pid, &s->planting, &s->tally, s->opt->budget_ppm, &s->sampling);
}

/* Read what is mapped, decide where traps go. Touches nothing. */
static int plan(struct session *s)
{
	struct diagnosis d;
	taddr linker;
	int r = modules_refresh(s->modules, false);

	if (r == 0 && s->opt->budget_ppm)
		r = open_sampling(s);
	if (r < 0)
		return r;
	/* first: no rule may take its place */
	r = planting_plan_linker(&s->planting);
	if (r < 0)
		log_warn_errno(r, "modules that are loaded later will not be watched");
	r = planting_plan(&s->planting);
	if (r < 0)
		return r;
	if (!planting_any(&s->planting) && (s->opt->families.n || ruleset_is_own(&s->rules))) {
		say_none_found(s);
		return -ENOENT;
	}
	if (!planting_any(&s->planting)) {
		diagnose_no_allocator(&s->target, linker_break(s->modules, &linker) == -ENOENT, &d);
		diagnose_log(&d);
		return -ENOENT;
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

static void begin_recording(struct session *s)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	s->watch.start_ns = link_clock_ns();
	facts_begin(&s->recorder, &s->target, &s->rules, s->watch.start_ns, now.tv_sec * 1000000000ll + now.tv_nsec,
		    s->under_gdb ? "gdb" : "ptrace", s->sampling != NULL);
	facts_scope(&s->recorder, &s->scope);
	if (s->sampling)
		sampling_begin(s->sampling, s->watch.start_ns);
}

/* Start mode: the process is the program by now. */
static void begin_program(void *ctx)
{
	struct session *s = ctx;
	struct target_info now;

	if (target_read(s->spawn.pid, &now) == 0) {
		target_fini(&s->target);
		s->target = now;
	}
	begin_recording(s);
}

static void prepare_watch(struct session *s)
{
	s->watch = (struct watch){
		.ending = s->at_end, .ending_ctx = s,
		.link = &s->link, .modules = s->modules, .planting = &s->planting, .tally = &s->tally,
		.backtrace = s->backtrace,
		.pid = s->target.pid, .signals = s->signals, .control = s->control,
		.progress = isatty(STDERR_FILENO) && !s->opt->quiet,
		.start_ns = link_clock_ns(),
	};
}

int come_to_running(struct session *s, int argc, char **argv)
{
	int r = s->under_gdb ? find_gdbs_target(s) : find_target(s);

	if (r < 0)
		return r; /* said */
	r = open_link(s, argc, argv);
	if (r < 0)
		return r;
	r = modules_new(s->target.pid, &s->modules);
	if (r == 0 && s->under_gdb)
		r = modules_move(s->modules, s->target.pid, s->opt->gdb_fds[2]);
	if (r == 0)
		r = open_planting(s);
	if (r < 0) {
		say_attach_failed(s, r);
		return r;
	}
	prepare_watch(s);
	r = plan(s);
	if (r == -ENOENT || r == -ENOTSUP)
		return r; /* said */
	s->watch.sampling = s->sampling;
	if (r == 0)
		r = seize(s);
	if (r == 0)
		r = tally_ranges_begin(&s->tally, s->target.pid);
	if (r == 0)
		r = plant(s);
	if (r == 0)
		begin_recording(s);
	else if (r != -ENOENT)
		say_attach_failed(s, r);
	return r;
}

int come_to_look(struct session *s, int argc, char **argv)
{
	int r = find_target(s);

	if (r < 0)
		return r; /* said */
	r = open_link(s, argc, argv);
	if (r < 0)
		return r;
	targetfs_open(s->target.pid, &s->fs);
	r = modules_new(s->target.pid, &s->modules);
	if (r == 0)
		r = modules_refresh(s->modules, false);
	if (r == 0)
		r = seize(s);
	if (r < 0)
		say_attach_failed(s, r);
	return r;
}

/* What may have changed since gdb had it. */
static int find_left_target(struct session *s)
{
	struct target_info now;
	struct diagnose_self self;
	struct diagnosis d;
	bool refused;
	int r = target_read(s->target.pid, &now);

	if (r < 0) {
		log_error_errno(r, "cannot go on with %d", s->target.pid);
		return r;
	}
	diagnose_read_self(&self);
	refused = diagnose_before(&now, &self, &d) || diagnose_sigtrap(&now, &d);
	if (refused)
		diagnose_log(&d);
	target_fini(&now);
	return refused ? -EPERM : 0;
}

int come_over(struct session *s)
{
	const char *what;
	int r = find_left_target(s);

	if (r < 0)
		return r; /* said */
	r = rehearse(&what);
	if (r < 0) {
		say_not_permitted(s, r, what);
		return r;
	}
	r = link_take_over(&s->link);
	s->under_gdb = r < 0;
	if (r == 0 && s->planting.mem < 0)
		s->planting.mem = procfs_open_mem(s->target.pid);
	if (r == 0)
		planting_again(&s->planting);
	if (r == 0)
		r = seize(s);
	if (r == 0)
		r = plant(s);
	if (r < 0 && r != -ENOENT)
		say_attach_failed(s, r);
	return r;
}

int come_to_program(struct session *s, int argc, char **argv)
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
	s->watch.begin = begin_program;
	s->watch.begin_ctx = s;
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
	return 0;
}
