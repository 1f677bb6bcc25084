/* SPDX-License-Identifier: MIT */
/* text_certainty: see text_certainty.h. */
#include "report/text/text_certainty.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/model/stop_share.h"
#include "report/model/unseen_allocs.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/wrap.h"
#include "trace/endnote.h"

/* The answer is called incomplete only if stacks were cut or lost at more than this share of the events. */
#define STACKS_PERCENT 2

/* After so long a watch little is left that is meant to live longer. */
#define LONG_SECONDS 300

#define NO_VERDICTS "no verdicts: "
#define WHERE "; see the end of this report\n"

void text_certainty_next(struct strbuf *missing)
{
	if (missing->len)
		strbuf_puts(missing, ", ");
}

void text_certainty_incomplete(struct strbuf *sb, const struct strbuf *missing)
{
	if (missing->err && !sb->err)
		sb->err = missing->err;
	if (missing->len)
		strbuf_printf(sb, TEXT_RED "incomplete:" TEXT_PLAIN " %s" WHERE, strbuf_str(missing));
}

/* Doubts are only about verdicts. */
void text_certainty_doubts(struct strbuf *sb, const struct summary_verdicts *v)
{
	if (!v->known || !v->ndoubts)
		return;
	format_count(sb, v->ndoubts, "doubt");
	strbuf_puts(sb, " about the verdicts");
	strbuf_puts(sb, WHERE);
}

static void put_unseen(struct strbuf *missing, const struct summary_run *run)
{
	if (!unseen_allocs_any(run))
		return;
	text_certainty_next(missing);
	unseen_allocs_put(missing, run);
	strbuf_puts(missing, " could not be watched");
}

static void put_lost(struct strbuf *missing, uint64_t lost)
{
	if (!lost)
		return;
	text_certainty_next(missing);
	format_count(missing, lost, "event");
	strbuf_puts(missing, lost == 1 ? " was lost" : " were lost");
}

static void put_gaps(struct strbuf *missing, const struct summary_run *run)
{
	double seconds = 0;

	if (!run->ngaps)
		return;
	for (size_t i = 0; i < run->ngaps; i++)
		seconds += run->gaps[i].seconds;
	text_certainty_next(missing);
	format_count(missing, run->ngaps, "gap");
	strbuf_puts(missing, run->ngaps == 1 ? " of " : " in the watch (");
	format_seconds(missing, seconds);
	strbuf_puts(missing, run->ngaps == 1 ? " in the watch" : " in all)");
}

/*
 * Where stacks end too early, the blocks of one allocation site may be in several groups, or those of several
 * sites in one. A few stacks among thousands, as each program has them that is watched from its start (the
 * dynamic linker's), do not change the answer: the account has their number, and a group's stack says where
 * it was cut.
 */
static void put_stacks(struct strbuf *missing, const struct summary_run *run)
{
	const uint64_t stacks = run->stacks_cut + run->stacks_lost;

	if (stacks <= run->events / (100 / STACKS_PERCENT))
		return;
	text_certainty_next(missing);
	format_count(missing, stacks, "stack");
	strbuf_puts(missing, stacks == 1 ? " ends too early" : " end too early");
}

/* Nothing if none were wanted (--verdicts no, a budget), or if no block is live. */
static void put_no_verdicts(struct strbuf *sb, const struct summary *s)
{
	const struct summary_verdicts *v = &s->run.verdicts;
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (!v->wanted || v->known || !s->totals.live_blocks)
		return;
	strbuf_puts(&line, NO_VERDICTS);
	strbuf_text(&line, v->why_not ? v->why_not : "the reason is not known");
	wrap(sb, &line, s->columns ? s->columns : WRAP_WIDTH, strlen(NO_VERDICTS));
}

/* Nothing points to most of the blocks that were found: they are no cache's. */
static bool is_lost(const struct summary_sample *its)
{
	return its->by_probes || its->by_lost || its->lost > its->searched / 2;
}

/*
 * Of what grows, and is not lost for certain: is it still there when it ought to have been freed? A sampled
 * run's groups are asked whether they stay. Growth of ranges is growth, whatever it is for.
 */
static bool may_be_young(const struct summary *s, const struct summary_group *g)
{
	if (summary_family(s, g->family)->ranges)
		return false;
	if (summary_is_sampled(&s->run))
		return g->sampled && g->sampled->survival.kind == SURVIVAL_STAYS && !is_lost(g->sampled);
	return g->verdict != VERDICT_DEFINITE && g->verdict != VERDICT_INDIRECT && growth_rises(&g->growth);
}

static bool any_may_be_young(const struct summary *s)
{
	for (size_t i = 0; i < s->ngroups; i++)
		if (may_be_young(s, &s->groups[i]))
			return true;
	for (size_t i = 0; i < s->nrefs; i++)
		if (!s->refs[i].older && growth_rises(&s->refs[i].growth))
			return true;
	return false;
}

/*
 * In a watch of ten seconds a cache whose entries live for sixteen frees none of them. That cannot be
 * distinguished from a leak, whatever its curve.
 */
static void put_short(struct strbuf *sb, const struct summary *s)
{
	if (!(s->run.seconds > 0 && s->run.seconds < LONG_SECONDS) || !any_may_be_young(s))
		return;
	strbuf_puts(sb, "watched for ");
	format_seconds(sb, s->run.seconds);
	strbuf_puts(sb, ": what is meant to live longer (caches, sessions) looks like a leak; "
			"watch for longer\n");
	if (summary_is_sampled(&s->run) || s->run.sample_bytes)
		strbuf_puts(sb, "a sample does not see older blocks that are freed: part of what grows may only "
				"replace these\n");
}

/* With a budget the allocator is asked what became of a block; a census has shown that it can be. */
static const char *cheaper_than_ptrace(const struct summary *s)
{
	/* also --engine auto itself, where it came to ptrace */
	const bool probes = !s->run.other && !(s->run.engine && !strcmp(s->run.engine, "auto"));

	if (s->run.verdicts.census)
		return probes ? "--engine auto costs less, --budget least" : "--budget costs less";
	return probes ? "--engine auto costs less, --sample 512K least" : NULL;
}

/* A budget takes ptrace. */
static const char *cheaper_than_probes(const struct summary *s)
{
	return s->run.verdicts.census && !s->run.other ? "--budget costs less" : "--sample 512K costs less";
}

/* No hint names what was just done, or cannot be done. */
static void put_cheaper(struct strbuf *sb, const struct summary *s)
{
	const bool counted = !strcmp(s->run.mode, "exact") && s->totals.allocs;
	const char *what = NULL;

	if (strcmp(s->run.frontend, "gdb") != 0 && (s->run.verdicts.census || counted))
		what = summary_stops_known(&s->run) ? cheaper_than_ptrace(s) : cheaper_than_probes(s);
	if (what)
		strbuf_printf(sb, "; %s", what);
	strbuf_putc(sb, '\n');
}

/* "2.4s of 5s (48%)" */
static void put_part(struct strbuf *sb, const struct stop_share *share)
{
	format_seconds(sb, share->stopped_s);
	strbuf_puts(sb, " of ");
	format_seconds(sb, share->time_s);
	strbuf_puts(sb, " (");
	format_percent(sb, share->stopped_s, share->time_s);
	strbuf_putc(sb, ')');
}

/* By one thread: over many idle ones the share is small, however slow the others are. */
static void put_worst(struct strbuf *sb, const struct summary *s, const struct stop_share *worst)
{
	if (summary_stops_known(&s->run)) {
		strbuf_puts(sb, "a thread was stopped for ");
		put_part(sb, worst);
		strbuf_puts(sb, ", which slows it by more than that");
	} else {
		strbuf_puts(sb, "of a thread's time the kernel's probes took at least ");
		put_part(sb, worst);
	}
}

/* Older traces do not have it by thread. */
static void put_mean(struct strbuf *sb, const struct stop_share *first)
{
	strbuf_puts(sb, first->threads == 1 ? "a thread was stopped for " : "threads were stopped for ");
	put_part(sb, first);
	strbuf_puts(sb, first->threads == 1 ? ", which slows it by more than that" : ", which slows them by more than that");
}

static void put_slowed(struct strbuf *sb, const struct summary *s)
{
	const bool stopped = summary_stops_known(&s->run);
	struct stop_share share;
	const bool worst = stop_share_of_worst(&s->run, &share);

	if (summary_is_sampled(&s->run) || (!worst && (!stopped || !stop_share_first(&s->run, &share))) ||
	    !stop_share_slows(&share))
		return;
	strbuf_printf(sb, "the watch slowed the %s: ", s->nprocesses > 1 ? "processes" : "process");
	if (worst)
		put_worst(sb, s, &share);
	else
		put_mean(sb, &share);
	put_cheaper(sb, s);
}

/* What takes three times the interval is in the sample with a probability of 95 %. */
static void put_sample(struct strbuf *sb, const struct summary_run *run)
{
	if (!run->sample_bytes)
		return;
	strbuf_puts(sb, "estimated from a sample, one block for each ");
	format_size(sb, run->sample_bytes);
	strbuf_puts(sb, " allocated; what leaks less than ");
	format_size(sb, 3 * run->sample_bytes);
	strbuf_puts(sb, " may be missing\n");
}

static void put_end(struct strbuf *sb, const struct summary *s)
{
	for (size_t i = 0; i < s->nnotes; i++)
		if (endnote_is(s->notes[i])) {
			strbuf_text(sb, s->notes[i]);
			strbuf_putc(sb, '\n');
		}
}

void text_certainty(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf missing = STRBUF_INIT;

	put_end(sb, s);
	put_sample(sb, &s->run);
	put_unseen(&missing, &s->run);
	put_lost(&missing, summary_lost_total(s));
	put_gaps(&missing, &s->run);
	put_stacks(&missing, &s->run);
	text_certainty_incomplete(sb, &missing);
	put_no_verdicts(sb, s);
	text_certainty_doubts(sb, &s->run.verdicts);
	put_short(sb, s);
	put_slowed(sb, s);
}
