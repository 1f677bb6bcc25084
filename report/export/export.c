/* SPDX-License-Identifier: MIT */
/* export: see export.h. */
#include "report/export/export.h"

#include <inttypes.h>
#include <math.h>

#include "report/model/format_text.h"
#include "report/model/sampled.h"
#include "report/model/text_parts.h"

static uint64_t whole(double value)
{
	return value > 0 ? value < 9e18 ? (uint64_t)llround(value) : (uint64_t)9e18 : 0;
}

static struct export_values estimated(const struct summary *s, const struct summary_group *g)
{
	const struct summary_sample *its = g->sampled;
	const double minutes = s->run.seconds / 60, allocs = its->allocs.value * minutes;
	const uint64_t bytes = sampled_kept_bytes(its, s->run.seconds);

	return (struct export_values){ {
		[EXPORT_ALLOC_BLOCKS] = whole(allocs),
		[EXPORT_ALLOC_BYTES] = whole(allocs * its->bytes_each),
		[EXPORT_LIVE_BLOCKS] = bytes ? whole(its->kept_blocks.value * minutes) : 0,
		[EXPORT_LIVE_BYTES] = bytes,
	} };
}

static struct export_values counted(const struct summary_group *g)
{
	return (struct export_values){ {
		[EXPORT_ALLOC_BLOCKS] = g->split ? 0 : g->allocs,
		[EXPORT_ALLOC_BYTES] = g->split ? 0 : g->bytes_taken,
		[EXPORT_LIVE_BLOCKS] = g->blocks,
		[EXPORT_LIVE_BYTES] = g->bytes,
	} };
}

struct export_values export_values(const struct summary *s, const struct summary_group *g)
{
	struct export_values its = g->sampled ? estimated(s, g) : counted(g);

	if (text_family_is_plain(summary_family(s, g->family)))
		its.of[EXPORT_ALLOC_BYTES] = its.of[EXPORT_LIVE_BYTES] = 0;
	return its;
}

void export_command(struct strbuf *sb, const struct summary *s)
{
	for (size_t i = 0; i < s->target.nargs; i++) {
		strbuf_puts(sb, i ? " " : "");
		strbuf_text(sb, s->target.cmdline[i]);
	}
	if (!s->target.nargs)
		strbuf_text(sb, s->target.comm ? s->target.comm : "not known");
}

void export_frame_name(struct strbuf *sb, const struct summary_frame *f)
{
	if (f->function && *f->function)
		strbuf_puts(sb, f->function);
	else if (f->module)
		strbuf_printf(sb, "%s+0x%" PRIx64, format_base(f->module), f->offset);
	else
		strbuf_printf(sb, PRItaddr, f->pc);
}
