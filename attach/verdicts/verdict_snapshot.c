/* SPDX-License-Identifier: MIT */
#include "attach/verdicts/verdict_snapshot.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attach/options/option_scan.h"
#include "attach/verdicts/verdict_pointers.h"
#include "attach/verdicts/verdicts.h"
#include "base/duration.h"
#include "base/log.h"

/* --- taking --- */

void verdict_snapshot_fail(struct verdict_snapshot *out, const char *fmt, ...)
{
	va_list ap;

	out->state = SNAPSHOT_FAILED;
	va_start(ap, fmt);
	vsnprintf(out->why_not, sizeof(out->why_not), fmt, ap);
	va_end(ap);
}

static void too_long(struct verdict_snapshot *out, const struct verdict_snapshot_wish *wish)
{
	char expected[DURATION_TEXT], most[DURATION_TEXT];
	uint64_t rounded = out->had.expected_ns > 1000000 ? out->had.expected_ns / 1000000 * 1000000
							  : out->had.expected_ns;

	duration_format(rounded, expected, sizeof(expected));
	duration_format(wish->max_pause_ns, most, sizeof(most));
	if (wish->budget)
		verdict_snapshot_fail(out, "the pause would have been about %s, and the budget leaves %s for it",
				      expected, most);
	else if (wish->limit_ns)
		verdict_snapshot_fail(out, "the pause would have been about %s, more than --max-pause %s",
				      expected, most);
	else
		verdict_snapshot_fail(out,
				      "the pause would have been about %s, more than --max-pause %s "
				      "(--verdicts yes pauses the process for as long as it takes)",
				      expected, most);
}

static void no_memory(struct verdict_snapshot *out)
{
	const struct memory_limit *room = &out->had.room;
	char text[MEMORY_LIMIT_TEXT];

	if (room->needed > room->available)
		verdict_snapshot_fail(out, "a copy of the process %s", memory_limit_text(room, text));
	else
		verdict_snapshot_fail(out, "there is not enough memory for a copy of the process");
}

static void explain(struct verdict_snapshot *out, const struct verdict_snapshot_wish *wish, int err)
{
	switch (err) {
	case -ETIME:
		if (wish->verdicts == VERDICTS_AUTO)
			too_long(out, wish);
		else
			verdict_snapshot_fail(out, "the pause would have been longer than any may be");
		break;
	case -ETIMEDOUT:
		verdict_snapshot_fail(out, wish->limit_ns ? "what the budget left for the pause was used up"
							  : "the copy took too long, and the process was let go");
		break;
	case -ESRCH:
		verdict_snapshot_fail(out, "the process was gone");
		break;
	case -ENOMEM:
		no_memory(out);
		break;
	case -EOPNOTSUPP:
		verdict_snapshot_fail(out, VERDICTS_UNDER_GDB);
		break;
	case -EAGAIN:
		verdict_snapshot_fail(out, "its memory grew faster than it could be copied");
		break;
	default:
		verdict_snapshot_fail(out, "the process could not be stopped and copied: %s", strerror(-err));
	}
}

/* How long the target was stopped is reported also if there is no result. */
static void add_stopped_time(struct verdict_snapshot *out)
{
	size_t n = strlen(out->why_not);
	char text[DURATION_TEXT];

	if (out->had.had_ns)
		snprintf(out->why_not + n, sizeof(out->why_not) - n, "; it was stopped for %s",
			 duration_format(out->had.had_ns, text, sizeof(text)));
}

void verdict_snapshot_take(struct verdict_snapshot *out, struct link *l, pid_t pid,
			   const struct verdict_snapshot_wish *wish)
{
	const struct pause_wish pause = {
		.max_pause_ns = wish->verdicts == VERDICTS_AUTO ? wish->max_pause_ns : 0,
		.limit_ns = wish->limit_ns,
		.meanwhile = wish->meanwhile, .ctx = wish->ctx,
	};
	int r;

	*out = (struct verdict_snapshot){ .state = SNAPSHOT_TAKEN };
	snapshot_init(&out->memory);
	r = pause_and_copy(l, pid, &pause, &out->memory, &out->had);
	if (r < 0) {
		explain(out, wish, r);
		add_stopped_time(out);
	}
}

void verdict_snapshot_fini(struct verdict_snapshot *taken)
{
	if (taken->state == SNAPSHOT_TAKEN)
		snapshot_fini(&taken->memory);
	*taken = (struct verdict_snapshot){ 0 };
}

/* --- verdicts --- */

static void write_failure(const struct verdict_snapshot *taken, struct recorder *r)
{
	const struct fact_verdicts its = {
		.number = r->ledger.look.wanted ? r->ledger.look.fact.number + 1 : 1, .why_not = taken->why_not,
		.expected_ns = taken->had.expected_ns, .had_ns = taken->had.had_ns,
	};
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_VERDICTS, .time_us = r->ledger.now_us, .look = &its,
	};

	recorder_put(r, &f);
}

static struct fact_verdicts describe(const struct verdict_snapshot *taken, const struct recorder *r)
{
	return (struct fact_verdicts){
		.number = r->ledger.look.wanted ? r->ledger.look.fact.number + 1 : 1, .known = true,
		.expected_ns = taken->had.expected_ns, .had_ns = taken->had.had_ns, .bytes = taken->had.bytes,
		.threads = taken->had.threads, .not_stopped = taken->had.not_stopped,
	};
}

/* What something points to is reachable, also where not all was seen. */
static enum verdict sure(const struct verdicts *j, enum verdict v)
{
	return j->may_err && verdict_is_lost(v) ? VERDICT_UNKNOWN : v;
}

static int see_all(const struct verdicts *j, bool any, const struct verdict_snapshot_see *see)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < j->nblocks; i++) {
		const struct verdicts_block *b = &j->blocks[i];

		if (b->family != VERDICTS_NONE && b->verdict != VERDICT_UNKNOWN)
			r = see->tracked(see->ctx, b->addr, sure(j, b->verdict));
		else if (b->family == VERDICTS_NONE && b->part == VERDICTS_NODE && any && verdict_is_lost(b->verdict))
			r = see->any(see->ctx, b->addr, b->size);
	}
	return r;
}

int verdict_snapshot_each(const struct verdict_snapshot *taken, const struct ledger *l,
			  const struct verdict_snapshot_see *see)
{
	struct verdicts j;
	int r = verdicts_run(&j, &taken->memory, l, false);
	const bool any = r == 0 && j.census.known && !j.may_err;

	if (r == 0)
		r = see_all(&j, any, see);
	if (r == 0 && j.may_err)
		r = -ENODATA;
	verdicts_fini(&j);
	return r < 0 ? r : any;
}

void verdict_snapshot_judge(struct verdict_snapshot *taken, struct recorder *r, bool exact,
			    struct verdict_asked *asked)
{
	struct fact_verdicts its;
	struct verdicts j;
	int err;

	if (taken->state == SNAPSHOT_TAKEN) {
		its = describe(taken, r);
		err = verdicts_run(&j, &taken->memory, &r->ledger, exact);
		if (err == 0)
			err = verdicts_write(&j, &its, r);
		if (err == 0 && asked)
			err = verdict_pointers(asked, &j, &taken->memory, &r->ledger);
		verdicts_fini(&j);
		if (err < 0) {
			snapshot_fini(&taken->memory);
			verdict_snapshot_fail(taken,
					      "no verdict could be made from the copy of the process: %s",
					      strerror(-err));
			log_warn("no verdicts: %s", taken->why_not);
		}
	}
	if (taken->state == SNAPSHOT_FAILED)
		write_failure(taken, r);
}
