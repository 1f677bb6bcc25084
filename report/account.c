/* SPDX-License-Identifier: MIT */
#include "report/account.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/groups/hangs.h"
#include "report/groups/paths.h"
#include "report/names/expand.h"
#include "report/names/wrappers.h"
#include "report/refs/refgroups.h"

static void add_target(const struct ledger *l, struct summary *s)
{
	summary_set_target(s, l->target.pid, l->target.comm, l->target.exe);
	for (uint32_t i = 0; i < l->target.argc; i++)
		summary_add_arg(s, l->target.argv[i]);
}

static void add_run(const struct ledger *l, struct summary *s)
{
	s->run.start_ns = l->run.start_ns;
	s->run.seconds = l->now_us / 1e6;
	if (l->run.frontend)
		s->run.frontend = summary_string(s, l->run.frontend);
	if (l->run.engine)
		s->run.engine = summary_string(s, l->run.engine);
	if (l->run.other)
		s->run.other = summary_string(s, l->run.other);
	if (l->run.host)
		s->run.host = summary_string(s, l->run.host);
	s->run.sample_bytes = l->run.sample_bytes;
	if (l->run.mode)
		s->run.mode = summary_string(s, l->run.mode);
	if (l->counts[MMT_COUNT_DUTY_PPM] || ledger_is_sampled(l))
		s->run.duty = l->counts[MMT_COUNT_DUTY_PPM] / 1e6;
	s->run.events = l->counts[MMT_COUNT_EVENTS];
	s->run.stacks_cut = l->counts[MMT_COUNT_STACKS_CUT];
	s->run.stacks_lost = l->counts[MMT_COUNT_STACKS_LOST];
	s->run.ring_waits = l->counts[MMT_COUNT_RING_WAITS];
	s->run.left_out = l->counts[MMT_COUNT_LEFT_OUT];
	s->run.stopped_seconds = l->counts[MMT_COUNT_STOPPED_US] / 1e6;
	s->run.thread_seconds = l->counts[MMT_COUNT_THREAD_US] / 1e6;
	s->run.code_copied = l->counts[MMT_COUNT_CODE_COPIED];
	s->run.hitting = l->counts[MMT_COUNT_HITTING];
	s->run.hitting_seconds = l->counts[MMT_COUNT_HITTING_US] / 1e6;
	s->run.hitting_stopped = l->counts[MMT_COUNT_HITTING_STOPPED_US] / 1e6;
	s->run.worst_stopped = l->counts[MMT_COUNT_WORST_STOPPED_US] / 1e6;
	s->run.worst_seconds = l->counts[MMT_COUNT_WORST_US] / 1e6;
	s->run.probed_seconds = l->counts[MMT_COUNT_PROBED_US] / 1e6;
}

/*
 * The budget counts the whole cost of a stop, including the time before the stop is seen and after it. The
 * report gives this one number.
 */
static void add_budget(const struct ledger *l, struct summary_run *run)
{
	const struct fact_budget *b = &l->samples.budget;

	if (!l->samples.has_budget)
		return;
	run->stopped_seconds = b->spent_us / 1e6;
	run->budget = (struct summary_budget){
		.told = true, .promise = b->promise_ppm / 1e6, .worst = b->worst_ppm / 1e6,
		.spent_s = b->spent_us / 1e6,
		.wall_s = b->wall_us / 1e6, .closed = b->closed, .closed_s = b->closed_us / 1e6,
		.sites = b->sites, .hit = b->sites_hit,
		.settled = b->sites_settled, .candidates = b->candidates, .unfound = b->unfound,
		.loss_s = b->loss.over_us / 1e6, .loss = { b->loss.blocks, b->loss.bytes },
		.loss_before = { b->loss.before_blocks, b->loss.before_bytes },
	};
}

/* --- several processes --- */

#define NOTES_LISTED 40		/* different ones, of a merged trace: those that most processes have */

static void add_processes(const struct ledger *l, struct summary *s)
{
	for (size_t i = 0; i < l->merged.nprocesses; i++) {
		struct summary_process p = { .its = l->merged.processes[i].its };

		for (size_t v = 0; v < VERDICT_COUNT; v++)
			p.sums[v] = (struct summary_sum){ l->merged.processes[i].sums[v].blocks,
							  l->merged.processes[i].sums[v].bytes };
		summary_add_process(s, &p);
	}
}

/* A run is shorter than others if it has less than this part of the longest one. */
#define SHORTER 0.8
#define SHORTER_TEXT \
	"watched for a shorter time than others: what was live at the end counts as live from then on, so the " \
	"growth of all together is more than is reported"

struct process_counts {
	uint64_t absent, unjudged, cut, gaps, shorter;
};

static struct process_counts count_processes(const struct ledger *l)
{
	struct process_counts n = { 0 };

	for (size_t i = 0; i < l->merged.nprocesses; i++) {
		const struct fact_process *p = &l->merged.processes[i].its;

		n.absent += p->absent;
		n.unjudged += !p->absent && !p->judged;
		n.cut += !p->absent && !p->ended;
		n.gaps += p->gaps != 0;
		n.shorter += !p->absent && (double)p->run_us < SHORTER * (double)l->now_us;
	}
	return n;
}

static void note_count(struct summary *s, uint64_t n, const char *what)
{
	if (n)
		summary_note(s, "%" PRIu64 " process%s: %s", n, n == 1 ? "" : "es", what);
}

static void note_processes(const struct ledger *l, struct summary *s)
{
	const struct process_counts n = count_processes(l);

	note_count(s, n.absent, "there is no trace, so they are in no sum");
	if (ledger_has_verdicts(l))
		note_count(s, n.unjudged, "no verdicts, so whether their blocks are lost is not known");
	note_count(s, n.cut, "the trace has no end: mmattach was killed, or could not write more");
	note_count(s, n.gaps, "nothing was seen for a part of the watch");
	note_count(s, n.shorter, SHORTER_TEXT);
}

static void add_their_notes(const struct ledger *l, struct summary *s)
{
	const struct merged *m = &l->merged;

	note_processes(l, s);
	for (size_t i = 0; i < m->nnotes && i < NOTES_LISTED; i++)
		note_count(s, m->notes[i].processes, m->notes[i].text);
	if (m->nnotes > NOTES_LISTED)
		summary_note(s, "%zu more notes of single processes are not listed: their traces have them",
			     m->nnotes - NOTES_LISTED);
}

/* --- verdicts --- */

/* Verdicts count only if the ledger has all of them. */
static void explain_incomplete(const struct ledger *l, struct summary *s)
{
	char why[160];

	snprintf(why, sizeof(why),
		 "the trace has only %" PRIu64 " of %" PRIu64
		 " of them: it was cut, or damaged, or pieces are missing",
		 l->look.given < l->look.fact.judged ? l->look.given : l->look.fact.judged,
		 l->look.fact.judged);
	if (l->look.given > l->look.fact.judged)
		snprintf(why, sizeof(why), "the trace has some of them twice");
	s->run.verdicts.why_not = summary_string(s, why);
}

static void add_verdicts(const struct ledger *l, struct summary *s)
{
	const struct fact_verdicts *look = &l->look.fact;
	struct summary_verdicts *v = &s->run.verdicts;

	v->wanted = l->look.wanted;
	if (!l->look.wanted)
		return;
	v->known = ledger_has_verdicts(l);
	v->census = look->census;
	v->why_not = v->known ? NULL : summary_string(s, look->why_not);
	if (look->known && !v->known)
		explain_incomplete(l, s);
	v->allocator = summary_string(s, look->allocator);
	v->expected_s = look->expected_ns / 1e9;
	v->pause_s = look->had_ns / 1e9;
	v->bytes = look->bytes;
	v->threads = look->threads;
	v->not_stopped = look->not_stopped;
	for (size_t i = 0; i < VERDICT_COUNT && i < look->nsums; i++)
		v->all[i] = (struct summary_sum){ look->sums[i].blocks, look->sums[i].bytes };
	for (size_t i = 0; i < look->ndoubts; i++)
		summary_add_doubt(s, look->doubts[i]);
}

/* --- families --- */

static bool has_probe(const struct ledger *l, uint32_t family)
{
	for (size_t i = 0; i < l->nprobes; i++)
		if (l->probes[i].family == family)
			return true;
	return false;
}

static void count_blocks(const struct ledger *l, uint32_t family, struct summary_family *f)
{
	const struct ledger_book *book = &l->books[family];

	for (size_t i = 0; i < book->nplaces; i++) {
		f->acquired += book->places[i].allocs;
		f->released += book->places[i].frees;
		f->live += book->places[i].blocks;
		f->bytes += book->places[i].bytes;
	}
}

static void count_references(const struct ledger *l, uint32_t family, struct summary_family *f)
{
	f->acquired += l->books[family].acquired;
	f->released += l->books[family].released;
	refgroups_count(l, family, f);
}

/* Two families with the same name, which only a damaged trace has, are reported as one. */
static struct summary_family *same_family(struct summary *s, const struct summary_family *f)
{
	for (size_t i = 0; i < s->nfamilies; i++)
		if (s->families[i].refs == f->refs && !strcmp(s->families[i].name, f->name))
			return &s->families[i];
	return NULL;
}

static void merge_family(struct summary_family *to, const struct summary_family *f)
{
	to->acquired += f->acquired;
	to->released += f->released;
	to->live += f->live;
	to->bytes += f->bytes;
	to->older += f->older;
	to->net += f->net;
}

static void count_older(const struct ledger *l, const struct groups_options *opt, struct summary_totals *t)
{
	for (uint32_t i = 0; i < l->nbooks; i++)
		for (size_t k = 0; k < l->books[i].older.n && groups_wants_family(opt, l, i); k++) {
			t->older_blocks += l->books[i].older.all[k].blocks;
			t->older_bytes += l->books[i].older.all[k].bytes;
		}
}

/* A family without probes and without events is left out. */
static void add_family(const struct ledger *l, uint32_t family, struct summary *s)
{
	const struct defs_family *def = &l->defs.families[family];
	struct summary_family f = { .name = ledger_family_name(l, family), .noun = def->noun,
				    .refs = def->refs, .ranges = def->ranges };
	struct summary_family *same;

	if (f.refs)
		count_references(l, family, &f);
	else
		count_blocks(l, family, &f);
	if (!f.acquired && !f.released && !f.live && !has_probe(l, family))
		return;
	same = same_family(s, &f);
	if (same)
		merge_family(same, &f);
	else
		summary_add_family(s, &f);
}

static void add_families(const struct ledger *l, const struct groups_options *opt, struct summary *s)
{
	for (uint32_t i = 0; i < l->nbooks; i++)
		if (groups_wants_family(opt, l, i))
			add_family(l, i, s);
}

/*
 * Totals of the wanted families only. The family of a freed block that is older than the watch was not
 * recorded.
 */
static void narrow_totals(const struct ledger *l, struct summary *s)
{
	s->totals = (struct summary_totals){ 0 };
	for (size_t i = 0; i < s->nfamilies; i++) {
		const struct summary_family *f = &s->families[i];

		if (f->refs)
			continue;
		s->totals.allocs += f->acquired;
		s->totals.frees += f->released;
		s->totals.live_blocks += f->live;
		s->totals.live_bytes += f->bytes;
	}
	for (size_t i = 0; i < s->ntwice; i++)
		s->totals.double_frees += s->twice[i].count;
	if (l->unmatched_frees)
		summary_note(s,
			     "%" PRIu64 " releases of blocks older than the watch are not counted: of which "
					"family they were is not known",
			     l->unmatched_frees);
}

/* --- the run --- */

static void add_probes(const struct ledger *l, const struct groups_options *opt, struct summary *s)
{
	for (size_t i = 0; i < l->nprobes; i++) {
		const struct ledger_probe *p = &l->probes[i];

		if (p->family != DEFS_NONE && !groups_wants_family(opt, l, p->family))
			continue;
		summary_add_probe(s, &(struct summary_probe){
			.family = p->family == DEFS_NONE ? NULL : ledger_family_name(l, p->family),
			.rule = p->rule, .module = p->module, .hits = p->hits,
			.note = p->note,
		});
	}
}

static void add_losses(const struct ledger *l, struct summary *s)
{
	for (size_t i = 0; i < l->nlost; i++)
		summary_add_lost(s, l->lost[i].reason, l->lost[i].count);
	for (size_t i = 0; i < l->ngaps; i++)
		summary_add_gap(s, l->gaps[i].start_us / 1e6, l->gaps[i].length_us / 1e6, l->gaps[i].why);
	for (size_t i = 0; i < l->nnotes; i++)
		summary_note(s, "%s", l->notes[i]);
	add_their_notes(l, s);
	if (l->displaced)
		summary_note(s,
			     "%" PRIu64 " frees were missed: another block was allocated later at the same "
					"address, so the earlier one is gone, and not listed",
			     l->displaced);
	if (l->reborn)
		summary_note(s,
			     "%" PRIu64 " times an address became another object's while references to the one "
					"before were left: these are not listed; if that is often, a rule may be wrong",
			     l->reborn);
	if (l->resizing)
		summary_note(s,
			     "blocks that were being resized when the watch ended, and are listed as they "
			     "were before: %" PRIu64,
			     l->resizing);
	if (l->undefined)
		summary_note(s,
			     "%" PRIu64
			     " times the trace names a stack or another thing that it does not define",
			     l->undefined);
	if (l->nonsense)
		summary_note(s, "%" PRIu64 " facts of the trace contradict others, and were left out",
			     l->nonsense);
}

static int expand_marked(const struct ledger *l, uint32_t stack, struct stack_view *out)
{
	int r = expand_stack(&l->defs, stack, out);

	if (r == 0)
		wrappers_mark(out->frames, out->depth, l->skips, l->nskips);
	return r;
}

static int add_twice(const struct ledger *l, const struct ledger_twice *t, struct suppressions *suppressions,
		     struct summary *s)
{
	struct summary_twice out = {
		.family = ledger_family_name(l, t->family), .count = t->count, .sample = t->sample,
		.time_s = t->time_us / 1e6,
	};
	int r = expand_marked(l, t->second, &out.second);

	if (r == 0)
		r = expand_marked(l, t->first, &out.first);
	if (r == 0)
		r = expand_marked(l, t->alloc, &out.alloc);
	if (r == 0 && !suppressions_match(suppressions, SUPPRESS_FREE, VERDICT_UNKNOWN, out.second.frames,
					  out.second.depth, t->count, 0))
		summary_add_twice(s, &out);
	free(out.second.frames);
	free(out.first.frames);
	free(out.alloc.frames);
	return r;
}

static int add_all_twice(const struct ledger *l, const struct groups_options *opt, struct summary *s)
{
	int r = 0;

	for (size_t i = 0; i < l->ntwice && r == 0; i++)
		if (groups_wants_family(opt, l, l->twice[i].family))
			r = add_twice(l, &l->twice[i], opt->suppressions, s);
	return r;
}

static int add_their_groups(struct ledger *l, const struct groups_options *opt, struct groups_common *c,
			    struct summary *s)
{
	int r = withheld_find(&c->withheld, l, c->same_as, opt->suppressions);

	c->groups.apart = c->withheld.blocks;
	c->groups.nfamilies = c->withheld.nfamilies;
	for (uint32_t i = 0; i < l->nbooks && r == 0; i++) {
		if (!groups_wants_family(opt, l, i))
			continue;
		r = l->defs.families[i].refs ? refgroups_add(l, opt, i, c->same_as, s)
					     : groups_add_family(l, opt, i, c, s);
	}
	return r;
}

/* The groups of all families, sorted, and the answer to the lookup. */
static int add_groups(struct ledger *l, const struct groups_options *opt, struct summary *s)
{
	cleanup_free uint32_t *same_as = calloc(l->defs.nframes + 1, sizeof(*same_as));
	int r = same_as ? paths_find_same(&l->defs, same_as) : -ENOMEM;
	struct groups_common c = { .same_as = same_as };

	groupmap_init(&c.groups);
	if (r == 0)
		r = add_their_groups(l, opt, &c, s);
	if (r == 0)
		r = hangs_add(&c.groups, l, opt->older_than_us, s);
	summary_sort(s);
	if (r == 0 && opt->lookup)
		r = lookup_answer(opt->lookup, l, &c.groups, opt->older_than_us, opt->keep_wrappers, s);
	withheld_fini(&c.withheld);
	groupmap_fini(&c.groups);
	return r;
}

int account_summary(struct ledger *l, const struct groups_options *opt, struct summary *out)
{
	int r;

	summary_init(out);
	add_target(l, out);
	add_run(l, out);
	add_budget(l, &out->run);
	for (size_t i = 0; i < l->memories.n; i++)
		summary_add_memory(out, &l->memories.all[i]);
	add_processes(l, out);
	out->runtime = summary_string(out, l->memories.runtime);
	add_verdicts(l, out);
	out->totals = (struct summary_totals){
		.allocs = l->allocs, .frees = l->frees, .unmatched_frees = l->unmatched_frees,
		.double_frees = l->double_frees, .live_blocks = l->held_blocks, .live_bytes = l->held_bytes,
	};
	add_families(l, opt, out);
	add_probes(l, opt, out);
	add_losses(l, out);
	r = add_all_twice(l, opt, out);
	if (opt->nfamilies)
		narrow_totals(l, out);
	count_older(l, opt, &out->totals);
	out->per_object = opt->per_object;
	out->lookup = opt->lookup;
	if (r == 0)
		r = add_groups(l, opt, out);
	if (opt->suppressions)
		suppressions_report(opt->suppressions, out);
	return r < 0 ? r : summary_error(out);
}
