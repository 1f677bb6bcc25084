/* SPDX-License-Identifier: MIT */
/* out_scan_json: see out_scan_json.h. */
#include "report/json/out_scan_json.h"

#include <inttypes.h>

#include "report/json/json.h"
#include "report/json/out_json.h"

static void put_memory(struct strbuf *sb, const struct scan_memory *m)
{
	json_key(sb, ",\n  ", "memory");
	json_number(sb, "{", "copied", m->copied);
	json_number(sb, ", ", "swapped", m->swapped);
	json_number(sb, ", ", "missing", m->missing);
	strbuf_putc(sb, '}');
}

static void put_mmapped(struct strbuf *sb, const struct scan_heap *heap)
{
	json_key(sb, ", ", "mmapped");
	json_number(sb, "{", "blocks", heap->mmapped.blocks);
	json_number(sb, ", ", "bytes", heap->mmapped.bytes);
	if (heap->mmapped_claimed == UINT64_MAX)
		json_text(sb, ", ", "claimed", NULL);
	else
		json_number(sb, ", ", "claimed", heap->mmapped_claimed);
	strbuf_putc(sb, '}');
}

static void put_arena(struct strbuf *sb, const struct scan_arena *a)
{
	json_address(sb, "{", "address", a->at);
	json_number(sb, ", ", "system", a->system_bytes);
	json_number(sb, ", ", "walked", a->walked_bytes);
	json_sum(sb, ", ", "used", &a->used);
	json_sum(sb, ", ", "fast", &a->fast);
	json_sum(sb, ", ", "tcache", &a->tcache);
	json_sum(sb, ", ", "bins", &a->bins);
	json_number(sb, ", ", "top", a->top_bytes);
	json_number(sb, ", ", "other", a->other_bytes);
	json_text(sb, ", ", "allocator", a->allocator);
	strbuf_putc(sb, '}');
}

static void put_heap(struct strbuf *sb, const struct scan_heap *heap)
{
	struct scan_account sums;

	scan_account(heap, &sums);
	json_key(sb, ",\n  ", "heap");
	json_bool(sb, "{", "known", heap->known);
	json_string(sb, ", ", "layout", heap->layout);
	json_text(sb, ", ", "other_allocator", heap->other);
	json_bool(sb, ", ", "adds_up", heap->adds_up);
	json_number(sb, ", ", "system", sums.system);
	json_number(sb, ", ", "used", sums.used);
	json_sum(sb, ", ", "free", &sums.free);
	json_number(sb, ", ", "top", sums.tops);
	json_number(sb, ", ", "other", sums.other);
	json_number(sb, ", ", "foreign", heap->foreign_bytes);
	json_number(sb, ", ", "unseen", heap->unseen_bytes);
	put_mmapped(sb, heap);
	json_list(sb, ", ", "arenas");
	for (size_t i = 0; i < heap->narenas; i++) {
		json_next_line(sb, i, "    ");
		put_arena(sb, &heap->arenas[i]);
	}
	strbuf_puts(sb, "]}");
}

static void put_trace(struct strbuf *sb, const struct scan_trace *t)
{
	if (!t->there || t->instead) {
		json_text(sb, ",\n  ", "trace", NULL);
		return;
	}
	json_key(sb, ",\n  ", "trace");
	if (t->timed)
		json_real(sb, "{", "seconds_before", t->seconds);
	else
		json_text(sb, "{", "seconds_before", NULL);
	json_number(sb, ", ", "live", t->live);
	json_number(sb, ", ", "same", t->same);
	json_number(sb, ", ", "certain", t->certain);
	json_number(sb, ", ", "resized", t->resized);
	strbuf_putc(sb, '}');
}

static void put_holders(struct strbuf *sb, const struct scan_python_type *t)
{
	json_list(sb, ", ", "holders");
	for (size_t i = 0; i < SCAN_PYTHON_HOLDERS && t->holders[i].type; i++) {
		json_string(sb, i ? ", {" : "{", "type", t->holders[i].type);
		json_number(sb, ", ", "pointers", t->holders[i].pointers);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_type(struct strbuf *sb, const struct scan_python_type *t)
{
	json_string(sb, "{", "name", t->name);
	json_number(sb, ", ", "objects", t->objects);
	json_number(sb, ", ", "tracked", t->tracked);
	json_number(sb, ", ", "bytes", t->bytes);
	json_sum(sb, ", ", "with", &t->with);
	json_address(sb, ", ", "largest", t->largest);
	json_number(sb, ", ", "largest_bytes", t->largest_bytes);
	put_holders(sb, t);
	strbuf_putc(sb, '}');
}

static void put_arenas_of_python(struct strbuf *sb, const struct scan_python *p)
{
	json_number(sb, ", ", "arenas", p->arenas);
	json_number(sb, ", ", "arena_bytes", p->arena_bytes);
	json_sum(sb, ", ", "small", &p->small);
	json_number(sb, ", ", "free_bytes", p->free_bytes);
	json_number(sb, ", ", "empty_bytes", p->empty_bytes);
	json_number(sb, ", ", "unseen_bytes", p->unseen_bytes);
	json_number(sb, ", ", "differing", p->differing);
}

static void put_python(struct strbuf *sb, const struct scan_python *p)
{
	if (!p->version) {
		json_text(sb, ",\n  ", "python", NULL);
		return;
	}
	json_key(sb, ",\n  ", "python");
	json_string(sb, "{", "version", p->version);
	json_text(sb, ", ", "why_not", p->why_not);
	json_number(sb, ", ", "objects", p->objects);
	json_number(sb, ", ", "bytes", p->bytes);
	put_arenas_of_python(sb, p);
	json_sum(sb, ", ", "large", &p->large);
	json_sum(sb, ", ", "idle", &p->idle);
	json_sum(sb, ", ", "other", &p->other);
	json_list(sb, ", ", "types");
	for (size_t i = 0; i < p->ntypes; i++) {
		json_next_line(sb, i, "    ");
		put_type(sb, &p->types[i]);
	}
	strbuf_puts(sb, "]}");
}

static void put_verdicts(struct strbuf *sb, const struct summary_verdicts *v)
{
	json_bool(sb, ",\n  ", "judged", v->known);
	json_string(sb, ", ", "not_judged", v->why_not);
	json_sums(sb, ", ", "verdicts", v->all);
}

static void put_doubts(struct strbuf *sb, const struct scan_report *r)
{
	json_list(sb, ",\n  ", "doubts");
	for (size_t i = 0; i < r->summary.run.verdicts.ndoubts; i++) {
		json_next_line(sb, i, "    ");
		strbuf_json(sb, r->summary.run.verdicts.doubts[i]);
	}
	strbuf_putc(sb, ']');
	json_list(sb, ",\n  ", "problems");
	for (size_t i = 0; i < r->nproblems; i++) {
		json_next_line(sb, i, "    ");
		json_address(sb, "{", "address", r->problems[i].at);
		json_string(sb, ", ", "what", r->problems[i].what);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
	json_number(sb, ", ", "more_problems", r->more_problems);
}

static void put_scan(struct strbuf *sb, const struct scan_report *r)
{
	const struct summary_verdicts *v = &r->summary.run.verdicts;

	json_key(sb, ",\n", "scan");
	json_string(sb, "{", "source", r->core ? "core" : "process");
	json_text(sb, ", ", "core", r->core);
	json_number(sb, ", ", "threads", v->threads);
	json_number(sb, ", ", "not_stopped", v->not_stopped);
	json_number(sb, ", ", "pauses", r->pauses);
	json_real(sb, ", ", "pause_seconds", v->pause_s);
	json_real(sb, ", ", "expected_seconds", v->expected_s);
	put_memory(sb, &r->memory);
	put_heap(sb, &r->heap);
	put_trace(sb, &r->trace);
	put_python(sb, &r->python);
	put_verdicts(sb, v);
	put_doubts(sb, r);
	strbuf_putc(sb, '}');
}

/* --- pointers to an address --- */

static void put_block(struct strbuf *sb, bool there, const struct scan_block *b)
{
	if (!there) {
		json_text(sb, ", ", "block", NULL);
		return;
	}
	json_key(sb, ", ", "block");
	json_address(sb, "{", "address", b->addr);
	json_number(sb, ", ", "size", b->size);
	json_string(sb, ", ", "verdict", verdict_name(b->verdict));
	json_text(sb, ", ", "label", b->label);
	strbuf_putc(sb, '}');
}

static void put_pointer(struct strbuf *sb, const struct scan_pointer *p, taddr to)
{
	json_string(sb, "{", "place", scan_place_name(p->place));
	json_address(sb, ", ", "at", p->at);
	json_address(sb, ", ", "value", p->value);
	json_signed(sb, ", ", "offset", (int64_t)(p->value - to));
	put_block(sb, p->place == SCAN_IN_BLOCK, &p->block);
	json_signed(sb, ", ", "tid", p->tid);
	json_text(sb, ", ", "register", p->reg);
	if (p->sp_known)
		json_signed(sb, ", ", "from_sp", p->from_sp);
	else
		json_text(sb, ", ", "from_sp", NULL);
	json_text(sb, ", ", "module", p->module);
	json_address(sb, ", ", "module_offset", p->offset);
	json_text(sb, ", ", "symbol", p->symbol);
	json_number(sb, ", ", "symbol_offset", p->symbol_offset);
	strbuf_putc(sb, '}');
}

static void put_answer(struct strbuf *sb, const struct scan_answer *a)
{
	taddr to = a->in_block ? a->block.addr : a->addr;

	json_address(sb, "{", "address", a->addr);
	put_block(sb, a->in_block, &a->block);
	json_text(sb, ", ", "where", a->where);
	json_number(sb, ", ", "total", a->total);
	json_list(sb, ", ", "pointers");
	for (size_t i = 0; i < a->n; i++) {
		json_next_line(sb, i, "    ");
		put_pointer(sb, &a->pointers[i], to);
	}
	strbuf_putc(sb, ']');
	json_list(sb, ",\n   ", "chain");
	for (size_t i = 0; i < a->chain.n; i++) {
		json_next_line(sb, i, "    ");
		put_pointer(sb, &a->chain.links[i], to);
		to = a->chain.links[i].block.addr;
	}
	strbuf_putc(sb, ']');
	json_bool(sb, ", ", "chain_has_root", a->chain.root);
	json_bool(sb, ", ", "chain_is_ring", a->chain.ring);
	strbuf_putc(sb, '}');
}

static void put_answers(struct strbuf *sb, const struct scan_report *r)
{
	if (!r->nanswers)
		return;
	json_list(sb, ",\n", "pointers");
	for (size_t i = 0; i < r->nanswers; i++) {
		json_next_line(sb, i, "  ");
		put_answer(sb, &r->answers[i]);
	}
	strbuf_putc(sb, ']');
}

void json_scan(const struct scan_report *r, struct json_frames *frames, struct strbuf *sb)
{
	json_summary(&r->summary, frames, sb);
	put_scan(sb, r);
	put_answers(sb, r);
}

int out_scan_json(const struct scan_report *r, size_t top, struct strbuf *sb)
{
	(void)top;
	if (scan_error(r))
		return scan_error(r);
	json_scan(r, NULL, sb);
	strbuf_puts(sb, "}\n");
	return strbuf_error(sb);
}
