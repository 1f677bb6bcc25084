/* SPDX-License-Identifier: MIT */
/*
 * text_refs_entry: one numbered group of text_refs.h: what is wrong with these objects, and where their
 * references were acquired and released.
 *
 * A call site is suspect if of the references that it acquired, on any object of the run, clearly more are
 * still outstanding than of those of the other call sites. If several are, the one that something else
 * distinguishes (summary_refs.c) is suspect, and the reason is printed. If none stands out and most of what
 * is acquired is released again, a release is missing somewhere, and no call site acquires one too many.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_refs.h"
#include "report/text/groups/text_stack.h"

#define MOSTLY 0.5
/* call sites of either kind that are shown; if one is suspect, the others matter less: */
#define USES_SHOWN 8
#define USES_BESIDES 4
#define NETS_SHOWN 5
#define LEAST_UNSEEN 0.05	/* times: less is due to rounding, or to a single object */

static uint64_t distance(int64_t net)
{
	return net < 0 ? -(uint64_t)net : (uint64_t)net;
}

/* "1 reference", "1 to 43 references". */
static void put_references(struct strbuf *sb, const struct merged_refs *e)
{
	uint64_t least = distance(e->least), most = distance(e->most);

	if (least > most) {
		least = distance(e->most);
		most = distance(e->least);
	}
	if (least != most)
		strbuf_printf(sb, "%" PRIu64 " to ", least);
	format_count(sb, most, "reference");
}

static void put_net(struct strbuf *sb, const struct merged_refs *e)
{
	strbuf_printf(sb, " (net %" PRId64, e->least);
	if (e->most != e->least)
		strbuf_printf(sb, " to %" PRId64, e->most);
	strbuf_putc(sb, ')');
}

static void put_judgement(struct strbuf *sb, const struct merged_refs *e)
{
	const struct summary_refs *r = &e->refs;

	strbuf_puts(sb, r->older ? " older than the watch, with " : " with ");
	put_references(sb, e);
	if (!r->older)
		strbuf_puts(sb, r->net > 0 ? " too many" : " released too many");
	else if (r->counted)
		strbuf_puts(sb, " now");
	else
		strbuf_puts(sb, r->net > 0 ? " more than before" : " fewer than before, which is no leak");
	put_net(sb, e);
}

static double times(const struct summary_use *uses, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += uses[i].per_object;
	return sum;
}

/* The object's own count may include references of calls that no rule covers. */
static void put_unseen(struct strbuf *sb, const struct merged_refs *e)
{
	const struct summary_refs *r = &e->refs;
	double nets = 0, unseen;

	if (!r->counted || r->older || !r->objects)
		return;
	for (size_t i = 0; i < e->nnets; i++)
		nets += (double)e->nets[i].net * (double)e->nets[i].objects;
	unseen = times(r->acquired, r->nacquired) - times(r->released, r->nreleased) -
		 nets / (double)r->objects;
	if (fabs(unseen) < LEAST_UNSEEN)
		return;
	strbuf_puts(sb, unseen > 0 ? ", and by its count released " : ", and by its count acquired ");
	format_times(sb, fabs(unseen));
	strbuf_puts(sb, " unseen");
}

static void put_times(struct strbuf *sb, const struct merged_refs *e)
{
	const struct summary_refs *r = &e->refs;

	strbuf_puts(sb, ": ");
	if (r->nacquired) {
		strbuf_puts(sb, "acquired ");
		format_times(sb, times(r->acquired, r->nacquired));
	} else {
		strbuf_puts(sb, "never acquired");
	}
	if (r->nreleased) {
		strbuf_puts(sb, ", released ");
		format_times(sb, times(r->released, r->nreleased));
	} else {
		strbuf_puts(sb, ", never released");
	}
	put_unseen(sb, e);
}

static void put_ages(struct strbuf *sb, const struct summary_refs *r)
{
	strbuf_puts(sb, "; ");
	if (r->objects > 1) {
		format_seconds(sb, r->youngest_s);
		strbuf_puts(sb, " to ");
	}
	format_seconds(sb, r->oldest_s);
	strbuf_puts(sb, " old");
}

/* The different net counts, if the numbered group has several. */
static void put_nets(struct strbuf *sb, const struct merged_refs *e)
{
	uint64_t rest = 0;

	if (e->nnets < 2)
		return;
	strbuf_puts(sb, "    net counts: ");
	for (size_t i = 0; i < e->nnets; i++) {
		if (i >= NETS_SHOWN) {
			rest += e->nets[i].objects;
			continue;
		}
		strbuf_printf(sb, "%s%" PRIu64 " with %" PRId64, i ? ", " : "", e->nets[i].objects,
			      e->nets[i].net);
	}
	if (rest)
		strbuf_printf(sb, ", %" PRIu64 " with others", rest);
	strbuf_putc(sb, '\n');
}

static void put_share(struct strbuf *sb, const struct summary_use *u)
{
	if (u->outstanding >= u->acquired_in_all) {
		strbuf_printf(sb, "%s %" PRIu64 " acquired here ", u->outstanding == 1 ? "the" : "all",
			      u->outstanding);
		strbuf_puts(sb, u->outstanding == 1 ? "is on an object that is still live\n"
					     : "are on objects that are still live\n");
		return;
	}
	strbuf_printf(sb, "%" PRIu64 " of %" PRIu64 " acquired here (", u->outstanding, u->acquired_in_all);
	format_percent(sb, (double)u->outstanding, (double)u->acquired_in_all);
	strbuf_puts(sb, ") are on objects that are still live\n");
}

/* Several call sites have that share: why is this one suspect? */
static void put_reason(struct strbuf *sb, const struct summary_use *u, size_t near)
{
	strbuf_printf(sb, "    %zu call sites have about that share; "
			      , near);
	if (summary_use_follows(u)) {
		strbuf_printf(sb, "this one acquired exactly as many references as were not released on %" PRIu64
				  " of the %" PRIu64 " objects of which two or more were not\n", u->as_many, u->several);
		return;
	}
	strbuf_puts(sb, "the module of this one releases least of what it acquires: ");
	strbuf_text(sb, u->module ? format_base(u->module) : "?");
	strbuf_printf(sb, " acquired %" PRIu64 " on these objects and released %" PRIu64 "\n",
		      u->module_acquired, u->module_released);
}

static void put_taken(struct strbuf *sb, const struct summary_refs *r, size_t suspects, size_t index)
{
	const struct summary_use *u = &r->acquired[index];
	size_t near = summary_near_uses(r->acquired, r->nacquired);

	strbuf_puts(sb, "  ");
	if (index < suspects)
		strbuf_puts(sb, suspects == 1 ? "MOST SUSPECT: " : "SUSPECT: ");
	strbuf_puts(sb, "acquired ");
	format_times(sb, u->per_object);
	strbuf_puts(sb, " each; ");
	put_share(sb, u);
	if (index < suspects && suspects < near)
		put_reason(sb, u, near);
	text_stack(sb, &u->stack);
}

static void put_dropped(struct strbuf *sb, const struct summary_use *u)
{
	strbuf_puts(sb, "  released ");
	format_times(sb, u->per_object);
	strbuf_puts(sb, " each\n");
	text_stack(sb, &u->stack);
}

static size_t shown(const struct text_refs *t, size_t n, size_t suspects)
{
	size_t most = suspects ? USES_BESIDES : USES_SHOWN;

	return t->all || n <= most ? n : most;
}

/* The sum of the call sites from @first on. */
static void put_rest(struct strbuf *sb, const struct summary_use *uses, size_t first, size_t n,
		     const char *what)
{
	uint64_t count = 0;

	if (first == n)
		return;
	for (size_t i = first; i < n; i++)
		count += uses[i].count;
	strbuf_printf(sb, "  %s %" PRIu64 " times at %zu more call sites (--top 0 shows all)\n", what, count,
		      n - first);
}

/* Is a release missing? Not if the objects do not grow, as those of a full cache. */
static bool misses_a_release(const struct summary_refs *r)
{
	return !r->older && r->net > 0 && r->nacquired && summary_use_share(&r->acquired[0]) < MOSTLY &&
	       growth_goes_on(&r->growth);
}

static void put_uses(struct strbuf *sb, const struct text_refs *t, const struct summary_refs *r)
{
	size_t suspects = summary_suspects(r);
	size_t taken = shown(t, r->nacquired, suspects), dropped = shown(t, r->nreleased, suspects);

	for (size_t i = 0; i < taken; i++)
		put_taken(sb, r, suspects, i);
	put_rest(sb, r->acquired, taken, r->nacquired, "acquired");
	if (!suspects && misses_a_release(r))
		strbuf_puts(sb, "  no call site stands out: what is acquired there is released as a rule. "
				"On which path is a release missing?\n");
	for (size_t i = 0; i < dropped; i++)
		put_dropped(sb, &r->released[i]);
	put_rest(sb, r->released, dropped, r->nreleased, "released");
}

void text_refs_entry(const struct text_refs *t, size_t index, struct strbuf *sb)
{
	const struct merged_refs *e = &t->entries[index];
	const struct text_course course = { &e->refs.growth, e->refs.series, e->refs.npoints, true };

	strbuf_puts(sb, TEXT_BOLD);
	text_number(sb, &t->part, index);
	strbuf_puts(sb, TEXT_PLAIN " ");
	text_things(sb, &t->part, e->refs.objects);
	put_judgement(sb, e);
	put_times(sb, e);
	if (text_timed(t->summary))
		put_ages(sb, &e->refs);
	strbuf_putc(sb, '\n');
	put_nets(sb, e);
	if (!e->refs.older)
		text_growth_line(sb, t->summary, &course);
	put_uses(sb, t, &e->refs);
}
