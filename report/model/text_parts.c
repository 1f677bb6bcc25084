/* SPDX-License-Identifier: MIT */
/* text_parts: see text_parts.h. */
#include "report/model/text_parts.h"

#include <inttypes.h>
#include <string.h>

#include "report/model/format_text.h"

#define NUMBER_WIDTH 6
#define FAMILY_WIDTH 12	/* longer names are cut */

size_t text_parts(const struct summary *s)
{
	return s->nfamilies ? s->nfamilies : 1;
}

bool text_counts_blocks(const struct summary *s)
{
	for (size_t i = 0; i < s->nfamilies; i++)
		if (!s->families[i].refs)
			return true;
	return !s->nfamilies;
}

/* If there are no families: one for everything. */
static struct summary_family all_of(const struct summary *s)
{
	return (struct summary_family){
		.noun = "block", .acquired = s->totals.allocs, .released = s->totals.frees,
		.live = s->totals.live_blocks,
		.bytes = s->totals.live_bytes,
	};
}

static bool is_of(const struct summary_family *f, const char *name)
{
	return !f->name || (name && !strcmp(f->name, name));
}

static const char *family_at(const struct summary *s, const struct text_part *part, size_t i)
{
	return part->family.refs ? s->refs[i].family : s->groups[i].family;
}

/*
 * Things that are not memory have no size, or the size 1 each, so that their number can be drawn as a series.
 */
bool text_family_is_plain(const struct summary_family *f)
{
	return f->refs || (strcmp(f->noun, "block") && (!f->bytes || f->bytes == f->live));
}

void text_part(const struct summary *s, size_t i, struct text_part *out)
{
	size_t n;

	*out = (struct text_part){
		.family = s->nfamilies ? s->families[i] : all_of(s), .several = s->nfamilies > 1,
	};
	out->plain = text_family_is_plain(&out->family);
	n = out->family.refs ? s->nrefs : s->ngroups;
	while (out->first < n && !is_of(&out->family, family_at(s, out, out->first)))
		out->first++;
	while (out->first + out->n < n && is_of(&out->family, family_at(s, out, out->first + out->n)))
		out->n++;
}

void text_number(struct strbuf *sb, const struct text_part *part, size_t index)
{
	strbuf_putc(sb, '[');
	if (part->several) {
		format_cut(sb, part->family.name, FAMILY_WIDTH);
		strbuf_putc(sb, ' ');
	}
	strbuf_printf(sb, "%zu]", index + 1);
}

size_t text_number_width(const struct text_part *part)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (!part->several)
		return NUMBER_WIDTH;
	format_cut(&name, part->family.name, FAMILY_WIDTH);
	return NUMBER_WIDTH + format_width(&name) + 1;
}

void text_things(struct strbuf *sb, const struct text_part *part, uint64_t n)
{
	cleanup_strbuf struct strbuf what = STRBUF_INIT;

	if (part->family.refs && part->family.name && !strcmp(part->family.noun, "object")) {
		strbuf_text(&what, part->family.name);
		strbuf_putc(&what, ' ');
	}
	strbuf_text(&what, part->family.noun);
	format_count(sb, n, strbuf_str(&what));
	if (what.err && !sb->err)
		sb->err = what.err;
}
