/* SPDX-License-Identifier: MIT */
/* text_group: see text_group.h. */
#include "report/text/groups/text_group.h"

#include <inttypes.h>

#include "report/model/format_text.h"
#include "report/words/words.h"
#include "report/names/rows.h"
#include "report/names/sitename.h"
#include "report/text/groups/text_freed.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_process.h"
#include "report/text/groups/text_sampled.h"
#include "report/text/groups/text_stack.h"
#include "report/text/groups/text_verdicts.h"

#define HANGS_SHOWN 5
#define PLACE_WIDTH 60

static void put_ages(struct strbuf *sb, const struct summary_group *g)
{
	strbuf_puts(sb, ", ");
	if (g->blocks > 1) {
		format_seconds(sb, g->youngest_s);
		strbuf_puts(sb, " to ");
	}
	format_seconds(sb, g->oldest_s);
	strbuf_puts(sb, " old");
}

static void put_size(struct strbuf *sb, const struct summary *s, const struct text_part *part,
		     const struct summary_group *g)
{
	const uint64_t blocks = row_sum(s, g).blocks;

	if (part->plain) {
		text_things(sb, part, blocks);
		return;
	}
	format_size(sb, row_sum(s, g).bytes);
	strbuf_puts(sb, " (");
	format_percent(sb, row_share(s, g), 1);
	strbuf_puts(sb, ") in ");
	text_things(sb, part, blocks);
	if (g->kind.indirect_blocks)
		strbuf_printf(sb, ", %" PRIu64 " of them of other stacks", g->kind.indirect_blocks);
}

static void put_ranges(struct strbuf *sb, const struct summary_group *g)
{
	strbuf_printf(sb, "    %" PRIu64 " allocated here, ", g->allocs);
	format_size(sb, g->bytes_taken);
	strbuf_puts(sb, " in all, ");
	format_size(sb, g->bytes_returned);
	strbuf_puts(sb, " returned to the kernel\n");
}

static size_t count_parts(const struct summary_group *g)
{
	size_t n = 0;

	for (size_t v = 0; v < VERDICT_COUNT; v++)
		n += g->parts[v].blocks > 0;
	return n;
}

/* Are blocks of the row lost with others of the same row? Those others are definitely or possibly lost. */
static bool has_own_lost(const struct summary_group *g)
{
	return g->parts[VERDICT_INDIRECT].blocks &&
	       (g->parts[VERDICT_DEFINITE].blocks || g->parts[VERDICT_POSSIBLE].blocks);
}

/*
 * ", definitely lost", or ", mostly definitely lost", if other blocks of it have other verdicts: the balance
 * has their numbers. What is lost with definitely lost blocks is lost for good, too.
 */
static void put_verdict(struct strbuf *sb, const struct summary_group *g)
{
	const bool with = g->verdict == VERDICT_DEFINITE && has_own_lost(g);

	if (g->verdict == VERDICT_UNKNOWN)
		return;
	strbuf_puts(sb, count_parts(g) > (with ? 2 : 1) ? ", mostly " : ", ");
	text_mark_verdict(sb, g->verdict);
}

static void put_calls(struct strbuf *sb, uint64_t allocs, uint64_t frees)
{
	strbuf_printf(sb, "    %" PRIu64 " allocated here, ", allocs);
	if (frees)
		strbuf_printf(sb, "%" PRIu64 " freed", frees);
	else
		strbuf_puts(sb, allocs == 1 ? "not freed" : "none of these freed");
}

/* The first behind @first. */
static void put_parts(struct strbuf *sb, const struct summary_group *g, const char *first)
{
	for (int rank = 0; rank < VERDICT_COUNT; rank++) {
		const enum verdict v = summary_verdict_at(rank);

		if (!g->parts[v].blocks)
			continue;
		strbuf_printf(sb, "%s%" PRIu64 " %s", first, g->parts[v].blocks, words_verdict(v));
		first = ", ";
	}
}

static void put_others(struct strbuf *sb, const struct summary *s, const struct text_part *part,
		       const struct summary_group *g)
{
	for (const struct summary_group *other = g; other->split;) {
		other = &s->groups[summary_index(s, other->split_from)];
		if (other == g)
			break;
		strbuf_puts(sb, "; in ");
		text_number(sb, part, (size_t)(other - s->groups) - part->first);
		put_parts(sb, other, " ");
	}
}

static bool leaks_partly(const struct summary *s, const struct summary_group *g)
{
	const enum summary_section section = summary_section(s, g);

	return g->frees && (section == SUMMARY_LOST || section == SUMMARY_GROWING);
}

static const struct summary_group *find_unexplained(const struct summary *s, const struct text_part *part)
{
	const struct summary_group *found = NULL;

	for (size_t i = part->first; i < part->first + part->n; i++) {
		if (s->groups[i].nfreed)
			return NULL;
		if (!found && leaks_partly(s, &s->groups[i]))
			found = &s->groups[i];
	}
	return found;
}

int text_groups_make(const struct summary *s, const struct text_part *part, struct text_groups *gs)
{
	*gs = (struct text_groups){ .summary = s, .part = part, .unexplained = find_unexplained(s, part) };
	return holders_make(s, &gs->holders);
}

void text_groups_fini(struct text_groups *gs)
{
	holders_fini(&gs->holders);
}

/*
 * What became of all that was allocated here:
 *
 *	551 allocated here, none of these freed
 *	2103 allocated here, 62 freed, 1999 definitely lost, 40 possibly lost; in [4] 2 still reachable
 *	446 allocated here, none of these freed, 38 definitely lost, 38 indirectly lost; in [22] 64 indirectly
 *	    lost; in [13] 306 still reachable
 */
static void put_balance(struct strbuf *sb, const struct text_groups *gs, const struct summary_group *g)
{
	put_calls(sb, g->allocs, g->frees);
	if (g == gs->unexplained)
		strbuf_puts(sb, " (a watch with --free-stacks shows by which code)");
	if (g->split || count_parts(g) > 1)
		put_parts(sb, g, ", ");
	put_others(sb, gs->summary, gs->part, g);
	strbuf_putc(sb, '\n');
}

static void put_grows_instead(struct strbuf *sb, const struct summary *s, const struct text_part *part,
			      const struct summary_group *g)
{
	const struct summary_group *instead = summary_grows_instead(s, g);

	if (!instead)
		return;
	strbuf_puts(sb, "    its younger blocks are in ");
	text_number(sb, part, (size_t)(instead - s->groups) - part->first);
	strbuf_puts(sb, ", which grows: blocks are often found lost only some time after they are\n");
}

static void put_bounds(struct strbuf *sb, const struct summary_group *g)
{
	const struct summary_bounds b = summary_bounds_of(g);

	if (!g->sample_of.seen)
		return;
	strbuf_puts(sb, "    estimated from ");
	format_count(sb, g->sample_of.seen, "sampled block");
	strbuf_puts(sb, ": ");
	format_size(sb, (uint64_t)b.bytes_low);
	strbuf_puts(sb, " to ");
	format_size(sb, (uint64_t)b.bytes_high);
	strbuf_puts(sb, " (95 %)\n");
}

static void put_exact(struct strbuf *sb, const struct text_groups *gs, const struct summary_group *g)
{
	const struct summary *s = gs->summary;
	const struct text_part *part = gs->part;
	const struct text_course course = { &g->growth, g->series, g->npoints, part->plain };

	put_size(sb, s, part, g);
	put_verdict(sb, g);
	if (text_timed(s))
		put_ages(sb, g);
	if (g->tag) {
		strbuf_puts(sb, ", tag ");
		strbuf_text(sb, g->tag);
	}
	strbuf_putc(sb, '\n');
	put_bounds(sb, g);
	text_growth_line(sb, s, &course);
	put_grows_instead(sb, s, part, g);
	if (part->family.ranges)
		put_ranges(sb, g);
	else
		put_balance(sb, gs, g);
}

/* A group of the same family by its number, one of another family only by its allocation site. */
static void put_entry(struct strbuf *sb, const struct summary *s, const struct text_part *part, size_t serial)
{
	size_t index = summary_index(s, serial);

	if (index >= part->first && index - part->first < part->n) {
		text_number(sb, part, index - part->first);
		strbuf_putc(sb, ' ');
	}
	sitename(sb, &s->groups[index], &s->groups[index].apart, PLACE_WIDTH);
	strbuf_putc(sb, '\n');
}

static void put_part(struct strbuf *sb, const struct summary_hang *hang)
{
	strbuf_puts(sb, "      ");
	text_amount(sb, hang->bytes, hang->blocks);
	strbuf_puts(sb, ": ");
}

static void put_uncounted(struct strbuf *sb, const struct summary *s, const struct summary_group *g)
{
	if (!g->uncounted.blocks)
		return;
	strbuf_puts(sb, "    also lost with them, not counted above: ");
	text_amount(sb, g->uncounted.bytes, g->uncounted.blocks);
	strbuf_puts(sb, s->filtered.groups || s->suppressed.groups ?
				" that are hidden, or whose allocation was not seen\n" :
				" whose allocation was not seen\n");
}

static void put_hangs(struct strbuf *sb, const struct summary *s, const struct text_part *part,
		      const struct summary_group *g)
{
	if (g->kind.indirect_blocks) {
		strbuf_puts(sb, "    lost with them, and counted above: ");
		text_amount(sb, g->kind.indirect_bytes, g->kind.indirect_blocks);
		strbuf_puts(sb, " of other stacks\n");
	}
	for (size_t i = 0; i < g->nhangs && i < HANGS_SHOWN; i++) {
		put_part(sb, &g->hangs[i]);
		put_entry(sb, s, part, g->hangs[i].serial);
	}
	if (g->nhangs > HANGS_SHOWN)
		strbuf_printf(sb, "      and of %zu more groups\n", g->nhangs - HANGS_SHOWN);
	put_uncounted(sb, s, g);
}

/* With which groups it is lost; the rest with blocks that are in no group. */
static void put_holders(struct strbuf *sb, const struct text_groups *gs, const struct summary_group *g)
{
	const size_t *first = &gs->holders.first[g - gs->summary->groups];
	struct summary_sum left = { g->blocks, g->bytes };

	if (!g->held)
		return;
	strbuf_puts(sb, "    lost with\n");
	for (size_t i = first[0]; i < first[1]; i++) {
		const struct holder *h = &gs->holders.all[i];

		left.blocks -= h->hang->blocks < left.blocks ? h->hang->blocks : left.blocks;
		left.bytes -= h->hang->bytes < left.bytes ? h->hang->bytes : left.bytes;
		if (i - first[0] >= HANGS_SHOWN)
			continue;
		put_part(sb, h->hang);
		put_entry(sb, gs->summary, gs->part, gs->summary->groups[h->group].serial);
	}
	if (first[1] - first[0] > HANGS_SHOWN)
		strbuf_printf(sb, "      and with %zu more groups\n", first[1] - first[0] - HANGS_SHOWN);
	if (!left.blocks)
		return;
	put_part(sb, &(struct summary_hang){ .blocks = left.blocks, .bytes = left.bytes });
	strbuf_puts(sb, "blocks that are in no group\n");
}

void text_group(struct strbuf *sb, const struct text_groups *gs, size_t index)
{
	const struct summary *s = gs->summary;
	const struct text_part *part = gs->part;
	const struct summary_group *g = &s->groups[part->first + index];

	strbuf_puts(sb, TEXT_BOLD);
	text_number(sb, part, index);
	strbuf_puts(sb, TEXT_PLAIN " ");
	if (summary_is_sampled(&s->run))
		text_sampled_group(sb, part, g);
	else
		put_exact(sb, gs, g);
	text_process_shares(sb, s, g);
	text_stack(sb, &g->stack);
	text_freed(sb, g);
	put_hangs(sb, s, part, g);
	put_holders(sb, gs, g);
}
