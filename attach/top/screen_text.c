/* SPDX-License-Identifier: MIT */
#include "attach/top/screen_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/model/format_text.h"
#include "report/model/stop_share.h"
#include "report/names/expand.h"
#include "report/names/sitename.h"
#include "report/names/wrappers.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/text_stack.h"

#define AMOUNT_WIDTH 10
#define GROWTH_WIDTH 15
#define RATE_WIDTH 9
#define CALLS_WIDTH 11
#define FAMILY_WIDTH 10
#define NARROW 100		/* fewer columns: one of calls and calls a second, and a short course */
#define SITE_MIN 8

const char screen_text_help[] =
	"b g r c    sort by live bytes, growth, calls a second, calls\n"
	"j k, arrows, page keys    choose a row\n"
	"Enter      open the stack of the row, or close it\n"
	"/          only stacks with a frame that matches (empty: all)\n"
	"m          numbers since now; again: since the beginning\n"
	"p, space   pause the view; the watch goes on\n"
	"s          save the trace, as far as it is\n"
	"h ?        this help\n"
	"q          end\n"
	"\n"
	"Of a sampled watch (--budget): ~ is an estimate of what stays;\n"
	"? it is not known yet whether it does. Of objects, live is the\n"
	"number of references.\n";

/* --- the top --- */

static struct summary_run run_of(const struct ledger *l)
{
	return (struct summary_run){
		.seconds = (double)l->now_us / 1e6,
		.stopped_seconds = (double)l->counts[MMT_COUNT_STOPPED_US] / 1e6,
		.thread_seconds = (double)l->counts[MMT_COUNT_THREAD_US] / 1e6,
		.hitting = l->counts[MMT_COUNT_HITTING],
		.hitting_seconds = (double)l->counts[MMT_COUNT_HITTING_US] / 1e6,
		.hitting_stopped = (double)l->counts[MMT_COUNT_HITTING_STOPPED_US] / 1e6,
	};
}

static void put_live(struct strbuf *sb, const struct top *t, const struct ledger *l)
{
	if (ledger_is_sampled(l)) {
		strbuf_printf(sb, "  sampled, %" PRIu64 " blocks tracked", l->held_blocks);
		return;
	}
	strbuf_puts(sb, "  live ");
	format_size(sb, l->held_bytes);
	if (growth_rises(&t->growth)) {
		strbuf_puts(sb, " +");
		format_rate(sb, t->growth.bytes_per_minute, false);
	}
}

void screen_text_head(struct strbuf *sb, const struct top *t, const struct ledger *l)
{
	if (l->target.comm)
		strbuf_text(sb, l->target.comm);
	strbuf_printf(sb, " (%d)  ", l->target.pid);
	format_seconds(sb, (double)l->now_us / 1e6);
	strbuf_printf(sb, "  %.0f events/s", t->events_per_second);
	put_live(sb, t, l);
}

/* What a budget has used of the time so far, and in the worst ten seconds, for which it is a promise. */
static void put_budget(struct strbuf *sb, const struct ledger *l)
{
	const struct fact_budget *b = &l->samples.budget;
	const double used = b->wall_us ? (double)b->spent_us / (double)b->wall_us : 0,
		     promise = (double)b->promise_ppm / 1e6;

	strbuf_puts(sb, "budget ");
	format_percent(sb, promise, 1);
	strbuf_puts(sb, ": ");
	format_percent(sb, used, 1);
	strbuf_puts(sb, " used, ");
	format_percent(sb, promise > used ? promise - used : 0, 1);
	strbuf_puts(sb, " left; worst ten seconds ");
	format_percent(sb, (double)b->worst_ppm / 1e6, 1);
	if (b->closed)
		strbuf_printf(sb, "; used up %" PRIu64 " times", b->closed);
}

static void put_cost(struct strbuf *sb, const struct ledger *l)
{
	const struct summary_run run = run_of(l);
	struct stop_share share;

	if (l->samples.has_budget) {
		put_budget(sb, l);
	} else if (ledger_is_sampled(l)) {
		strbuf_puts(sb, "the first estimates come after ten seconds");
	} else if (stop_share_first(&run, &share)) {
		strbuf_puts(sb, "stopped ");
		format_percent(sb, share.stopped_s, share.time_s);
		strbuf_puts(sb, " of the time");
	}
}

static void begin_part(struct strbuf *sb)
{
	if (sb->len)
		strbuf_puts(sb, "  ");
}

void screen_text_state(struct strbuf *sb, const struct screen *s, const struct top *t, const struct ledger *l)
{
	cleanup_strbuf struct strbuf cost = STRBUF_INIT;

	put_cost(&cost, l);
	if (s->paused)
		strbuf_puts(sb, "PAUSED");
	if (*s->state) {
		begin_part(sb);
		strbuf_text(sb, s->state);
	}
	if (t->marked) {
		begin_part(sb);
		strbuf_puts(sb, "since the mark, ");
		format_seconds(sb, (double)(l->now_us - t->mark_us) / 1e6);
		strbuf_puts(sb, " ago");
	}
	if (t->filter) {
		begin_part(sb);
		strbuf_puts(sb, "filter: ");
		strbuf_text(sb, t->filter_text);
		strbuf_printf(sb, " (%zu of %zu)", t->n, t->all);
	}
	if (strbuf_str(&cost)[0]) {
		begin_part(sb);
		strbuf_puts(sb, strbuf_str(&cost));
	}
}

/* --- columns --- */

static size_t spark_width(size_t columns)
{
	return columns < NARROW ? 8 : columns < 160 ? 16 : 32;
}

static bool shows_rate(const struct top *t, size_t columns)
{
	return columns >= NARROW || t->order != TOP_CALLS;
}

static bool shows_calls(const struct top *t, size_t columns)
{
	return columns >= NARROW || t->order == TOP_CALLS;
}

static void put_title(struct strbuf *sb, const struct top *t, enum top_order order, const char *name, size_t width)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	strbuf_printf(&cell, "%s%s", t->order == order ? "*" : "", name);
	format_right(sb, &cell, width);
}

void screen_text_columns(struct strbuf *sb, const struct top *t, size_t columns)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	put_title(sb, t, TOP_BYTES, t->marked ? "more" : "live", AMOUNT_WIDTH);
	put_title(sb, t, TOP_GROWTH, "growth", GROWTH_WIDTH);
	if (shows_rate(t, columns))
		put_title(sb, t, TOP_RATE, "calls/s", RATE_WIDTH);
	if (shows_calls(t, columns))
		put_title(sb, t, TOP_CALLS, "calls", CALLS_WIDTH);
	strbuf_puts(sb, "  ");
	strbuf_puts(&cell, "course");
	format_left(sb, &cell, spark_width(columns) + 4);
	strbuf_puts(sb, "allocated by");
}

static void put_amount(struct strbuf *cell, const struct top *t, const struct top_row *row)
{
	const int64_t more = row->more_bytes;
	const uint64_t amount = !t->marked ? row->bytes : (uint64_t)(more < 0 ? -more : more);

	if (row->estimated)
		strbuf_putc(cell, row->uncertain ? '?' : '~');
	if (t->marked && more)
		strbuf_putc(cell, more < 0 ? '-' : '+');
	if (row->plain)
		strbuf_printf(cell, "%" PRIu64, amount);
	else
		format_size(cell, amount);
}

static void put_growth(struct strbuf *cell, const struct top_row *row)
{
	const double rate = row->growth.bytes_per_minute;

	if (rate <= 0 && row->growth.shape != GROWTH_FALLS)
		return;
	strbuf_putc(cell, rate < 0 ? '-' : '+');
	format_rate(cell, rate < 0 ? -rate : rate, row->plain);
}

static void put_course(struct strbuf *cell, struct ledger *l, const struct top_row *row, size_t width)
{
	struct growth_point points[TOP_POINTS];
	const size_t n = top_course(l, row, points);

	if (n > 1)
		text_spark(cell, points, n, width);
}

/* With its wrappers marked; free its frames. 0 or -ENOMEM. */
static int expand(struct ledger *l, const struct top_row *row, struct stack_view *stack)
{
	int r = expand_stack(&l->defs, row->stack, stack);

	if (r < 0)
		return r;
	wrappers_mark(stack->frames, stack->depth, l->skips, l->nskips);
	stack->wrappers = wrappers_count(stack->frames, stack->depth);
	return 0;
}

int screen_text_apart(struct ledger *l, const struct top_row *rows, size_t n, struct apart *out)
{
	cleanup_free struct summary_group *groups = calloc(n + 1, sizeof(*groups));
	cleanup_free const struct summary_group **all = calloc(n + 1, sizeof(*all));
	int r = groups && all ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = expand(l, &rows[i], &groups[i].stack);
		all[i] = &groups[i];
	}
	if (r == 0)
		r = apart_find(all, n, out);
	for (size_t i = 0; groups && i < n; i++)
		free(groups[i].stack.frames);
	return r;
}

static int put_site(struct strbuf *sb, struct ledger *l, const struct top_row *row, const struct apart *apart,
		    size_t columns)
{
	struct stack_view stack;
	size_t width = columns > sb->len + SITE_MIN ? columns - sb->len : SITE_MIN;
	int r = expand(l, row, &stack);

	if (r < 0)
		return r;
	if (row->family) {
		const size_t before = sb->len;

		strbuf_putc(sb, '[');
		format_cut(sb, ledger_family_name(l, row->family), FAMILY_WIDTH);
		strbuf_puts(sb, "] ");
		width = width > sb->len - before + SITE_MIN ? width - (sb->len - before) : SITE_MIN;
	}
	sitename_of(sb, &stack, apart, width);
	free(stack.frames);
	return strbuf_error(sb);
}

int screen_text_row(struct strbuf *sb, const struct top *t, struct ledger *l, const struct top_row *row,
		    const struct apart *apart, size_t columns)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	put_amount(&cell, t, row);
	format_right(sb, &cell, AMOUNT_WIDTH);
	put_growth(&cell, row);
	format_right(sb, &cell, GROWTH_WIDTH);
	if (shows_rate(t, columns)) {
		strbuf_printf(&cell, "%s%.0f", row->estimated ? "~" : "", row->calls_per_second);
		format_right(sb, &cell, RATE_WIDTH);
	}
	if (shows_calls(t, columns)) {
		strbuf_printf(&cell, "%s%" PRIu64, row->estimated ? "~" : "", row->more_calls);
		format_right(sb, &cell, CALLS_WIDTH);
	}
	strbuf_puts(sb, "  ");
	put_course(&cell, l, row, spark_width(columns));
	format_left(sb, &cell, spark_width(columns) + 4);
	return put_site(sb, l, row, apart, columns);
}

int screen_text_stack(struct strbuf *sb, struct ledger *l, const struct top_row *row)
{
	struct stack_view stack;
	int r = expand(l, row, &stack);

	if (r < 0)
		return r;
	text_stack(sb, &stack);
	free(stack.frames);
	return strbuf_error(sb);
}

void screen_text_none(struct strbuf *sb, const struct top *t, const struct ledger *l)
{
	if (t->n)
		return;
	if (t->filter && t->all)
		strbuf_puts(sb, "no stack has a frame that matches the filter: / changes it");
	else if (t->marked)
		strbuf_puts(sb, "nothing was allocated since the mark: m takes it away");
	else if (l->counts[MMT_COUNT_EVENTS])
		strbuf_puts(sb, "nothing that was allocated is left");
	else
		strbuf_puts(sb, "no allocation was seen yet: the process is idle, or allocates in a way that is not watched");
}

/* --- the bottom --- */

void screen_text_foot(struct strbuf *sb, const struct screen *s)
{
	switch (s->mode) {
	case SCREEN_FILTER:
		strbuf_puts(sb, "filter (regular expression; empty: all): ");
		strbuf_text(sb, s->input);
		break;
	case SCREEN_SAVE:
		strbuf_puts(sb, "save the trace as: ");
		strbuf_text(sb, s->input);
		break;
	case SCREEN_HELP:
		strbuf_puts(sb, "any key goes back");
		break;
	default:
		if (*s->message)
			strbuf_text(sb, s->message);
		else
			strbuf_puts(sb, "b g r c sort  Enter stack  / filter  m mark  s save  p pause  "
					"h help  q quit");
	}
}
