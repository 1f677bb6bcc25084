/* SPDX-License-Identifier: MIT */
/* out_json: see out_json.h. A function for each object of the schema. */
#include "report/json/out_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "report/json/json.h"
#include "report/json/json_lookup.h"
#include "report/json/json_memory.h"
#include "report/json/json_processes.h"
#include "report/json/json_sampled.h"
#include "report/json/json_stack.h"
#include "report/model/group_numbers.h"

static void put_target(struct strbuf *sb, const struct summary_target *t)
{
	json_key(sb, ",\n", "target");
	json_number(sb, "{", "pid", (uint64_t)t->pid);
	json_string(sb, ", ", "comm", t->comm);
	json_string(sb, ", ", "exe", t->exe);
	json_list(sb, ", ", "cmdline");
	for (size_t i = 0; i < t->nargs; i++) {
		strbuf_puts(sb, i ? ", " : "");
		strbuf_json(sb, t->cmdline[i]);
	}
	strbuf_puts(sb, "]}");
}

static void put_probes(struct strbuf *sb, const struct summary_run *run)
{
	json_list(sb, ", ", "probes");
	for (size_t i = 0; i < run->nprobes; i++) {
		const struct summary_probe *p = &run->probes[i];
		json_next_line(sb, i, "  ");
		json_string(sb, "{", "family", p->family);
		json_string(sb, ", ", "rule", p->rule);
		json_string(sb, ", ", "module", p->module);
		json_number(sb, ", ", "hits", p->hits);
		json_text(sb, ", ", "note", p->note);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_gaps(struct strbuf *sb, const struct summary_run *run)
{
	json_list(sb, ", ", "gaps");
	for (size_t i = 0; i < run->ngaps; i++) {
		json_next_line(sb, i, "  ");
		json_real(sb, "{", "start", run->gaps[i].start_s);
		json_real(sb, ", ", "seconds", run->gaps[i].seconds);
		json_string(sb, ", ", "why", run->gaps[i].why);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

/* --- verdicts --- */

static void put_verdicts(struct strbuf *sb, const struct summary_verdicts *v)
{
	json_key(sb, ",\n  ", "verdicts");
	json_bool(sb, "{", "taken", v->known);
	json_text(sb, ", ", "why_not", v->why_not);
	json_real(sb, ", ", "pause_seconds", v->pause_s);
	json_real(sb, ", ", "expected_seconds", v->expected_s);
	json_number(sb, ", ", "threads", v->threads);
	json_number(sb, ", ", "not_stopped", v->not_stopped);
	json_number(sb, ", ", "bytes_copied", v->bytes);
	json_bool(sb, ", ", "census", v->census);
	json_text(sb, ", ", "allocator", v->allocator);
	json_sums(sb, ", ", "sums", v->all);
	json_sums(sb, ", ", "watched", v->watched);
	json_list(sb, ", ", "doubts");
	for (size_t i = 0; i < v->ndoubts; i++) {
		strbuf_puts(sb, i ? ", " : "");
		strbuf_json(sb, v->doubts[i]);
	}
	strbuf_puts(sb, "]}");
}

static void put_run(struct strbuf *sb, const struct summary_run *run)
{
	json_key(sb, ",\n", "run");
	json_start(sb, "{", run->start_ns);
	json_real(sb, ", ", "seconds", run->seconds);
	json_text(sb, ", ", "host", run->host);
	json_string(sb, ", ", "frontend", run->frontend);
	json_string(sb, ", ", "mode", run->mode);
	if (run->sample_bytes)
		json_number(sb, ", ", "sample_bytes", run->sample_bytes);
	json_real(sb, ", ", "duty", run->duty);
	json_number(sb, ", ", "events", run->events);
	json_key(sb, ", ", "lost");
	for (size_t i = 0; i < run->nlost; i++)
		json_number(sb, i ? ", " : "{", run->lost[i].reason, run->lost[i].count);
	strbuf_puts(sb, run->nlost ? "}" : "{}");
	json_number(sb, ", ", "stacks_cut", run->stacks_cut);
	json_number(sb, ", ", "stacks_lost", run->stacks_lost);
	json_number(sb, ", ", "ring_waits", run->ring_waits);
	if (run->left_out)
		json_number(sb, ", ", "ranges_left_out", run->left_out);
	json_real(sb, ", ", "stopped_seconds", run->stopped_seconds);
	json_bool(sb, ", ", "stopped_known", summary_stops_known(run));
	json_real(sb, ", ", "thread_seconds", run->thread_seconds);
	json_number(sb, ", ", "hitting_threads", run->hitting);
	json_real(sb, ", ", "hitting_seconds", run->hitting_seconds);
	json_real(sb, ", ", "hitting_stopped_seconds", run->hitting_stopped);
	put_probes(sb, run);
	put_gaps(sb, run);
	json_budget(sb, &run->budget);
	put_verdicts(sb, &run->verdicts);
	strbuf_putc(sb, '}');
}

static void put_totals(struct strbuf *sb, const struct summary_totals *t)
{
	json_key(sb, ",\n", "totals");
	json_number(sb, "{", "allocs", t->allocs);
	json_number(sb, ", ", "frees", t->frees);
	json_number(sb, ", ", "unmatched_frees", t->unmatched_frees);
	json_number(sb, ", ", "double_frees", t->double_frees);
	json_number(sb, ", ", "live_blocks", t->live_blocks);
	json_number(sb, ", ", "live_bytes", t->live_bytes);
	strbuf_putc(sb, '}');
}

static void put_samples(struct strbuf *sb, const taddr *samples, size_t n)
{
	json_list(sb, ", ", "samples");
	for (size_t i = 0; i < n; i++)
		strbuf_printf(sb, "%s\"0x%" PRIx64 "\"", i ? ", " : "", samples[i]);
	strbuf_putc(sb, ']');
}

/* For a page: points on a level line between their neighbours say nothing that a curve would not show. */
static bool is_needless(const struct growth_point *series, size_t i, size_t n)
{
	return i > 0 && i + 1 < n && series[i].bytes == series[i - 1].bytes &&
	       series[i].bytes == series[i + 1].bytes;
}

static void put_series(struct strbuf *sb, const struct growth_point *series, size_t n, bool for_page)
{
	const char *separator = "";

	json_list(sb, ", ", "series");
	for (size_t i = 0; i < n; i++) {
		const double seconds = isfinite(series[i].seconds) ? series[i].seconds : 0.0;

		if (for_page && is_needless(series, i, n))
			continue;
		strbuf_puts(sb, separator);
		strbuf_printf(sb, for_page ? "[%.6g,%" PRIu64 "]" : "[%.6f, %" PRIu64 "]", seconds,
			      series[i].bytes);
		separator = for_page ? "," : ", ";
	}
	strbuf_putc(sb, ']');
}

/* @rate: the name of the member with the rate. */
static void put_growth(struct strbuf *sb, const struct growth *g, const char *rate)
{
	json_key(sb, ", ", "growth");
	json_string(sb, "{", "shape", growth_name(g->shape));
	json_real(sb, ", ", rate, g->bytes_per_minute);
	json_real(sb, ", ", "since_s", g->since_s);
	strbuf_putc(sb, '}');
}

static void put_kind(struct strbuf *sb, const struct summary_kind *k)
{
	json_text(sb, ", ", "label", k->label);
	json_text(sb, ", ", "class", k->class_name);
	json_text(sb, ", ", "class_module", k->module);
	json_text(sb, ", ", "content", k->content);
	json_number(sb, ", ", "size_low", k->size_low);
	json_number(sb, ", ", "size_high", k->size_high);
}

/* The groups of indirectly lost blocks that are lost with this one, by their index in the list. */
static void put_hangs(struct strbuf *sb, const struct summary *s, const struct summary_group *g)
{
	json_list(sb, ", ", "indirect_groups");
	for (size_t i = 0; i < g->nhangs; i++) {
		json_number(sb, i ? ", {" : "{", "group", summary_index(s, g->hangs[i].serial));
		json_number(sb, ", ", "blocks", g->hangs[i].blocks);
		json_number(sb, ", ", "bytes", g->hangs[i].bytes);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_indirect(struct strbuf *sb, const struct summary_group *g)
{
	json_bool(sb, ", ", "split", g->split);
	json_number(sb, ", ", "indirect_blocks", g->kind.indirect_blocks);
	json_number(sb, ", ", "indirect_bytes", g->kind.indirect_bytes);
}

static void put_freed(struct strbuf *sb, const struct summary_group *g, struct json_frames *frames)
{
	json_list(sb, ",\n   ", "freed_by");
	for (size_t i = 0; i < g->nfreed; i++) {
		json_next_line(sb, i, "   ");
		json_number(sb, "{", "blocks", g->freed[i].blocks);
		json_number(sb, ", ", "bytes", g->freed[i].bytes);
		json_number(sb, ", ", "wrappers", g->freed[i].stack.wrappers);
		json_stack(sb, ", ", &g->freed[i].stack, frames);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

/* @number: in the text report. */
static void put_group(struct strbuf *sb, const struct summary *s, const struct summary_group *g, size_t number,
		      struct json_frames *frames)
{
	json_number(sb, "{", "number", number);
	json_string(sb, ", ", "family", g->family);
	json_text(sb, ", ", "tag", g->tag);
	json_number(sb, ", ", "blocks", g->blocks);
	json_number(sb, ", ", "bytes", g->bytes);
	json_number(sb, ", ", "bytes_direct", g->bytes_direct);
	json_number(sb, ", ", "allocs", g->allocs);
	json_number(sb, ", ", "frees", g->frees);
	if (summary_family(s, g->family)->ranges) {
		json_number(sb, ", ", "bytes_taken", g->bytes_taken);
		json_number(sb, ", ", "bytes_returned", g->bytes_returned);
	}
	if (frames)	/* a page */
		json_number(sb, ", ", "bytes_allocated", g->bytes_taken);
	json_real(sb, ", ", "oldest_s", g->oldest_s);
	json_real(sb, ", ", "youngest_s", g->youngest_s);
	json_string(sb, ", ", "verdict", verdict_name(g->verdict));
	if (s->run.verdicts.known || s->scanned)
		put_indirect(sb, g);
	if (s->run.verdicts.known && !s->scanned)
		put_hangs(sb, s, g);
	if (s->scanned)
		put_kind(sb, &g->kind);
	if (g->sampled)
		json_sample(sb, g->sampled);
	if (g->sample_of.seen)
		json_bounds(sb, g);
	json_shares(sb, g);
	put_growth(sb, &g->growth, "bytes_per_minute");
	put_series(sb, g->series, g->npoints, frames);
	put_samples(sb, g->samples, g->nsamples);
	json_number(sb, ", ", "wrappers", g->stack.wrappers);
	json_stack(sb, ", ", &g->stack, frames);
	if (g->nfreed)
		put_freed(sb, g, frames);
	strbuf_putc(sb, '}');
}

static void put_groups(struct strbuf *sb, const struct summary *s, const struct group_numbers *numbers,
		       struct json_frames *frames)
{
	strbuf_puts(sb, ",\n\"groups\": [");
	for (size_t i = 0; i < s->ngroups; i++) {
		json_next_line(sb, i, "  ");
		put_group(sb, s, &s->groups[i], s->scanned ? i + 1 : numbers->of_group[i], frames);
	}
	strbuf_putc(sb, ']');
}

/* --- references --- */

static void put_use(struct strbuf *sb, const struct summary_use *u, bool taken, struct json_frames *frames)
{
	json_real(sb, "{", "per_object", u->per_object);
	json_number(sb, ", ", "count", u->count);
	if (taken) {
		json_number(sb, ", ", "kept", u->outstanding);
		json_number(sb, ", ", "taken_in_all", u->acquired_in_all);
		json_number(sb, ", ", "several", u->several);
		json_number(sb, ", ", "as_many", u->as_many);
		json_string(sb, ", ", "module", u->module);
		json_number(sb, ", ", "module_taken", u->module_acquired);
		json_number(sb, ", ", "module_dropped", u->module_released);
		if (frames)	/* a page */
			json_bool(sb, ", ", "follows", summary_use_follows(u));
	}
	json_number(sb, ", ", "wrappers", u->stack.wrappers);
	json_stack(sb, ", ", &u->stack, frames);
	strbuf_putc(sb, '}');
}

static void put_uses(struct strbuf *sb, const char *name, const struct summary_use *uses, size_t n,
		     bool taken, struct json_frames *frames)
{
	json_list(sb, ",\n   ", name);
	for (size_t i = 0; i < n; i++) {
		json_next_line(sb, i, "   ");
		put_use(sb, &uses[i], taken, frames);
	}
	strbuf_putc(sb, ']');
}

static void put_counts_of(struct strbuf *sb, const char *name, const uint64_t *counts, size_t n)
{
	json_list(sb, ", ", name);
	for (size_t i = 0; i < n; i++)
		strbuf_printf(sb, "%s%" PRIu64, i ? ", " : "", counts[i]);
	strbuf_putc(sb, ']');
}

static void put_objects(struct strbuf *sb, const struct summary_refs *r)
{
	json_list(sb, ",\n   ", "object_list");
	for (size_t i = 0; i < r->nall; i++) {
		json_next_line(sb, i, "    ");
		json_address(sb, "{", "address", r->all[i].addr);
		json_real(sb, ", ", "age_s", r->all[i].age_s);
		put_counts_of(sb, "taken", r->all[i].counts, r->nacquired);
		put_counts_of(sb, "dropped", r->all[i].counts + r->nacquired, r->nreleased);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_refs_group(struct strbuf *sb, const struct summary_refs *r, size_t number, bool per_object,
			   struct json_frames *frames)
{
	json_number(sb, "{", "number", number);
	json_string(sb, ", ", "family", r->family);
	json_string(sb, ", ", "noun", r->noun);
	json_number(sb, ", ", "objects", r->objects);
	json_signed(sb, ", ", "net", r->net);
	json_bool(sb, ", ", "older", r->older);
	json_bool(sb, ", ", "counted", r->counted);
	if (frames) {	/* a page */
		json_number(sb, ", ", "suspects", summary_suspects(r));
		json_number(sb, ", ", "near", summary_near_uses(r->acquired, r->nacquired));
	}
	json_real(sb, ", ", "oldest_s", r->oldest_s);
	json_real(sb, ", ", "youngest_s", r->youngest_s);
	put_growth(sb, &r->growth, "references_per_minute");
	put_series(sb, r->series, r->npoints, frames);
	put_samples(sb, r->samples, r->nsamples);
	put_uses(sb, "taken", r->acquired, r->nacquired, true, frames);
	put_uses(sb, "dropped", r->released, r->nreleased, false, frames);
	if (per_object)
		put_objects(sb, r);
	strbuf_putc(sb, '}');
}

static void put_refs(struct strbuf *sb, const struct summary *s, const struct group_numbers *numbers,
		     struct json_frames *frames)
{
	strbuf_puts(sb, ",\n\"refs\": [");
	for (size_t i = 0; i < s->nrefs; i++) {
		json_next_line(sb, i, "  ");
		put_refs_group(sb, &s->refs[i], numbers->of_refs[i], s->per_object, frames);
	}
	strbuf_putc(sb, ']');
}

static void put_ref_totals(struct strbuf *sb, const struct summary *s)
{
	size_t n = 0;

	strbuf_puts(sb, ",\n\"ref_totals\": [");
	for (size_t i = 0; i < s->nfamilies; i++) {
		const struct summary_family *f = &s->families[i];

		if (!f->refs)
			continue;
		json_next_line(sb, n++, "  ");
		json_string(sb, "{", "family", f->name);
		json_number(sb, ", ", "taken", f->acquired);
		json_number(sb, ", ", "dropped", f->released);
		json_number(sb, ", ", "objects", f->live);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

/* --- what is not among the groups --- */

static void put_side(struct strbuf *sb, const char *name, const struct stack_view *stack,
		     struct json_frames *frames)
{
	json_key(sb, ",\n   ", name);
	json_stack(sb, "{", stack, frames);
	strbuf_putc(sb, '}');
}

static void put_double_frees(struct strbuf *sb, const struct summary *s, struct json_frames *frames)
{
	strbuf_puts(sb, ",\n\"double_frees\": [");
	for (size_t i = 0; i < s->ntwice; i++) {
		const struct summary_twice *t = &s->twice[i];
		json_next_line(sb, i, "  ");
		json_string(sb, "{", "family", t->family);
		json_number(sb, ", ", "count", t->count);
		json_address(sb, ", ", "sample", t->sample);
		json_real(sb, ", ", "time_s", t->time_s);
		put_side(sb, "second", &t->second, frames);
		put_side(sb, "first", &t->first, frames);
		put_side(sb, "alloc", &t->alloc, frames);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_counts(struct strbuf *sb, const char *separator, uint64_t groups, uint64_t blocks,
		       uint64_t bytes)
{
	json_number(sb, separator, "groups", groups);
	json_number(sb, ", ", "blocks", blocks);
	json_number(sb, ", ", "bytes", bytes);
}

static void put_hidden_by(struct strbuf *sb, const char *name, const struct summary_hidden *h)
{
	json_key(sb, ",\n", name);
	put_counts(sb, "{", h->groups, h->blocks, h->bytes);
	json_number(sb, ", ", "ref_groups", h->ref_groups);
	json_number(sb, ", ", "objects", h->objects);
	strbuf_putc(sb, '}');
}

static void put_hidden(struct strbuf *sb, const struct summary *s)
{
	put_hidden_by(sb, "suppressed", &s->suppressed);
	put_hidden_by(sb, "filtered", &s->filtered);
	strbuf_puts(sb, ",\n\"suppressions_used\": [");
	for (size_t i = 0; i < s->nsuppressions; i++) {
		const struct summary_suppression *used = &s->suppressions[i];
		json_next_line(sb, i, "  ");
		json_string(sb, "{", "name", used->name);
		json_string(sb, ", ", "where", used->where);
		put_counts(sb, ", ", used->groups, used->blocks, used->bytes);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_notes(struct strbuf *sb, const struct summary *s)
{
	strbuf_puts(sb, ",\n\"notes\": [");
	for (size_t i = 0; i < s->nnotes; i++) {
		json_next_line(sb, i, "  ");
		strbuf_json(sb, s->notes[i]);
	}
	strbuf_putc(sb, ']');
}

/* A bin as [from, blocks, bytes]; ages in seconds. Empty ones are left out. */
static void put_histogram(struct strbuf *sb, const char *name, const struct histogram *h, bool seconds)
{
	size_t n = 0;

	json_list(sb, ",\n", name);
	for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
		if (!h->bins[i].blocks)
			continue;
		strbuf_puts(sb, n++ ? ", [" : "[");
		if (seconds)
			strbuf_printf(sb, "%.6f", (double)histogram_from(i) * 1e-6);
		else
			strbuf_printf(sb, "%" PRIu64, histogram_from(i));
		strbuf_printf(sb, ", %" PRIu64 ", %" PRIu64 "]", h->bins[i].blocks, h->bins[i].bytes);
	}
	strbuf_putc(sb, ']');
}

void json_summary(const struct summary *s, struct json_frames *frames, struct strbuf *sb)
{
	struct group_numbers numbers;

	json_begin(sb);
	put_target(sb, &s->target);
	put_run(sb, &s->run);
	put_totals(sb, &s->totals);
	put_histogram(sb, "block_sizes", &s->sizes, false);
	put_histogram(sb, "block_ages", &s->ages, true);
	json_memory(sb, s);
	json_processes(sb, s);
	if (group_numbers_make(s, &numbers) == 0) {
		put_groups(sb, s, &numbers, frames);
		put_refs(sb, s, &numbers, frames);
	} else {
		sb->err = -ENOMEM;
	}
	group_numbers_fini(&numbers);
	put_ref_totals(sb, s);
	put_double_frees(sb, s, frames);
	put_hidden(sb, s);
	put_notes(sb, s);
	json_lookup(s, frames, sb);
}

int out_json(const struct summary *s, size_t top, struct strbuf *sb)
{
	(void)top;
	if (summary_error(s))
		return summary_error(s);
	json_summary(s, NULL, sb);
	strbuf_puts(sb, "}\n");
	return strbuf_error(sb);
}
