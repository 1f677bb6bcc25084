/* SPDX-License-Identifier: MIT */
/*
 * text_loss: below the answer of a watch with a budget, what the whole process has lost meanwhile, whether its code
 * was seen or not: so it is known how much the groups that leak explain.
 *
 *	lost in 59s: 523 blocks, 41.2 KiB (41.9 KiB/min); the groups that leak explain about 12% of it: a short
 *	watch without --budget names the rest. The last notes say what is in such blocks
 *	no block was lost in 59s: what grows, if anything does, is still pointed to
 */
#ifndef MM_TEXT_LOSS_H
#define MM_TEXT_LOSS_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

void text_loss(struct strbuf *sb, const struct summary *s);

/* Is it known, and explained by the groups that leak? Then what may lose blocks, too, is nothing to begin with. */
bool text_loss_is_explained(const struct summary *s);

#endif
