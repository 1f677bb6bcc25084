/* SPDX-License-Identifier: MIT */
/*
 * text_answer: see text_answer.h.
 *
 *	svc (1234): 79 blocks, 1.1 MiB, of 700 allocations in 10s are still allocated, growing by 384 KiB/min
 *	svc (1234) grew by 120 MiB in 10s: 874 ranges of 880 that it allocated, growing by 720 MiB/min
 *	svc (1234), the part that was selected, grew by 12.0 MiB in 10s: 3 ranges of 3 that it allocated, ...
 *	svc (1234), sampled for 10m: 2 groups leak, together about 1.3 MiB/min (1.0 MiB to 1.6 MiB); 1 ...
 *	[3] cache_page svc.c:70 may leak: it allocates about 2.9 MiB/min (2.3 MiB to 3.4 MiB) that ...
 *	svc (1234): 529 of 15876 references acquired in 10m were not released, on 529 dict objects, growing
 */
#include "report/text/text_answer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_may_leak.h"
#include "report/text/groups/text_sampled.h"
#include "report/text/groups/text_verdicts.h"
#include "report/text/text_certainty.h"
#include "report/text/text_loss.h"
#include "report/text/text_memory.h"
#include "report/text/text_processes.h"

#define NAME_WIDTH 10
#define WORTH_WORDS 10	/* one such block for so many live ones */

/* The sum of the rates of all groups that grow; what is lost with a group counts in its rate. */
static double rate_of_all(const struct summary *s, const struct text_part *part)
{
	double sum = 0;

	for (size_t i = part->first; i < part->first + part->n; i++) {
		const struct growth *g = &s->groups[i].growth;

		if (summary_section(s, &s->groups[i]) == SUMMARY_HELD)
			continue;
		if (growth_rises(g) && isfinite(g->bytes_per_minute))
			sum += g->bytes_per_minute;
	}
	return sum;
}

/* Likewise of what has come for older blocks, also in groups that do not grow. */
static double replaced_in_all(const struct summary *s, const struct text_part *part)
{
	double sum = 0;

	for (size_t i = part->first; i < part->first + part->n; i++)
		if (summary_section(s, &s->groups[i]) != SUMMARY_HELD)
			sum += s->groups[i].growth.replaced_per_minute;
	return sum;
}

double text_answer_rate(const struct summary *s)
{
	double sum = 0;

	for (size_t i = 0; i < text_parts(s); i++) {
		struct text_part part;

		text_part(s, i, &part);
		if (!part.plain)
			sum += rate_of_all(s, &part);
	}
	return sum;
}

static void put_not_rising(struct strbuf *sb, bool unknown)
{
	strbuf_puts(sb, unknown ? "; too short to say whether it grows" : ", not growing now");
}

static bool any_unknown(const struct summary *s, const struct text_part *part)
{
	for (size_t i = part->first; i < part->first + part->n; i++)
		if (s->groups[i].growth.shape == GROWTH_UNKNOWN)
			return true;
	return false;
}

/* What is known of both, or nothing. */
static void put_net(struct strbuf *sb, double rate, double replaced)
{
	if (!(replaced > 0))
		return;
	strbuf_puts(sb, rate > 0 ? " net: " : ": ");
	format_rate(sb, rate + replaced, false);
	strbuf_puts(sb, " allocated, ");
	if (rate > 0)
		format_rate(sb, replaced, false);
	else
		strbuf_puts(sb, "as much");
	strbuf_puts(sb, " of older blocks freed");
}

/* Part of what grows may replace these: that is not known. */
static void put_not_netted(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	const bool merged = summary_is_merged(s);
	const uint64_t n = merged ? s->totals.unmatched_frees : summary_older_unknown(&s->totals);

	/* of all families together: of which one they are is not known */
	if (n <= s->totals.live_blocks / WORTH_WORDS || part->plain || part->family.ranges || s->nfamilies > 1)
		return;
	strbuf_puts(sb, "; ");
	format_count(sb, n, "older block");
	strbuf_printf(sb, "%s %s freed, which may be replaced by these", merged ? "" : " of unknown size",
		      n == 1 ? "was" : "were");
}

void text_answer_growth(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	const double rate = rate_of_all(s, part), replaced = part->plain ? 0 : replaced_in_all(s, part);

	if (rate > 0) {
		strbuf_puts(sb, ", growing by ");
		format_rate(sb, rate, part->plain);
	} else {
		put_not_rising(sb, any_unknown(s, part));
	}
	if (rate > 0 || !any_unknown(s, part))
		put_net(sb, rate, replaced);
	if (rate > 0)
		put_not_netted(sb, s, part);
}

/* If some groups are not shown, the line that names the filter says how the others grow. */
static void put_growth(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	const double rate = rate_of_all(s, part);

	if (!text_timed(s) || !part->n || s->filters)
		return;
	if (s->suppressed.groups && rate > 0) {
		strbuf_puts(sb, "; what is shown grows by ");
		format_rate(sb, rate, part->plain);
	} else if (s->suppressed.groups && !any_unknown(s, part)) {
		strbuf_puts(sb, "; what is shown does not grow now");
	} else {
		text_answer_growth(sb, s, part);
	}
}

static void put_time(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	if (!text_timed(s) || part->several)
		return;
	strbuf_puts(sb, " in ");
	format_seconds(sb, s->run.seconds);
}

static void put_allocations(struct strbuf *sb, const struct text_part *part)
{
	if (part->plain)
		text_things(sb, part, part->family.acquired);
	else
		format_count(sb, part->family.acquired, "allocation");
}

/* "79 blocks, 1.1 MiB, of 700 allocations", "12 descriptors of 40". */
static void put_live(struct strbuf *sb, const struct text_part *part)
{
	text_things(sb, part, part->family.live);
	if (part->plain) {
		strbuf_printf(sb, " of %" PRIu64, part->family.acquired);
		return;
	}
	strbuf_puts(sb, ", ");
	format_size(sb, part->family.bytes);
	strbuf_puts(sb, ", of ");
	put_allocations(sb, part);
}

/* Behind a heading that says it of all families it is not said again. Descriptors are no memory. */
static void put_still(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	if (s->nfamilies > 1 || !part->family.acquired)
		return;
	strbuf_puts(sb, part->family.live > 1 ? " are still " : " is still ");
	strbuf_puts(sb, part->plain ? "live" : "allocated");
}

static void put_blocks(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	if (part->family.live) {
		put_live(sb, part);
	} else {
		strbuf_puts(sb, part->family.acquired ? "none of " : "");
		put_allocations(sb, part);
	}
	put_time(sb, s, part);
	put_still(sb, s, part);
	put_growth(sb, s, part);
}

/*
 * How much larger the process's memory is, whatever it is used for; with --thread or --module, how much of
 * that counts.
 */
static void put_ranges(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	format_size(sb, part->family.bytes);
	put_time(sb, s, part);
	strbuf_puts(sb, ": ");
	text_things(sb, part, part->family.live);
	strbuf_printf(sb, " of %" PRIu64 " that it allocated", part->family.acquired);
	if (s->run.left_out)
		strbuf_printf(sb, ", not %" PRIu64 " of others", s->run.left_out);
	put_growth(sb, s, part);
}

/* The rates cannot be added up: references of several groups may have been acquired at one call site. */
static void put_growth_of_refs(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	bool rising = false, unknown = false;

	for (size_t i = part->first; i < part->first + part->n; i++) {
		if (s->refs[i].older)
			continue;
		rising |= growth_rises(&s->refs[i].growth);
		unknown |= s->refs[i].growth.shape == GROWTH_UNKNOWN;
	}
	if (rising)
		strbuf_puts(sb, ", growing");
	else
		put_not_rising(sb, unknown);
}

static void put_older(struct strbuf *sb, const struct text_part *part)
{
	const struct summary_family *f = &part->family;

	if (!f->older)
		return;
	strbuf_puts(sb, "; ");
	if (f->live > f->older)
		strbuf_printf(sb, "%" PRIu64 " more", f->older);
	else
		text_things(sb, part, f->older);
	strbuf_puts(sb, f->older == 1 ? " is older than the watch" : " are older than the watch");
}

static void put_refs(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	const struct summary_family *f = &part->family;

	if (f->live > f->older)
		strbuf_printf(sb, "%" PRId64 " of ", f->net);
	format_count(sb, f->acquired, "reference");
	strbuf_puts(sb, " acquired");
	put_time(sb, s, part);
	if (f->live > f->older) {
		strbuf_puts(sb, f->net == 1 ? " was not released, on " : " were not released, on ");
		text_things(sb, part, f->live - f->older);
	} else if (f->acquired) {
		strbuf_puts(sb, ", all released");
	}
	if (text_timed(s) && f->live > f->older)
		put_growth_of_refs(sb, s, part);
	put_older(sb, part);
}

static void put_family(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	if (part->family.refs)
		put_refs(sb, s, part);
	else if (part->family.ranges)
		put_ranges(sb, s, part);
	else if (summary_is_sampled(&s->run))
		text_sampled_answer(sb, s, part);
	else
		put_blocks(sb, s, part);
}

static void put_each(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;
	struct text_part part;

	for (size_t i = 0; i < text_parts(s); i++) {
		text_part(s, i, &part);
		strbuf_puts(sb, "\n  ");
		strbuf_text(&name, part.family.name);
		format_left(sb, &name, NAME_WIDTH - 1);
		strbuf_putc(sb, ' ');
		put_family(sb, s, &part);
	}
}

static void put_twice(struct strbuf *sb, const struct summary *s)
{
	if (!s->totals.double_frees)
		return;
	strbuf_puts(sb, s->nfamilies > 1 ? "\n  " : "; ");
	text_mark_count(sb, s->totals.double_frees, "DOUBLE FREE");
}

static void put_after(struct strbuf *sb, const struct summary *s)
{
	if (!text_timed(s))
		return;
	strbuf_puts(sb, " after ");
	format_seconds(sb, s->run.seconds);
}

static void put_may_leak(struct strbuf *sb, const struct summary *s)
{
	struct text_part part;

	if (!summary_is_sampled(&s->run))
		return;
	for (size_t i = 0; i < text_parts(s); i++) {
		text_part(s, i, &part);
		if (!part.family.refs && !part.family.ranges)
			text_may_leak(sb, s, &part, text_loss_is_explained(s));
	}
}

static void put_verb(struct strbuf *sb, const struct summary *s, bool ranges)
{
	if (summary_is_sampled(&s->run)) {
		strbuf_puts(sb, ", sampled for ");
		format_seconds(sb, s->run.seconds);
	} else if (ranges) {
		strbuf_puts(sb, s->run.left_out ? ", the part that was selected, grew by" : " grew by");
		return;
	} else if (s->nfamilies > 1) {
		strbuf_puts(sb, ", still live");
		put_after(sb, s);
	}
	strbuf_putc(sb, ':');
}

void text_answer(struct strbuf *sb, const struct summary *s)
{
	struct text_part part;

	if (summary_is_merged(s))
		text_processes_name(sb, s);
	else
		strbuf_text(sb, s->target.comm ? s->target.comm : "the process");
	if (s->target.pid)
		strbuf_printf(sb, " (%d)", (int)s->target.pid);
	text_part(s, 0, &part);
	put_verb(sb, s, part.family.ranges && !part.several);
	if (part.several) {
		put_each(sb, s);
	} else {
		strbuf_putc(sb, ' ');
		put_family(sb, s, &part);
	}
	put_twice(sb, s);
	strbuf_putc(sb, '\n');
	text_loss(sb, s);
	put_may_leak(sb, s);
	text_verdicts_answer(sb, s);
	text_memory_answer(sb, s);
	text_certainty(sb, s);
	text_memory_children(sb, s);
}
