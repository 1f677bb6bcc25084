/* SPDX-License-Identifier: MIT */
#include "attach/watch/attached.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"
#include "attach/options/option_engine.h"
#include "attach/options/options.h"
#include "attach/snapshot/memory_limit.h"
#include "attach/target/diagnose.h"
#include "attach/target/modules.h"
#include "attach/target/procstat.h"
#include "attach/target/rehearse.h"
#include "attach/target/target_find.h"
#include "base/log.h"
#include "base/strbuf.h"

#define LEAVE_NS 6000000000ull
/* longer than the keeper's own timeouts (seize.c), if it gets a processor */
#define SEIZE_NS 20000000000ull

/* --- the target --- */

/* gdb has attached to it already: nothing is checked. */
static int find_gdbs(struct attached *a)
{
	int r = target_read(a->opt->pid, &a->target);

	if (r < 0)
		log_error_errno(r, "cannot watch %d", a->opt->pid);
	return r;
}

/* A scan plants nothing. */
static bool plants(const struct attached *a)
{
	return a->opt->command != COMMAND_SCAN;
}

/* A program that is started is held at its end by ptrace alone, so that there are verdicts. */
static bool prefers_ptrace(const struct options *o)
{
	return option_engine_why_not(o) || (o->program && !o->sample_bytes);
}

/* Nothing that was asked for is against the kernel's probes. */
static bool suits_uprobe(const struct attached *a)
{
	return plants(a) && !a->slot && !a->no_uprobe && !a->inside && !prefers_ptrace(a->opt);
}

/* The kernel's probes are to be used, if they can. */
static bool wants_uprobe(const struct attached *a)
{
	if (!plants(a) || a->slot || a->no_uprobe)
		return false;
	if (a->opt->engine == ENGINE_AUTO)
		return suits_uprobe(a);
	return a->harm || a->opt->engine != ENGINE_PTRACE;
}

/* A hint may name them: they are not being used, and could be had. */
static bool may_name_uprobe(const struct attached *a)
{
	return suits_uprobe(a) && !wants_uprobe(a) && uprobe_expected(a->target.pid);
}

/*
 * Traps would harm it. If no engine was named it is watched by the kernel's probes. That is not done for a process that
 * another tracer has, though they could be had: a debugger would meet breakpoints that are not its own, and probes stay
 * until it has detached (attach/uprobe/uprobe_hold.h); and where another keeper has a trap at a place that any process
 * has a probe of, the kernel would take its hits (doc/BPF-NOTES.md).
 */
static bool turns_to_uprobe(struct attached *a, const struct diagnosis *d)
{
	if (!d->harm || a->opt->engine_given || !suits_uprobe(a))
		return false;
	a->harm = d->harm;
	return true;
}

/* May it be watched, or scanned? 0 or -EPERM (logged). */
static int check(struct attached *a)
{
	struct diagnose_self self;
	struct diagnosis d;

	diagnose_read_self(&self);
	/* the kernel's probes need neither to be the tracer nor a signal */
	if (!wants_uprobe(a) || a->target.state == 'Z')
		target_read_threads(&a->target);
	if (wants_uprobe(a) || a->slot)
		a->target.tracer_pid = 0;
	if (!diagnose_before(&a->target, &self, &d) &&
	    !(plants(a) && !wants_uprobe(a) && !a->opt->lose_sigtrap &&
	      diagnose_sigtrap(&a->target, may_name_uprobe(a), &d)))
		return 0;
	if (turns_to_uprobe(a, &d))
		return 0;
	if (d.other_tracer && may_name_uprobe(a))
		diagnose_add_hint(&d, "--engine uprobe watches it beside that one, but without verdicts");
	diagnose_log(&d);
	return -EPERM;
}

static int find_own(struct attached *a)
{
	cleanup_strbuf struct strbuf listing = STRBUF_INIT;
	struct diagnosis d;
	pid_t pid = a->opt->pid;
	int r = 0;

	if (a->opt->name)
		r = target_find(a->opt->name, &pid, &listing);
	if (r == 0)
		r = target_read_process(pid, &a->target);
	if (r < 0) {
		diagnose_lookup(a->opt->pid, a->opt->name, r, strbuf_str(&listing), &d);
		diagnose_log(&d);
		return r;
	}
	if (a->start_ns && a->target.start_ns != a->start_ns) {
		diagnose_vanished(&a->target, false, &d);
		diagnose_log(&d);
		return -ESRCH;
	}
	return check(a);
}

int attached_find(struct attached *a)
{
	return a->under_gdb ? find_gdbs(a) : find_own(a);
}

/*
 * Have the keeper leave. If it does not answer, it is continued, in case it was stopped; and if nothing was
 * ever planted, it can be killed without harm, which frees the threads that wait for it.
 */
void attached_undo(struct attached *a)
{
	if (link_leave(&a->link, LEAVE_NS) == 0)
		return;
	link_signal(&a->link, SIGCONT);
	if (link_may_kill(&a->link))
		link_signal(&a->link, SIGKILL);
	if (link_leave(&a->link, LEAVE_NS) == 0)
		return;
	log_error("the keeper (%d) does not end; %s", a->link.keeper,
		  !link_any_planted(&a->link)		    ? "it had planted nothing"
		  : atomic_load(&a->link.shared->end.at_ns) ? "the traps are lifted"
							    : "the traps are perhaps not lifted");
}

/* One thread did not stop in time; or, if the keeper reports none, not all of them did. */
static void log_too_late(const struct attached *a)
{
	const struct shared *sh = a->link.shared;
	const pid_t tid = (pid_t)atomic_load(&sh->end.late);
	const char state = (char)atomic_load(&sh->end.late_state);

	if (tid && state != 'R') {
		log_error("cannot attach to %d (%s): its thread %d (state %c) did not stop in time; it may "
			  "be inside fork",
			  a->target.pid, a->target.comm, tid, state);
		log_hint("a child that is being made could get traps that are not served; try again when it "
			 "has finished%s", may_name_uprobe(a) ? ", or with --engine uprobe, which has no traps" : "");
		return;
	}
	if (tid)
		log_error("cannot attach to %d (%s): its thread %d gets no processor", a->target.pid,
			  a->target.comm, tid);
	else
		log_error("cannot attach to %d (%s): its threads did not all stop in time", a->target.pid,
			  a->target.comm);
	log_hint("before traps are planted, each thread that runs must stop once; try again when the machine "
		 "has less to do%s", may_name_uprobe(a) ? ", or with --engine uprobe, which stops none" : "");
}

void attached_log_failed(struct attached *a, int err)
{
	struct diagnose_self self;
	struct target_info now;
	struct diagnosis d;
	int r;

	if (err == -EOPNOTSUPP) {
		log_error("cannot attach to %d (%s): kcmp is not there", a->target.pid, a->target.comm);
		log_hint("the kernel must have CONFIG_KCMP, and a container's seccomp filter must let the "
			 "system call through");
		return;
	}
	if (err == -EPIPE) {
		log_error("cannot attach to %d (%s): the keeper ended at once", a->target.pid,
			  a->target.comm);
		return;
	}
	if (err == -ETIMEDOUT) {
		log_too_late(a);
		return;
	}
	/* our own keeper may still trace it, and must not be taken for the reason */
	if (a->linked)
		attached_undo(a);
	diagnose_read_self(&self);
	/* another tracer may have been faster, or the target may have ended */
	r = target_read(a->target.pid, &now);
	if (r == 0) {
		if (err == -ESRCH && now.state != 'Z' && now.start_ns == a->target.start_ns)
			diagnose_attach(&now, &self, err, &d);
		else if (err == -ESRCH)
			diagnose_vanished(&a->target, false, &d);
		else
			diagnose_attach(&now, &self, err, &d);
		target_fini(&now);
	} else if (r == -ESRCH || r == -ENOENT) {
		diagnose_vanished(&a->target, false, &d);
	} else {
		/* the target may be there and only not readable for us: then the first error is the reason */
		diagnose_attach(&a->target, &self, err == -ESRCH ? r : err, &d);
	}
	diagnose_log(&d);
}

/* A filter that forbids ptrace leaves it; what forbids to trace this process (yama) does not. */
static bool may_read_memory(pid_t pid)
{
	const int mem = procfs_open_mem(pid);

	if (mem >= 0)
		close(mem);
	return mem >= 0;
}

/* Before there is a keeper. The usual reasons have messages of their own. */
void attached_log_not_permitted(struct attached *a, int err, const char *what)
{
	struct diagnose_self self;
	struct diagnosis d;

	log_error_errno(err, "cannot %s: %s", plants(a) ? "watch" : "scan", what);
	if (!a->target.pid)
		return;
	diagnose_read_self(&self);
	diagnose_attach(&a->target, &self, err, &d);
	if (may_name_uprobe(a) && may_read_memory(a->target.pid))
		diagnose_add_hint(&d, "--engine uprobe takes ptrace for verdicts only");
	diagnose_log(&d);
}

static void turn_to_ptrace(struct attached *a, const char *what, const char *why)
{
	snprintf(a->other, sizeof(a->other), "the kernel's probes %s%s", what, why);
	log_announce("by ptrace, as %s", a->other);
	a->no_uprobe = true;
}

/* The kernel's probes cannot be had (@r). 1: --engine auto goes on without; or @r (logged). */
static int without_uprobe(struct attached *a, int r, const char *why)
{
	const char *way = option_engine_way(a->opt);

	if (!*why)
		why = strerror(-r);
	if (a->opt->engine == ENGINE_AUTO && !a->opt->sample_bytes) {
		turn_to_ptrace(a, "cannot be had: ", why);
		return 1;
	}
	/* what ptrace is refused for is the reason, and this is why the other engine is no way out */
	if (a->harm) {
		log_info("the kernel's probes, which would not harm it, cannot be had: %s", why);
		a->harm = NULL;
		a->no_uprobe = true;
		return 1;
	}
	log_error("cannot watch with --engine uprobe%s%s: %s", way ? "-" : "", way ? way : "", why);
	log_hint("%s", way && r == -EOPNOTSUPP ? "--engine uprobe takes what this kernel has" :
		       a->opt->sample_bytes    ? "--budget 1% samples with ptrace" :
						 "--engine ptrace needs no rights beyond tracing");
	return r;
}

static void find_what_bars_ptrace(struct attached *a)
{
	struct diagnosis d;

	if (!a->opt->lose_sigtrap && diagnose_sigtrap(&a->target, false, &d))
		snprintf(a->other, sizeof(a->other), "ptrace %s", d.harm);
	else if (target_status_number(a->target.pid, "TracerPid"))
		snprintf(a->other, sizeof(a->other), "another tracer has the process");
}

/* What bars the kernel's probes; NULL: nothing that is known. */
static const char *bars_uprobe(const struct attached *a)
{
	if (a->inside)
		return "--in and `in` rules are not followed in the kernel";
	if (option_engine_why_not(a->opt))
		return option_engine_why_not(a->opt);
	if (prefers_ptrace(a->opt))
		return "a program that is started is held at its end by ptrace alone";
	return uprobe_expected(a->target.pid) ? NULL : "the kernel's probes cannot be had here";
}

const char *attached_other(const struct attached *a)
{
	if (*a->other)
		return a->other;
	return a->link.uprobe || a->link.prepared || a->under_gdb ? NULL : bars_uprobe(a);
}

#define SHADOW_STACK "it has a shadow stack, with which the kernel's probes are not in step"

/* 0: by the kernel's probes; 1: by a keeper, as these cannot be had, and need not be; -errno (logged). */
static int open_uprobe(struct attached *a, const struct link_settings *set)
{
	char why[256] = SHADOW_STACK;
	int r = 1;

	if (!wants_uprobe(a) || a->opt->program)
		return 1;
	r = a->target.shadow_stack ? -ENOTSUP
				   : link_open_uprobe(&a->link, set, a->target.pid, option_engine_way(a->opt), why,
						      sizeof(why));
	if (r < 0)
		r = without_uprobe(a, r, why);
	else if (a->harm)
		log_announce("by the kernel's probes, as ptrace %s", a->harm);
	if (r == 0)
		find_what_bars_ptrace(a);
	/* what does not matter to those matters to the keeper */
	return r > 0 && check(a) < 0 ? -EPERM : r;
}

/* glibc turns a shadow stack on after its last report of modules: what is asked for is known, not what will be. */
static bool will_have_shadow_stack(void)
{
	const char *tunables = getenv("GLIBC_TUNABLES");

	return tunables && strstr(tunables, "x86_shstk=") && !strstr(tunables, "x86_shstk=off");
}

int attached_add_uprobe(struct attached *a)
{
	char why[256] = SHADOW_STACK;
	int r;

	if (!wants_uprobe(a))
		return 0;
	r = will_have_shadow_stack() ? -ENOTSUP : link_prepare_uprobe(&a->link, a->target.pid, option_engine_way(a->opt),
								  why, sizeof(why));
	if (r < 0)
		r = without_uprobe(a, r, why);
	return r < 0 ? r : 0;
}

/* The keeper, the largest of us, has been forked. A program that is started must not be killed first. */
static void rank_before_keeper(const struct attached *a)
{
	if (!a->opt->program && plants(a))
		memory_limit_offer_ourselves();
}

static int open_keeper(struct attached *a, const struct link_settings *set, int argc, char **argv)
{
	const char *what;
	/* if gdb is the tracer, we need not be able to trace */
	int r = a->under_gdb ? 0 : rehearse(&what);

	if (r < 0) {
		attached_log_not_permitted(a, r, what);
		return r;
	}
	r = link_open(&a->link, set, argc, argv);
	if (r < 0)
		log_error_errno(r, "cannot start the keeper");
	return r;
}

/* Its keeper is there, and has settings from its own controller. */
static int open_slot(struct attached *a)
{
	int r = link_open_slot(&a->link, a->slot);

	a->linked = r == 0;
	if (r < 0)
		log_error_errno(r, "cannot go on with the watch of %d", a->target.pid);
	return r;
}

int attached_open(struct attached *a, int argc, char **argv)
{
	struct link_settings set = {
		.slice_bytes = a->opt->stacks.bytes, .max_stall_ns = a->opt->max_stall_ns,
		.budget_ppm = a->opt->budget_ppm, .one_of_many = a->opt->member, .inherits = a->inherits,
		.sampled = a->opt->sample_bytes,
		.gdb = a->under_gdb ? a->opt->gdb_fds[0] : -1,
		.gdb_mem = a->under_gdb ? a->opt->gdb_fds[2] : -1,
	};
	int r = a->slot ? open_slot(a) : open_uprobe(a, &set);

	if (a->slot) {
		rank_before_keeper(a);
		return r;
	}
	/* a keeper that hands its program over to the kernel serves nothing afterwards */
	set.slots = wants_uprobe(a) ? NULL : a->slots;
	if (r > 0)
		r = open_keeper(a, &set, argc, argv);
	a->linked = r == 0;
	if (r < 0)
		return r;
	a->link.shared->lose_sigtrap = a->opt->lose_sigtrap || !plants(a);
	rank_before_keeper(a);
	return 0;
}

static bool ptrace_may(const struct attached *a, const struct target_info *now)
{
	struct diagnose_self self;
	struct diagnosis d;
	const char *what;

	diagnose_read_self(&self);
	return !diagnose_before(now, &self, &d) && (a->opt->lose_sigtrap || !diagnose_sigtrap(now, false, &d)) &&
	       rehearse(&what) == 0;
}

bool attached_may_turn(const struct attached *a)
{
	struct target_info now;
	bool may;

	if (!a->link.uprobe || a->opt->engine != ENGINE_AUTO || a->opt->sample_bytes ||
	    target_read(a->target.pid, &now) < 0)
		return false;
	may = ptrace_may(a, &now);
	target_fini(&now);
	return may;
}

int attached_turn(struct attached *a, const char *why, int argc, char **argv)
{
	turn_to_ptrace(a, "do not see ", why);
	link_close(&a->link);
	a->link = (struct link){ 0 };
	a->linked = false;
	return attached_open(a, argc, argv);
}

int attached_seize(struct attached *a)
{
	return link_call(&a->link, COMMAND_SEIZE, a->target.pid, 0, SEIZE_NS);
}

int attached_check_same(const struct attached *a)
{
	return procstat_start_ns(a->target.pid) == a->target.start_ns ? 0 : -ESRCH;
}

int attached_look(struct attached *a, int argc, char **argv)
{
	int r = attached_find(a);

	if (r < 0)
		return r; /* logged */
	r = attached_open(a, argc, argv);
	if (r < 0)
		return r;
	targetfs_open(a->target.pid, &a->fs);
	r = modules_new(a->target.pid, &a->modules);
	if (r == 0)
		r = modules_refresh(a->modules, false);
	if (r == 0)
		r = attached_seize(a);
	if (r == 0)
		r = attached_check_same(a);
	if (r < 0)
		attached_log_failed(a, r);
	return r;
}

void attached_close(struct attached *a)
{
	modules_free(a->modules);
	if (a->linked)
		link_close(&a->link);
	targetfs_fini(&a->fs);
	target_fini(&a->target);
}
