/* SPDX-License-Identifier: MIT */
/* words: see words.h. */
#include "report/words/words.h"

#include <inttypes.h>
#include <math.h>

#include "report/model/format_text.h"
#include "report/words/memory_growth.h"

/* --- verdicts --- */

const char *words_verdict(enum verdict v)
{
	static const char *const texts[VERDICT_COUNT] = {
		[VERDICT_UNKNOWN] = "unknown",	 [VERDICT_DEFINITE] = "definitely lost",
		[VERDICT_INDIRECT] = "indirectly lost",	 [VERDICT_POSSIBLE] = "possibly lost",
		[VERDICT_REACHABLE] = "still reachable",
	};

	return (unsigned)v < VERDICT_COUNT ? texts[v] : texts[VERDICT_UNKNOWN];
}

const char *words_verdict_of_scan(enum verdict v)
{
	return v == VERDICT_UNKNOWN ? "in use" : words_verdict(v);
}

/* --- growth --- */

const char *words_growth(enum growth_shape shape)
{
	static const char *const texts[GROWTH_COUNT] = {
		[GROWTH_UNKNOWN] = "too short to say", [GROWTH_GROWS] = "grows", [GROWTH_SLOWS] = "still grows",
		[GROWTH_LEVEL] = "levelled off", [GROWTH_ONCE] = "all came", [GROWTH_FALLS] = "rose and fell",
	};

	return texts[shape];
}

static void put_since(struct strbuf *sb, const struct summary *s, const struct growth *g)
{
	format_seconds(sb, s->run.seconds - g->since_s);
	strbuf_puts(sb, " ago");
}

/* Blocks are allocated; descriptors and objects come in several ways. */
static void put_once(struct strbuf *sb, const struct summary *s, const struct growth *g, bool plain)
{
	strbuf_puts(sb, plain ? words_growth(GROWTH_ONCE) : "allocated");
	strbuf_putc(sb, ' ');
	put_since(sb, s, g);
}

void words_growth_cell(struct strbuf *sb, const struct summary *s, const struct growth *g, bool plain, bool brief)
{
	switch (g->shape) {
	case GROWTH_GROWS:
	case GROWTH_SLOWS:
		strbuf_putc(sb, '+');
		format_rate(sb, g->bytes_per_minute, plain);
		strbuf_puts(sb, g->shape == GROWTH_SLOWS ? " now" : "");
		break;
	case GROWTH_LEVEL:
		strbuf_puts(sb, !growth_only_replaces(g)      ? "levelled off"
				: summary_may_leak(s, g) ? "may replace older"
							 : "replaces older");
		if (brief || growth_only_replaces(g))
			break;
		strbuf_putc(sb, ' ');
		put_since(sb, s, g);
		break;
	case GROWTH_ONCE:
		if (brief)
			strbuf_puts(sb, words_growth(GROWTH_LEVEL));
		else
			put_once(sb, s, g, plain);
		break;
	default:
		strbuf_puts(sb, words_growth(g->shape));
	}
}

#define WORTH_WORDS 0.1		/* of what grows */

static void put_replaced(struct strbuf *sb, const struct growth *g)
{
	if (!(g->replaced_per_minute > WORTH_WORDS * g->bytes_per_minute))
		return;
	strbuf_puts(sb, growth_only_replaces(g) ? "does not grow: " : ", besides ");
	format_rate(sb, g->replaced_per_minute, false);
	strbuf_puts(sb, growth_only_replaces(g) ? " replaces older blocks" : " that replaces older blocks");
}

void words_growth_line(struct strbuf *sb, const struct summary *s, const struct growth *g, bool plain)
{
	if (growth_only_replaces(g)) {
		put_replaced(sb, g);
		return;
	}
	if (g->shape != GROWTH_ONCE)
		strbuf_puts(sb, words_growth(g->shape));
	switch (g->shape) {
	case GROWTH_SLOWS:
	case GROWTH_GROWS:
		if (g->bytes_per_minute == 0)
			break;
		strbuf_puts(sb, g->shape == GROWTH_SLOWS ? ", by " : " by ");
		format_rate(sb, g->bytes_per_minute, plain);
		strbuf_puts(sb, g->shape == GROWTH_SLOWS ? " now; it was faster before" : "");
		break;
	case GROWTH_LEVEL:
		strbuf_putc(sb, ' ');
		put_since(sb, s, g);
		break;
	case GROWTH_ONCE:
		put_once(sb, s, g, plain);
		strbuf_puts(sb, ", hardly any since");
		break;
	case GROWTH_FALLS:
		break;
	default:
		strbuf_puts(sb, " whether it grows");
	}
	if (g->shape != GROWTH_ONCE && g->shape != GROWTH_FALLS)
		put_replaced(sb, g);
}

/* --- of a watch with a budget --- */

const char *words_no_growth(const struct summary *s, struct strbuf *more)
{
	const struct summary_memory *m = summary_memory_of_target(s);

	if (!memory_growth_unexplained(s, m)) {
		strbuf_puts(more, "no group grows now");
		return "nothing";
	}
	strbuf_puts(more, "resident memory +");
	format_size(more, (uint64_t)memory_growth_of(s, m));
	strbuf_puts(more, " is not explained by live blocks");
	return "no group";
}

const char *words_turnover(enum survival_kind kind)
{
	static const char *const texts[SURVIVAL_KIND_COUNT] = {
		[SURVIVAL_STAYS] = "leaks", [SURVIVAL_GOES] = "freed", [SURVIVAL_TABLE] = "bounded",
		[SURVIVAL_UNKNOWN] = "may leak",
	};

	return texts[kind];
}

static const struct summary_sample nothing_told = {
	.kept_bytes = { .high = INFINITY }, .may_keep_blocks = { .high = INFINITY },
	.may_keep_bytes = { .high = INFINITY }, .survival = { .high = 1 },
};

const struct summary_sample *words_sample_of(const struct summary_group *g)
{
	return g->sampled ? g->sampled : &nothing_told;
}

void words_amount(struct strbuf *sb, double amount, bool plain)
{
	const uint64_t whole = amount > 0 ? amount < 1e18 ? (uint64_t)llround(amount) : (uint64_t)1e18 : 0;

	if (!plain)
		format_size(sb, whole);
	else if (amount > 0 && amount < 9.95)
		strbuf_printf(sb, "%.1f", amount);
	else
		strbuf_printf(sb, "%" PRIu64, whole);
}

/* " (921 KiB to 1.5 MiB)", " (at least 65.2 KiB)": no upper end if there may be more, no range if
 * there is no lower one either. */
static void put_range(struct strbuf *sb, const struct estimate *e, bool plain)
{
	const bool open = e->at_least || !isfinite(e->high);

	if (open && e->low <= 0)
		return;
	strbuf_puts(sb, open ? " (at least " : " (");
	words_amount(sb, e->low, plain);
	if (open) {
		strbuf_putc(sb, ')');
		return;
	}
	strbuf_puts(sb, " to ");
	words_amount(sb, e->high, plain);
	strbuf_putc(sb, ')');
}

void words_estimate(struct strbuf *sb, const struct estimate *e, bool plain)
{
	strbuf_puts(sb, "about ");
	words_amount(sb, e->value, plain);
	strbuf_puts(sb, e->at_least ? "/min or more" : "/min");
	put_range(sb, e, plain);
}

/* Two digits: more is not known. */
void words_about_seconds(struct strbuf *sb, double seconds)
{
	double unit = seconds > 0 ? pow(10, floor(log10(seconds)) - 1) : 1;

	format_seconds(sb, seconds < 60 ? round(seconds / unit) * unit : seconds);
}

/* A part of its blocks was still there at the end of what is known: that part may leak. */
bool words_mostly_freed(const struct survival *v)
{
	return v->half_s > 0 && v->share > SURVIVAL_CHANCE;
}

/*
 * Not if there is neither an upper end nor a counted hit: then the trap has had no exposure that counts. Nor if only the
 * kernel's probes have seen it.
 */
bool words_rate_known(const struct summary_sample *its)
{
	if (its->by_probes && !its->seen)
		return false;
	return isfinite(its->allocs.high) || its->allocs.value > 0;
}

static void put_goes_cell(struct strbuf *sb, const struct survival *v)
{
	if (v->half_s > 0) {
		strbuf_puts(sb, words_mostly_freed(v) ? "mostly freed: half within " : "freed: half within ");
		words_about_seconds(sb, v->half_s);
		return;
	}
	strbuf_puts(sb, "freed late: ");
	format_percent(sb, v->late, 1);
	strbuf_puts(sb, " after ");
	format_seconds(sb, v->late_from_s);
}

void words_leaks_cell(struct strbuf *sb, const struct summary_group *g)
{
	const struct summary_sample *its = words_sample_of(g);
	const struct survival *v = &its->survival;

	switch (v->kind) {
	case SURVIVAL_STAYS:
		strbuf_puts(sb, its->kept_bytes.at_least ? ">= " : "");
		words_amount(sb, its->kept_bytes.value, false);
		put_range(sb, &its->kept_bytes, false);
		break;
	case SURVIVAL_TABLE:
		strbuf_puts(sb, words_turnover(v->kind));
		break;
	case SURVIVAL_GOES:
		put_goes_cell(sb, v);
		break;
	default:
		strbuf_puts(sb, words_turnover(v->kind));
		if (!isfinite(its->kept_bytes.high) || its->kept_bytes.at_least)
			break;
		strbuf_puts(sb, ", at most ");
		words_amount(sb, its->kept_bytes.high, false);
	}
}
