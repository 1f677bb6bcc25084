/* SPDX-License-Identifier: MIT */
/*
 * shrink_parts: what the parts of shrink have in common; for them alone.
 *
 *	shrink.c	the file, its order, and all that is over
 *	shrink_held.c	what is there still: blocks, objects, blocks put aside
 *	shrink_verdicts.c	which of them are still reached
 */
#ifndef MM_SHRINK_PARTS_H
#define MM_SHRINK_PARTS_H

#include "report/tracefiles/shrink.h"
#include "trace/writer.h"

struct shrink {
	struct ledger *l;
	struct writer *w;
	int err;	/* sticky */
};

/* Nothing happens any more once something has failed. */
static inline void shrink_put(struct shrink *s, const struct fact *f)
{
	if (s->err == 0)
		s->err = writer_put(s->w, f);
}

/* What comes is of the family with this index. */
static inline void shrink_put_family(struct shrink *s, uint64_t time_us, uint32_t index)
{
	const struct fact f = { .kind = MMT_FAMILY, .time_us = time_us, .family = s->l->defs.families[index].number };

	shrink_put(s, &f);
}

/* The number of the stack with this index. */
static inline uint32_t shrink_stack(const struct shrink *s, uint32_t index)
{
	return s->l->defs.stacks[index].number;
}

/* What a family holds, in the order of addresses, at the time of the last fact. */
void shrink_put_blocks(struct shrink *s, uint32_t family);
void shrink_put_objects(struct shrink *s, uint32_t family);

/* What is put aside, of all families; but for that of which the orphans tell. */
void shrink_put_aside(struct shrink *s);

/* The last look; its verdict on what is put aside, while it is held; on all that is held, behind the blocks themselves. */
void shrink_put_look(struct shrink *s);
void shrink_put_verdict(struct shrink *s, uint32_t family, taddr addr, enum verdict verdict);
void shrink_put_verdicts(struct shrink *s);

#endif
