/* SPDX-License-Identifier: MIT */
#include "report/text/groups/text_sampled.h"

#include <inttypes.h>
#include <math.h>

#include "report/model/format_text.h"
#include "report/model/sampled.h"
#include "report/model/unknown_reason.h"
#include "report/words/words.h"

#define FEW 10u		/* tracked blocks: a share of so few would be misunderstood */

/* --- the fate of the blocks --- */

static void put_lost_sight(struct strbuf *sb, const struct summary_sample *its)
{
	strbuf_printf(sb, "%" PRIu64 " of the %" PRIu64 " tracked blocks may be other blocks by now: they were "
			  "written to, or such addresses are given out again at once",
		      unknown_lost(its), its->survival.followed);
}

/* So few allocations are seen that other blocks may be at the addresses of those that are tracked. */
static void put_doubt(struct strbuf *sb, const struct summary_sample *its)
{
	if (its->doubt == SURVIVAL_UNNOTICED) {
		strbuf_puts(sb, "the tracked blocks look live, but only ");
		format_percent(sb, its->sees, 1);
		strbuf_puts(sb, " of the allocations were seen: "
				"other blocks may have their addresses by now");
		return;
	}
	strbuf_puts(sb, "most tracked addresses are still in use, but some by other blocks now: ");
	format_percent(sb, its->survival.late, 1);
	strbuf_puts(sb, " of the old blocks were seen to be freed, and only ");
	format_percent(sb, its->sees, 1);
	strbuf_puts(sb, " of the allocations were seen");
}

static void put_few(struct strbuf *sb, uint64_t followed)
{
	strbuf_puts(sb, followed ? "only " : "");
	format_count(sb, followed, "block");
	strbuf_puts(sb, followed == 1 ? " was tracked" : " were tracked");
}

static void put_young(struct strbuf *sb, const struct survival *s)
{
	strbuf_printf(sb, "too few of the %" PRIu64 " tracked blocks have been seen at an age of ", s->followed);
	format_seconds(sb, s->min_age_s);
}

static void put_why_unknown(struct strbuf *sb, const struct summary_sample *its)
{
	switch (unknown_reason(its)) {
	case UNKNOWN_FEW:
		put_few(sb, its->survival.followed);
		break;
	case UNKNOWN_WRITTEN:
		put_lost_sight(sb, its);
		break;
	case UNKNOWN_YOUNG:
		put_young(sb, &its->survival);
		break;
	case UNKNOWN_UNNOTICED:
	case UNKNOWN_NOTICED:
		put_doubt(sb, its);
		break;
	case UNKNOWN_OTHERS:
		strbuf_puts(sb, "most is freed, and what is left may be blocks of other groups of that size, "
				"which leak more: an address that is freed at once goes to the next "
				"allocation of that size");
		break;
	case UNKNOWN_POINTED_TO:
		strbuf_puts(sb, "what is left is still pointed to, and not older than the blocks of a cache "
				"that fills, or of sessions");
		break;
	case UNKNOWN_FEW_LEFT:
		strbuf_printf(sb, "most is freed, and of the rest too few blocks were tracked (%" PRIu64 ")",
			      its->survival.old);
		break;
	case UNKNOWN_HARDLY_ANY:
		strbuf_puts(sb, "hardly any is left, and these may be other blocks, "
				"at the addresses of those that were freed");
		break;
	case UNKNOWN_NO_TABLE:
		strbuf_puts(sb, "the tracked blocks stay live. It may have stopped growing: no allocation was "
				"seen in the last fifth of the watch, but its trap was planted too briefly "
				"then to be certain, or there were such pauses before");
		break;
	default:
		strbuf_puts(sb, "many old blocks are still live, but some are freed late");
	}
}

static void put_survivors(struct strbuf *sb, const struct summary_sample *its)
{
	const struct survival *v = &its->survival;

	if (v->share <= 0) {
		strbuf_puts(sb, "none of ");
		format_count(sb, v->followed, "tracked block");
		strbuf_puts(sb, " is still live after ");
		format_seconds(sb, v->age_s);
		return;
	}
	format_percent(sb, v->share, 1);
	strbuf_puts(sb, " (");
	format_percent(sb, v->low, 1);
	strbuf_puts(sb, " to ");
	format_percent(sb, v->high, 1);
	strbuf_puts(sb, v->low <= 0 ? ") seem still live after " : ") are still live after ");
	format_seconds(sb, v->age_s);
	strbuf_puts(sb, v->old < FEW ? ", as estimated: only " : ", of ");
	format_count(sb, v->old, "tracked block");
	strbuf_puts(sb, v->old < FEW ? " reached that age" : " of that age");
}

static int percent_of(double share)
{
	return (int)lround(100 * share);
}

/*
 * "still live after: 3ms 98%, 1s 12%": the ages at which the share changes, and the last one. Nothing if it
 * does not change.
 */
static void put_ages(struct strbuf *sb, const struct summary_sample *its)
{
	double left[SURVIVAL_STEPS];
	unsigned n = survival_left(its->steps, left);
	int said = -1;

	if (n < 2 || percent_of(left[1]) == percent_of(left[n - 1]))
		return;
	strbuf_puts(sb, "    still live after:");
	for (unsigned i = 1; i < n; i++) {
		if (percent_of(left[i]) == said && i + 1 < n)
			continue;
		strbuf_puts(sb, said < 0 ? " " : ", ");
		format_seconds(sb, survival_age_s(i));
		strbuf_putc(sb, ' ');
		format_percent(sb, left[i], 1);
		said = percent_of(left[i]);
	}
	strbuf_putc(sb, '\n');
}

/* Of a stack whose blocks are freed, what is lost may be others' blocks, at their addresses. */
static void put_lost(struct strbuf *sb, const struct summary_sample *its)
{
	if (!its->searched || its->survival.kind == SURVIVAL_GOES)
		return;
	strbuf_puts(sb, "    ");
	if (its->lost)
		strbuf_printf(sb, "%" PRIu64 " of ", its->lost);
	else
		strbuf_puts(sb, "none of ");
	strbuf_puts(sb, "the ");
	format_count(sb, its->searched, "tracked block");
	strbuf_puts(sb, its->lost ? " that were live at the end are lost" : " that were live at the end is lost");
	strbuf_puts(sb, its->by_lost ? ": so they stay\n" : "\n");
}

/* As above: of a stack that frees what it allocates, that some seem lost says nothing. */
static void put_probed(struct strbuf *sb, const struct summary_sample *its)
{
	if (!its->probed || its->survival.kind == SURVIVAL_GOES)
		return;
	strbuf_puts(sb, "    ");
	if (its->probed_lost)
		strbuf_printf(sb, "%" PRIu64 " of ", its->probed_lost);
	else
		strbuf_puts(sb, "none of ");
	strbuf_puts(sb, "the ");
	format_count(sb, its->probed, "block");
	strbuf_puts(sb, " that the kernel's probes saw being allocated here ");
	strbuf_puts(sb, its->probed_lost > 1 ? "are lost\n" : "is lost\n");
}

/* --- a group --- */

/* Less than half was freed by the age up to which enough is known, but old blocks continue to be freed. */
static void put_late(struct strbuf *sb, const struct survival *v)
{
	strbuf_puts(sb, ", but late: ");
	format_percent(sb, v->late, 1);
	strbuf_puts(sb, " of the blocks that reached an age of ");
	format_seconds(sb, v->late_from_s);
	strbuf_puts(sb, " were freed after that, and the others may be");
}

static void put_first_words(struct strbuf *sb, const struct text_part *part, const struct summary_sample *its)
{
	switch (its->survival.kind) {
	case SURVIVAL_STAYS:
		strbuf_puts(sb, "leaks ");
		words_estimate(sb, part->plain ? &its->kept_blocks : &its->kept_bytes, part->plain);
		break;
	case SURVIVAL_TABLE:
		strbuf_puts(sb, "bounded: not freed, but no allocation was seen late in the watch: "
				"a table, or what is needed once");
		break;
	case SURVIVAL_GOES:
		strbuf_puts(sb, words_mostly_freed(&its->survival) ? "mostly freed" : "freed");
		if (its->survival.half_s > 0) {
			strbuf_puts(sb, ": half of it within ");
			words_about_seconds(sb, its->survival.half_s);
		} else {
			put_late(sb, &its->survival);
		}
		break;
	default:
		strbuf_puts(sb, "may leak: ");
		put_why_unknown(sb, its);
	}
	strbuf_putc(sb, '\n');
}

static void put_size_each(struct strbuf *sb, const struct summary_sample *its)
{
	words_amount(sb, its->bytes_each, false);
	strbuf_puts(sb, " each");
}

static void put_taken(struct strbuf *sb, const struct text_part *part, const struct summary_sample *its)
{
	strbuf_puts(sb, "    ");
	if (!its->seen) {
		/* of what the probes saw the size is known only if it is known how much of it leaks */
		if (its->by_probes) {
			put_size_each(sb, its);
			strbuf_puts(sb, "; ");
		}
		strbuf_puts(sb, "how often it allocates is not known, as no trap saw it\n");
		return;
	}
	if (words_rate_known(its)) {
		strbuf_puts(sb, "allocates ");
		words_estimate(sb, &its->allocs, true);
	} else {
		strbuf_puts(sb, "how often it allocates is not known, as no round of its trap has ended");
	}
	if (!part->plain) {
		strbuf_puts(sb, ", ");
		put_size_each(sb, its);
	}
	strbuf_putc(sb, '\n');
}

static void put_basis(struct strbuf *sb, const struct summary_sample *its)
{
	if (!its->seen)
		return;
	strbuf_puts(sb, "    estimated from ");
	format_count(sb, its->seen, "call");
	strbuf_puts(sb, its->seen == 1 ? " that was seen, " : " that were seen, ");
	format_percent(sb, its->sees, 1);
	strbuf_puts(sb, its->standing && its->sees < 1 ? " of all; by now every one is seen\n" : " of all\n");
}

void text_sampled_group(struct strbuf *sb, const struct text_part *part, const struct summary_group *g)
{
	const struct summary_sample *its = words_sample_of(g);

	put_first_words(sb, part, its);
	put_taken(sb, part, its);
	put_basis(sb, its);
	if (its->survival.age_s > 0) {
		strbuf_puts(sb, "    ");
		put_survivors(sb, its);
		strbuf_putc(sb, '\n');
	}
	put_ages(sb, its);
	put_lost(sb, its);
	put_probed(sb, its);
	if (!g->tag)
		return;
	strbuf_puts(sb, "    tag ");
	strbuf_text(sb, g->tag);
	strbuf_putc(sb, '\n');
}

/* --- rows --- */

double text_sampled_rate(const struct summary_group *g)
{
	return words_sample_of(g)->allocs.value;
}

void text_sampled_more(struct strbuf *sb, double per_minute)
{
	strbuf_puts(sb, "allocating about ");
	words_amount(sb, per_minute, true);
	strbuf_puts(sb, "/min");
}

/* --- the answer --- */

struct counted {
	uint64_t kinds[SURVIVAL_KIND_COUNT];
	struct estimate kept;	/* bytes a minute, of what stays */
};

static struct counted count(const struct summary *s, const struct text_part *part)
{
	struct counted c = { 0 };

	for (size_t i = part->first; i < part->first + part->n; i++) {
		const struct summary_sample *its = words_sample_of(&s->groups[i]);

		c.kinds[its->survival.kind]++;
		if (its->survival.kind == SURVIVAL_STAYS)
			sampled_add_estimate(&c.kept, part->plain ? &its->kept_blocks : &its->kept_bytes);
	}
	return c;
}

void text_sampled_answer(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	const struct counted c = count(s, part);
	const uint64_t stays = c.kinds[SURVIVAL_STAYS],
		       level = c.kinds[SURVIVAL_TABLE] + c.kinds[SURVIVAL_GOES];

	if (stays) {
		format_count(sb, stays, "group");
		strbuf_puts(sb, stays == 1 ? " leaks, " : " leak, together ");
		words_estimate(sb, &c.kept, part->plain);
	} else {
		strbuf_puts(sb, "no group is known to leak");
	}
	if (c.kinds[SURVIVAL_UNKNOWN])
		strbuf_printf(sb, "; %" PRIu64 "%s may leak", c.kinds[SURVIVAL_UNKNOWN],
			      stays ? " more" : "");
	if (level)
		strbuf_printf(sb, "; %" PRIu64 " %s mostly freed, or bounded", level, level == 1 ? "is" : "are");
}
