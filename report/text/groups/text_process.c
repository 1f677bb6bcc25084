/* SPDX-License-Identifier: MIT */
/* text_process: see text_process.h. */
#include "report/text/groups/text_process.h"

#include "report/model/format_text.h"

void text_process(struct strbuf *sb, const struct summary_process *p)
{
	const struct fact_process *its = &p->its;

	strbuf_text(sb, its->comm ? its->comm : its->exe ? format_base(its->exe) : "a process");
	if (its->pid)
		strbuf_printf(sb, " (%d)", its->pid);
	if (its->host) {
		strbuf_puts(sb, " on ");
		strbuf_text(sb, its->host);
	}
	if (its->labels) {
		strbuf_puts(sb, ", ");
		strbuf_text(sb, its->labels);
	}
}

void text_process_shares(struct strbuf *sb, const struct summary *s, const struct summary_group *g)
{
	const struct summary_share *worst = summary_worst_share(g);
	const size_t seen = summary_processes_seen(s);

	if (!summary_is_merged(s) || !worst)
		return;
	strbuf_printf(sb, "    in %zu of ", g->nshares);
	strbuf_printf(sb, "%zu process%s, ", seen, seen == 1 ? "" : "es");
	strbuf_puts(sb, g->nshares > 1 ? "most in " : "");
	text_process(sb, &s->processes[worst->process]);
	strbuf_puts(sb, ": ");
	format_size(sb, worst->bytes);
	strbuf_puts(sb, g->sampled ? "/min\n" : "\n");
}
