/* SPDX-License-Identifier: MIT */
/* merge_lists: see merge_lists.h. */
#include "report/merge/merge_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct fact info(const struct ledger *l, uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what, .time_us = l->now_us };
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* --- probes --- */

static const struct ledger_probe *find_probe(const struct ledger *l, uint32_t family,
					     const struct ledger_probe *p)
{
	for (size_t i = 0; i < l->nprobes; i++)
		if (l->probes[i].family == family && same(l->probes[i].rule, p->rule) &&
		    same(l->probes[i].module, p->module) && same(l->probes[i].note, p->note))
			return &l->probes[i];
	return NULL;
}

static int add_probe(struct merge_map *m, const struct ledger_probe *p, struct ledger *into)
{
	struct fact f = info(into, MMT_PROBE), hits = info(into, MMT_HITS);
	const struct ledger_probe *known;
	uint32_t family;
	int r = merge_map_family(m, p->family, &family);

	if (r < 0)
		return r;
	known = find_probe(into, family, p);
	hits.hits.probe = f.probe.number = known ? known->number : (uint32_t)into->nprobes;
	hits.hits.hits = (known ? known->hits : 0) + p->hits;
	f.probe.family = family == DEFS_NONE ? UINT32_MAX : into->defs.families[family].number;
	f.probe.rule = p->rule;
	f.probe.module = p->module;
	f.probe.note = p->note;
	if (!known)
		r = ledger_take(into, &f);
	return r < 0 ? r : ledger_take(into, &hits);
}

/* --- losses, skips, notes --- */

static int add_lost(const struct ledger_lost *lost, struct ledger *into)
{
	struct fact f = info(into, MMT_LOST);

	f.lost.reason = lost->reason;
	f.lost.count = lost->count;
	for (size_t i = 0; i < into->nlost && strcmp(lost->reason, LEDGER_DAMAGED); i++)
		if (same(into->lost[i].reason, lost->reason))
			f.lost.count += into->lost[i].count;
	return ledger_take(into, &f);
}

static int add_texts(const struct ledger *from, struct ledger *into)
{
	struct fact f = info(into, MMT_SKIP);
	int r = 0;

	for (size_t i = 0; i < from->nskips && r == 0; i++) {
		f.skip = from->skips[i];
		r = ledger_take(into, &f);
	}
	for (size_t i = 0; i < from->nlost && r == 0; i++)
		r = add_lost(&from->lost[i], into);
	f = info(into, MMT_RUNTIME);
	f.runtime = from->memories.runtime;
	if (r == 0 && f.runtime &&
	    (!into->memories.runtime || strcmp(f.runtime, into->memories.runtime) < 0))
		r = ledger_take(into, &f);
	return r;
}

/* How a reader found the end of a trace is no note of the trace. */
static bool is_own(const struct ledger *l, size_t i)
{
	return i >= l->own_notes && i - l->own_notes < l->nown_notes;
}

/* Of very many different notes some are dropped. */
static int add_notes(const struct ledger *from, struct ledger *into)
{
	struct fact f = info(into, MMT_NOTE);
	int r = 0;

	for (size_t i = 0; i < from->nnotes && r == 0; i++) {
		f.note = from->notes[i];
		r = is_own(from, i) ? 0 : ledger_take(into, &f);
	}
	for (size_t i = 0; i < from->merged.nnotes && r == 0; i++) {
		const char *text = defs_string(&into->defs, from->merged.notes[i].text);

		r = text ? merged_say(&into->merged, text, from->merged.notes[i].processes) : -ENOMEM;
		r = r == -ENOSPC ? 0 : r;
	}
	return r;
}

/* --- double frees --- */

static int map_twice(struct merge_map *m, const struct ledger_twice *from, struct ledger_twice *to)
{
	int r = merge_map_family(m, from->family, &to->family);

	*to = (struct ledger_twice){ .family = to->family, .count = from->count, .sample = from->sample,
				     .time_us = from->time_us };
	if (r == 0)
		r = merge_map_stack(m, from->second, &to->second);
	if (r == 0)
		r = merge_map_stack(m, from->first, &to->first);
	return r < 0 ? r : merge_map_stack(m, from->alloc, &to->alloc);
}

static struct ledger_twice *find_twice(struct ledger *l, const struct ledger_twice *t)
{
	for (size_t i = 0; i < l->ntwice; i++)
		if (l->twice[i].family == t->family && l->twice[i].second == t->second &&
		    l->twice[i].first == t->first && l->twice[i].alloc == t->alloc)
			return &l->twice[i];
	return NULL;
}

/*
 * The totals have them already. Which of them is the sample: the first one, by the time since its run's
 * start.
 */
static int add_twice(struct merge_map *m, const struct ledger_twice *from, struct ledger *into)
{
	struct ledger_twice t = { 0 }, *known;
	int r = map_twice(m, from, &t);

	if (r < 0)
		return r;
	known = find_twice(into, &t);
	if (!known)
		return ledger_list_twice(into, &t);
	known->count += t.count;
	if (t.time_us < known->time_us || (t.time_us == known->time_us && t.sample < known->sample)) {
		known->time_us = t.time_us;
		known->sample = t.sample;
	}
	return 0;
}

/* --- counts, verdicts --- */

static double worst_share(const struct ledger *l)
{
	const uint64_t all_us = l->counts[MMT_COUNT_WORST_US];

	return all_us ? (double)l->counts[MMT_COUNT_WORST_STOPPED_US] / (double)all_us : 0;
}

/*
 * Traps were planted for a part of the time: the smallest one, since others saw more. One thread was stopped
 * for the largest part of its time.
 */
static void add_counts(const struct ledger *from, struct ledger *into)
{
	const bool worse = worst_share(from) > worst_share(into);
	const uint64_t worst_us[] = { (worse ? from : into)->counts[MMT_COUNT_WORST_STOPPED_US],
				      (worse ? from : into)->counts[MMT_COUNT_WORST_US] };
	const uint64_t duty = from->counts[MMT_COUNT_DUTY_PPM], had = into->counts[MMT_COUNT_DUTY_PPM];

	for (uint32_t i = 0; i < LEDGER_COUNTS; i++)
		into->counts[i] += from->counts[i];
	into->counts[MMT_COUNT_DUTY_PPM] = !had || (duty && duty < had) ? duty : had;
	into->counts[MMT_COUNT_WORST_STOPPED_US] = worst_us[0];
	into->counts[MMT_COUNT_WORST_US] = worst_us[1];
}

/* Of the whole process, where the census found all its blocks. */
static void add_sums(const struct fact_verdicts *from, struct fact_sum *sums)
{
	for (uint32_t i = 0; i < from->nsums && i < VERDICT_COUNT; i++) {
		sums[i].blocks += from->sums[i].blocks;
		sums[i].bytes += from->sums[i].bytes;
	}
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The longest pause; sums of what was copied, and of the threads. */
static int add_verdicts(const struct ledger *from, struct ledger *into)
{
	const struct fact_verdicts *its = &from->look.fact, *had = &into->look.fact;
	struct fact_sum sums[VERDICT_COUNT] = { 0 };
	struct fact f = info(into, MMT_VERDICTS);
	struct fact_verdicts sum = {
		.number = had->number + 1, .known = had->known || ledger_has_verdicts(from),
		.census = had->census || its->census,
		.expected_ns = larger(had->expected_ns, its->expected_ns),
		.had_ns = larger(had->had_ns, its->had_ns), .bytes = had->bytes + its->bytes,
		.threads = had->threads + its->threads, .not_stopped = had->not_stopped + its->not_stopped,
		.sums = sums, .nsums = VERDICT_COUNT,
	};
	int r;

	if (!from->look.wanted)
		return 0;
	add_sums(had, sums);
	if (ledger_has_verdicts(from))
		add_sums(its, sums);
	f.look = &sum;
	if (!sum.known)
		sum.why_not = "of none of the processes; the notes say why";
	r = ledger_take(into, &f);
	into->look.changes = 0;
	into->look.fact.number = 1;
	return r;
}

/* --- all --- */

int merge_lists(struct merge_map *m, const struct ledger *from, struct ledger *into)
{
	int r = 0;

	for (size_t i = 0; i < from->nprobes && r == 0; i++)
		r = add_probe(m, &from->probes[i], into);
	if (r == 0)
		r = add_texts(from, into);
	if (r == 0)
		r = add_notes(from, into);
	for (size_t i = 0; i < from->ntwice && r == 0; i++)
		r = add_twice(m, &from->twice[i], into);
	add_counts(from, into);
	return r < 0 ? r : add_verdicts(from, into);
}

/* --- order --- */

/* None is not the same as an empty one. */
static int text_order(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int compare_probes(const void *pa, const void *pb, void *ctx)
{
	const struct ledger *l = ctx;
	const struct ledger_probe *a = pa, *b = pb;
	int order = text_order(a->family == DEFS_NONE ? NULL : l->defs.families[a->family].name,
			       b->family == DEFS_NONE ? NULL : l->defs.families[b->family].name);

	if (!order)
		order = text_order(a->rule, b->rule);
	if (!order)
		order = text_order(a->module, b->module);
	return order ? order : text_order(a->note, b->note);
}

static int compare_lost(const void *pa, const void *pb)
{
	return text_order(((const struct ledger_lost *)pa)->reason, ((const struct ledger_lost *)pb)->reason);
}

static int compare_strings(const void *pa, const void *pb)
{
	return text_order(*(const char *const *)pa, *(const char *const *)pb);
}

/* What most processes say comes first. */
static int compare_notes(const void *pa, const void *pb)
{
	const struct merged_note *a = pa, *b = pb;

	if (a->processes != b->processes)
		return a->processes > b->processes ? -1 : 1;
	return text_order(a->text, b->text);
}

void merge_lists_sort(struct ledger *l)
{
	if (l->nprobes)
		qsort_r(l->probes, l->nprobes, sizeof(*l->probes), compare_probes, l);
	if (l->nlost)
		qsort(l->lost, l->nlost, sizeof(*l->lost), compare_lost);
	if (l->nskips)
		qsort(l->skips, l->nskips, sizeof(*l->skips), compare_strings);
	if (l->nnotes)
		qsort(l->notes, l->nnotes, sizeof(*l->notes), compare_strings);
	if (l->merged.nnotes)
		qsort(l->merged.notes, l->merged.nnotes, sizeof(*l->merged.notes), compare_notes);
}

static int compare_twice(const void *pa, const void *pb)
{
	const struct ledger_twice *a = pa, *b = pb;
	const uint32_t of_a[] = { a->family, a->second, a->first, a->alloc },
		       of_b[] = { b->family, b->second, b->first, b->alloc };

	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? -1 : 1;
	for (size_t i = 0; i < 4; i++)
		if (of_a[i] != of_b[i])
			return of_a[i] < of_b[i] ? -1 : 1;
	return 0;
}

static int compare_hangs(const void *pa, const void *pb)
{
	const struct merged_hang *a = pa, *b = pb;

	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

void merge_lists_sort_stacks(struct ledger *l)
{
	if (l->merged.nhangs)
		qsort(l->merged.hangs, l->merged.nhangs, sizeof(*l->merged.hangs), compare_hangs);
	if (l->ntwice)
		qsort(l->twice, l->ntwice, sizeof(*l->twice), compare_twice);
}
