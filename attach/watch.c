/* SPDX-License-Identifier: MIT */
#include "attach/watch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"
#include "attach/linker.h"
#include "base/duration.h"
#include "base/log.h"

#define CALL_NS 2000000000ull
#define BUSY_MS 1		/* events flow: look so often */
#define BUSY_NS 20000000	/* none for so long: sleep until the bell */
#define PROGRESS_NS 1000000000ull
#define TICK_NS 250000000ull
#define LINKER_NS 5000000000ull
#define MOVING_NS 10000000	/* modules come or go: how often we ask whether the linker is done */
#define KEEPER_SILENT_NS 1200000000ull

/* --- answers to threads that wait --- */

static void release(struct watch *w, const struct record *rec)
{
	int64_t r = link_call(w->link, COMMAND_RELEASE, rec->tid, rec->value, CALL_NS);

	/* ESRCH: it was killed, or went on because we took too long */
	if (r < 0 && r != -ESRCH && r != -EPIPE)
		log_warn_errno(r, "thread %u is not released", rec->tid);
}

static void say_failed(const char *what, int r)
{
	if (r < 0 && r != -EPIPE && r != -ESRCH)
		log_warn_errno(r, "%s", what);
}

/* The dynamic linker says that modules come or go. New ones are watched before their code runs. false: nobody knows which are gone. */
static bool on_modules(struct watch *w)
{
	int r = modules_refresh(w->modules, false);
	bool known;

	if (r == 0)
		r = planting_forget_gone(w->planting);
	known = r == 0;
	if (r == 0)
		r = planting_plan(w->planting);
	if (r == 0)
		r = planting_plant(w->planting);
	say_failed("cannot follow the change of modules", r);
	backtrace_modules_changed(w->backtrace);
	return known;
}

static void on_return_wanted(struct watch *w, const struct record_hit *hit)
{
	taddr ret = 0;
	int r = -EFAULT;

	if (hit->slice_len >= sizeof(ret)) {
		memcpy(&ret, hit->slice, sizeof(ret));
		r = planting_return(w->planting, ret, hit->head.site);
	}
	if (r < 0 && w->planting->lost_returns++ == 0)
		log_warn_errno(r, "cannot see calls end at " PRItaddr, ret);
}

/* The new program: nothing of the old one is there any more. */
static void on_first_exec(struct watch *w)
{
	int r;

	planting_forget_all(w->planting, procfs_open_mem(w->pid));
	backtrace_forget(w->backtrace);
	r = modules_refresh(w->modules, true);
	if (r == 0)
		r = planting_plan_linker(w->planting);
	if (r == 0)
		r = planting_plan(w->planting);
	if (r == 0)
		r = planting_plant(w->planting);
	say_failed("cannot watch the program's start", r);
	backtrace_modules_changed(w->backtrace);
	w->begin(w->begin_ctx);
	w->started = true;
}

static void on_exec(struct watch *w, const struct record *rec)
{
	if (w->awaiting_exec) {
		w->awaiting_exec = false;
		on_first_exec(w);
		release(w, rec);
		return;
	}
	link_forget_all(w->link);
	w->end = WATCH_EXEC; /* leaving lets it go */
}

static void on_ending(struct watch *w)
{
	int64_t r;

	if (w->ending)
		w->ending(w->ending_ctx);
	r = link_call(w->link, COMMAND_LET_END, 0, 0, CALL_NS);
	/* -EPIPE: it was killed meanwhile, and all is over */
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
	log_debug(EVENT, "%u %s%s%s%s%s rip " PRItaddr " rax 0x%llx args 0x%" PRIx64 " 0x%" PRIx64 " stack %u%s",
		  hit->head.tid, i == NO_PROBE ? "linker" : w->planting->probes[i].function,
		  hit->head.flags & RECORD_OPENS ? " opens" : "", hit->head.flags & RECORD_CLOSES ? " closes" : "",
		  hit->head.flags & RECORD_HELD ? " held" : "", hit->head.flags & RECORD_OUTSIDE ? " outside" : "",
		  (taddr)hit->regs.rip, hit->regs.rax, hit->args[0], hit->args[1], hit->slice_len, loads);
}

static void on_hit(struct watch *w, const struct record_hit *hit)
{
	const struct site *s = &w->link->shared->sites[hit->head.site];

	if (log_debug_on(LOG_EVENT))
		debug_hit(w, hit);
	/* with a budget nobody waits for it, that would be the target's time: see follow_modules */
	if (s->flags & SITE_MODULES && !w->sampling)
		on_modules(w);
	else if (hit->head.flags & RECORD_HELD && s->flags & SITE_RETURN)
		on_return_wanted(w, hit);
	if (w->sampling && !(s->flags & SITE_MODULES))
		sampling_hit(w->sampling, hit);
	else if (!(hit->head.flags & RECORD_SILENT) && (!(hit->head.flags & RECORD_HELD) || (s->flags & SITE_EMIT)))
		tally_hit(w->tally, hit);
	if (hit->head.flags & RECORD_HELD)
		release(w, &hit->head);
	if (w->tally->out_of_memory || w->tally->recorder->out_of_memory)
		w->end = WATCH_MEMORY;
}

static void on_trouble(struct watch *w, const struct record *rec)
{
	/* the same a thousand times is one trouble to the reader */
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
	watch_add_gap(w, rec->time_ns - rec->value, rec->time_ns, "events were not read fast enough, and hits were dropped");
	tally_gap(w->tally);
	/* the dynamic linker's word may be among what was lost */
	on_modules(w);
}

static void handle(struct watch *w, const struct record *rec)
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
		w->target_status = rec->value;
		w->end = WATCH_TARGET_ENDED;
		break;
	case RECORD_GAP:
		on_gap(w, rec);
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

void watch_drain(struct watch *w)
{
	const struct record *rec;

	while ((rec = ring_peek(&w->link->shared->ring))) {
		handle(w, rec);
		ring_consume(&w->link->shared->ring, rec);
	}
}

void watch_drain_until(struct watch *w, uint64_t head)
{
	struct ring *r = &w->link->shared->ring;
	const struct record *rec;

	while ((int64_t)(head - atomic_load(&r->tail)) > 0 && (rec = ring_peek(r))) {
		handle(w, rec);
		ring_consume(r, rec);
	}
}

/* Some events; true if there were any. The limit keeps Ctrl-C and -d prompt under load. */
static bool read_some(struct watch *w)
{
	const struct record *rec = NULL;
	int n;

	for (n = 0; n < 4096 && w->end == WATCH_GOES_ON && (rec = ring_peek(&w->link->shared->ring)); n++) {
		handle(w, rec);
		ring_consume(&w->link->shared->ring, rec);
	}
	return n > 0;
}

/* --- waiting --- */

static void on_signal(struct watch *w)
{
	struct signalfd_siginfo si;

	if (read(w->signals, &si, sizeof(si)) == sizeof(si)) {
		log_verbose("ended by signal %u", si.ssi_signo);
		w->end = WATCH_SIGNAL;
	}
}

static void on_keeper_end(struct watch *w)
{
	watch_drain(w);
	if (w->end != WATCH_GOES_ON)
		return;
	w->end = atomic_load(&w->link->shared->left) == LEFT_NOT ? WATCH_KEEPER_KILLED : WATCH_KEEPER_LEFT;
}

static void wait_for_news(struct watch *w, int timeout_ms)
{
	struct pollfd p[4] = {
		{ .fd = w->link->bell, .events = POLLIN },
		{ .fd = w->link->keeper_fd, .events = POLLIN },
		{ .fd = w->signals, .events = POLLIN },
		{ .fd = w->control, .events = POLLIN },
	};
	uint64_t rings;

	if (poll(p, 4, timeout_ms) <= 0)
		return;
	if (p[0].revents & POLLIN)
		(void)!read(w->link->bell, &rings, sizeof(rings));
	if (p[2].revents & POLLIN)
		on_signal(w);
	if (p[3].revents)
		w->asked(w->gdb_ctx);
	if (p[1].revents & POLLIN && w->end == WATCH_GOES_ON)
		on_keeper_end(w);
}

/* Say that we sleep, then look once more: an event in between would not have rung. */
static void sleep_until_bell(struct watch *w, int timeout_ms)
{
	struct ring *r = &w->link->shared->ring;

	atomic_store(&r->sleeping, 1);
	if (!ring_peek(r))
		wait_for_news(w, timeout_ms);
	atomic_store(&r->sleeping, 0);
}

static void show_progress(struct watch *w, uint64_t now, bool last)
{
	struct shared *sh = w->link->shared;
	const struct ledger *l = &w->tally->recorder->ledger;
	double seconds = (now - w->start_ns) / 1e9;
	char elapsed[DURATION_TEXT];

	if (!w->progress)
		return;
	duration_format((uint64_t)seconds * 1000000000ull, elapsed, sizeof(elapsed));
	fprintf(stderr, "\r%s  %" PRIu64 " events  %.0f/s  %" PRIu64 " blocks, %" PRIu64 " bytes held  %.1f %% in stops \033[K%s",
		elapsed, w->tally->events, seconds > 0 ? w->tally->events / seconds : 0, l->held_blocks,
		l->held_bytes, seconds > 0 ? atomic_load(&sh->served_ns) / 1e7 / seconds : 0, last ? "\n" : "");
}

/*
 * The keeper turns a round twice a second at least. If somebody has stopped it
 * (SIGSTOP), the target stands still with it: continue it, and say so.
 */
static void look_after_keeper(struct watch *w, uint64_t now)
{
	uint64_t beat = atomic_load_explicit(&w->link->shared->beat, memory_order_relaxed);

	if (beat != w->beat || !w->beat_ns) {
		w->beat = beat;
		w->beat_ns = now;
		return;
	}
	if (now - w->beat_ns < KEEPER_SILENT_NS)
		return;
	log_warn("the keeper (%d) stood still for %.1f s, and the target with it: continuing it", w->link->keeper,
		 (now - w->beat_ns) / 1e9);
	watch_add_gap(w, w->beat_ns, now, "the keeper was stopped");
	link_signal(w->link, SIGCONT);
	w->beat_ns = now;
}

/*
 * Until we have looked, with the linker done and calling no more meanwhile, no trap is planted anew (metering.h). So we look soon; but many calls may
 * come one after the other, and a look takes time: a tenth of ours. A linker that is never done (left by longjmp, or by the end of its thread)
 * is not waited for.
 */
static void follow_modules(struct watch *w, uint64_t now)
{
	struct shared *sh = w->link->shared;
	uint32_t told = atomic_load(&sh->modules_told);
	uint64_t took;
	bool known;

	if (told != w->modules_told) {
		w->modules_told = told;
		w->modules_told_ns = now;
	}
	if (told == atomic_load(&sh->modules_seen) || now < w->next_modules_ns ||
	    (now - w->modules_told_ns < LINKER_NS && !linker_is_done(w->modules)))
		return;
	known = on_modules(w);
	if (known)
		atomic_store(&sh->modules_seen, told);
	took = link_clock_ns() - now;
	w->next_modules_ns = now + (known && took * 10 < TICK_NS ? took * 10 : TICK_NS);
}

static void poll_sampling(struct watch *w, uint64_t now)
{
	follow_modules(w, now);
	w->due_ns = sampling_poll(w->sampling, now);
}

/* Milliseconds until something is due. */
static int time_left(const struct watch *w, uint64_t now)
{
	uint64_t ns = w->tick ? TICK_NS : PROGRESS_NS;

	if (w->end_ns && w->end_ns - now < ns)
		ns = w->end_ns - now;
	if (w->due_ns && w->due_ns < now + ns)
		ns = w->due_ns > now ? w->due_ns - now : 0;
	if (w->sampling && shared_modules_move(w->link->shared) && ns > MOVING_NS)
		ns = MOVING_NS;
	return ns / 1000000 + 1;
}

static void run(struct watch *w, bool until_started)
{
	uint64_t now = link_clock_ns(), last_event = now, next_progress = now + PROGRESS_NS, next_tick = now + TICK_NS;

	while (w->end == WATCH_GOES_ON && !(until_started && w->started)) {
		if (read_some(w))
			last_event = now;
		now = link_clock_ns();
		if (w->end_ns && now >= w->end_ns && w->end == WATCH_GOES_ON)
			w->end = WATCH_TIME;
		look_after_keeper(w, now);
		if (w->sampling && w->end == WATCH_GOES_ON)
			poll_sampling(w, now);
		if (now >= next_progress) {
			show_progress(w, now, false);
			next_progress = now + PROGRESS_NS;
		}
		if (w->tick && now >= next_tick && w->end == WATCH_GOES_ON) {
			w->end = w->tick(w->tick_ctx, now);
			next_tick = now + TICK_NS;
		}
		if (w->end != WATCH_GOES_ON)
			break;
		if (now - last_event < BUSY_NS)
			wait_for_news(w, BUSY_MS);
		else
			sleep_until_bell(w, time_left(w, now));
	}
	if (!until_started)
		show_progress(w, now, true);
}

void watch_run(struct watch *w)
{
	run(w, false);
}

void watch_until_started(struct watch *w)
{
	run(w, true);
}
