/* SPDX-License-Identifier: MIT */
#include "attach/watch/watch_records.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "attach/control/link.h"
#include "attach/control/planting.h"
#include "attach/events/tally.h"
#include "attach/keeper/procfs.h"
#include "attach/sampling/sampling.h"
#include "attach/stacks/backtrace.h"
#include "attach/target/linker.h"
#include "attach/target/modules.h"
#include "attach/watch/watch.h"
#include "base/log.h"

#define CALL_NS 2000000000ull
#define HAND_OVER_NS 6000000000ull
#define SETTLED_NS 100000000u

/* --- answers to threads that are held --- */

static void release(struct watch *w, const struct record *rec)
{
	int64_t r = link_call(w->link, COMMAND_RELEASE, rec->tid, rec->value, CALL_NS);

	/* ESRCH: it was killed, or was resumed because we took too long */
	if (r < 0 && r != -ESRCH && r != -EPIPE)
		log_warn_errno(r, "thread %u is not released", rec->tid);
}

static void log_failed(const char *what, int r)
{
	if (r < 0 && r != -EPIPE && r != -ESRCH)
		log_warn_errno(r, "%s", what);
}

/* Plant traps for the modules as they are known now, unless something has failed before (@r). */
static void plant_new(struct watch *w, int r, const char *failed)
{
	if (r == 0)
		r = planting_plan(w->planting);
	if (r == 0)
		r = planting_plant(w->planting);
	log_failed(failed, r);
	backtrace_modules_changed(w->backtrace);
}

bool watch_modules(struct watch *w)
{
	int r = modules_refresh(w->modules, false);

	if (r == 0)
		r = planting_forget_gone(w->planting);
	/* the target's end is reported by another record */
	if (r < 0 && r != -ESRCH && r != -EPIPE && w->unfollowed++ == 0)
		w->unfollowed_error = r;
	plant_new(w, r, "cannot follow the change of modules");
	return r == 0;
}

static void on_return_wanted(struct watch *w, const struct record_hit *hit)
{
	taddr ret = 0;
	int r = -EFAULT;

	if (hit->slice_len >= sizeof(ret)) {
		memcpy(&ret, hit->slice, sizeof(ret));
		r = planting_return(w->planting, ret, hit->head.site);
	} else {
		w->planting->lost_returns++;
	}
	if (r < 0 && !w->return_lost)
		log_warn_errno(r, "cannot see calls end at " PRItaddr, ret);
	w->return_lost |= r < 0;
}

static void begin(struct watch *w)
{
	w->begin(w->begin_ctx);
	w->started = true;
}

/*
 * The program's thread is held, at @rec, and its modules are mapped: from here on the kernel takes the hits, and with
 * the keeper's end the thread runs on.
 */
static void hand_over(struct watch *w, const struct record *rec)
{
	int r = link_lift(w->link);

	if (r == 0) {
		uprobe_begin_program(w->link->uprobe);
		planting_again(w->planting);
		plant_new(w, 0, "cannot watch the program's start");
		begin(w);
		r = link_hand_over(w->link, rec, HAND_OVER_NS);
	}
	if (r == 0)
		return;
	log_error_errno(r, "the keeper (%d) cannot hand over the program", w->link->keeper);
	w->end = WATCH_KEEPER_LEFT;
}

/*
 * The kernel's probes are made when the dynamic linker has mapped all modules. Not before: the kernel takes an int3
 * of the keeper's for its own, if the process has probes and any other one is watched at that place of the file.
 * That may be so without us, too; then the program is held where it begins, after constructors of its libraries.
 */
static bool will_be_held(struct watch *w)
{
	return linker_is_separate(w->modules) && planting_plan_start(w->planting) == 0 &&
	       planting_plant(w->planting) == 0 && link_any_planted(w->link);
}

/* The new program: nothing of the old one is there any more. */
static void on_first_exec(struct watch *w, const struct record *rec)
{
	int r;

	planting_forget_all(w->planting, procfs_open_mem(w->pid));
	backtrace_forget(w->backtrace);
	r = modules_refresh(w->modules, true);
	if (r == 0)
		r = planting_plan_linker(w->planting);
	if (w->link->prepared) {
		w->exec_ns = rec->time_ns;
		log_failed("modules that are loaded later will not be watched", r);
		if (!will_be_held(w))
			hand_over(w, rec);
		return;
	}
	plant_new(w, r, "cannot watch the program's start");
	begin(w);
}

static void on_exec(struct watch *w, const struct record *rec)
{
	if (w->awaiting_exec) {
		w->awaiting_exec = false;
		on_first_exec(w, rec);
		if (w->link->keeper_fd >= 0)
			release(w, rec);
		return;
	}
	link_forget_all(w->link);
	w->end = WATCH_EXEC; /* it is resumed when the keeper leaves */
}

static void on_ending(struct watch *w)
{
	int64_t r;

	if (w->ending)
		w->ending(w->ending_ctx);
	r = link_call(w->link, COMMAND_LET_END, 0, 0, CALL_NS);
	/* -EPIPE: the keeper was killed meanwhile, and all is over */
	if (r < 0 && r != -EPIPE)
		log_warn_errno(r, "the target waits at its end");
}

/* --- events --- */

/* What the hit read: " load0 0x7f.. load1 null load2 ? load3 "text"". */
static void format_loads(const struct site *s, const struct record_hit *hit, char *buf, size_t size)
{
	size_t at = 0;

	*buf = '\0';
	for (uint32_t i = 0; i < SITE_LOADS && at < size; i++) {
		if (s->loads[i].base == SITE_BASE_NONE)
			continue;
		if (hit->loads_null & 1u << i)
			at += snprintf(buf + at, size - at, " load%u null", i);
		else if (!(hit->loads_read & 1u << i))
			at += snprintf(buf + at, size - at, " load%u ?", i);
		else if (s->loads[i].width)
			at += snprintf(buf + at, size - at, " load%u 0x%" PRIx64, i, hit->loads[i]);
		else
			at += snprintf(buf + at, size - at, " load%u \"%s\"", i, hit->text);
	}
	for (char *c = buf; *c; c++)
		*c = isprint((unsigned char)*c) ? *c : '?';
}

static void debug_hit(const struct watch *w, const struct record_hit *hit)
{
	uint32_t i = w->planting->sites[hit->outer_site].probe;
	char loads[256];

	format_loads(&w->link->shared->sites[hit->outer_site], hit, loads, sizeof(loads));
	log_debug(EVENT,
		  "%u %s%s%s%s%s rip " PRItaddr " rax 0x%llx args 0x%" PRIx64 " 0x%" PRIx64 " stack %u%s",
		  hit->head.tid, i == NO_PROBE ? "linker" : w->planting->probes[i].function,
		  hit->head.flags & RECORD_OPENS ? " opens" : "",
		  hit->head.flags & RECORD_CLOSES ? " closes" : "",
		  hit->head.flags & RECORD_HELD ? " held" : "",
		  hit->head.flags & RECORD_OUTSIDE ? " outside" : "", (taddr)hit->regs.rip, hit->regs.rax,
		  hit->args[0], hit->args[1], hit->slice_len, loads);
}

/* The program that starts is held in its dynamic linker, or at its first instruction. */
static void on_loading(struct watch *w, const struct record_hit *hit)
{
	const bool at_entry = w->link->shared->sites[hit->head.site].addr == linker_entry(w->modules);
	int r = modules_refresh(w->modules, false);

	log_failed("cannot see what the program has loaded", r);
	if (at_entry) {
		w->late_modules++;
		w->late_ns = hit->head.time_ns - w->exec_ns;
	}
	if (at_entry || r < 0 || linker_is_done(w->modules))
		hand_over(w, &hit->head);
}

/* No thread waits for the kernel's probes: what a module did until they were there was not seen. */
static void on_modules(struct watch *w, const struct record_hit *hit)
{
	const uint32_t planted = link_count_planted(w->link);
	uint64_t ns;

	if (w->link->prepared) {
		on_loading(w, hit);
		return;
	}
	watch_modules(w);
	if (!w->link->uprobe || link_count_planted(w->link) <= planted)
		return;
	ns = link_clock_ns() - hit->head.time_ns;
	w->late_modules++;
	w->late_ns = ns > w->late_ns ? ns : w->late_ns;
}

/*
 * With the kernel's probes calls may end unseen: of a thread that was in malloc when they were made (a program that we
 * have started had none), of a process in the target's memory, and such as BPF has left out. If the address was seen
 * to be freed before, its next free would look like a second one.
 */
static bool is_unsure(const struct watch *w, const struct record_hit *hit)
{
	return w->sharers || w->ends_unseen || (!w->started && hit->head.time_ns < w->start_ns + SETTLED_NS);
}

static void on_hit(struct watch *w, const struct record_hit *hit)
{
	const struct site *s;

	if (!link_map(w->link, hit))
		return;
	s = &w->link->shared->sites[hit->head.site];
	if (log_debug_on(LOG_EVENT))
		debug_hit(w, hit);
	/*
	 * with a budget no thread is held for this, since that would be the target's time: see follow_modules
	 */
	w->tally->settling = w->link->uprobe && is_unsure(w, hit);
	if (s->flags & SITE_MODULES && !w->sampling)
		on_modules(w, hit);
	else if (hit->head.flags & RECORD_HELD && s->flags & SITE_RETURN)
		on_return_wanted(w, hit);
	if (w->sampling && !(s->flags & SITE_MODULES))
		sampling_hit(w->sampling, hit);
	else if (!(hit->head.flags & RECORD_SILENT) &&
		 (!(hit->head.flags & RECORD_HELD) || (s->flags & SITE_EMIT)))
		tally_hit(w->tally, hit);
	if (shared_is_held(w->link->shared, hit))
		release(w, &hit->head);
	if (w->tally->out_of_memory || w->tally->recorder->out_of_memory)
		w->end = WATCH_MEMORY;
}

static void on_trouble(struct watch *w, const struct record *rec)
{
	/* there may be thousands of equal errors: a few of them are logged */
	if (w->troubles++ >= 5)
		return;
	if (rec->value)
		log_warn_errno(rec->value, "thread %u: %s", rec->tid, trouble_text(rec->site));
	else
		log_warn("thread %u: %s", rec->tid, trouble_text(rec->site));
}

void watch_add_gap(struct watch *w, uint64_t start_ns, uint64_t end_ns, const char *why)
{
	if (w->ngaps == WATCH_GAPS)
		start_ns = w->gaps[--w->ngaps].start_ns;
	w->gaps[w->ngaps++] = (struct watch_gap){ start_ns, end_ns, why };
}

static void on_gap(struct watch *w, const struct record *rec)
{
	log_warn("hits were dropped for %.1f s: events were not read fast enough", rec->value / 1e9);
	watch_add_gap(w, rec->time_ns - rec->value, rec->time_ns,
		      "events were not read fast enough, and hits were dropped");
	tally_gap(w->tally);
	/* a hit of the dynamic linker's trap may be among those that were dropped */
	watch_modules(w);
}

/* Of our own child, which has ended; its parent waits for it later. As waitpid has it. */
static int status_of_child(pid_t pid)
{
	siginfo_t si = { 0 };

	if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0)
		return 0;
	return si.si_code == CLD_EXITED ? W_EXITCODE(si.si_status, 0) : W_EXITCODE(0, si.si_status);
}

void watch_record(struct watch *w, const struct record *rec)
{
	if (w->closed)
		return;
	switch (rec->kind) {
	case RECORD_HIT:
		on_hit(w, (const struct record_hit *)rec);
		break;
	case RECORD_THREAD:
		log_debug(THREAD, "thread %u is new", rec->tid);
		break;
	case RECORD_THREAD_END:
		log_debug(THREAD, "thread %u ended, status 0x%x", rec->tid, (unsigned int)rec->value);
		tally_thread_end(w->tally, rec->tid);
		if (w->sampling)
			sampling_thread_end(w->sampling, rec->tid);
		break;
	case RECORD_CHILD:
		log_debug(THREAD, "process %d was forked, cleaned and let go", (int)rec->value);
		w->children++;
		break;
	case RECORD_EXEC:
		on_exec(w, rec);
		break;
	case RECORD_ENDING:
		on_ending(w);
		break;
	case RECORD_END:
		/* before it was handed over: a library was missing */
		if (w->link->prepared && !w->awaiting_exec)
			begin(w);
		w->target_status = w->link->uprobe && w->started ? status_of_child(w->pid) : rec->value;
		w->end = WATCH_TARGET_ENDED;
		break;
	case RECORD_GAP:
		on_gap(w, rec);
		break;
	case RECORD_LOST:
		tally_gap(w->tally);
		w->ends_unseen |= rec->site != 0;
		break;
	case RECORD_SHARERS:
		tally_gap(w->tally);
		w->sharers = rec->value;
		break;
	case RECORD_MOVED:
		w->pid = rec->value;
		w->moved(w->gdb_ctx, w->pid);
		break;
	case RECORD_TROUBLE:
		on_trouble(w, rec);
		break;
	}
}
