/* SPDX-License-Identifier: MIT */
/* verdicts_write: the results, as facts; see verdicts.h. */
#include "attach/verdicts/verdicts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 1000	/* blocks in one record */

/* --- what is lost with which block --- */

static int add_up(struct verdicts *j)
{
	j->with = calloc(j->nnodes + 1, sizeof(*j->with));
	if (!j->with)
		return -ENOMEM;
	for (size_t i = 0; i < j->nnodes; i++) {
		uint32_t leader = j->reach.leader[i];

		if (j->reach.verdict[i] != VERDICT_INDIRECT || leader == i || leader >= j->nnodes)
			continue;
		j->with[leader].blocks++;
		j->with[leader].bytes += j->nodes[i].size;
	}
	return 0;
}

/* --- facts --- */

static bool is_of(const struct verdicts_block *b, uint32_t family, enum verdict verdict)
{
	return b->family == family && b->verdict == verdict && b->part != VERDICTS_NOT &&
	       b->part != VERDICTS_STALE;
}

static void put(struct recorder *r, uint32_t family, enum verdict verdict, const struct fact_judged *all,
		uint32_t n)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_JUDGED, .time_us = r->ledger.now_us,
		.judged = { verdict, all, n },
	};

	if (n)
		recorder_put_event(r, family, &f);
}

/* The address of the lost block with which this one is lost; 0: there is none. */
static taddr leader_of(const struct verdicts *j, uint32_t node)
{
	uint32_t leader = j->reach.leader[node];

	return leader == node || leader >= j->nnodes ? 0 : j->nodes[leader].addr;
}

static struct fact_judged judged_of(const struct verdicts *j, const struct verdicts_block *b)
{
	struct fact_judged out = { .addr = b->addr };

	if (b->part == VERDICTS_NODE && b->verdict == VERDICT_INDIRECT) {
		out.with_bytes = leader_of(j, b->node);
		out.with_blocks = out.with_bytes != 0;
	} else if (b->part == VERDICTS_NODE && j->with[b->node].blocks) {
		out.with_blocks = j->with[b->node].blocks;
		out.with_bytes = j->with[b->node].bytes;
	}
	return out;
}

static void put_verdict(const struct verdicts *j, struct recorder *r, uint32_t family, enum verdict verdict)
{
	struct fact_judged some[AT_ONCE];
	uint32_t n = 0;

	for (size_t i = 0; i < j->nblocks; i++) {
		if (!is_of(&j->blocks[i], family, verdict))
			continue;
		some[n++] = judged_of(j, &j->blocks[i]);
		if (n < AT_ONCE)
			continue;
		put(r, family, verdict, some, n);
		n = 0;
	}
	put(r, family, verdict, some, n);
}

/* A family's number is its index (facts.h). */
static void put_all(const struct verdicts *j, struct recorder *r)
{
	uint64_t counts[LEDGER_FAMILIES_MAX][VERDICT_COUNT] = { 0 };

	for (size_t i = 0; i < j->nblocks; i++) {
		const struct verdicts_block *b = &j->blocks[i];

		if (b->family < LEDGER_FAMILIES_MAX && is_of(b, b->family, b->verdict))
			counts[b->family][b->verdict]++;
	}
	for (uint32_t family = 0; family < LEDGER_FAMILIES_MAX; family++)
		for (int v = VERDICT_UNKNOWN + 1; v < VERDICT_COUNT; v++)
			if (counts[family][v])
				put_verdict(j, r, family, v);
}

static uint64_t count(const struct verdicts *j)
{
	uint64_t n = 0;

	for (size_t i = 0; i < j->nblocks; i++)
		n += j->blocks[i].family != VERDICTS_NONE && j->blocks[i].verdict != VERDICT_UNKNOWN;
	return n;
}

static const char **list_doubts(const struct verdicts *j)
{
	const char **list = calloc(j->ndoubts + 1, sizeof(*list));
	const char *at = strbuf_str(&j->doubts);

	for (size_t i = 0; list && i < j->ndoubts; i++) {
		list[i] = at;
		at += strlen(at) + 1;
	}
	return list;
}

int verdicts_write(struct verdicts *j, struct fact_verdicts *look, struct recorder *r)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_VERDICTS, .time_us = r->ledger.now_us, .look = look,
	};
	cleanup_free const char **doubts = list_doubts(j);
	struct fact_sum sums[VERDICT_COUNT];
	int err = doubts ? add_up(j) : -ENOMEM;

	if (err < 0)
		return err;
	for (size_t v = 0; v < VERDICT_COUNT; v++)
		sums[v] = (struct fact_sum){ j->reach.sums[v].blocks, j->reach.sums[v].bytes };
	look->census = j->census.known;
	look->allocator = j->census.known ? j->census.layout : NULL;
	look->judged = count(j);
	look->sums = sums;
	look->nsums = VERDICT_COUNT;
	look->doubts = doubts;
	look->ndoubts = (uint32_t)j->ndoubts;
	recorder_put(r, &f);
	put_all(j, r);
	return r->out_of_memory ? -ENOMEM : 0;
}
