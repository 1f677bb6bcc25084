/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_verdicts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/events/recorder.h"
#include "attach/events/tally.h"
#include "attach/options/options.h"
#include "attach/stacks/backtrace.h"
#include "attach/verdicts/dying.h"
#include "attach/verdicts/verdict_pointers.h"
#include "attach/verdicts/verdict_snapshot.h"
#include "attach/watch/session.h"
#include "base/log.h"

#define FIRST_PART 5	/* of what is left, while the watch goes on: the first time, */
#define LATER_PART 2	/* and later */

int session_verdicts_open(struct session *s)
{
	s->snapshot = calloc(1, sizeof(*s->snapshot));
	s->asked = calloc(1, sizeof(*s->asked));
	if (!s->snapshot || !s->asked)
		return -ENOMEM;
	*s->asked = (struct verdict_asked){ .opt = s->opt };
	scan_init(&s->asked->report);
	return 0;
}

void session_verdicts_drop(struct session *s)
{
	verdict_snapshot_fini(s->snapshot);
}

void session_verdicts_close(struct session *s)
{
	if (s->snapshot)
		verdict_snapshot_fini(s->snapshot);
	if (s->asked)
		scan_fini(&s->asked->report);
	free(s->snapshot);
	free(s->asked);
}

/*
 * What there is at this moment. The target goes on, so there may always be more: to read until there is nothing
 * would make a watch of a busy target, by a reader that is slower than it, as long as that is busy.
 */
static void drain_until_now(struct session *s)
{
	watch_drain_until(&s->watch, link_position(&s->at.link));
}

/* Events must be read while memory for the snapshot is allocated. */
static bool read_events(void *ctx)
{
	struct session *s = ctx;

	drain_until_now(s);
	if (s->preparing)
		s->preparing(s);
	return s->watch.end != WATCH_EXEC && s->watch.end != WATCH_TARGET_ENDED;
}

/* Is there a family whose blocks are memory? */
static bool any_memory(const struct session *s)
{
	for (size_t i = 0; i < s->rules.nfamilies; i++) {
		const struct rule_family *f = &s->rules.families[i];

		if (!f->refs && !f->ranges && (!*f->noun || !strcmp(f->noun, "block")))
			return true;
	}
	return s->opt->verdicts == VERDICTS_YES;
}

/*
 * With the kernel's probes the target has no tracer: a keeper seizes it for the time of the pause, and plants
 * nothing.
 */
static void copy_by_another(struct session *s, const struct verdict_snapshot_wish *wish)
{
	struct attached keeper = ATTACHED_INIT;
	int r;

	keeper.opt = s->opt;
	keeper.no_uprobe = true;
	keeper.target = s->at.target;	/* the session's */
	r = attached_open(&keeper, s->argc, s->argv);
	if (r == 0) {
		keeper.link.events = &s->at.link;
		keeper.link.shared->lose_sigtrap = true;
		r = attached_seize(&keeper);
	}
	if (r == 0)
		verdict_snapshot_take(s->snapshot, &keeper.link, s->watch.pid, wish);
	else
		verdict_snapshot_fail(s->snapshot, "the process could not be stopped: %s",
				      r == -EPERM ? "another tracer is attached, or it may not be traced"
						  : strerror(-r));
	if (keeper.linked)
		attached_undo(&keeper);
	keeper.target = (struct target_info){ 0 };
	attached_close(&keeper);
}

static void stop_and_copy(struct session *s, const struct verdict_snapshot_wish *wish)
{
	if (s->at.link.uprobe)
		copy_by_another(s, wish);
	else
		verdict_snapshot_take(s->snapshot, &s->at.link, s->watch.pid, wish);
}

/*
 * What a budget leaves for a pause, less what may be spent until it begins; never 0, which would be no limit.
 * While the watch goes on, a part of that, unless samples have left what a pause needs: they need the rest, and
 * so does another pause at its end, which may come at any moment. The first time a small part, as a full token
 * bucket of the samples is only a third of what is left then.
 */
static uint64_t left_for_pause(struct session *s)
{
	const double room_ns = (double)atomic_load(&s->at.link.shared->budget.room_ns) * 0.9;
	const int part = s->watch.end != WATCH_GOES_ON || session_share_is_kept(s) ? 1 :
			 s->loss.at_ns ? LATER_PART : FIRST_PART;

	return (uint64_t)session_share_longest(s, room_ns / part) + 1;
}

/* What the next pause costs, which samples are to leave: unless there can be none of that length. */
static void learn_pause(struct session *s, uint64_t most_ns)
{
	const struct pause_had *had = &s->snapshot->had;
	const uint64_t ns = had->had_ns > had->expected_ns ? had->had_ns : had->expected_ns;

	if (ns <= most_ns)
		session_share_learn(s, ns);
}

/* Stop the target, copy it, resume it. */
static bool take_snapshot(struct session *s, bool (*meanwhile)(void *ctx))
{
	const uint64_t most_ns = s->opt->max_pause_ns ? s->opt->max_pause_ns : OPTIONS_MAX_PAUSE_NS;
	const uint64_t left_ns = s->opt->budget_ppm ? left_for_pause(s) : most_ns;
	const struct verdict_snapshot_wish wish = {
		.verdicts = s->opt->verdicts, .max_pause_ns = left_ns < most_ns ? left_ns : most_ns,
		.budget = left_ns < most_ns, .limit_ns = s->opt->budget_ppm ? left_ns : 0,
		.meanwhile = meanwhile, .ctx = s,
	};

	stop_and_copy(s, &wish);
	if (s->opt->budget_ppm)
		learn_pause(s, most_ns);
	if (s->snapshot->state == SNAPSHOT_TAKEN)
		return true;
	if (s->opt->verdicts == VERDICTS_YES)
		log_warn("no verdicts: %s", s->snapshot->why_not);
	else
		log_verbose("no verdicts: %s", s->snapshot->why_not);
	return false;
}

/*
 * The same while events are read; then the ledger has those up to the moment of the stop, and no later ones.
 */
bool session_verdicts_take(struct session *s)
{
	if (!take_snapshot(s, read_events))
		return false;
	watch_drain_until(&s->watch, s->snapshot->had.ring_head);
	tally_settle(s->tally);
	return true;
}

/* Then a copy would show nothing: unless there was one before, to be compared with it. */
static bool nothing_live(const struct session *s)
{
	return !s->recorder->ledger.held_blocks && s->opt->verdicts == VERDICTS_AUTO && !s->loss.at_ns;
}

/* Why the target's memory is gone or cannot be read, or NULL. */
static const char *why_no_snapshot(const struct session *s)
{
	switch (s->watch.end) {
	case WATCH_TARGET_ENDED:
		return s->at.link.uprobe ? "the process had ended, and its memory with it (--engine ptrace holds it at its end)"
					 : "the process had ended, and its memory with it";
	case WATCH_EXEC:
		return "the process runs another program now, and what it had before is gone";
	case WATCH_KEEPER_LEFT:
	case WATCH_KEEPER_KILLED:
		return "the keeper was gone";
	case WATCH_MEMORY:
		return "we are out of memory";
	default:
		return NULL;
	}
}

/*
 * The records before this one were read already, and there are no later ones. The ring must not be read here,
 * since the reader of the ring has called this.
 */
void session_verdicts_at_end(void *ctx)
{
	struct session *s = ctx;

	if (s->snapshot->state == SNAPSHOT_NONE && !nothing_live(s) && take_snapshot(s, NULL))
		s->end_ns = s->snapshot->had.at_ns;
	if (s->snapshot->state == SNAPSHOT_TAKEN)
		dying_step_out(&s->snapshot->memory, s->at.modules, s->backtrace->cfi);
}

bool session_verdicts_wanted(const struct session *s)
{
	return s->opt->verdicts != VERDICTS_NO && any_memory(s);
}

bool session_verdicts_interim(struct session *s)
{
	/*
	 * a snapshot that was taken at the target's end is not replaced: the record of that end is in the
	 * ring
	 */
	const bool wished =
		s->opt->verdicts == VERDICTS_YES ||
		(s->watch.report_now && session_verdicts_wanted(s) && !why_no_snapshot(s) &&
		 !nothing_live(s));

	if (!wished || s->sampling || s->snapshot->state != SNAPSHOT_NONE || !interim_ready(&s->interim))
		return false;
	(void)session_verdicts_take(s);
	return true;
}

void session_verdicts_last(struct session *s)
{
	const char *why_not = why_no_snapshot(s);

	if (!session_verdicts_wanted(s) || s->watch.end == WATCH_GOES_ON ||
	    s->snapshot->state != SNAPSHOT_NONE)
		return;
	drain_until_now(s);
	if (nothing_live(s)) {
		verdict_snapshot_fail(s->snapshot, "no block was live at the end of the watch%s",
				      why_not ? "" : ", so the process was not stopped");
	} else if (why_not) {
		verdict_snapshot_fail(s->snapshot, "%s", why_not);
	} else if (session_verdicts_take(s)) {
		s->end_ns = s->snapshot->had.at_ns;
		s->watch.closed = true;
	}
}
