/* SPDX-License-Identifier: MIT */
/*
 * shrink_verdicts: see shrink_parts.h. The verdicts of live blocks are written, and those of blocks that an
 * earlier piece may have; the others are counted (`passed`). So verdicts that were complete stay complete,
 * also piece by piece, and incomplete ones stay incomplete.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "report/ledger/ledger_parts.h"
#include "report/tracefiles/runfacts.h"
#include "report/tracefiles/shrink_parts.h"

#define AT_ONCE 1000	/* blocks in one record */

/* Addresses of the blocks of one family and verdict. */
struct addr_list {
	taddr *addrs;
	size_t n, size;
};

static int compare_addrs(const void *pa, const void *pb)
{
	taddr a = *(const taddr *)pa, b = *(const taddr *)pb;

	return a < b ? -1 : a > b;
}

static int compare_judged(const void *pa, const void *pb)
{
	const struct verdict_block *a = pa, *b = pb;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int list_add(struct addr_list *list, taddr addr)
{
	if (grow_for(&list->addrs, list->n, &list->size, sizeof(*list->addrs)) < 0)
		return -ENOMEM;
	list->addrs[list->n++] = addr;
	return 0;
}

static int list_held(const struct ledger *l, uint32_t family, enum verdict verdict, struct addr_list *list)
{
	struct live_block b;
	taddr addr;
	int r = 0;

	for (size_t at = 0; r == 0 && live_next(l->books[family].live, &at, &addr, &b);)
		if (b.verdict == verdict)
			r = list_add(list, addr);
	if (list->n)
		qsort(list->addrs, list->n, sizeof(*list->addrs), compare_addrs);
	return r;
}

static bool is_aside(const struct ledger *l, uint32_t family, taddr addr)
{
	uint64_t key;
	void *value;

	for (size_t at = 0; addrmap_next(&l->aside, &at, &key, &value);) {
		const struct ledger_aside *a = value;

		if (a->held && a->family == family && a->addr == addr)
			return true;
	}
	return false;
}

/*
 * The block that got the verdict may still be live in an earlier piece; a block that is here now was
 * allocated later.
 */
static bool is_still_older(const struct ledger *l, const struct verdict_block *b)
{
	return ledger_may_be_older(l, b->family, b->addr) && !ledger_holds(l, b->family, b->addr, NULL) &&
	       !is_aside(l, b->family, b->addr);
}

static uint64_t count_unknown(const struct ledger *l)
{
	struct verdict_place place = { 0 };
	struct verdict_block b;
	uint64_t n = 0;

	while (verdict_list_next(&l->look.unknown, &place, &b))
		n += is_still_older(l, &b);
	return n;
}

static uint64_t count_held(const struct ledger *l)
{
	struct live_block b;
	uint64_t key, n = 0;
	void *value;
	taddr addr;

	for (uint32_t i = 0; i < l->nbooks; i++)
		for (size_t at = 0; live_next(l->books[i].live, &at, &addr, &b);)
			n += b.verdict != VERDICT_UNKNOWN;
	for (size_t at = 0; addrmap_next(&l->aside, &at, &key, &value);) {
		const struct ledger_aside *a = value;

		n += a->held && a->block.verdict != VERDICT_UNKNOWN;
	}
	return n;
}

/* --- what is lost with a block --- */

struct with_list {
	struct verdict_block *all;
	size_t n;
};

static int with_make(const struct verdict_list *j, struct with_list *out)
{
	struct verdict_place place = { 0 };

	out->all = calloc(j->count + 1, sizeof(*out->all));
	if (!out->all)
		return -ENOMEM;
	while (verdict_list_next(j, &place, &out->all[out->n]))
		out->n++;
	if (out->n)
		qsort(out->all, out->n, sizeof(*out->all), compare_judged);
	return 0;
}

static const struct verdict_block *with_of(const struct with_list *with, uint32_t family, taddr addr)
{
	const struct verdict_block key = { .family = family, .addr = addr };

	return with->n ? bsearch(&key, with->all, with->n, sizeof(key), compare_judged) : NULL;
}

/* --- records --- */

static void put_some(struct shrink *s, enum verdict verdict, const struct fact_judged *all, uint32_t n)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_JUDGED, .time_us = s->l->now_us, .judged = { verdict, all, n },
	};

	if (n)
		shrink_put(s, &f);
}

static void put_list(struct shrink *s, uint32_t family, enum verdict verdict, const struct addr_list *list,
		     const struct with_list *with)
{
	struct fact_judged some[AT_ONCE];
	uint32_t n = 0;

	for (size_t i = 0; i < list->n && s->err == 0; i++) {
		const struct verdict_block *b = with_of(with, family, list->addrs[i]);

		some[n++] =
			(struct fact_judged){ list->addrs[i], b ? b->with_blocks : 0, b ? b->with_bytes : 0 };
		if (n == AT_ONCE || i + 1 == list->n) {
			put_some(s, verdict, some, n);
			n = 0;
		}
	}
}

static int put_family(struct shrink *s, uint32_t family, const struct with_list *with)
{
	int r = 0;

	shrink_put_family(s, s->l->now_us, family);
	for (int v = VERDICT_UNKNOWN + 1; v < VERDICT_COUNT && r == 0; v++) {
		struct addr_list list = { 0 };

		r = list_held(s->l, family, v, &list);
		if (r == 0)
			put_list(s, family, v, &list, with);
		free(list.addrs);
	}
	return r;
}

/* Verdicts on blocks of an earlier piece, in the order of their facts. */
static void put_unknown(struct shrink *s)
{
	struct verdict_place place = { 0 };
	struct verdict_block b;

	while (s->err == 0 && verdict_list_next(&s->l->look.unknown, &place, &b)) {
		const struct fact_judged one = { b.addr, b.with_blocks, b.with_bytes };

		if (!is_still_older(s->l, &b))
			continue;
		shrink_put_family(s, s->l->now_us, b.family);
		put_some(s, b.verdict, &one, 1);
	}
}

static int put_all(struct shrink *s)
{
	struct with_list with = { 0 };
	int r = with_make(&s->l->look.with, &with);

	for (uint32_t i = 0; i < s->l->nbooks && r == 0; i++)
		if (!s->l->defs.families[i].refs)
			r = put_family(s, i, &with);
	free(with.all);
	if (r == 0)
		put_unknown(s);
	return r;
}

void shrink_put_look(struct shrink *s)
{
	const struct ledger_verdicts *look = &s->l->look;

	if (look->wanted && s->err == 0)
		s->err = runfacts_put_verdicts(s->l, look->given - count_held(s->l) - count_unknown(s->l),
					   s->l->now_us, s->w);
}

void shrink_put_verdict(struct shrink *s, uint32_t family, taddr addr, enum verdict verdict)
{
	struct fact_judged one = { .addr = addr };
	struct verdict_place place = { 0 };
	struct verdict_block b;

	if (verdict == VERDICT_UNKNOWN)
		return;
	while (verdict_list_next(&s->l->look.with, &place, &b))
		if (b.family == family && b.addr == addr)
			one = (struct fact_judged){ addr, b.with_blocks, b.with_bytes };
	put_some(s, verdict, &one, 1);
}

void shrink_put_verdicts(struct shrink *s)
{
	const struct ledger_verdicts *look = &s->l->look;
	int r = look->wanted && look->fact.known && s->err == 0 ? put_all(s) : 0;

	if (s->err == 0)
		s->err = r;
}
