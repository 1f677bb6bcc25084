/* SPDX-License-Identifier: MIT */
#include "report/json/json_processes.h"

#include <string.h>

#include "report/json/json.h"

/* "host=a1,pod=x" as an object. */
static void put_labels(struct strbuf *sb, const char *labels)
{
	cleanup_strbuf struct strbuf part = STRBUF_INIT;

	json_key(sb, ", ", "labels");
	strbuf_putc(sb, '{');
	for (const char *at = labels ? labels : ""; *at; at += *at == ',') {
		const size_t n = strcspn(at, ","), key = strcspn(at, "=,");

		strbuf_puts(sb, at == labels ? "" : ", ");
		strbuf_reset(&part);
		strbuf_append(&part, at, key);
		strbuf_json(sb, strbuf_str(&part));
		strbuf_puts(sb, ": ");
		strbuf_reset(&part);
		strbuf_append(&part, at + key + (key < n), n - key - (key < n));
		strbuf_json(sb, strbuf_str(&part));
		at += n;
	}
	strbuf_putc(sb, '}');
}

static void put_numbers(struct strbuf *sb, const struct fact_process *p)
{
	json_real(sb, ", ", "seconds", (double)p->run_us / 1e6);
	json_number(sb, ", ", "allocs", p->allocs);
	json_number(sb, ", ", "frees", p->frees);
	json_number(sb, ", ", "live_blocks", p->live_blocks);
	json_number(sb, ", ", "live_bytes", p->live_bytes);
	json_number(sb, ", ", "events", p->events);
	json_number(sb, ", ", "lost", p->lost);
	json_real(sb, ", ", "stopped_seconds", (double)p->stopped_us / 1e6);
	json_real(sb, ", ", "thread_seconds", (double)p->thread_us / 1e6);
	json_number(sb, ", ", "gaps", p->gaps);
	json_real(sb, ", ", "gap_seconds", (double)p->gaps_us / 1e6);
	json_number(sb, ", ", "resident", p->resident);
	json_signed(sb, ", ", "growth", (int64_t)(p->own_last - p->own_first));
}

static void put_process(struct strbuf *sb, const struct summary_process *p)
{
	const struct fact_process *its = &p->its;

	json_signed(sb, "{", "pid", its->pid);
	json_text(sb, ", ", "comm", its->comm);
	json_text(sb, ", ", "exe", its->exe);
	json_text(sb, ", ", "host", its->host);
	put_labels(sb, its->labels);
	json_bool(sb, ", ", "absent", its->absent);
	json_bool(sb, ", ", "ended", its->ended);
	json_text(sb, ", ", "how", its->how);
	json_text(sb, ", ", "frontend", its->frontend);
	json_text(sb, ", ", "mode", its->mode);
	json_start(sb, ", ", its->start_ns);
	put_numbers(sb, its);
	json_bool(sb, ", ", "judged", its->judged);
	json_sums(sb, ", ", "verdicts", p->sums);
	strbuf_putc(sb, '}');
}

void json_processes(struct strbuf *sb, const struct summary *s)
{
	if (!summary_is_merged(s))
		return;
	json_list(sb, ",\n", "processes");
	for (size_t i = 0; i < s->nprocesses; i++) {
		json_next_line(sb, i, "  ");
		put_process(sb, &s->processes[i]);
	}
	strbuf_putc(sb, ']');
}

void json_shares(struct strbuf *sb, const struct summary_group *g)
{
	const struct summary_share *worst = summary_worst_share(g);

	if (!worst)
		return;
	json_number(sb, ", ", "processes", g->nshares);
	json_number(sb, ", ", "worst_process", worst->process);
	json_number(sb, ", ", "worst_bytes", worst->bytes);
}
