/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_loss.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "attach/events/recorder.h"
#include "attach/options/options.h"
#include "attach/sampling/sampling.h"
#include "attach/verdicts/loss.h"
#include "attach/verdicts/verdict_snapshot.h"
#include "attach/watch/session.h"
#include "attach/watch/session_verdicts.h"
#include "base/duration.h"
#include "base/log.h"

#define FIRST_NS 500000000ull	/* after the beginning: what a budget leaves is known by then */
/* a budget is for any ten seconds: in a shorter watch the first pause would be taken from the last one */
#define SHORTEST_NS 15000000000ull

#define UNSEEN								\
	"not all memory was seen that may point to them (it was swapped out, not copied, or of a thread that "	\
	"was not stopped)"

/* What a copy shows. */
struct seen {
	struct session *session;
	struct loss *loss;
	uint64_t blocks, lost;	/* of the tracked ones */
};

static void see_tracked(void *ctx, taddr addr, enum verdict verdict)
{
	struct seen *its = ctx;

	sampling_judge(its->session->sampling, addr, verdict_is_lost(verdict));
	its->blocks++;
	its->lost += verdict_is_lost(verdict);
}

static void pass_by(void *ctx, taddr addr, enum verdict verdict)
{
	(void)ctx;
	(void)addr;
	(void)verdict;
}

static int see_any(void *ctx, taddr addr, uint64_t size)
{
	struct seen *its = ctx;

	return loss_add(its->loss, addr, size);
}

/* --- soon after the beginning --- */

static bool is_time(const struct session *s, uint64_t now_ns)
{
	const struct session_loss *its = &s->loss;

	return s->sampling && !its->looked && !s->opt->program && now_ns >= s->watch.start_ns + FIRST_NS &&
	       (!s->opt->duration_ns || s->opt->duration_ns >= SHORTEST_NS) &&
	       s->watch.end == WATCH_GOES_ON && s->snapshot->state == SNAPSHOT_NONE && session_verdicts_wanted(s);
}

void session_loss_tick(struct session *s, uint64_t now_ns)
{
	struct seen its = { .session = s, .loss = &s->loss.before };
	const struct verdict_snapshot_see see = { pass_by, see_any, &its };
	int r;

	if (!is_time(s, now_ns))
		return;
	s->loss.looked = true;
	if (session_verdicts_take(s)) {
		r = verdict_snapshot_each(s->snapshot, &s->recorder->ledger, &see);
		s->loss.at_ns = r > 0 ? s->snapshot->had.at_ns : 0;
		log_verbose("at the beginning the process was stopped for %.1f ms: %zu blocks are lost",
			    (double)s->snapshot->had.had_ns / 1e6, s->loss.before.n);
	}
	/* there may be another one at the end */
	session_verdicts_drop(s);
}

/* --- at the end --- */

static void tell_loss(struct session *s, struct loss *at_end, uint64_t t)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const uint64_t over_ns = s->snapshot->had.at_ns - s->loss.at_ns;
	struct loss_sum sum;

	loss_between(&s->loss.before, at_end, &sum);
	sampling_loss(s->sampling, &(struct fact_loss){
					   .over_us = over_ns / 1000, .blocks = sum.blocks, .bytes = sum.bytes,
					   .before_blocks = sum.before_blocks, .before_bytes = sum.before_bytes });
	loss_put_sizes(&text, &sum);
	if (sum.blocks)
		recorder_note(s->recorder, t,
			      "in %.0f s the process lost %" PRIu64 " blocks, %" PRIu64 " bytes, for good: most are %s",
			      (double)over_ns / 1e9, sum.blocks, sum.bytes, strbuf_str(&text));
}

static void tell_tracked(struct session *s, const struct seen *its, uint64_t t)
{
	char text[DURATION_TEXT];

	recorder_note(s->recorder, t,
		      "at the end the process was stopped for %s and copied: %" PRIu64 " of %" PRIu64
		      " tracked blocks are lost",
		      duration_format(s->snapshot->had.had_ns, text, sizeof(text)), its->lost, its->blocks);
}

void session_loss_end(struct session *s)
{
	const uint64_t t = recorder_time(s->recorder, s->end_ns);
	struct loss at_end = { 0 };
	struct seen its = { .session = s, .loss = &at_end };
	const struct verdict_snapshot_see see = { see_tracked, see_any, &its };
	int r;

	if (s->snapshot->state == SNAPSHOT_TAKEN) {
		r = verdict_snapshot_each(s->snapshot, &s->recorder->ledger, &see);
		if (r >= 0)
			tell_tracked(s, &its, t);
		if (r > 0 && s->loss.at_ns)
			tell_loss(s, &at_end, t);
		if (r < 0) {
			verdict_snapshot_fini(s->snapshot);
			verdict_snapshot_fail(s->snapshot, "%s", r == -ENODATA ? UNSEEN : strerror(-r));
		}
	}
	if (s->snapshot->state == SNAPSHOT_FAILED)
		recorder_note(s->recorder, t, "which tracked blocks are lost is not known: %s",
			      s->snapshot->why_not);
	loss_fini(&at_end);
}

void session_loss_close(struct session *s)
{
	loss_fini(&s->loss.before);
}
