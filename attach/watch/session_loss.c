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
/* a budget is for any ten seconds: with less left the first pause would be taken from the last one */
#define LEFT_NS 14000000000ull
#define AGAIN_NS 10000000000ull
#define LOST_ENOUGH 3		/* blocks of a size: fewer may be lost by a site that was hardly ever called */

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

static bool may_look(const struct session *s)
{
	return s->sampling && !s->opt->program && s->watch.end == WATCH_GOES_ON && s->snapshot->state == SNAPSHOT_NONE &&
	       session_verdicts_wanted(s);
}

/* Does the watch go on for so long? Until Ctrl-C, most likely. */
static bool is_left(const struct session *s, uint64_t now_ns, uint64_t ns)
{
	return !s->opt->duration_ns || now_ns + ns <= s->watch.end_ns;
}

static bool is_time(const struct session *s, uint64_t now_ns)
{
	const struct session_loss *its = &s->loss;

	if (!its->looked)
		return now_ns >= s->watch.start_ns + FIRST_NS && is_left(s, now_ns, LEFT_NS);
	return its->at_ns && !its->again && now_ns >= its->at_ns + AGAIN_NS && is_left(s, now_ns, AGAIN_NS);
}

/* What is lost now. Returns when that was; 0: it is not known. */
static uint64_t look(struct session *s, struct loss *lost)
{
	struct seen its = { .session = s, .loss = lost };
	const struct verdict_snapshot_see see = { pass_by, see_any, &its };
	uint64_t at_ns = 0;

	if (session_verdicts_take(s)) {
		if (verdict_snapshot_each(s->snapshot, &s->recorder->ledger, &see) > 0)
			at_ns = s->snapshot->had.at_ns;
		log_verbose("the process was stopped for %.1f ms: %zu blocks are lost",
			    (double)s->snapshot->had.had_ns / 1e6, lost->n);
	}
	/* there may be another one at the end */
	session_verdicts_drop(s);
	return at_ns;
}

static void look_again(struct session *s)
{
	struct loss now = { 0 };
	struct loss_sum sum;
	uint64_t sizes[LOSS_SIZES];
	size_t n = 0;

	if (look(s, &now)) {
		loss_between(&s->loss.before, &now, &sum);
		for (size_t i = 0; i < LOSS_SIZES; i++)
			if (sum.sizes[i].blocks >= LOST_ENOUGH)
				sizes[n++] = sum.sizes[i].size;
		sampling_lost_sizes(s->sampling, sizes, n);
	}
	loss_fini(&now);
}

void session_loss_tick(struct session *s, uint64_t now_ns)
{
	if (!may_look(s) || !is_time(s, now_ns))
		return;
	if (s->loss.looked) {
		s->loss.again = true;
		look_again(s);
	} else {
		s->loss.looked = true;
		s->loss.at_ns = look(s, &s->loss.before);
	}
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
