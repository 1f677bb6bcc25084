/* SPDX-License-Identifier: MIT */
/*
 * out_json: see out_json.h. A function for each object of the schema; the
 * separator before a member is an argument, so no state says whether it is the first.
 */
#include "report/out_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/version.h"

/* "key": as the first or a further member of an object. */
static void key(struct strbuf *sb, const char *separator, const char *name)
{
	strbuf_puts(sb, separator);
	strbuf_json(sb, name);
	strbuf_puts(sb, ": ");
}

static void put_string(struct strbuf *sb, const char *separator, const char *name, const char *value)
{
	key(sb, separator, name);
	strbuf_json(sb, value ? value : "");
}

static void put_number(struct strbuf *sb, const char *separator, const char *name, uint64_t value)
{
	key(sb, separator, name);
	strbuf_printf(sb, "%" PRIu64, value);
}

/* JSON knows neither infinity nor NaN. */
static void put_real(struct strbuf *sb, const char *separator, const char *name, double value)
{
	key(sb, separator, name);
	strbuf_printf(sb, "%.6f", isfinite(value) ? value : 0.0);
}

static void put_address(struct strbuf *sb, const char *separator, const char *name, uint64_t value)
{
	key(sb, separator, name);
	strbuf_printf(sb, "\"0x%" PRIx64 "\"", value);
}

/* What stands before the i-th element of a list that has a line for each. */
static void next_line(struct strbuf *sb, size_t i, const char *indent)
{
	strbuf_puts(sb, i ? ",\n" : "\n");
	strbuf_puts(sb, indent);
}

static void put_target(struct strbuf *sb, const struct summary_target *t)
{
	key(sb, ",\n", "target");
	put_number(sb, "{", "pid", (uint64_t)t->pid);
	put_string(sb, ", ", "comm", t->comm);
	put_string(sb, ", ", "exe", t->exe);
	key(sb, ", ", "cmdline");
	strbuf_putc(sb, '[');
	for (size_t i = 0; i < t->nargs; i++) {
		strbuf_puts(sb, i ? ", " : "");
		strbuf_json(sb, t->cmdline[i]);
	}
	strbuf_puts(sb, "]}");
}

static void put_probes(struct strbuf *sb, const struct summary_run *run)
{
	key(sb, ", ", "probes");
	strbuf_putc(sb, '[');
	for (size_t i = 0; i < run->nprobes; i++) {
		const struct summary_probe *p = &run->probes[i];
		next_line(sb, i, "  ");
		put_string(sb, "{", "family", p->family);
		put_string(sb, ", ", "rule", p->rule);
		put_string(sb, ", ", "module", p->module);
		put_number(sb, ", ", "hits", p->hits);
		key(sb, ", ", "note");
		strbuf_json(sb, p->note);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_gaps(struct strbuf *sb, const struct summary_run *run)
{
	key(sb, ", ", "gaps");
	strbuf_putc(sb, '[');
	for (size_t i = 0; i < run->ngaps; i++) {
		next_line(sb, i, "  ");
		put_real(sb, "{", "start", run->gaps[i].start_s);
		put_real(sb, ", ", "seconds", run->gaps[i].seconds);
		put_string(sb, ", ", "why", run->gaps[i].why);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

static void put_start(struct strbuf *sb, int64_t start_ns)
{
	time_t seconds = start_ns / 1000000000;
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	key(sb, "{", "start");
	strbuf_printf(sb, "\"%s.%03dZ\"", text, (int)(start_ns / 1000000 % 1000));
}

static void put_run(struct strbuf *sb, const struct summary_run *run)
{
	key(sb, ",\n", "run");
	put_start(sb, run->start_ns);
	put_real(sb, ", ", "seconds", run->seconds);
	put_string(sb, ", ", "frontend", run->frontend);
	put_string(sb, ", ", "mode", run->mode);
	put_real(sb, ", ", "duty", run->duty);
	put_number(sb, ", ", "events", run->events);
	key(sb, ", ", "lost");
	for (size_t i = 0; i < run->nlost; i++)
		put_number(sb, i ? ", " : "{", run->lost[i].reason, run->lost[i].count);
	strbuf_puts(sb, run->nlost ? "}" : "{}");
	put_number(sb, ", ", "stacks_cut", run->stacks_cut);
	put_number(sb, ", ", "stacks_lost", run->stacks_lost);
	put_number(sb, ", ", "ring_waits", run->ring_waits);
	put_real(sb, ", ", "stopped_seconds", run->stopped_seconds);
	put_probes(sb, run);
	put_gaps(sb, run);
	strbuf_putc(sb, '}');
}

static void put_totals(struct strbuf *sb, const struct summary_totals *t)
{
	key(sb, ",\n", "totals");
	put_number(sb, "{", "allocs", t->allocs);
	put_number(sb, ", ", "frees", t->frees);
	put_number(sb, ", ", "unmatched_frees", t->unmatched_frees);
	put_number(sb, ", ", "double_frees", t->double_frees);
	put_number(sb, ", ", "live_blocks", t->live_blocks);
	put_number(sb, ", ", "live_bytes", t->live_bytes);
	strbuf_putc(sb, '}');
}

static void put_frame(struct strbuf *sb, const struct summary_frame *f)
{
	put_address(sb, "{", "pc", f->pc);
	put_string(sb, ", ", "module", f->module);
	put_string(sb, ", ", "build_id", f->build_id);
	put_address(sb, ", ", "offset", f->offset);
	put_string(sb, ", ", "function", f->function);
	put_string(sb, ", ", "file", f->file);
	put_number(sb, ", ", "line", f->line > 0 ? (uint64_t)f->line : 0);
	key(sb, ", ", "inlined");
	strbuf_puts(sb, f->inlined ? "true}" : "false}");
}

/* "series" stays empty where the run kept no history of its groups. */
static void put_group(struct strbuf *sb, const struct summary_group *g)
{
	put_string(sb, "{", "family", g->family);
	put_number(sb, ", ", "blocks", g->blocks);
	put_number(sb, ", ", "bytes", g->bytes);
	put_number(sb, ", ", "bytes_direct", g->bytes_direct);
	put_number(sb, ", ", "allocs", g->allocs);
	put_number(sb, ", ", "frees", g->frees);
	put_real(sb, ", ", "oldest_s", g->oldest_s);
	put_real(sb, ", ", "youngest_s", g->youngest_s);
	put_string(sb, ", ", "verdict", summary_verdict_name(g->verdict));
	strbuf_puts(sb, ", \"series\": [], \"samples\": [");
	for (size_t i = 0; i < g->nsamples; i++)
		strbuf_printf(sb, "%s\"0x%" PRIx64 "\"", i ? ", " : "", g->samples[i]);
	put_string(sb, "], ", "stack_end", summary_stack_end_name(g->stack_end));
	strbuf_puts(sb, ", \"stack\": [");
	for (size_t i = 0; i < g->depth; i++) {
		next_line(sb, i, "    ");
		put_frame(sb, &g->stack[i]);
	}
	strbuf_puts(sb, "]}");
}

static void put_groups(struct strbuf *sb, const struct summary *s)
{
	strbuf_puts(sb, ",\n\"groups\": [");
	for (size_t i = 0; i < s->ngroups; i++) {
		next_line(sb, i, "  ");
		put_group(sb, &s->groups[i]);
	}
	strbuf_putc(sb, ']');
}

static void put_notes(struct strbuf *sb, const struct summary *s)
{
	strbuf_puts(sb, ",\n\"notes\": [");
	for (size_t i = 0; i < s->nnotes; i++) {
		next_line(sb, i, "  ");
		strbuf_json(sb, s->notes[i]);
	}
	strbuf_putc(sb, ']');
}

int out_json(const struct summary *s, struct strbuf *sb)
{
	if (summary_error(s))
		return summary_error(s);
	strbuf_puts(sb, "{\"mmattach\": {\"version\": \"" MM_VERSION "\", \"schema\": 1}");
	put_target(sb, &s->target);
	put_run(sb, &s->run);
	put_totals(sb, &s->totals);
	put_groups(sb, s);
	strbuf_puts(sb, ",\n\"refs\": []");
	put_notes(sb, s);
	strbuf_puts(sb, "}\n");
	return strbuf_error(sb);
}
