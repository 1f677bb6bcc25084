/* SPDX-License-Identifier: MIT */
/*
 * text_refs_entry: one entry of text_refs.h: what is wrong with these objects, and where their references
 * were acquired and released.
 *
 * A place is suspect if clearly more of what it acquired, on any object of the run, is on objects that are
 * still live than of what the others acquired; of several such places, if something else tells it from them
 * (summary_refs.c), and then that is reported. Where no place stands out and most of what is acquired is
 * released again, then a release is missing, not a place one too many.
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
#define USES_SHOWN 8		/* of either kind; if one is suspect, the others matter less: */
#define USES_BESIDES 4
#define NETS_SHOWN 5
#define LEAST_UNSEEN 0.05	/* times: less is due to rounding, or to a single object */

static uint64_t distance(int64_t net)
{
	return net < 0 ? -(uint64_t)net : (uint64_t)net;
}

/* "1 reference", "1 to 43 references". */
static void put_references(struct strbuf *sb, const struct refs_entry *e)
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

static void put_net(struct strbuf *sb, const struct refs_entry *e)
{
	strbuf_printf(sb, " (net %" PRId64, e->least);
	if (e->most != e->least)
		strbuf_printf(sb, " to %" PRId64, e->most);
	strbuf_putc(sb, ')');
}

static void put_judgement(struct strbuf *sb, const struct refs_entry *e)
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

/* The object's own count may include more than was seen: calls that no rule covers. */
static void put_unseen(struct strbuf *sb, const struct refs_entry *e)
{
	const struct summary_refs *r = &e->refs;
	double nets = 0, unseen;

	if (!r->counted || r->older || !r->objects)
		return;
	for (size_t i = 0; i < e->nnets; i++)
		nets += (double)e->nets[i].net * (double)e->nets[i].objects;
	unseen = times(r->taken, r->ntaken) - times(r->dropped, r->ndropped) - nets / (double)r->objects;
	if (fabs(unseen) < LEAST_UNSEEN)
		return;
	strbuf_puts(sb, unseen > 0 ? ", and by its count released " : ", and by its count acquired ");
	format_times(sb, fabs(unseen));
	strbuf_puts(sb, " unseen");
}

static void put_times(struct strbuf *sb, const struct refs_entry *e)
{
	const struct summary_refs *r = &e->refs;

	strbuf_puts(sb, ": ");
	if (r->ntaken) {
		strbuf_puts(sb, "acquired ");
		format_times(sb, times(r->taken, r->ntaken));
	} else {
		strbuf_puts(sb, "never acquired");
	}
	if (r->ndropped) {
		strbuf_puts(sb, ", released ");
		format_times(sb, times(r->dropped, r->ndropped));
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
static void put_nets(struct strbuf *sb, const struct refs_entry *e)
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

/* How many of the acquiring places, which come first, stand out; 0 if none does. */
static size_t count_suspects(const struct summary_refs *r)
{
	size_t n = r->net > 0 ? summary_like_uses(r->taken, r->ntaken) : 0;

	return n < r->ntaken ? n : 0;
}

static void put_share(struct strbuf *sb, const struct summary_use *u)
{
	if (u->kept >= u->taken_in_all) {
		strbuf_printf(sb, "%s %" PRIu64 " acquired here ", u->kept == 1 ? "the" : "all", u->kept);
		strbuf_puts(sb, u->kept == 1 ? "is on an object that is still live\n"
					     : "are on objects that are still live\n");
		return;
	}
	strbuf_printf(sb, "%" PRIu64 " of %" PRIu64 " acquired here (", u->kept, u->taken_in_all);
	format_percent(sb, (double)u->kept, (double)u->taken_in_all);
	strbuf_puts(sb, ") are on objects that are still live\n");
}

/* Several places have that share: why is this one suspect? */
static void put_reason(struct strbuf *sb, const struct summary_use *u, size_t near)
{
	strbuf_printf(sb, "    of %zu places with about that share ", near);
	if (summary_use_follows(u)) {
		strbuf_printf(sb, "this one acquired just as many as are too many, on %" PRIu64 " of %" PRIu64
				  " objects with 2 or more\n", u->as_many, u->several);
		return;
	}
	strbuf_puts(sb, "this one's module releases least of what it acquires: ");
	strbuf_text(sb, u->module ? format_base(u->module) : "?");
	strbuf_printf(sb, " acquired %" PRIu64 " on these objects and released %" PRIu64 "\n",
		      u->module_taken, u->module_dropped);
}

static void put_taken(struct strbuf *sb, const struct summary_refs *r, size_t suspects, size_t index)
{
	const struct summary_use *u = &r->taken[index];
	size_t near = summary_near_uses(r->taken, r->ntaken);

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

/* The sum of the places from @first on. */
static void put_rest(struct strbuf *sb, const struct summary_use *uses, size_t first, size_t n, const char *what)
{
	uint64_t count = 0;

	if (first == n)
		return;
	for (size_t i = first; i < n; i++)
		count += uses[i].count;
	strbuf_printf(sb, "  %s %" PRIu64 " times at %zu more places (--top 0 shows all)\n", what, count,
		      n - first);
}

/* Not so for a full cache, which does not grow. */
static bool misses_a_drop(const struct summary_refs *r)
{
	return !r->older && r->net > 0 && r->ntaken && summary_use_share(&r->taken[0]) < MOSTLY &&
	       growth_goes_on(&r->growth);
}

static void put_uses(struct strbuf *sb, const struct text_refs *t, const struct summary_refs *r)
{
	size_t suspects = count_suspects(r);
	size_t taken = shown(t, r->ntaken, suspects), dropped = shown(t, r->ndropped, suspects);

	for (size_t i = 0; i < taken; i++)
		put_taken(sb, r, suspects, i);
	put_rest(sb, r->taken, taken, r->ntaken, "acquired");
	if (!suspects && misses_a_drop(r))
		strbuf_puts(sb, "  no place stands out: what is acquired there is released as a rule. "
				"On which path is a release missing?\n");
	for (size_t i = 0; i < dropped; i++)
		put_dropped(sb, &r->dropped[i]);
	put_rest(sb, r->dropped, dropped, r->ndropped, "released");
}

void text_refs_entry(const struct text_refs *t, size_t index, struct strbuf *sb)
{
	const struct refs_entry *e = &t->entries[index];
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
