/* SPDX-License-Identifier: MIT */
/* out_json: see out_json.h. A function for each object of the schema. */
#include "report/out_json.h"

#include <inttypes.h>
#include <math.h>

#include "report/json.h"

static void put_target(struct strbuf *sb, const struct summary_target *t)
{
	json_key(sb, ",\n", "target");
	json_number(sb, "{", "pid", (uint64_t)t->pid);
	json_string(sb, ", ", "comm", t->comm);
	json_string(sb, ", ", "exe", t->exe);
	json_key(sb, ", ", "cmdline");
	strbuf_putc(sb, '[');
	for (size_t i = 0; i < t->nargs; i++) {
		strbuf_puts(sb, i ? ", " : "");
		strbuf_json(sb, t->cmdline[i]);
	}
	strbuf_puts(sb, "]}");
}

static void put_probes(struct strbuf *sb, const struct summary_run *run)
{
	json_key(sb, ", ", "probes");
	strbuf_putc(sb, '[');
	for (size_t i = 0; i < run->nprobes; i++) {
		const struct summary_probe *p = &run->probes[i];
		json_next_line(sb, i, "  ");
		json_string(sb, "{", "family", p->family);
		json_string(sb, ", ", "rule", p->rule);
		json_string(sb, ", ", "module", p->module);
		json_number(sb, ", ", "hits", p->hits);
		json_key(sb, ", ", "note");
		strbuf_json(sb, p->note);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_gaps(struct strbuf *sb, const struct summary_run *run)
{
	json_key(sb, ", ", "gaps");
	strbuf_putc(sb, '[');
	for (size_t i = 0; i < run->ngaps; i++) {
		json_next_line(sb, i, "  ");
		json_real(sb, "{", "start", run->gaps[i].start_s);
		json_real(sb, ", ", "seconds", run->gaps[i].seconds);
		json_string(sb, ", ", "why", run->gaps[i].why);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_run(struct strbuf *sb, const struct summary_run *run)
{
	json_key(sb, ",\n", "run");
	json_start(sb, "{", run->start_ns);
	json_real(sb, ", ", "seconds", run->seconds);
	json_string(sb, ", ", "frontend", run->frontend);
	json_string(sb, ", ", "mode", run->mode);
	json_real(sb, ", ", "duty", run->duty);
	json_number(sb, ", ", "events", run->events);
	json_key(sb, ", ", "lost");
	for (size_t i = 0; i < run->nlost; i++)
		json_number(sb, i ? ", " : "{", run->lost[i].reason, run->lost[i].count);
	strbuf_puts(sb, run->nlost ? "}" : "{}");
	json_number(sb, ", ", "stacks_cut", run->stacks_cut);
	json_number(sb, ", ", "stacks_lost", run->stacks_lost);
	json_number(sb, ", ", "ring_waits", run->ring_waits);
	json_real(sb, ", ", "stopped_seconds", run->stopped_seconds);
	put_probes(sb, run);
	put_gaps(sb, run);
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

static void put_growth(struct strbuf *sb, const struct summary_group *g)
{
	json_key(sb, ", ", "growth");
	json_string(sb, "{", "shape", growth_name(g->growth.shape));
	json_real(sb, ", ", "bytes_per_minute", g->growth.bytes_per_minute);
	json_real(sb, ", ", "since_s", g->growth.since_s);
	strbuf_puts(sb, "}, \"series\": [");
	for (size_t i = 0; i < g->npoints; i++)
		strbuf_printf(sb, "%s[%.6f, %" PRIu64 "]", i ? ", " : "",
			      isfinite(g->series[i].seconds) ? g->series[i].seconds : 0.0, g->series[i].bytes);
	strbuf_putc(sb, ']');
}

static void put_group(struct strbuf *sb, const struct summary_group *g)
{
	json_string(sb, "{", "family", g->family);
	json_number(sb, ", ", "blocks", g->blocks);
	json_number(sb, ", ", "bytes", g->bytes);
	json_number(sb, ", ", "bytes_direct", g->bytes_direct);
	json_number(sb, ", ", "allocs", g->allocs);
	json_number(sb, ", ", "frees", g->frees);
	json_real(sb, ", ", "oldest_s", g->oldest_s);
	json_real(sb, ", ", "youngest_s", g->youngest_s);
	json_string(sb, ", ", "verdict", summary_verdict_name(g->verdict));
	put_growth(sb, g);
	strbuf_puts(sb, ", \"samples\": [");
	for (size_t i = 0; i < g->nsamples; i++)
		strbuf_printf(sb, "%s\"0x%" PRIx64 "\"", i ? ", " : "", g->samples[i]);
	strbuf_putc(sb, ']');
	json_number(sb, ", ", "wrappers", g->wrappers);
	json_stack(sb, ", ", g->stack, g->depth, g->stack_end);
	strbuf_putc(sb, '}');
}

static void put_groups(struct strbuf *sb, const struct summary *s)
{
	strbuf_puts(sb, ",\n\"groups\": [");
	for (size_t i = 0; i < s->ngroups; i++) {
		json_next_line(sb, i, "  ");
		put_group(sb, &s->groups[i]);
	}
	strbuf_putc(sb, ']');
}

static void put_side(struct strbuf *sb, const char *name, const struct summary_stack *stack)
{
	json_key(sb, ",\n   ", name);
	json_stack(sb, "{", stack->frames, stack->depth, stack->end);
	strbuf_putc(sb, '}');
}

static void put_double_frees(struct strbuf *sb, const struct summary *s)
{
	strbuf_puts(sb, ",\n\"double_frees\": [");
	for (size_t i = 0; i < s->ntwice; i++) {
		const struct summary_twice *t = &s->twice[i];
		json_next_line(sb, i, "  ");
		json_string(sb, "{", "family", t->family);
		json_number(sb, ", ", "count", t->count);
		json_address(sb, ", ", "sample", t->sample);
		json_real(sb, ", ", "time_s", t->time_s);
		put_side(sb, "second", &t->second);
		put_side(sb, "first", &t->first);
		put_side(sb, "alloc", &t->alloc);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_counts(struct strbuf *sb, const char *separator, uint64_t groups, uint64_t blocks, uint64_t bytes)
{
	json_number(sb, separator, "groups", groups);
	json_number(sb, ", ", "blocks", blocks);
	json_number(sb, ", ", "bytes", bytes);
	strbuf_putc(sb, '}');
}

static void put_hidden(struct strbuf *sb, const struct summary *s)
{
	json_key(sb, ",\n", "suppressed");
	put_counts(sb, "{", s->suppressed.groups, s->suppressed.blocks, s->suppressed.bytes);
	json_key(sb, ",\n", "filtered");
	put_counts(sb, "{", s->filtered.groups, s->filtered.blocks, s->filtered.bytes);
	strbuf_puts(sb, ",\n\"suppressions_used\": [");
	for (size_t i = 0; i < s->nsuppressions; i++) {
		const struct summary_suppression *used = &s->suppressions[i];
		json_next_line(sb, i, "  ");
		json_string(sb, "{", "name", used->name);
		json_string(sb, ", ", "where", used->where);
		put_counts(sb, ", ", used->groups, used->blocks, used->bytes);
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

int out_json(const struct summary *s, struct strbuf *sb)
{
	if (summary_error(s))
		return summary_error(s);
	json_begin(sb);
	put_target(sb, &s->target);
	put_run(sb, &s->run);
	put_totals(sb, &s->totals);
	put_groups(sb, s);
	strbuf_puts(sb, ",\n\"refs\": []");
	put_double_frees(sb, s);
	put_hidden(sb, s);
	put_notes(sb, s);
	strbuf_puts(sb, "}\n");
	return strbuf_error(sb);
}
