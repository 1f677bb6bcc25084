/* SPDX-License-Identifier: MIT */
/* text_processes: see text_processes.h. */
#include "report/text/text_processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_label.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_process.h"
#include "report/text/groups/text_verdicts.h"

#define WORST_SHOWN 5
#define ABSENT_SHOWN 3
#define NUMBER_WIDTH 9

void text_processes_name(struct strbuf *sb, const struct summary *s)
{
	const size_t seen = summary_processes_seen(s), n = seen ? seen : s->nprocesses;

	strbuf_printf(sb, "%zu process%s", n, n == 1 ? "" : "es");
	if (!s->target.comm)
		return;
	strbuf_puts(sb, " of ");
	strbuf_text(sb, s->target.comm);
}

/* Indices, the worst first; those without a trace last. NULL: out of memory, which @sb has then. */
static uint32_t *sorted(struct strbuf *sb, const struct summary *s, size_t *absent)
{
	uint32_t *all = calloc(s->nprocesses + 1, sizeof(*all));

	*absent = s->nprocesses - summary_processes_seen(s);
	if (all)
		summary_sort_processes(s, all);
	else
		sb->err = -ENOMEM;
	return all;
}

static size_t count_hosts(const struct summary *s)
{
	size_t n = 0;

	/* those of one host are neighbours */
	for (size_t i = 0; i < s->nprocesses; i++) {
		const char *host = s->processes[i].its.host;

		n += host && (!i || s->processes[i - 1].its.host != host);
	}
	return n;
}

/* --- the head --- */

static void put_worst(struct strbuf *sb, const struct summary_process *p)
{
	text_label(sb, "");
	text_amount(sb, p->its.live_bytes, p->its.live_blocks);
	if (p->its.judged) {
		strbuf_puts(sb, ", ");
		format_size(sb, summary_process_suspect(p));
		strbuf_puts(sb, " lost");
	}
	strbuf_puts(sb, ": ");
	text_process(sb, p);
	if (p->its.how) {
		strbuf_puts(sb, "; ");
		strbuf_text(sb, p->its.how);
	}
	strbuf_putc(sb, '\n');
}

/* Of a file that is no trace not even the process is known. */
static bool is_named(const struct summary_process *p)
{
	return p->its.pid || p->its.comm || p->its.exe;
}

static void put_absent(struct strbuf *sb, const struct summary_process *p)
{
	text_label(sb, "");
	strbuf_puts(sb, TEXT_RED "no trace" TEXT_PLAIN ": ");
	if (is_named(p)) {
		text_process(sb, p);
		strbuf_puts(sb, ": ");
	}
	strbuf_text(sb, p->its.how ? p->its.how : "why is not known");
	strbuf_putc(sb, '\n');
}

static void put_more(struct strbuf *sb, size_t n, const char *what)
{
	if (!n)
		return;
	text_label(sb, "");
	strbuf_printf(sb, "and %zu more%s\n", n, what);
}

static void put_count(struct strbuf *sb, const struct summary *s, size_t seen)
{
	const size_t hosts = count_hosts(s);

	text_label(sb, "processes");
	strbuf_printf(sb, "%zu", s->nprocesses);
	if (hosts > 1)
		strbuf_printf(sb, ", on %zu hosts", hosts);
	if (seen < s->nprocesses)
		strbuf_printf(sb, ", of %zu no trace", s->nprocesses - seen);
	strbuf_puts(sb, seen > WORST_SHOWN ? "; with most that is live:\n" : "; what is live in each:\n");
}

void text_processes_head(struct strbuf *sb, const struct summary *s)
{
	size_t absent, seen;
	uint32_t *all;

	if (!summary_is_merged(s))
		return;
	all = sorted(sb, s, &absent);
	seen = s->nprocesses - absent;
	put_count(sb, s, seen);
	for (size_t i = 0; all && i < seen && i < WORST_SHOWN; i++)
		put_worst(sb, &s->processes[all[i]]);
	put_more(sb, seen > WORST_SHOWN ? seen - WORST_SHOWN : 0, "; --by process lists them");
	for (size_t i = 0; all && i < absent && i < ABSENT_SHOWN; i++)
		put_absent(sb, &s->processes[all[seen + i]]);
	put_more(sb, absent > ABSENT_SHOWN ? absent - ABSENT_SHOWN : 0, " without a trace");
	free(all);
}

/* --- the table --- */

static void put_bytes(struct strbuf *sb, struct strbuf *cell, uint64_t bytes, bool known)
{
	if (known)
		format_size(cell, bytes);
	else
		strbuf_putc(cell, '-');
	format_right(sb, cell, NUMBER_WIDTH);
	strbuf_puts(sb, "  ");
}

static void put_number(struct strbuf *sb, struct strbuf *cell, uint64_t n)
{
	strbuf_printf(cell, "%" PRIu64, n);
	format_right(sb, cell, NUMBER_WIDTH);
	strbuf_puts(sb, "  ");
}

static void put_row(struct strbuf *sb, struct strbuf *cell, const struct summary_process *p)
{
	const bool seen = !p->its.absent;

	put_bytes(sb, cell, p->its.live_bytes, seen);
	put_number(sb, cell, p->its.live_blocks);
	put_bytes(sb, cell, summary_process_suspect(p), p->its.judged);
	put_bytes(sb, cell, p->its.resident, p->its.resident > 0);
	if (seen)
		format_seconds(cell, (double)p->its.run_us / 1e6);
	format_right(sb, cell, NUMBER_WIDTH);
	strbuf_puts(sb, "  ");
	if (is_named(p))
		text_process(sb, p);
	if (p->its.how) {
		strbuf_puts(sb, is_named(p) ? ": " : "");
		strbuf_text(sb, p->its.how);
	} else if (seen && !p->its.ended) {
		strbuf_puts(sb, ": its trace has no end");
	}
	strbuf_putc(sb, '\n');
}

void text_processes_table(struct strbuf *sb, const struct summary *s, size_t top)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;
	size_t absent, n = top && top < s->nprocesses ? top : s->nprocesses;
	uint32_t *all = sorted(sb, s, &absent);

	strbuf_puts(sb, "\n     live     blocks       lost        RSS    watched  process\n");
	for (size_t i = 0; all && i < n; i++)
		put_row(sb, &cell, &s->processes[all[i]]);
	if (n < s->nprocesses)
		strbuf_printf(sb, "and %zu more: --top 0 lists all\n", s->nprocesses - n);
	free(all);
}
