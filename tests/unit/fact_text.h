/* SPDX-License-Identifier: MIT */
/*
 * fact_text: every field of a fact, as a line of text, to compare two facts by. Fields are listed here once
 * more, by hand: otherwise a field that encoder and decoder both forgot would be missed.
 */
#ifndef FACT_TEXT_H
#define FACT_TEXT_H

#include "base/strbuf.h"
#include "trace/fact.h"

static inline void fact_text_string(struct strbuf *sb, const char *s)
{
	if (!s) {
		strbuf_puts(sb, " NULL");
		return;
	}
	strbuf_puts(sb, " \"");
	for (; *s; s++)
		strbuf_printf(sb, *s > ' ' && *s < 127 && *s != '"' ? "%c" : "\\%02x", (unsigned char)*s);
	strbuf_putc(sb, '"');
}

static inline void fact_text_run(struct strbuf *sb, const struct fact_run *r)
{
	for (size_t i = 0; i < sizeof(r->id); i++)
		strbuf_printf(sb, "%s%02x", i ? "" : " ", r->id[i]);
	strbuf_printf(sb, " piece %u last %u start %lld", r->piece, r->last, (long long)r->start_ns);
	fact_text_string(sb, r->frontend);
	fact_text_string(sb, r->mode);
	fact_text_string(sb, r->writer);
	fact_text_string(sb, r->host);
	fact_text_string(sb, r->engine);
	fact_text_string(sb, r->other);
}

static inline void fact_text_names(struct strbuf *sb, const struct fact *f)
{
	strbuf_printf(sb, " %u:", f->names.frame);
	for (uint32_t i = 0; i < f->names.n; i++) {
		const struct fact_name *name = &f->names.all[i];

		fact_text_string(sb, name->function);
		fact_text_string(sb, name->linkage);
		fact_text_string(sb, name->file);
		strbuf_printf(sb, " %u %d", name->line, name->inlined);
	}
}

static inline void fact_text_place(struct strbuf *sb, const struct fact *f)
{
	strbuf_printf(sb, " %u %llu %llu %llu:", f->place.stack, (unsigned long long)f->place.allocs,
		      (unsigned long long)f->place.frees, (unsigned long long)f->place.span_us);
	for (uint32_t i = 0; i < f->place.npoints; i++)
		strbuf_printf(sb, " %llu", (unsigned long long)f->place.points[i]);
	strbuf_printf(sb, " %llu", (unsigned long long)f->place.bytes);
}

static inline void fact_text_module(struct strbuf *sb, const struct fact *f)
{
	strbuf_printf(sb, " %u %u 0x%llx 0x%llx 0x%llx", f->module.number, f->module.file,
		      (unsigned long long)f->module.bias, (unsigned long long)f->module.lo,
		      (unsigned long long)f->module.hi);
	fact_text_string(sb, f->module.path);
	fact_text_string(sb, f->module.build_id);
}

static inline void fact_text_sample(struct strbuf *sb, const struct fact *f)
{
	const struct fact_sample *s = f->sample.its;
	const uint64_t numbers[] = {
		s->seen,   s->late_seen,  s->usable_bytes, s->site_seen,	   s->site_hits, s->rounds,
		s->full,   s->exposed_us, s->hits2,	  s->hits_exposed, s->exposed2,	 s->late_exposed_us,
		s->missed, s->stood_us,	  s->searched,	  s->lost,
		s->losing.seen, s->losing.lost, s->losing.over_us, s->losing.blocks, s->losing.least, s->losing.most,
		s->losing.bytes,
	};

	strbuf_printf(sb, " %u %d:", f->sample.stack, s->standing);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		strbuf_printf(sb, " %llu", (unsigned long long)numbers[i]);
	for (uint32_t i = 0; i < s->nsteps; i++)
		strbuf_printf(sb, " %llu/%llu/%llu", (unsigned long long)s->steps[i].at_risk,
			      (unsigned long long)s->steps[i].gone, (unsigned long long)s->steps[i].unknown);
}

static inline void fact_text_budget(struct strbuf *sb, const struct fact_budget *b)
{
	const uint64_t numbers[] = {
		b->promise_ppm, b->spent_us,  b->wall_us,	b->worst_ppm,  b->closed,  b->closed_us,
		b->sites,	b->sites_hit, b->sites_settled, b->candidates, b->unfound,
		b->loss.over_us, b->loss.blocks, b->loss.bytes,	b->loss.before_blocks, b->loss.before_bytes,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		strbuf_printf(sb, " %llu", (unsigned long long)numbers[i]);
}

static inline void fact_text_sums(struct strbuf *sb, const struct fact_sum *sums, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		strbuf_printf(sb, " %llu/%llu", (unsigned long long)sums[i].blocks,
			      (unsigned long long)sums[i].bytes);
}

static inline void fact_text_process(struct strbuf *sb, const struct fact_process *p)
{
	strbuf_printf(sb, " %u %d %lld %d%d%d", p->number, p->pid, (long long)p->start_ns, p->ended, p->judged,
		      p->absent);
	for (size_t i = 0; i < sizeof(p->run_id); i++)
		strbuf_printf(sb, " %02x", p->run_id[i]);
	fact_text_string(sb, p->comm);
	fact_text_string(sb, p->exe);
	fact_text_string(sb, p->host);
	fact_text_string(sb, p->labels);
	fact_text_string(sb, p->frontend);
	fact_text_string(sb, p->mode);
	fact_text_string(sb, p->how);
#define X(name) strbuf_printf(sb, " %llu", (unsigned long long)p->name);
	FACT_PROCESS_NUMBERS(X)
#undef X
	fact_text_sums(sb, p->sums, p->nsums);
}

static inline void fact_text_merged(struct strbuf *sb, const struct fact_merged *m)
{
	const uint64_t numbers[] = {
		m->verdict, m->blocks, m->bytes, m->indirect_blocks, m->indirect_bytes, m->oldest_us, m->youngest_us,
		m->seen, m->seen_bytes, m->blocks_variance, m->bytes_variance, m->span_us,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		strbuf_printf(sb, " %llu", (unsigned long long)numbers[i]);
	for (uint32_t i = 0; i < m->npoints; i++)
		strbuf_printf(sb, " %llu", (unsigned long long)m->points[i]);
	for (uint32_t i = 0; i < m->nparts; i++)
		strbuf_printf(sb, " %u:%llu", m->parts[i].process, (unsigned long long)m->parts[i].bytes);
}

static inline void fact_text_look(struct strbuf *sb, const struct fact_verdicts *l)
{
	strbuf_printf(sb, " %u %d %d", l->number, l->known, l->census);
	fact_text_string(sb, l->why_not);
	fact_text_string(sb, l->allocator);
	strbuf_printf(sb, " %llu %llu %llu %u %u %llu-%llu:", (unsigned long long)l->expected_ns,
		      (unsigned long long)l->had_ns, (unsigned long long)l->bytes, l->threads, l->not_stopped,
		      (unsigned long long)l->judged, (unsigned long long)l->passed);
	fact_text_sums(sb, l->sums, l->nsums);
	for (uint32_t i = 0; i < l->ndoubts; i++)
		fact_text_string(sb, l->doubts[i]);
}

static inline void fact_text_judged(struct strbuf *sb, const struct fact *f)
{
	strbuf_printf(sb, " %u:", f->judged.verdict);
	for (uint32_t i = 0; i < f->judged.n; i++) {
		const struct fact_judged *j = &f->judged.all[i];

		strbuf_printf(sb, " 0x%llx %llu %llu", (unsigned long long)j->addr,
			      (unsigned long long)j->with_blocks, (unsigned long long)j->with_bytes);
	}
}

static inline void fact_text_info(struct strbuf *sb, const struct fact *f)
{
	switch (f->info) {
	case MMT_RUN:
		fact_text_run(sb, &f->run);
		break;
	case MMT_TARGET:
		strbuf_printf(sb, " %d", f->target.pid);
		fact_text_string(sb, f->target.comm);
		fact_text_string(sb, f->target.exe);
		for (uint32_t i = 0; i < f->target.argc; i++)
			fact_text_string(sb, f->target.argv[i]);
		break;
	case MMT_FAMILY_NAME:
		strbuf_printf(sb, " %u %d %d", f->family_name.number, f->family_name.refs,
			      f->family_name.ranges);
		fact_text_string(sb, f->family_name.name);
		fact_text_string(sb, f->family_name.noun);
		break;
	case MMT_MODULE:
		fact_text_module(sb, f);
		break;
	case MMT_FRAME:
		strbuf_printf(sb, " %u %u 0x%llx %d %d", f->frame.number, f->frame.module,
			      (unsigned long long)f->frame.pc, f->frame.exact, f->frame.skip);
		break;
	case MMT_NODE:
		strbuf_printf(sb, " %u %u %u", f->node.number, f->node.caller, f->node.frame);
		break;
	case MMT_STACK:
		strbuf_printf(sb, " %u %u %u %u", f->stack.number, f->stack.node, f->stack.end, f->stack.tag);
		break;
	case MMT_TAG:
		strbuf_printf(sb, " %u", f->tag.number);
		fact_text_string(sb, f->tag.text);
		break;
	case MMT_SKIP:
		fact_text_string(sb, f->skip);
		break;
	case MMT_NAMES:
		fact_text_names(sb, f);
		break;
	case MMT_PROBE:
		strbuf_printf(sb, " %u %u", f->probe.number, f->probe.family);
		fact_text_string(sb, f->probe.rule);
		fact_text_string(sb, f->probe.module);
		fact_text_string(sb, f->probe.note);
		break;
	case MMT_HITS:
		strbuf_printf(sb, " %u %llu", f->hits.probe, (unsigned long long)f->hits.hits);
		break;
	case MMT_LOST:
		fact_text_string(sb, f->lost.reason);
		strbuf_printf(sb, " %llu", (unsigned long long)f->lost.count);
		break;
	case MMT_COUNT:
		strbuf_printf(sb, " %u %llu", f->count.which, (unsigned long long)f->count.value);
		break;
	case MMT_GAP:
		strbuf_printf(sb, " %llu %llu", (unsigned long long)f->gap.start_us,
			      (unsigned long long)f->gap.length_us);
		fact_text_string(sb, f->gap.why);
		break;
	case MMT_NOTE:
		fact_text_string(sb, f->note);
		break;
	case MMT_PLACE:
		fact_text_place(sb, f);
		break;
	case MMT_TOTALS:
		strbuf_printf(sb, " %llu %llu", (unsigned long long)f->totals.old,
			      (unsigned long long)f->totals.twice);
		break;
	case MMT_VERDICTS:
		fact_text_look(sb, f->look);
		break;
	case MMT_JUDGED:
		fact_text_judged(sb, f);
		break;
	case MMT_SAMPLE:
		fact_text_sample(sb, f);
		break;
	case MMT_BUDGET:
		fact_text_budget(sb, f->budget);
		break;
	case MMT_MEMORY:
		strbuf_printf(sb, " %d", f->memory.pid);
		fact_text_string(sb, f->memory.name);
		strbuf_printf(sb, " %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", (unsigned long long)f->memory.point.at_us,
			      (unsigned long long)f->memory.point.anonymous,
			      (unsigned long long)f->memory.point.file,
			      (unsigned long long)f->memory.point.shared,
			      (unsigned long long)f->memory.point.swapped,
			      (unsigned long long)f->memory.point.heap, (unsigned long long)f->memory.point.mapped,
			      (unsigned long long)f->memory.point.threads,
			      (unsigned long long)f->memory.point.descriptors,
			      (unsigned long long)f->memory.point.busy_us);
		break;
	case MMT_RUNTIME:
		fact_text_string(sb, f->runtime);
		break;
	case MMT_PROCESS:
		fact_text_process(sb, f->process);
		break;
	case MMT_MERGED:
		strbuf_printf(sb, " %u", f->merged.stack);
		fact_text_merged(sb, f->merged.its);
		break;
	case MMT_BINS:
		strbuf_printf(sb, " %u", f->bins.which);
		fact_text_sums(sb, f->bins.all, f->bins.n);
		break;
	case MMT_SAID:
		fact_text_string(sb, f->said.note);
		strbuf_printf(sb, " %llu", (unsigned long long)f->said.processes);
		break;
	case MMT_OLDER:
		strbuf_printf(sb, " %llu %llu %llu %llu", (unsigned long long)f->place.size,
			      (unsigned long long)f->place.frees, (unsigned long long)f->place.bytes,
			      (unsigned long long)f->place.span_us);
		for (uint32_t i = 0; i < f->place.npoints; i++)
			strbuf_printf(sb, " %llu", (unsigned long long)f->place.points[i]);
		break;
	case MMT_HANG:
		strbuf_printf(sb, " %u %u %u %u %llu %llu", f->hang.family, f->hang.verdict, f->hang.on, f->hang.stack,
			      (unsigned long long)f->hang.blocks, (unsigned long long)f->hang.bytes);
		break;
	}
}

static inline void fact_text_ref(struct strbuf *sb, const struct fact *f)
{
	strbuf_printf(sb, " 0x%llx", (unsigned long long)f->ref.addr);
	if (f->kind != MMT_COUNTED)
		strbuf_printf(sb, " %u %llu", f->ref.stack, (unsigned long long)f->ref.by);
	strbuf_printf(sb, " %llu", (unsigned long long)f->ref.count);
}

static inline void fact_text_object(struct strbuf *sb, const struct fact *f)
{
	strbuf_printf(sb, " 0x%llx %llu %lld %d %d:", (unsigned long long)f->object.addr,
		      (unsigned long long)f->object.birth_us, (long long)f->object.net, f->object.older,
		      f->object.counted);
	for (uint32_t i = 0; i < f->object.nuses; i++)
		strbuf_printf(sb, " %u +%llu -%llu", f->object.uses[i].stack,
			      (unsigned long long)f->object.uses[i].acquired,
			      (unsigned long long)f->object.uses[i].released);
}

static inline void fact_text_event(struct strbuf *sb, const struct fact *f)
{
	const unsigned long long addr = f->block.addr, size = f->block.size, key = f->block.key,
				 birth = f->block.birth_us;

	switch (f->kind) {
	case MMT_ALLOC:
		strbuf_printf(sb, " 0x%llx %llu %u", addr, size, f->block.stack);
		break;
	case MMT_HELD:
		strbuf_printf(sb, " 0x%llx %llu %u %llu", addr, size, f->block.stack, birth);
		break;
	case MMT_FREE:
	case MMT_FORGET:
		strbuf_printf(sb, " 0x%llx", addr);
		break;
	case MMT_FREE_AT:
	case MMT_OLD:
		strbuf_printf(sb, " 0x%llx %u", addr, f->block.stack);
		break;
	case MMT_TWICE:
		strbuf_printf(sb, " 0x%llx %u %u %u %llu", addr, f->block.stack, f->block.first,
			      f->block.alloc, size);
		break;
	case MMT_ASIDE:
		strbuf_printf(sb, " %llu 0x%llx", key, addr);
		break;
	case MMT_ASIDE_FREED:
		strbuf_printf(sb, " %llu %u", key, f->block.stack);
		break;
	case MMT_ASIDE_BACK:
		strbuf_printf(sb, " %llu", key);
		break;
	case MMT_REF:
	case MMT_UNREF:
	case MMT_BORN:
	case MMT_COUNTED:
		fact_text_ref(sb, f);
		break;
	case MMT_OBJECT:
		fact_text_object(sb, f);
		break;
	case MMT_FAMILY:
		strbuf_printf(sb, " %u", f->family);
		break;
	}
}

/* "31.5 @7 0 1 0x1000 1" and a newline: kind, kind of information, time, fields. */
static inline void fact_text(struct strbuf *sb, const struct fact *f)
{
	strbuf_printf(sb, "%u.%u @%llu", f->kind, f->info, (unsigned long long)f->time_us);
	if (f->kind == MMT_INFO)
		fact_text_info(sb, f);
	else
		fact_text_event(sb, f);
	strbuf_putc(sb, '\n');
}

#endif
