/* SPDX-License-Identifier: MIT */
/* text_diff_process: see text_diff_process.h. */
#include "report/text/text_diff_process.h"

#include "report/model/format_text.h"
#include "report/text/groups/wrap.h"

/* What is lost cannot be freed: it is still there, whatever the second watch knows. */
static void put_lost(struct strbuf *sb, const struct summary *old)
{
	const struct summary_sum *sums = old->run.verdicts.watched;
	const uint64_t blocks = sums[VERDICT_DEFINITE].blocks + sums[VERDICT_INDIRECT].blocks;

	if (!old->run.verdicts.known || !blocks)
		return;
	strbuf_puts(sb, "of the first watch's blocks ");
	format_size(sb, sums[VERDICT_DEFINITE].bytes + sums[VERDICT_INDIRECT].bytes);
	strbuf_puts(sb, " in ");
	format_count(sb, blocks, "block");
	strbuf_puts(sb, " were lost, and so are still allocated beside those of the second\n");
}

static void put_lines(struct strbuf *sb, const struct diff *d)
{
	strbuf_printf(sb,
		      "both are watches of process %d, and each knows only what was allocated while it ran: "
		      "what the first one left live is not counted in the second, so that less, or \"went\", "
		      "does not mean freed; how fast each group grew is in the two reports\n",
		      (int)d->new->target.pid);
	put_lost(sb, d->old);
}

void text_diff_process(struct strbuf *sb, const struct diff *d)
{
	cleanup_strbuf struct strbuf lines = STRBUF_INIT;
	const unsigned columns = d->new->columns;

	if (!d->same_process)
		return;
	put_lines(&lines, d);
	wrap(sb, &lines, columns ? columns : WRAP_WIDTH, 0);
}
