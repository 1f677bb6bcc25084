/* SPDX-License-Identifier: MIT */
#include "report/tracefiles/runfacts.h"

static struct fact info(uint64_t time_us, uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what, .time_us = time_us };
}

int runfacts_put_run(const struct ledger *l, uint32_t piece, uint32_t last, uint64_t time_us,
		     struct writer *w)
{
	struct fact run = info(time_us, MMT_RUN), target = info(time_us, MMT_TARGET);
	int r;

	run.run = l->run;
	run.run.piece = piece;
	run.run.last = last;
	r = writer_put(w, &run);
	target.target.pid = l->target.pid;
	target.target.comm = l->target.comm;
	target.target.exe = l->target.exe;
	target.target.argv = l->target.argv;
	target.target.argc = l->target.argc;
	return r < 0 ? r : writer_put(w, &target);
}

static int put_skips(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	struct fact f = info(time_us, MMT_SKIP);
	int r = 0;

	for (size_t i = 0; i < l->nskips && r == 0; i++) {
		f.skip = l->skips[i];
		r = writer_put(w, &f);
	}
	return r;
}

int runfacts_put_probes(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	int r = 0;

	for (size_t i = 0; i < l->nprobes && r == 0; i++) {
		const struct ledger_probe *p = &l->probes[i];
		struct fact f = info(time_us, MMT_PROBE);

		f.probe.number = p->number;
		f.probe.family = p->family == DEFS_NONE ? 0 : l->defs.families[p->family].number;
		f.probe.rule = p->rule;
		f.probe.module = p->module;
		f.probe.note = p->note;
		r = writer_put(w, &f);
	}
	return r < 0 ? r : put_skips(l, time_us, w);
}

int runfacts_put_verdicts(const struct ledger *l, uint64_t passed, uint64_t time_us, struct writer *w)
{
	struct fact_verdicts look = l->look.fact;
	struct fact f = info(time_us, MMT_VERDICTS);

	if (!l->look.wanted)
		return 0;
	look.passed = passed;
	f.look = &look;
	return writer_put(w, &f);
}

static int put_hits(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	struct fact f = info(time_us, MMT_HITS);
	int r = 0;

	for (size_t i = 0; i < l->nprobes && r == 0; i++) {
		f.hits.probe = l->probes[i].number;
		f.hits.hits = l->probes[i].hits;
		if (f.hits.hits)
			r = writer_put(w, &f);
	}
	return r;
}

static int put_counts(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	struct fact f = info(time_us, MMT_COUNT);
	int r = 0;

	for (uint32_t i = 0; i < LEDGER_COUNTS && r == 0; i++) {
		f.count.which = i;
		f.count.value = l->counts[i];
		if (f.count.value)
			r = writer_put(w, &f);
	}
	return r;
}

static int put_lost(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	struct fact f = info(time_us, MMT_LOST);
	int r = 0;

	for (size_t i = 0; i < l->nlost && r == 0; i++) {
		f.lost.reason = l->lost[i].reason;
		f.lost.count = l->lost[i].count;
		r = writer_put(w, &f);
	}
	return r;
}

static int put_memory(const struct memory_process *p, uint64_t time_us, struct writer *w)
{
	struct fact f = info(time_us, MMT_MEMORY);
	int r = 0;

	f.memory.pid = p->pid;
	f.memory.name = p->name;
	for (uint32_t i = 0; i < p->npoints && r == 0; i++) {
		f.memory.point = p->points[i];
		r = writer_put(w, &f);
	}
	return r;
}

static int put_memories(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	struct fact f = info(time_us, MMT_RUNTIME);
	int r = 0;

	f.runtime = l->memories.runtime;
	if (f.runtime)
		r = writer_put(w, &f);
	for (size_t i = 0; i < l->memories.n && r == 0; i++)
		r = put_memory(&l->memories.all[i], time_us, w);
	return r;
}

int runfacts_put_numbers(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	int r = put_hits(l, time_us, w);

	if (r == 0)
		r = put_counts(l, time_us, w);
	if (r == 0)
		r = put_memories(l, time_us, w);
	return r < 0 ? r : put_lost(l, time_us, w);
}

static int put_family(const struct ledger *l, uint32_t family, uint64_t time_us, struct writer *w)
{
	const struct fact f = { .kind = MMT_FAMILY, .time_us = time_us,
				.family = l->defs.families[family].number };

	return writer_put(w, &f);
}

static int put_sample(const struct ledger *l, const struct ledger_sample *s, uint64_t time_us,
		      struct writer *w)
{
	struct fact f = info(time_us, MMT_SAMPLE);
	int r = put_family(l, s->family, time_us, w);

	f.sample.stack = l->defs.stacks[s->stack].number;
	f.sample.its = &s->its;
	return r < 0 ? r : writer_put(w, &f);
}

static int put_budget(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	struct fact f = info(time_us, MMT_BUDGET);

	f.budget = &l->samples.budget;
	return l->samples.has_budget ? writer_put(w, &f) : 0;
}

int runfacts_put_samples(const struct ledger *l, uint64_t time_us, struct writer *w)
{
	int r = put_budget(l, time_us, w);

	for (size_t i = 0; i < l->samples.n && r == 0; i++)
		r = put_sample(l, &l->samples.all[i], time_us, w);
	return r < 0 || !l->samples.n ? r : put_family(l, l->family, time_us, w);
}
