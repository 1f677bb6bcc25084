/* SPDX-License-Identifier: MIT */
/*
 * text_verdicts: the verdicts in the text report.
 *
 *	definitely lost 1.0 MiB in 70 blocks; possibly lost none; indirectly lost 3.0 KiB in 9 blocks; still
 *	reachable 96 KiB in 12 blocks
 *
 *	  verdicts  in a pause of 12ms, 9 threads, 120 MiB copied
 *	  heap      glibc 2.32 to 2.41; of 120344 blocks, watched or not: definitely lost 3.2 MiB in 3000
 *	            blocks; possibly ...
 *	  doubt     ...
 */
#ifndef MM_TEXT_VERDICTS_H
#define MM_TEXT_VERDICTS_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/* Below the answer: the verdicts on the blocks that were watched. Nothing without verdicts. */
void text_verdicts_answer(struct strbuf *sb, const struct summary *s);

/* The lines for the head. Why there are no verdicts is stated only if any block is live. */
void text_verdicts_head(struct strbuf *sb, const struct summary *s);

/* How long the pause was, and the estimate that was compared with --max-pause, if it was longer than that. */
void text_verdicts_pause(struct strbuf *sb, const struct summary_verdicts *v);

/* "6.4 KiB in 300 blocks" */
void text_amount(struct strbuf *sb, uint64_t bytes, uint64_t blocks);

/* ", and 6.4 KiB in 300 blocks with them"; nothing if @blocks is 0. */
void text_lost_with(struct strbuf *sb, uint64_t bytes, uint64_t blocks);

#endif
