/* SPDX-License-Identifier: MIT */
/*
 * any_fact: facts as no program would write them: any kind, any number; small numbers often, so that they
 * coincide.
 */
#ifndef ANY_FACT_H
#define ANY_FACT_H

#include "trace/fact.h"

static inline uint64_t any_random(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

static inline uint64_t any_number(uint64_t *rng)
{
	uint64_t v = any_random(rng);

	return any_random(rng) % 3 ? v % 20 : v >> any_random(rng) % 64;
}

static inline const char *any_text(uint64_t *rng)
{
	static const char *const texts[] = { NULL, "", "a", "b", "contradiction" };

	return texts[any_random(rng) % 5];
}

/* A number should always mean the same snapshot; here mostly another snapshot has the number already. */
static inline const struct fact_verdicts *any_look(uint64_t *rng)
{
	static const struct fact_sum sums[] = { { 1, 2 }, { UINT64_MAX, 3 }, { 4, 5 },
						{ 6, 7 }, { 8, 9 },	     { 10, 11 } };
	static const char *doubts[3];
	static struct fact_verdicts look;

	look = (struct fact_verdicts){
		.number = (uint32_t)any_number(rng), .known = any_random(rng) % 4,
		.census = any_random(rng) % 2, .why_not = any_text(rng),
		.allocator = any_text(rng), .expected_ns = any_number(rng), .had_ns = any_number(rng),
		.bytes = any_number(rng),
		.threads = (uint32_t)any_number(rng), .not_stopped = (uint32_t)any_number(rng),
		.judged = any_number(rng),
		.passed = any_random(rng) % 3 ? 0 : any_number(rng),
		.sums = sums, .nsums = (uint32_t)(any_random(rng) % 7), .doubts = doubts,
		.ndoubts = (uint32_t)(any_random(rng) % 4),
	};
	for (size_t i = 0; i < 3; i++)
		doubts[i] = any_text(rng);
	return &look;
}

static inline void any_judged(uint64_t *rng, struct fact *f)
{
	static struct fact_judged all[6];

	for (size_t i = 0; i < 6; i++) {
		all[i] = (struct fact_judged){ any_number(rng), any_number(rng), any_number(rng) };
		all[i].with_bytes = all[i].with_blocks ? all[i].with_bytes : 0;
	}
	f->judged.verdict = (uint32_t)(any_random(rng) % 7);
	f->judged.all = all;
	f->judged.n = (uint32_t)(any_random(rng) % 7);
}

static inline const struct fact_sample *any_sample(uint64_t *rng)
{
	static struct fact_sample s;

	for (size_t k = 0; k < sizeof(s) / sizeof(uint64_t); k++)
		((uint64_t *)&s)[k] = any_number(rng);
	s.standing = any_random(rng) % 2;
	s.nsteps = (uint32_t)(any_random(rng) % (MMT_SAMPLE_STEPS + 1));
	return &s;
}

static inline const struct fact_budget *any_budget(uint64_t *rng)
{
	static struct fact_budget b;

	for (size_t k = 0; k < sizeof(b) / sizeof(uint64_t); k++)
		((uint64_t *)&b)[k] = any_number(rng);
	return &b;
}

static inline const struct fact_process *any_process(uint64_t *rng)
{
	static const struct fact_sum sums[] = { { 1, 2 }, { UINT64_MAX, 3 }, { 4, 5 } };
	static struct fact_process p;

	for (size_t k = 0; k < sizeof(p) / sizeof(uint64_t); k++)
		((uint64_t *)&p)[k] = any_number(rng);
	p.ended = any_random(rng) % 2;
	p.judged = any_random(rng) % 2;
	p.absent = any_random(rng) % 2;
	p.comm = any_text(rng);
	p.exe = p.host = p.labels = p.frontend = p.mode = any_text(rng);
	p.how = any_text(rng);
	p.sums = sums;
	p.nsums = (uint32_t)(any_random(rng) % 4);
	return &p;
}

static inline const struct fact_merged *any_merged(uint64_t *rng)
{
	static const uint64_t points[MMT_SERIES_POINTS] = { 1, 2, UINT64_MAX, 5 };
	static struct fact_part parts[5];
	static struct fact_merged m;

	for (size_t k = 0; k < sizeof(m) / sizeof(uint64_t); k++)
		((uint64_t *)&m)[k] = any_number(rng);
	for (size_t i = 0; i < 5; i++)
		parts[i] = (struct fact_part){ (uint32_t)any_number(rng), any_number(rng) };
	m.verdict = (uint32_t)(any_random(rng) % 7);
	m.points = points;
	m.npoints = (uint32_t)(any_random(rng) % (MMT_SERIES_POINTS + 1));
	m.span_us = (uint64_t)MMT_SERIES_FIRST_US << any_random(rng) % 50;
	m.parts = parts;
	m.nparts = (uint32_t)(any_random(rng) % 6);
	return &m;
}

/* If this kind of information has a pointer, it must be a valid one. */
static inline void any_info(uint64_t *rng, struct fact *f)
{
	static const uint64_t points[MMT_SERIES_POINTS] = { 1, 2, UINT64_MAX, 5 };
	const char *text = any_text(rng);

	f->info = (uint32_t)(any_random(rng) % 33);
	switch (f->info) {
	case MMT_RUN:
		f->run = (struct fact_run){
			.piece = (uint32_t)any_number(rng), .last = (uint32_t)any_number(rng), .mode = text,
		};
		break;
	case MMT_TARGET:
		f->target.comm = f->target.exe = text;
		f->target.argc = 0;
		f->target.argv = NULL;
		break;
	case MMT_FAMILY_NAME:
		f->family_name.number = (uint32_t)any_number(rng);
		f->family_name.name = text;
		f->family_name.noun = any_text(rng);
		f->family_name.refs = any_random(rng) % 2;
		f->family_name.ranges = any_random(rng) % 2;
		break;
	case MMT_FRAME:
		f->frame.exact = any_random(rng) % 2;
		f->frame.skip = any_random(rng) % 2;
		break;
	case MMT_NAMES:
		f->names.n = 0;
		f->names.all = NULL;
		break;
	case MMT_MODULE:
		f->module.path = f->module.build_id = text;
		break;
	case MMT_TAG:
		f->tag.number = (uint32_t)any_number(rng);
		f->tag.text = text;
		break;
	case MMT_SKIP:
		f->skip = text;
		break;
	case MMT_PROBE:
		f->probe.rule = f->probe.module = f->probe.note = text;
		break;
	case MMT_LOST:
		f->lost.reason = text;
		break;
	case MMT_GAP:
		f->gap.why = text;
		break;
	case MMT_NOTE:
		f->note = text;
		break;
	case MMT_VERDICTS:
		f->look = any_look(rng);
		break;
	case MMT_JUDGED:
		any_judged(rng, f);
		break;
	case MMT_SAMPLE:
		f->sample.its = any_sample(rng);
		break;
	case MMT_MEMORY:
		f->memory.pid = (int32_t)(any_random(rng) % 8192);
		f->memory.name = any_random(rng) % 4 ? "worker" : NULL;
		f->memory.point = (struct memory_point){ any_random(rng) >> any_random(rng) % 64,
							 any_random(rng),
							 any_random(rng),
							 0,
							 any_random(rng),
							 0,
							 any_random(rng),
							 any_random(rng) % 9,
							 any_random(rng) % 9,
							 any_random(rng) };
		break;
	case MMT_RUNTIME:
		f->runtime = any_random(rng) % 4 ? "Go" : NULL;
		break;
	case MMT_BUDGET:
		f->budget = any_budget(rng);
		break;
	case MMT_PROCESS:
		f->process = any_process(rng);
		break;
	case MMT_MERGED:
		f->merged.its = any_merged(rng);
		break;
	case MMT_BINS:
		f->bins.which = (uint32_t)(any_random(rng) % 3);
		f->bins.n = (uint32_t)(any_random(rng) % 4);
		f->bins.all = any_look(rng)->sums;
		break;
	case MMT_SAID:
		f->said.note = text;
		break;
	case MMT_PLACE:
	case MMT_OLDER:
		f->place.npoints = (uint32_t)(any_random(rng) % (MMT_SERIES_POINTS + 1));
		f->place.points = points;
		f->place.bytes = any_number(rng);
		f->place.span_us = any_random(rng) % 2
					   ? any_number(rng)
					   : (uint64_t)MMT_SERIES_FIRST_US << any_random(rng) % 50;
		break;
	}
}

/* An object with several stacks. */
static inline void any_object(uint64_t *rng, struct fact *f)
{
	static struct fact_use uses[5];

	for (size_t i = 0; i < 5; i++)
		uses[i] = (struct fact_use){ (uint32_t)any_number(rng), any_number(rng), any_number(rng) };
	f->object.older = any_random(rng) % 2;
	f->object.counted = any_random(rng) % 2;
	f->object.uses = uses;
	f->object.nuses = (uint32_t)(any_random(rng) % 6);
}

static inline struct fact any_fact(uint64_t *rng)
{
	struct fact f;

	for (size_t k = 0; k < sizeof(f) / sizeof(uint64_t); k++)
		((uint64_t *)&f)[k] = any_number(rng);
	f.kind = any_random(rng) % 2 ? (uint32_t)(any_random(rng) % 20) : MMT_INFO;
	f.time_us = any_number(rng);
	if (f.kind == MMT_OBJECT)
		any_object(rng, &f);
	if (f.kind == MMT_INFO)
		any_info(rng, &f);
	return f;
}

#endif
