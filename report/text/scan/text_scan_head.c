/* SPDX-License-Identifier: MIT */
/* text_scan_head: see text_scan_head.h. A function for each line. */
#include "report/text/scan/text_scan_head.h"

#include <inttypes.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_builds.h"
#include "report/text/groups/text_label.h"
#include "report/text/groups/text_verdicts.h"
#include "report/text/groups/wrap.h"
#include "report/text/text_head.h"

#define COLUMN_BYTES 10
#define COLUMN_SHARE 7
#define LEFT 12			/* where the text of a line begins */
#define MUCH 0.25		/* if this share of the heap is free, that is worth a sentence */
#define MUCH_BYTES (1u << 20)

static void put_time(struct strbuf *sb, int64_t start_ns)
{
	if (!text_head_time(sb, start_ns))
		strbuf_puts(sb, "at a time not known");
}

static void put_core(struct strbuf *sb, const struct scan_report *r)
{
	text_label(sb, "core");
	strbuf_text(sb, r->core);
	strbuf_puts(sb, ", written ");
	put_time(sb, r->summary.run.start_ns);
	strbuf_puts(sb, ", ");
	format_count(sb, r->summary.run.verdicts.threads, "thread");
	strbuf_putc(sb, '\n');
}

static void put_pause(struct strbuf *sb, const struct scan_report *r)
{
	const struct summary_verdicts *v = &r->summary.run.verdicts;

	text_label(sb, "scanned");
	put_time(sb, r->summary.run.start_ns);
	strbuf_puts(sb, ", stopped for ");
	text_verdicts_pause(sb, v);
	if (r->pauses > 1) {
		strbuf_printf(sb, ", the last of %" PRIu32 " pauses of ", r->pauses);
		format_seconds(sb, r->summary.run.stopped_seconds);
		strbuf_puts(sb, " in all");
	}
	strbuf_puts(sb, ", ");
	format_count(sb, v->threads, "thread");
	if (v->not_stopped)
		strbuf_printf(sb, ", %" PRIu32 " of them not stopped: "
				  "sleeping in calls that must not be interrupted",
			      v->not_stopped);
	strbuf_putc(sb, '\n');
}

static void put_memory(struct strbuf *sb, const struct scan_report *r)
{
	const struct scan_memory *m = &r->memory;

	text_label(sb, "memory");
	format_size(sb, m->copied);
	strbuf_puts(sb, r->core ? " in the file" : " copied");
	if (m->swapped) {
		strbuf_puts(sb, ", ");
		format_size(sb, m->swapped);
		strbuf_puts(sb, " NOT READ: swapped out");
	}
	if (m->missing) {
		strbuf_puts(sb, ", ");
		format_size(sb, m->missing);
		strbuf_puts(sb, r->core ? " MISSING: the core is not whole" : " could NOT BE READ");
	}
	strbuf_putc(sb, '\n');
}

/* --- the allocator's own accounting --- */

static void put_part(struct strbuf *sb, uint64_t bytes, uint64_t all, const char *what)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	strbuf_pad(sb, ' ', LEFT);
	format_size(&cell, bytes);
	format_right(sb, &cell, COLUMN_BYTES);
	/*
	 * no share if it is larger than the whole: foreign memory is not the allocator's, and a corrupt heap
	 * may claim anything
	 */
	if (bytes <= all)
		format_percent(&cell, (double)bytes, (double)all);
	format_right(sb, &cell, COLUMN_SHARE);
	strbuf_printf(sb, "  %s", what);
}

static void put_used(struct strbuf *sb, const struct scan_report *r, const struct scan_account *a)
{
	const struct scan_heap *heap = &r->heap;

	put_part(sb, a->used, a->system, "in use, block headers included");
	if (heap->mmapped.blocks) {
		strbuf_puts(sb, "; ");
		format_size(sb, heap->mmapped.bytes);
		strbuf_puts(sb, " of it in ");
		format_count(sb, heap->mmapped.blocks, "block");
		strbuf_puts(sb, heap->mmapped.blocks == 1 ? " with a mapping of its own"
							  : " with mappings of their own");
	}
	strbuf_putc(sb, '\n');
}

static void put_account(struct strbuf *sb, const struct scan_report *r, const struct scan_account *a)
{
	put_used(sb, r, a);
	put_part(sb, a->free.bytes, a->system, "free, between blocks, in ");
	format_count(sb, a->free.blocks, "piece");
	strbuf_putc(sb, '\n');
	put_part(sb, a->tops, a->system, "free, at the ends of its heaps\n");
	if (a->other)
		put_part(sb, a->other, a->system, "its own data\n");
	if (r->heap.unseen_bytes)
		put_part(sb, r->heap.unseen_bytes, a->system,
			 "NOT SEEN: behind what is corrupt, or not there to be read\n");
	if (r->heap.foreign_bytes)
		put_part(sb, r->heap.foreign_bytes, a->system,
			 "between its pieces, allocated by others (sbrk)\n");
}

/* The reason why the process is large, if it is not the content of its blocks. */
static void put_fragmentation(struct strbuf *sb, const struct scan_account *a)
{
	uint64_t free_bytes = a->free.bytes + a->tops;

	if (free_bytes < MUCH_BYTES || (double)free_bytes < MUCH * (double)a->system)
		return;
	text_label(sb, "free");
	format_percent(sb, (double)free_bytes, (double)a->system);
	strbuf_puts(sb, " of what it has from the system is in no block: ");
	strbuf_puts(sb, a->free.bytes > a->tops ? "freed, most of it between blocks that are "
						  "in use: fragmentation, not a leak\n" :
						  "freed, but not returned to the system yet: not a leak\n");
}

static void put_heap(struct strbuf *sb, const struct scan_report *r)
{
	const struct scan_heap *heap = &r->heap;
	struct scan_account a;

	text_label(sb, "allocator");
	strbuf_puts(sb, heap->known ? "layout of " : "its blocks cannot be listed: ");
	strbuf_text(sb, heap->layout);
	if (!heap->known) {
		strbuf_putc(sb, '\n');
		return;
	}
	scan_account(heap, &a);
	strbuf_puts(sb, ", ");
	format_count(sb, heap->narenas, "arena");
	strbuf_puts(sb, ", ");
	format_size(sb, a.system);
	strbuf_puts(sb, " from the system");
	strbuf_puts(sb, heap->adds_up ? "; its own figures agree"
				      : "; its own figures and what was found DIFFER");
	if (heap->mmapped_claimed == UINT64_MAX)
		strbuf_puts(sb, ", those of blocks with a mapping of their own were not found");
	strbuf_putc(sb, '\n');
	put_account(sb, r, &a);
	put_fragmentation(sb, &a);
}

/* --- what is wrong --- */

static void put_problems(struct strbuf *sb, const struct scan_report *r)
{
	for (size_t i = 0; i < r->nproblems; i++) {
		text_label(sb, "CORRUPT");
		strbuf_puts(sb, "at ");
		strbuf_printf(sb, PRItaddr ": ", r->problems[i].at);
		strbuf_text(sb, r->problems[i].what);
		strbuf_putc(sb, '\n');
	}
	if (r->more_problems) {
		text_label(sb, "CORRUPT");
		strbuf_printf(sb, "and %" PRIu64 " more such places\n", r->more_problems);
	}
}

static void put_lines(struct strbuf *sb, const struct scan_report *r)
{
	text_head_command(sb, &r->summary.target);
	if (r->core)
		put_core(sb, r);
	else
		put_pause(sb, r);
	put_memory(sb, r);
	put_heap(sb, r);
	text_builds(sb, &r->summary);
	text_head_hidden(sb, &r->summary.suppressed, "suppressions");
	text_head_hidden(sb, &r->summary.filtered, r->summary.filters);
	put_problems(sb, r);
	for (size_t i = 0; i < r->summary.run.verdicts.ndoubts; i++)
		text_label_line(sb, "doubt", r->summary.run.verdicts.doubts[i]);
	for (size_t i = 0; i < r->summary.nnotes; i++)
		text_label_line(sb, "note", r->summary.notes[i]);
}

void text_scan_head(struct strbuf *sb, const struct scan_report *r)
{
	cleanup_strbuf struct strbuf lines = STRBUF_INIT;

	put_lines(&lines, r);
	wrap(sb, &lines, r->summary.columns ? r->summary.columns : WRAP_WIDTH, WRAP_INDENT);
}
