/* SPDX-License-Identifier: MIT */
#include "attach/verdicts/look.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attach/options/option_scan.h"
#include "attach/verdicts/judging.h"
#include "attach/verdicts/look_pointers.h"
#include "base/duration.h"
#include "base/log.h"

/* --- taking --- */

void look_fail(struct look *out, const char *fmt, ...)
{
	va_list ap;

	out->state = LOOK_FAILED;
	va_start(ap, fmt);
	vsnprintf(out->why_not, sizeof(out->why_not), fmt, ap);
	va_end(ap);
}

static void too_long(struct look *out, const struct look_wish *wish)
{
	char expected[DURATION_TEXT], most[DURATION_TEXT];
	uint64_t rounded = out->had.expected_ns > 1000000 ? out->had.expected_ns / 1000000 * 1000000 : out->had.expected_ns;

	look_fail(out, "the process would have stood still for about %s, and that is more than %s (--max-pause; --verdicts yes does it all the same)",
		  duration_format(rounded, expected, sizeof(expected)),
		  duration_format(wish->max_pause_ns, most, sizeof(most)));
}

static void no_memory(struct look *out)
{
	const struct room *room = &out->had.room;
	char text[ROOM_TEXT];

	if (room->needed > room->available)
		look_fail(out, "a copy of the process %s", room_text(room, text));
	else
		look_fail(out, "there is not enough memory for a copy of the process");
}

static void explain(struct look *out, const struct look_wish *wish, int err)
{
	switch (err) {
	case -ETIME:
		if (wish->verdicts == VERDICTS_AUTO)
			too_long(out, wish);
		else
			look_fail(out, "the process would have stood still for longer than it may be");
		break;
	case -ETIMEDOUT:
		look_fail(out, "the copy took too long, and the process was let go");
		break;
	case -ESRCH:
		look_fail(out, "the process was gone");
		break;
	case -ENOMEM:
		no_memory(out);
		break;
	case -EOPNOTSUPP:
		look_fail(out, VERDICTS_UNDER_GDB);
		break;
	case -EAGAIN:
		look_fail(out, "its memory grew faster than it could be copied");
		break;
	default:
		look_fail(out, "the process could not be stopped and copied: %s", strerror(-err));
	}
}

/* The pause is reported, whatever the result. */
static void add_stood_still(struct look *out)
{
	size_t n = strlen(out->why_not);
	char text[DURATION_TEXT];

	if (out->had.had_ns)
		snprintf(out->why_not + n, sizeof(out->why_not) - n, "; it stood still for %s",
			 duration_format(out->had.had_ns, text, sizeof(text)));
}

void look_take(struct look *out, struct link *l, pid_t pid, const struct look_wish *wish)
{
	const struct pause_wish pause = {
		.max_pause_ns = wish->verdicts == VERDICTS_AUTO ? wish->max_pause_ns : 0, .meanwhile = wish->meanwhile, .ctx = wish->ctx,
	};
	int r;

	*out = (struct look){ .state = LOOK_TAKEN };
	snapshot_init(&out->snapshot);
	r = pause_and_copy(l, pid, &pause, &out->snapshot, &out->had);
	if (r < 0) {
		explain(out, wish, r);
		add_stood_still(out);
	}
}

void look_fini(struct look *look)
{
	if (look->state == LOOK_TAKEN)
		snapshot_fini(&look->snapshot);
	*look = (struct look){ 0 };
}

/* --- judging --- */

static void tell_failure(const struct look *look, struct recorder *r)
{
	const struct fact_look its = {
		.number = r->ledger.look.told ? r->ledger.look.fact.number + 1 : 1, .why_not = look->why_not,
		.expected_ns = look->had.expected_ns, .had_ns = look->had.had_ns,
	};
	const struct fact f = { .kind = MMT_INFO, .info = MMT_VERDICTS, .time_us = r->ledger.now_us, .look = &its };

	recorder_put(r, &f);
}

static struct fact_look describe(const struct look *look, const struct recorder *r)
{
	return (struct fact_look){
		.number = r->ledger.look.told ? r->ledger.look.fact.number + 1 : 1, .taken = true,
		.expected_ns = look->had.expected_ns, .had_ns = look->had.had_ns, .bytes = look->had.bytes,
		.threads = look->had.threads, .not_stopped = look->had.not_stopped,
	};
}

void look_judge(struct look *look, struct recorder *r, bool exact, struct look_asked *asked)
{
	struct fact_look its;
	struct judging j;
	int err;

	if (look->state == LOOK_TAKEN) {
		its = describe(look, r);
		err = judging_run(&j, &look->snapshot, &r->ledger, exact);
		if (err == 0)
			err = judging_tell(&j, &its, r);
		if (err == 0 && asked)
			err = look_pointers(asked, &j, &look->snapshot, &r->ledger);
		judging_fini(&j);
		if (err < 0) {
			snapshot_fini(&look->snapshot);
			look_fail(look, "what the copy of the process holds could not be judged: %s", strerror(-err));
			log_warn("no verdicts: %s", look->why_not);
		}
	}
	if (look->state == LOOK_FAILED)
		tell_failure(look, r);
}
