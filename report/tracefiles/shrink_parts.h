/* SPDX-License-Identifier: MIT */
/*
 * shrink_parts: shared by the files of shrink, and private to them.
 *
 *	shrink.c	the file, its order, and everything that is over
 *	shrink_held.c	what is still live: blocks, objects, blocks put aside
 *	shrink_verdicts.c	the verdicts on live blocks
 *	shrink_merged.c	the processes of a merged ledger, and what they have together
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

/* Does nothing once something has failed. */
static inline void shrink_put(struct shrink *s, const struct fact *f)
{
	if (s->err == 0)
		s->err = writer_put(s->w, f);
}

/* The facts that follow are of the family with this index. */
static inline void shrink_put_family(struct shrink *s, uint64_t time_us, uint32_t index)
{
	const struct fact f = { .kind = MMT_FAMILY, .time_us = time_us,
				.family = s->l->defs.families[index].number };

	shrink_put(s, &f);
}

/* The number of the stack with this index. */
static inline uint32_t shrink_stack(const struct shrink *s, uint32_t index)
{
	return s->l->defs.stacks[index].number;
}

/* The live blocks and objects of a family, by address, at the time of the last fact. */
void shrink_put_blocks(struct shrink *s, uint32_t family);
void shrink_put_objects(struct shrink *s, uint32_t family);

/*
 * Of a merged ledger: the processes, and notes; what they have of a family, after its places; what hangs on
 * what.
 */
void shrink_put_processes(struct shrink *s);
void shrink_put_merged(struct shrink *s, uint32_t family);
void shrink_put_hangs(struct shrink *s);

/* The blocks put aside, of all families, except those that are among the orphans. */
void shrink_put_aside(struct shrink *s);

/*
 * The fact about the last snapshot; the verdict on a block that is put aside, to be written while it is live;
 * the verdicts on all live blocks, to be written after the blocks themselves.
 */
void shrink_put_look(struct shrink *s);
void shrink_put_verdict(struct shrink *s, uint32_t family, taddr addr, enum verdict verdict);
void shrink_put_verdicts(struct shrink *s);

#endif
