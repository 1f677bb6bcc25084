/* SPDX-License-Identifier: MIT */
#include "attach/watch/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attach/control/planting.h"
#include "attach/control/repair.h"
#include "attach/events/recorder.h"
#include "attach/events/scope.h"
#include "attach/events/tally.h"
#include "attach/events/tally_ranges.h"
#include "attach/keeper/procfs.h"
#include "attach/options/option_engine.h"
#include "attach/options/options.h"
#include "attach/options/ruleset.h"
#include "attach/rules/ruletext.h"
#include "attach/sampling/sampling.h"
#include "attach/stacks/backtrace.h"
#include "attach/target/diagnose.h"
#include "attach/target/linker.h"
#include "attach/target/rehearse.h"
#include "attach/watch/engine_choice.h"
#include "attach/watch/facts.h"
#include "attach/watch/member.h"
#include "attach/watch/session.h"
#include "base/log.h"
#include "base/strbuf.h"

/* --- opening --- */

static int stack_of(void *ctx, const struct record_hit *hit, const struct site *at,
		    const struct tally_frames *which, const char *tag, uint32_t *number)
{
	const struct backtrace_frames frames = { .skip = which->skip, .returned = which->returned };
	struct session *s = ctx;

	return backtrace_of(s->backtrace, hit, at, &frames, tag, number);
}

/* Logged before anything is done, so that the user can still cancel. */
static void log_notes(const struct ruleset *rules)
{
	for (size_t i = 0; i < rules->nfamilies; i++)
		if (*rules->families[i].note)
			log_warn("family %s: %s", rules->families[i].name, rules->families[i].note);
}

static int make_parts(struct session *s, int mem, const struct plan_options *options)
{
	struct planting *planting = calloc(1, sizeof(*planting));
	int r = planting ? planting_init(planting, &s->at.link, s->at.modules, mem, &s->rules, options)
			 : -ENOMEM;

	if (r < 0) {
		free(planting);
		return r;
	}
	s->planting = planting;
	s->scope = calloc(1, sizeof(*s->scope));
	s->tally = s->scope ? calloc(1, sizeof(*s->tally)) : NULL;
	return s->tally ? 0 : -ENOMEM;
}

static struct plan_options plan_options_of(const struct session *s)
{
	struct uprobe *u = s->at.link.uprobe ? s->at.link.uprobe : s->at.link.prepared;

	return (struct plan_options){
		/* a sample is of requested sizes: no others are known when a call begins */
		.exact_sizes = s->opt->what.exact_sizes || s->opt->sample_bytes,
		.shadow_stack = s->at.target.shadow_stack,
		.kernel = u, .kernel_returns = u && uprobe_may_return(u), .sampled = s->opt->sample_bytes,
	};
}

static int open_planting(struct session *s)
{
	struct uprobe *u = s->at.link.uprobe ? s->at.link.uprobe : s->at.link.prepared;
	const struct backtrace_options stacks = {
		.which = s->opt->stacks.unwinder, .depth = s->opt->stacks.depth,
		.python = s->opt->stacks.python,
		.ruby = s->opt->stacks.ruby,
	};
	const struct plan_options options = plan_options_of(s);
	int mem = s->at.under_gdb ? fcntl(s->opt->gdb_fds[2], F_DUPFD_CLOEXEC, 3)
				  : procfs_open_mem(s->at.target.pid),
	    r;

	log_notes(&s->rules);
	if (s->opt->sample_bytes)
		uprobe_sample(u, s->opt->sample_bytes, s->rules.rules);
	if (mem < 0)
		return mem == -EACCES ? -EPERM : mem == -ENOENT ? -ESRCH : mem;
	r = make_parts(s, mem, &options);
	if (r < 0)
		return r;
	s->planting->hold = backtrace_holds(s->opt->stacks.unwinder);
	s->planting->free_stacks = s->opt->free_stacks;
	scope_init(s->scope, s->at.target.pid, s->at.modules, &s->opt->what.threads, &s->opt->what.modules);
	r = tally_init(s->tally, s->planting, s->recorder, s->scope, stack_of, s);
	s->tally->pid = s->at.target.pid;
	targetfs_open(s->at.target.pid, &s->at.fs);
	if (r == 0)
		r = backtrace_new(s->at.target.pid, s->at.modules, s->at.link.shared,
				  &s->recorder->ledger.defs, &stacks, &s->backtrace);
	if (r == 0)
		backtrace_skip(s->backtrace, skipped_functions_has, &s->planting->skipped);
	return r;
}

/* Log that the functions which the user named are not there. */
static void log_none_found(const struct session *s)
{
	for (size_t i = 0; i < s->opt->what.families.n; i++)
		log_error("nothing in %d (%s) to watch of --family %s", s->at.target.pid, s->at.target.comm,
			  s->opt->what.families.all[i]);
	for (size_t i = 0; i < s->rules.nrules; i++) {
		char rule[256];

		if (s->rules.rules[i].builtin)
			continue;
		rule_format(&s->rules.rules[i], rule, sizeof(rule));
		log_error("nothing in %d (%s) to watch by the rule: %s", s->at.target.pid, s->at.target.comm,
			  rule);
	}
	log_hint("a function without a name in the file can be given as 0xADDRESS or MODULE+0xOFFSET; a "
		 "module that is loaded later is watched once one of the rules is found");
}

/* Read what is mapped, decide where traps go. Touches nothing. */
static int plan(struct session *s)
{
	struct diagnosis d;
	taddr linker;
	int r = modules_refresh(s->at.modules, false);

	/* with a budget, sampling decides where the traps go, and must know what is mapped */
	if (r == 0 && s->opt->budget_ppm)
		r = sampling_new(s->at.target.pid, s->planting, s->tally, s->opt->budget_ppm, &s->sampling);
	if (r < 0)
		return r;
	if (!s->opt->budget_ppm && !s->opt->sample_bytes)
		freed_sizes_open(&s->freed_sizes, s->at.target.pid, s->at.modules, &s->at.link);
	s->tally->freed_size = freed_sizes_of;
	s->tally->freed_size_ctx = &s->freed_sizes;
	/* the linker's trap first: no rule may take its address */
	r = planting_plan_linker(s->planting);
	if (r < 0)
		log_warn_errno(r, "modules that are loaded later will not be watched");
	r = planting_plan(s->planting);
	if (r < 0)
		return r;
	if (!planting_any(s->planting) && (s->opt->what.families.n || ruleset_is_own(&s->rules))) {
		log_none_found(s);
		return -ENOENT;
	}
	if (!planting_any(s->planting)) {
		diagnose_no_allocator(&s->at.target, linker_break(s->at.modules, &linker) == -ENOENT, &d);
		diagnose_log(&d);
		return -ENOENT;
	}
	return r;
}

/*
 * A module may be loaded between our reading of the list and the planting of the linker's trap: so read it
 * again until nothing is new. Events are recorded from the first trap on, and read when all has begun: a slow
 * machine needs longer for that than the keeper waits for a reader without a sign of life.
 */
static int plant(struct session *s)
{
	size_t known;
	int r;

	do {
		known = modules_count(s->at.modules);
		r = planting_plan(s->planting);
		if (r == 0)
			r = planting_plant(s->planting);
		link_alive(&s->at.link);
		if (r == 0)
			r = modules_refresh(s->at.modules, false);
		if (r == 0)
			r = planting_forget_gone(s->planting);
	} while (r == 0 && modules_count(s->at.modules) > known);
	backtrace_modules_changed(s->backtrace);
	link_alive(&s->at.link);
	if (r == 0 && !link_any_planted(&s->at.link)) {
		log_error("cannot watch %d (%s): no trap could be planted", s->at.target.pid,
			  s->at.target.comm);
		r = -ENOENT;
	}
	return r;
}

static void begin_recording(struct session *s)
{
	struct facts_start start = {
		.frontend = s->at.link.uprobe ? "uprobe" : s->at.under_gdb ? "gdb" : "ptrace",
		.budget = s->sampling != NULL, .sample_bytes = s->opt->sample_bytes,
		.engine = option_engine_asked(s->opt), .other = attached_other(&s->at),
	};
	struct timespec now;

	if (s->at.link.uprobe) {
		const struct uprobe_hit_cost *cost = uprobe_cost(s->at.link.uprobe);

		log_verbose("the kernel takes the hits, by %s; a probed call costs %.1f us, one with its stack %.1f us",
			    uprobe_way(s->at.link.uprobe), (double)cost->brief_ns / 1e3, (double)cost->pair_ns / 1e3);
		uprobe_begin(s->at.link.uprobe);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	start.wall_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	start.start_ns = s->watch.start_ns = link_clock_ns();
	if (s->at.slot) {
		/* it has been watched since then */
		s->watch.start_ns = s->at.slot->born_ns;
		start.wall_ns -= (int64_t)(start.start_ns - s->watch.start_ns);
		start.start_ns = s->watch.start_ns;
	}
	facts_begin(s->recorder, &s->at.target, &s->rules, &start);
	facts_scope(s->recorder, s->scope);
	if (s->sampling)
		sampling_begin(s->sampling, s->watch.start_ns);
}

/* Start mode: the process has exec'ed the program. */
static void begin_program(void *ctx)
{
	struct session *s = ctx;
	struct target_info now;

	if (target_read(s->spawn.pid, &now) == 0) {
		target_fini(&s->at.target);
		s->at.target = now;
	}
	begin_recording(s);
}

static struct watch_cost cost_of(const struct session *s)
{
	const bool other = attached_other(&s->at) != NULL;

	return (struct watch_cost){
		.limited = s->opt->budget_ppm || s->opt->sample_bytes, .no_other = other,
		.no_auto = other || s->opt->engine == ENGINE_AUTO, .under_gdb = s->at.under_gdb,
	};
}

static void prepare_watch(struct session *s)
{
	s->watch = (struct watch){
		.ending = s->at_end, .ending_ctx = s,
		.link = &s->at.link, .modules = s->at.modules, .planting = s->planting, .tally = s->tally,
		.backtrace = s->backtrace,
		.pid = s->at.target.pid, .signals = s->signals, .control = s->gdb.control,
		.line = { .duration_ns = s->opt->duration_ns }, .cost = cost_of(s),
		.start_ns = link_clock_ns(), .followed = s->opt->follow,
	};
}

/* --engine auto: where ptrace sees more of what is asked for than the kernel's probes do, it is by ptrace. */
static int choose_engine(struct session *s, int argc, char **argv)
{
	const struct plan_options options = plan_options_of(s);
	char why[400];
	int mem, r;

	if (!attached_may_turn(&s->at) && !s->at.harm)
		return 0;
	r = modules_refresh(s->at.modules, false);
	mem = r == 0 ? procfs_open_mem(s->at.target.pid) : -1;
	if (r == 0)
		r = engine_choice_sees_less(s->at.modules, &s->rules, &options, mem, why, sizeof(why));
	if (mem >= 0)
		close(mem);
	if (r > 0 && s->at.harm) {
		log_warn("the kernel's probes do not see %s", why);
		return 0;
	}
	return r > 0 ? attached_turn(&s->at, why, argc, argv) : r;
}

int attach_to_running(struct session *s, int argc, char **argv)
{
	int r = attached_find(&s->at);

	if (r < 0)
		return r; /* logged */
	r = attached_open(&s->at, argc, argv);
	if (r < 0)
		return r;
	r = modules_new(s->at.target.pid, &s->at.modules);
	if (r == 0 && s->at.under_gdb)
		r = modules_move(s->at.modules, s->at.target.pid, s->opt->gdb_fds[2]);
	if (r == 0)
		r = choose_engine(s, argc, argv);
	if (r < 0 && !s->at.linked)
		return r; /* logged */
	if (r == 0)
		r = open_planting(s);
	if (r < 0) {
		attached_log_failed(&s->at, r);
		return r;
	}
	s->at.link.shared->hold_end = s->hold_end;
	prepare_watch(s);
	r = plan(s);
	if (r == -ENOENT || r == -ENOTSUP)
		return r; /* logged */
	s->watch.sampling = s->sampling;
	if (r == 0 && s->at.slot)
		r = planting_adopt(s->planting);
	else if (r == 0 && !s->at.link.uprobe)
		r = attached_seize(&s->at);
	if (r == 0)
		r = attached_check_same(&s->at);
	if (r == 0)
		r = tally_ranges_begin(s->tally, s->at.target.pid);
	if (r == 0)
		r = plant(s);
	/* nothing keeps its number from the kernel's probes until they are made */
	if (r == 0 && s->at.link.uprobe)
		r = attached_check_same(&s->at);
	if (r == 0)
		begin_recording(s);
	else if (r != -ENOENT)
		attached_log_failed(&s->at, r);
	return r;
}

/* Check what may have changed while gdb had the target. */
static int check_target(struct session *s)
{
	struct target_info now;
	struct diagnose_self self;
	struct diagnosis d;
	bool refused;
	int r = target_read(s->at.target.pid, &now);

	if (r < 0) {
		log_error_errno(r, "cannot go on with %d", s->at.target.pid);
		return r;
	}
	diagnose_read_self(&self);
	refused = diagnose_before(&now, &self, &d) || diagnose_sigtrap(&now, false, &d);
	if (refused)
		diagnose_log(&d);
	target_fini(&now);
	return refused ? -EPERM : 0;
}

int attach_after_gdb(struct session *s)
{
	const char *what;
	int r = check_target(s);

	if (r < 0)
		return r; /* logged */
	r = rehearse(&what);
	if (r < 0) {
		attached_log_not_permitted(&s->at, r, what);
		return r;
	}
	r = link_take_over(&s->at.link);
	s->at.under_gdb = r < 0;
	if (r == 0 && s->planting->mem < 0)
		s->planting->mem = procfs_open_mem(s->at.target.pid);
	if (r == 0)
		planting_again(s->planting);
	if (r == 0)
		r = attached_seize(&s->at);
	if (r == 0)
		r = plant(s);
	if (r < 0 && r != -ENOENT)
		attached_log_failed(&s->at, r);
	return r;
}

/* It has not run yet, and will not. Returns @r. */
static int cancel_program(struct session *s, int r)
{
	spawn_cancel(&s->spawn);
	s->spawned = false;
	return r;
}

static int run_program(struct session *s)
{
	int err;

	if (spawn_go(&s->spawn) == 0)
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

int attach_to_program(struct session *s, int argc, char **argv)
{
	int r = attached_open(&s->at, argc, argv);
	struct diagnosis d;

	if (r < 0)
		return r;
	r = spawn_start(&s->spawn, s->opt->program, s->at.link.keeper, &s->before);
	if (r < 0) {
		log_error_errno(r, "cannot start %s", s->opt->program[0]);
		return r;
	}
	s->spawned = true;
	member_spawned(s->member, s->spawn.pid);
	s->at.link.shared->hold_end = s->hold_end;
	r = target_read(s->spawn.pid, &s->at.target);
	s->at.link.shared->lose_sigtrap = s->opt->lose_sigtrap;
	if (r == 0 && !s->opt->lose_sigtrap && diagnose_sigtrap(&s->at.target, false, &d)) {
		diagnose_log(&d);
		return cancel_program(s, -EPERM);
	}
	if (r == 0 && attached_add_uprobe(&s->at) < 0)
		return cancel_program(s, -EPERM); /* logged */
	/* nothing of us is there when it ends */
	if (s->at.link.prepared)
		s->at.link.shared->hold_end = false;
	if (r == 0)
		r = modules_new(s->spawn.pid, &s->at.modules);
	if (r == 0)
		r = open_planting(s);
	prepare_watch(s);
	s->watch.awaiting_exec = true;
	s->watch.begin = begin_program;
	s->watch.begin_ctx = s;
	if (r == 0)
		r = attached_seize(&s->at);
	if (r < 0) {
		(void)cancel_program(s, r);
		attached_log_failed(&s->at, r);
		return r;
	}
	return run_program(s);
}

/* --- and back --- */

/* "8 allocator functions", "12 functions of fd, own". */
static void put_functions(struct strbuf *sb, const struct planting *p)
{
	const struct ruleset *set = p->set;
	const bool allocator = set->nfamilies == 1 && !strcmp(set->families[0].name, "libc");

	strbuf_printf(sb, "%zu %sfunction%s", p->nprobes, allocator ? "allocator " : "",
		      p->nprobes == 1 ? "" : "s");
	for (size_t i = 0; !allocator && i < set->nfamilies; i++)
		strbuf_printf(sb, "%s%s", i ? ", " : " of ", set->families[i].name);
}

void attach_announce(const struct session *s)
{
	const uint32_t threads = atomic_load(&s->at.link.shared->threads);
	cleanup_strbuf struct strbuf functions = STRBUF_INIT;

	/* a program that begins has no libraries yet; or it has some already, if this line is printed late */
	if (s->spawned)
		strbuf_puts(&functions, "from its start");
	else
		put_functions(&functions, s->planting);
	log_announce("watching %d (%s), %s, %u thread%s", s->at.target.pid, s->at.target.comm,
		     strbuf_str(&functions), threads, threads == 1 ? "" : "s");
}

void attach_killed(struct session *s)
{
	uint32_t left, lifted = link_emergency_lift(&s->at.link, s->planting->mem, &left);

	link_lift_copies(&s->at.link, s->at.target.pid);
	if (s->at.under_gdb) {
		log_error("the process that gdb's breakpoints report to was killed: the watch ended there");
		/*
		 * this is our copy of the relay's end of the socket: shut it down, so that gdb does not wait
		 * for an answer while a thread of the target is stopped
		 */
		shutdown(s->opt->gdb_fds[0], SHUT_RDWR);
		return;
	}
	log_error("the keeper was killed: %u traps were put back%s", lifted, left ? "" : ", none is left");
	/* some kernels let only a tracer write: repair can do it there */
	if (left && repair(s->at.target.pid, stderr) != 0)
		log_hint("%u traps are still planted in %d: try `mmattach repair %d` as root", left,
			 s->at.target.pid, s->at.target.pid);
	else
		log_hint(
			"a thread that ran into a trap meanwhile has ended the target; otherwise it goes on");
}

void attach_close(struct session *s)
{
	if (s->tally) {
		tally_fini(s->tally);
		scope_fini(s->scope);
	}
	freed_sizes_close(&s->freed_sizes);
	sampling_free(s->sampling);
	backtrace_free(s->backtrace);
	if (s->planting)
		planting_fini(s->planting);
	free(s->tally);
	free(s->scope);
	free(s->planting);
}
