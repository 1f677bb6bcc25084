/* SPDX-License-Identifier: MIT */
/* text_filter: see text_filter.h. */
#include "report/text/text_filter.h"

#include <inttypes.h>
#include <stdbool.h>

#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/wrap.h"
#include "report/text/text_answer.h"

static void put_groups(struct strbuf *sb, uint64_t shown, uint64_t all, const char *what)
{
	if (shown < all)
		strbuf_printf(sb, "%" PRIu64 " of ", shown);
	format_count(sb, all, what);
}

/* Bytes are compared only where all of them are of one kind, and known. */
static bool has_bytes(const struct summary *s, struct text_part *part)
{
	if (summary_is_sampled(&s->run) || text_parts(s) != 1)
		return false;
	text_part(s, 0, part);
	return !part->plain && !part->family.refs;
}

static void put_bytes(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->ngroups; i++)
		bytes += s->groups[i].bytes;
	format_size(sb, bytes);
	strbuf_puts(sb, " of ");
	format_size(sb, s->totals.live_bytes);
	if (text_timed(s) && part->n)
		text_answer_growth(sb, s, part);
}

/* Groups are counted only where a group that is hidden would be one in the report (report/model/by_stack.h). */
static void put_line(struct strbuf *sb, const struct summary *s)
{
	const uint64_t groups = s->ngroups + s->filtered.groups + s->suppressed.groups,
		       refs = s->nrefs + s->filtered.ref_groups + s->suppressed.ref_groups;
	struct text_part part;
	const bool bytes = groups && has_bytes(s, &part), sampled = groups && summary_is_sampled(&s->run);

	strbuf_puts(sb, "shown below, by ");
	strbuf_text(sb, s->filters);
	strbuf_puts(sb, ": ");
	if (bytes)
		put_bytes(sb, s, &part);
	else if (sampled)
		put_groups(sb, s->ngroups, groups, "group");
	strbuf_puts(sb, (bytes || sampled) && refs ? ", " : "");
	if (refs)
		put_groups(sb, s->nrefs, refs, groups ? "object group" : "group");
	strbuf_puts(sb, bytes || sampled || refs ? "" : "a part");
	strbuf_puts(sb, "; the totals above count everything\n");
}

void text_filter_diff(struct strbuf *sb, const struct summary *s)
{
	if (!s->filters)
		return;
	strbuf_puts(sb, "shown below: a part, by ");
	strbuf_text(sb, s->filters);
	strbuf_puts(sb, "; the totals above count everything\n");
}

void text_filter(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (!s->filters || (!s->ngroups && !s->nrefs))
		return;
	put_line(&line, s);
	wrap(sb, &line, s->columns ? s->columns : WRAP_WIDTH, 0);
}
