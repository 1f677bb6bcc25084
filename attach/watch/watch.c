/* SPDX-License-Identifier: MIT */
#include "attach/watch/watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "attach/control/link.h"
#include "attach/events/tally.h"
#include "attach/sampling/sampling.h"
#include "attach/target/linker.h"
#include "attach/watch/watch_line.h"
#include "attach/watch/watch_records.h"
#include "base/log.h"
#include "base/statusline.h"

#define BUSY_MS 1		/* how often to read while there are events */
#define BUSY_NS 20000000	/* after so long without events: sleep until the bell */
#define PROGRESS_NS 1000000000ull
#define TICK_NS 250000000ull
#define READ_NS 50000000u		/* how long events are read before anything else is looked at, */
#define READ_CHECK 64			/* checked after so many */
#define LINKER_NS 5000000000ull
#define MOVING_NS 10000000	/* while modules come or go: how often to check whether the linker is done */
#define KEEPER_SILENT_NS 1200000000ull

/* --- reading --- */

/* All that is in the ring; true if there was anything. */
static bool read_ring(struct watch *w)
{
	struct ring *r = &w->link->shared->ring;
	const struct record *rec;
	bool any = false;

	for (; (rec = ring_peek(r)); any = true) {
		watch_record(w, rec);
		ring_consume(r, rec);
	}
	return any;
}

/* What the kernel has does not all fit into the ring. */
static void drain_pumped(struct watch *w, uint64_t until)
{
	do
		link_pump(w->link, until);
	while (read_ring(w));
}

void watch_drain(struct watch *w)
{
	drain_pumped(w, UPROBE_ALL);
}

void watch_drain_until(struct watch *w, uint64_t head)
{
	struct ring *r = &w->link->shared->ring;
	const struct record *rec;

	if (w->link->uprobe) {
		drain_pumped(w, head);
		return;
	}
	while ((int64_t)(head - atomic_load(&r->tail)) > 0 && (rec = ring_peek(r))) {
		watch_record(w, rec);
		ring_consume(r, rec);
	}
}

/*
 * Read some events; true if there were any. The limits keep Ctrl-C and -d prompt under load: stacks that are new
 * may take a millisecond each.
 */
static bool read_some(struct watch *w)
{
	const uint64_t until_ns = link_clock_ns() + READ_NS;
	const struct record *rec = NULL;
	int n;

	link_pump(w->link, UPROBE_ALL);
	for (n = 0; n < 4096 && w->end == WATCH_GOES_ON && (rec = ring_peek(&w->link->shared->ring)); n++) {
		if (n % READ_CHECK == READ_CHECK - 1 && link_clock_ns() >= until_ns)
			break;
		watch_record(w, rec);
		ring_consume(&w->link->shared->ring, rec);
	}
	return n > 0 || tally_idle(w->tally);
}

/* --- waiting --- */

static void on_signal(struct watch *w)
{
	struct signalfd_siginfo si;

	if (read(w->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGUSR1) {
			w->report_now = true;
			return;
		}
		log_verbose("ended by signal %u", si.ssi_signo);
		w->end = WATCH_SIGNAL;
	}
}

static void on_keeper_end(struct watch *w)
{
	watch_drain(w);
	if (w->end != WATCH_GOES_ON)
		return;
	w->end = atomic_load(&w->link->shared->end.left) == LEFT_NOT ? WATCH_KEEPER_KILLED
								     : WATCH_KEEPER_LEFT;
}

static void wait_for_news(struct watch *w, int timeout_ms)
{
	struct pollfd p[4] = {
		{ .fd = w->link->uprobe ? uprobe_fd(w->link->uprobe) : w->link->bell, .events = POLLIN },
		{ .fd = w->link->keeper_fd, .events = POLLIN },
		{ .fd = w->signals, .events = POLLIN },
		{ .fd = w->control, .events = POLLIN },
	};
	uint64_t rings;

	if (link_left_alone(w->link) && w->end == WATCH_GOES_ON) {
		on_keeper_end(w);
		return;
	}
	if (poll(p, 4, timeout_ms) <= 0)
		return;
	if (p[0].revents & POLLIN && !w->link->uprobe)
		(void)!read(w->link->bell, &rings, sizeof(rings));
	if (p[2].revents & POLLIN)
		on_signal(w);
	if (p[3].revents)
		w->asked(w->gdb_ctx);
	if (p[1].revents & POLLIN && w->end == WATCH_GOES_ON)
		on_keeper_end(w);
}

/* Set `sleeping`, then check the ring once more: for an event in between the keeper has not rung. */
static void sleep_until_bell(struct watch *w, int timeout_ms)
{
	struct ring *r = &w->link->shared->ring;

	link_sleeps(w->link, true);
	link_pump(w->link, UPROBE_ALL);
	if (!ring_peek(r))
		wait_for_news(w, timeout_ms);
	link_sleeps(w->link, false);
}

/*
 * The keeper's loop runs at least twice a second. If it was stopped (SIGSTOP), the target is stopped with it:
 * continue it, and log that.
 */
static void check_keeper(struct watch *w, uint64_t now)
{
	uint64_t beat = atomic_load_explicit(&w->link->shared->beat, memory_order_relaxed);

	if (beat != w->beat || !w->beat_ns) {
		w->beat = beat;
		w->beat_ns = now;
		w->silence = stall_timer_begin(now);
		return;
	}
	if (stall_timer_look(&w->silence, now) < KEEPER_SILENT_NS)
		return;
	log_warn("the keeper (%d) was stopped for %.1f s, and the target with it: continuing it",
		 w->link->keeper, (now - w->beat_ns) / 1e9);
	watch_add_gap(w, w->beat_ns, now, "the keeper was stopped");
	link_signal(w->link, SIGCONT);
	w->beat_ns = now;
	w->silence = stall_timer_begin(now);
}

/*
 * After a report of the dynamic linker no trap is planted until the modules have been read, when the linker
 * was done and did not report again meanwhile (trap_rounds.h). So they are read soon; but many reports may
 * follow each other, and reading takes time: a tenth of ours at most. A linker that is never done (left by
 * longjmp, or by the end of its thread) is waited for with a timeout.
 */
static void follow_modules(struct watch *w, uint64_t now)
{
	struct shared *sh = w->link->shared;
	uint32_t reported = atomic_load(&sh->modules.reported);
	uint64_t took;
	bool known;

	if (reported != w->modules_reported) {
		w->modules_reported = reported;
		w->linker = stall_timer_begin(now);
	}
	if (reported == atomic_load(&sh->modules.seen) || now < w->next_modules_ns ||
	    (stall_timer_look(&w->linker, now) < LINKER_NS && !linker_is_done(w->modules)))
		return;
	known = watch_modules(w);
	if (known)
		atomic_store(&sh->modules.seen, reported);
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
	if (w->turn && w->turn_ns < now + ns)
		ns = w->turn_ns > now ? w->turn_ns - now : 0;
	if (w->sampling && shared_modules_move(w->link->shared) && ns > MOVING_NS)
		ns = MOVING_NS;
	return ns / 1000000 + 1;
}

static void run(struct watch *w, bool until_started)
{
	uint64_t now = link_clock_ns(), last_event = now, next_progress = now + PROGRESS_NS,
		 next_tick = now + TICK_NS;

	while (w->end == WATCH_GOES_ON && !(until_started && w->started)) {
		if (read_some(w))
			last_event = now;
		now = link_clock_ns();
		if (w->end_ns && now >= w->end_ns && w->end == WATCH_GOES_ON)
			w->end = WATCH_TIME;
		check_keeper(w, now);
		if (w->sampling && w->end == WATCH_GOES_ON)
			poll_sampling(w, now);
		if (w->turn && w->end == WATCH_GOES_ON)
			w->turn_ns = w->turn(w->tick_ctx, now);
		if (now >= next_progress) {
			watch_count_threads(w, now);
			watch_line_show(w, now);
			watch_cost_look(w, now);
			next_progress = now + PROGRESS_NS;
		}
		if (w->tick && now >= next_tick && w->end == WATCH_GOES_ON) {
			const enum watch_end end = w->tick(w->tick_ctx, now);

			/* what was read meanwhile may be the target's end */
			if (w->end == WATCH_GOES_ON)
				w->end = end;
			next_tick = now + TICK_NS;
		}
		if (w->end != WATCH_GOES_ON)
			break;
		/*
		 * with a budget there are few events, and the keeper rings when no thread is stopped any
		 * more: that costs less than reading every millisecond
		 */
		if (!w->sampling && now - last_event < BUSY_NS)
			wait_for_news(w, BUSY_MS);
		else
			sleep_until_bell(w, time_left(w, now));
	}
	statusline_erase();
}

void watch_count_threads(struct watch *w, uint64_t now_ns)
{
	const struct shared *sh = w->link->shared;
	const uint64_t elapsed_ns = w->counted_ns && now_ns > w->counted_ns ? now_ns - w->counted_ns : 0;
	const uint32_t threads = atomic_load_explicit(&sh->threads, memory_order_relaxed);
	const uint32_t hitting = atomic_load_explicit(&sh->counts.hitting, memory_order_relaxed);

	/* at the target's end no thread is left */
	w->thread_ns += elapsed_ns * (threads > w->threads ? threads : w->threads);
	w->hitting_ns += elapsed_ns * (hitting > w->hitting ? hitting : w->hitting);
	w->counted_ns = now_ns;
	watch_cost_see(w);
	w->threads = threads;
	w->hitting = hitting;
}

void watch_run(struct watch *w)
{
	run(w, false);
}

void watch_until_started(struct watch *w)
{
	run(w, true);
}
