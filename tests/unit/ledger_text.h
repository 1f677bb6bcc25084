/* SPDX-License-Identifier: MIT */
/* ledger_text: the whole state of a ledger, as text that does not depend on how the ledger got there. */
#ifndef LEDGER_TEXT_H
#define LEDGER_TEXT_H

#include <inttypes.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "report/ledger/ledger.h"

static long text_number(const struct ledger *l, uint32_t stack)
{
	return stack == DEFS_NONE ? -1 : (long)l->defs.stacks[stack].number;
}

static inline int text_compare(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

static inline void text_stack(struct strbuf *sb, const struct ledger *l, uint32_t stack)
{
	uint32_t frames[64], n = defs_path(&l->defs, stack, frames, 64);

	uint32_t tag = l->defs.stacks[stack].tag;

	strbuf_printf(sb, "stack %ld end %u %s:", text_number(l, stack), l->defs.stacks[stack].end,
		      tag == DEFS_NONE ? "-" : l->defs.tags[tag].text);
	for (uint32_t i = 0; i < n && i < 64; i++) {
		const struct defs_frame *f = &l->defs.frames[frames[i]];
		strbuf_printf(sb, " %" PRIx64 "/%u%s", f->pc, f->nnames, f->skip ? "s" : "");
		if (f->nnames && l->defs.names[f->names].function)
			strbuf_puts(sb, l->defs.names[f->names].function);
	}
	strbuf_putc(sb, '\n');
}

static inline void text_place(struct strbuf *sb, struct ledger *l, uint32_t family, uint32_t stack)
{
	const struct place *p = ledger_place(l, family, stack);

	if (!p)
		return;
	text_stack(sb, l, stack);
	strbuf_printf(sb,
		      "  allocs %" PRIu64 " frees %" PRIu64 " blocks %" PRIu64 " bytes %" PRIu64
		      " span %" PRIu64 ":",
		      p->allocs, p->frees, p->blocks, p->bytes, series_span_us(&p->series));
	for (uint32_t i = 0; i < p->series.n; i++)
		strbuf_printf(sb, " %" PRIu64, series_point(&p->series, i));
	strbuf_putc(sb, '\n');
}

static inline void text_with(struct strbuf *sb, const struct ledger *l, uint32_t family, taddr addr,
			     enum verdict verdict)
{
	struct verdict_place place = { 0 };
	struct verdict_block b;

	while (verdict_list_next(&l->look.with, &place, &b))
		if (b.family == family && b.addr == addr && b.verdict == verdict)
			strbuf_printf(sb, ", with it %" PRIu64 "/%" PRIu64, b.with_blocks, b.with_bytes);
}

static inline void text_blocks(struct strbuf *sb, const struct ledger *l, uint32_t family)
{
	const struct live *live = l->books[family].live;
	taddr *addrs = calloc(live_count(live) + 1, sizeof(*addrs));
	struct live_block b;
	size_t n = 0;

	for (size_t at = 0; live_next(live, &at, &addrs[n], &b);)
		n++;
	qsort(addrs, n, sizeof(*addrs), text_compare);
	for (size_t i = 0; i < n; i++) {
		live_get(live, addrs[i], &b);
		strbuf_printf(sb, "  %" PRIx64 " %" PRIu64 " born %" PRIu64 " by %ld %s", addrs[i], b.size,
			      b.birth_us, text_number(l, b.stack), verdict_name(ledger_verdict(l, &b)));
		text_with(sb, l, family, addrs[i], ledger_verdict(l, &b));
		strbuf_putc(sb, '\n');
	}
	free(addrs);
}

/* An object, and its uses, in the order of the numbers of their stacks. */
static inline void text_object(struct strbuf *sb, const struct ledger *l, taddr addr, const struct object *o)
{
	uint64_t *order = calloc(o->nuses + 1, sizeof(*order));

	strbuf_printf(sb, "  %" PRIx64 " net %" PRId64 " born %" PRIu64 "%s%s:", addr, o->net, o->birth_us,
		      o->older ? " older" : "", o->counted ? " counted" : "");
	for (uint32_t i = 0; i < o->nuses; i++)
		order[i] = (uint64_t)l->defs.stacks[o->uses[i].stack].number << 32 | i;
	qsort(order, o->nuses, sizeof(*order), text_compare);
	for (uint32_t i = 0; i < o->nuses; i++) {
		const struct object_use *u = &o->uses[(uint32_t)order[i]];

		strbuf_printf(sb, " %ld +%" PRIu64 " -%" PRIu64, text_number(l, u->stack), u->acquired,
			      u->released);
	}
	strbuf_putc(sb, '\n');
	free(order);
}

static inline void text_objects(struct strbuf *sb, const struct ledger *l, const struct objects *os)
{
	taddr *addrs = calloc(objects_count(os) + 1, sizeof(*addrs));
	const struct object *o;
	size_t n = 0;

	for (size_t at = 0; objects_next(os, &at, &addrs[n], &o);)
		n++;
	qsort(addrs, n, sizeof(*addrs), text_compare);
	for (size_t i = 0; i < n; i++)
		text_object(sb, l, addrs[i], objects_get(os, addrs[i]));
	free(addrs);
}

/* Places in the order of the numbers of their stacks. */
static inline void text_older(struct strbuf *sb, struct ledger *l, struct older_sizes *older)
{
	if (older_sizes_pass(older, l->now_us) < 0)
		sb->err = -ENOMEM;
	for (size_t i = 0; i < older->n; i++) {
		const struct older_size *its = &older->all[i];

		strbuf_printf(sb, "  older %" PRIu64 ": %" PRIu64 " %" PRIu64 ":", its->size, its->blocks, its->bytes);
		for (uint32_t at = 0; at < its->series.n; at++)
			strbuf_printf(sb, " %" PRIu64, series_point(&its->series, at));
		strbuf_putc(sb, '\n');
	}
}

static inline void text_places(struct strbuf *sb, struct ledger *l, uint32_t family)
{
	size_t n = l->books[family].nplaces;
	uint64_t *order = calloc(n + 1, sizeof(*order));

	for (uint32_t i = 0; i < n; i++)
		order[i] = (uint64_t)l->defs.stacks[i].number << 32 | i;
	qsort(order, n, sizeof(*order), text_compare);
	for (size_t i = 0; i < n; i++)
		text_place(sb, l, family, (uint32_t)order[i]);
	free(order);
}

/* A family without any data may be defined or not: it is not printed. */
static inline void text_book(struct strbuf *sb, struct ledger *l, uint32_t family)
{
	const struct defs_family *f = &l->defs.families[family];
	struct strbuf book = STRBUF_INIT;

	text_places(&book, l, family);
	text_older(&book, l, &l->books[family].older);
	text_blocks(&book, l, family);
	text_objects(&book, l, l->books[family].objects);
	if (book.len)
		strbuf_printf(sb, "family %u %s%s taken %" PRIu64 " dropped %" PRIu64 "\n%s", f->number,
			      f->name ? f->name : "-", f->refs ? " refs" : "", l->books[family].acquired,
			      l->books[family].released, strbuf_str(&book));
	strbuf_fini(&book);
}

/* Families in the order of their numbers. */
static inline void text_books(struct strbuf *sb, struct ledger *l)
{
	for (uint32_t number = 0; number < LEDGER_FAMILIES_MAX; number++) {
		uint32_t index = defs_family(&l->defs, number);

		if (index != DEFS_NONE)
			text_book(sb, l, index);
	}
}

static inline const char *text_or(const char *s)
{
	return s ? s : "-";
}

static inline void text_run(struct strbuf *sb, const struct ledger *l)
{
	strbuf_printf(sb, "run %s %s %s start %" PRId64 " now %" PRIu64 " ended %d\n",
		      text_or(l->run.frontend), text_or(l->run.mode), text_or(l->run.writer), l->run.start_ns,
		      l->now_us, l->ended);
	strbuf_printf(sb, "target %d %s %s", l->target.pid, text_or(l->target.comm), text_or(l->target.exe));
	for (uint32_t i = 0; i < l->target.argc; i++)
		strbuf_printf(sb, " %s", text_or(l->target.argv[i]));
	strbuf_printf(sb,
		      "\nallocs %" PRIu64 " frees %" PRIu64 " unmatched %" PRIu64 " twice %" PRIu64
		      " held %" PRIu64 " bytes %" PRIu64 "\n",
		      l->allocs, l->frees, l->unmatched_frees, l->double_frees, l->held_blocks,
		      l->held_bytes);
	strbuf_printf(sb,
		      "displaced %" PRIu64 " reborn %" PRIu64 " undefined %" PRIu64 " nonsense %" PRIu64 "\n",
		      l->displaced, l->reborn, l->undefined, l->nonsense);
	for (uint32_t i = 0; i < LEDGER_COUNTS; i++)
		if (l->counts[i])
			strbuf_printf(sb, "count %u %" PRIu64 "\n", i, l->counts[i]);
}

/* Of the number of verdicts it prints only whether they are complete. */
static inline void text_look(struct strbuf *sb, const struct ledger *l)
{
	const struct fact_verdicts *k = &l->look.fact;

	if (!l->look.wanted)
		return;
	strbuf_printf(sb,
		      "look %u %d %d %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u judges %d:", k->number,
		      k->known, k->census, text_or(k->why_not), text_or(k->allocator), k->expected_ns,
		      k->had_ns, k->bytes, k->threads, k->not_stopped, ledger_has_verdicts(l));
	for (uint32_t i = 0; i < k->nsums; i++)
		strbuf_printf(sb, " %" PRIu64 "/%" PRIu64, k->sums[i].blocks, k->sums[i].bytes);
	for (uint32_t i = 0; i < k->ndoubts; i++)
		strbuf_printf(sb, " %s", k->doubts[i]);
	strbuf_putc(sb, '\n');
}

static inline void text_lists(struct strbuf *sb, const struct ledger *l)
{
	for (size_t i = 0; i < l->nprobes; i++)
		strbuf_printf(sb, "probe %u %s %s %s %" PRIu64 "\n", l->probes[i].number,
			      text_or(l->probes[i].rule), text_or(l->probes[i].module),
			      text_or(l->probes[i].note), l->probes[i].hits);
	for (size_t i = 0; i < l->nlost; i++)
		strbuf_printf(sb, "lost %s %" PRIu64 "\n", l->lost[i].reason, l->lost[i].count);
	for (size_t i = 0; i < l->ngaps; i++)
		strbuf_printf(sb, "gap %" PRIu64 " %" PRIu64 " %s\n", l->gaps[i].start_us,
			      l->gaps[i].length_us, text_or(l->gaps[i].why));
	for (size_t i = 0; i < l->nnotes; i++)
		strbuf_printf(sb, "note %s\n", l->notes[i]);
	for (size_t i = 0; i < l->nskips; i++)
		strbuf_printf(sb, "skip %s\n", l->skips[i]);
	for (size_t i = 0; i < l->ntwice; i++)
		strbuf_printf(sb,
			      "twice %u: %ld %ld %ld: %" PRIu64 " times, first %" PRIx64 " at %" PRIu64 "\n",
			      l->defs.families[l->twice[i].family].number, text_number(l, l->twice[i].second),
			      text_number(l, l->twice[i].first), text_number(l, l->twice[i].alloc),
			      l->twice[i].count, l->twice[i].sample, l->twice[i].time_us);
}

static inline void text_sample(struct strbuf *sb, const struct ledger *l, const struct ledger_sample *s)
{
	const struct fact_sample *i = &s->its;
	const uint64_t numbers[] = {
		i->seen,   i->late_seen,       i->usable_bytes, i->site_seen,	i->site_hits, i->rounds,
		i->full,   i->exposed_us,      i->hits2,       i->hits_exposed, i->exposed2,  i->standing,
		i->nsteps, i->late_exposed_us, i->missed,      i->stood_us,
		i->searched, i->lost,
	};

	strbuf_printf(sb, "sample %u/%ld:", l->defs.families[s->family].number, text_number(l, s->stack));
	for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
		strbuf_printf(sb, " %" PRIu64, numbers[k]);
	for (uint32_t k = 0; k < i->nsteps; k++)
		strbuf_printf(sb, " %" PRIu64 "/%" PRIu64 "/%" PRIu64, i->steps[k].at_risk, i->steps[k].gone,
			      i->steps[k].unknown);
	strbuf_putc(sb, '\n');
}

/* In the order of the numbers of families and stacks. */
static inline void text_samples(struct strbuf *sb, const struct ledger *l)
{
	const struct ledger_samples *s = &l->samples;
	uint64_t *order = calloc(2 * s->n + 1, sizeof(*order));

	for (size_t i = 0; i < s->n; i++) {
		order[2 * i] = (uint64_t)l->defs.families[s->all[i].family].number << 32 |
			       l->defs.stacks[s->all[i].stack].number;
		order[2 * i + 1] = i;
	}
	qsort(order, s->n, 2 * sizeof(*order), text_compare);
	for (size_t i = 0; i < s->n; i++)
		text_sample(sb, l, &s->all[order[2 * i + 1]]);
	free(order);
	if (s->has_budget)
		strbuf_printf(sb,
			      "budget %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "; %" PRIu64
			      " %" PRIu64 " %" PRIu64 "\n",
			      s->budget.promise_ppm, s->budget.spent_us, s->budget.wall_us, s->budget.closed,
			      s->budget.unfound, s->budget.loss.over_us, s->budget.loss.blocks,
			      s->budget.loss.before_bytes);
}

/* The caller frees it. */
static inline char *ledger_text(struct ledger *l)
{
	struct strbuf sb = STRBUF_INIT;

	text_run(&sb, l);
	text_lists(&sb, l);
	text_look(&sb, l);
	text_samples(&sb, l);
	text_books(&sb, l);
	return strbuf_steal(&sb);
}

#endif
