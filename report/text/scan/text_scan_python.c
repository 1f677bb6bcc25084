/* SPDX-License-Identifier: MIT */
#include "report/text/scan/text_scan_python.h"

#include <inttypes.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_mark.h"

#define COLUMN_BYTES 10
#define COLUMN_OBJECTS 10
#define TYPE_WIDTH 48

static void put_sum(struct strbuf *sb, const char *before, const struct summary_sum *sum, const char *what,
		    const char *after)
{
	strbuf_puts(sb, before);
	format_count(sb, sum->blocks, what);
	strbuf_puts(sb, ", ");
	format_size(sb, sum->bytes);
	strbuf_puts(sb, after);
}

static void put_head(struct strbuf *sb, const struct scan_python *p)
{
	strbuf_puts(sb, "\n" TEXT_BOLD "objects of CPython ");
	strbuf_text(sb, p->version);
	strbuf_puts(sb, TEXT_PLAIN);
	if (p->why_not) {
		strbuf_puts(sb, " are not listed: ");
		strbuf_text(sb, p->why_not);
		strbuf_putc(sb, '\n');
		return;
	}
	strbuf_printf(sb, ": %" PRIu64 " in ", p->objects);
	format_size(sb, p->bytes);
	strbuf_putc(sb, '\n');
}

static void put_holders(struct strbuf *sb, const struct scan_python_type *t)
{
	for (size_t i = 0; i < SCAN_PYTHON_HOLDERS && t->holders[i].type; i++) {
		strbuf_puts(sb, i ? ", " : "  <- ");
		format_cut(sb, t->holders[i].type, TYPE_WIDTH);
		strbuf_printf(sb, " %" PRIu64, t->holders[i].pointers);
	}
}

/* The object that has half of the memory of its type, or more. */
static void put_largest(struct strbuf *sb, const struct scan_python_type *t)
{
	if (t->objects < 2 || t->largest_bytes < t->bytes / 2)
		return;
	strbuf_puts(sb, "; ");
	format_size(sb, t->largest_bytes);
	strbuf_printf(sb, " is of the one at " PRItaddr, t->largest);
}

static void put_type(struct strbuf *sb, const struct scan_python_type *t)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	format_size(&cell, t->bytes);
	format_right(sb, &cell, COLUMN_BYTES);
	strbuf_printf(&cell, "%" PRIu64, t->objects);
	format_right(sb, &cell, COLUMN_OBJECTS);
	strbuf_puts(sb, "  ");
	format_cut(sb, t->name, TYPE_WIDTH);
	put_holders(sb, t);
	put_largest(sb, t);
	strbuf_putc(sb, '\n');
}

static void put_types(struct strbuf *sb, const struct scan_python *p, size_t top)
{
	const size_t shown = top && top < p->ntypes ? top : p->ntypes;
	struct summary_sum more = { 0, 0 };

	strbuf_printf(sb, "%*s%*s  type  <- pointers from\n", COLUMN_BYTES, "bytes", COLUMN_OBJECTS, "objects");
	for (size_t i = 0; i < shown; i++)
		put_type(sb, &p->types[i]);
	for (size_t i = shown; i < p->ntypes; i++) {
		more.blocks += p->types[i].objects;
		more.bytes += p->types[i].bytes;
	}
	if (!more.blocks)
		return;
	strbuf_printf(sb, "  and %zu more types: ", p->ntypes - shown);
	format_size(sb, more.bytes);
	strbuf_puts(sb, " in ");
	format_count(sb, more.blocks, "object");
	strbuf_puts(sb, " (--top 0 shows all)\n");
}

static void put_differing(struct strbuf *sb, const struct scan_python *p)
{
	if (p->differing) {
		strbuf_puts(sb, "  its own figures differ in ");
		format_count(sb, p->differing, "place");
		strbuf_puts(sb, ": a thread was stopped inside the allocator, or it is corrupt\n");
	}
	if (p->unseen_bytes) {
		strbuf_puts(sb, "  not seen: ");
		format_size(sb, p->unseen_bytes);
		strbuf_puts(sb, " of its arenas\n");
	}
}

static void put_small(struct strbuf *sb, const struct scan_python *p)
{
	strbuf_puts(sb, "  ");
	format_count(sb, p->arenas, "arena");
	strbuf_puts(sb, " of ");
	format_size(sb, p->arena_bytes);
	put_sum(sb, ": ", &p->small, "block", " in use");
	strbuf_puts(sb, p->differing ? "; " : " (its own figures agree); ");
	format_size(sb, p->free_bytes + p->empty_bytes);
	strbuf_puts(sb, " free\n");
}

/* What is in the arenas, and which objects are elsewhere. */
static void put_arenas(struct strbuf *sb, const struct scan_python *p)
{
	if (!p->arenas)
		strbuf_puts(sb, "  no arenas were found: only objects in blocks of malloc are counted\n");
	else
		put_small(sb, p);
	put_sum(sb, "  in no type: ", &p->idle, "freed object", " kept for the next ones; ");
	put_sum(sb, "", &p->other, "other block", " in arenas\n");
	put_sum(sb, "  among the blocks of malloc, and listed there, too: ", &p->large, "object", "\n");
	put_differing(sb, p);
}

void text_scan_python(struct strbuf *sb, const struct scan_report *r, size_t top)
{
	const struct scan_python *p = &r->python;

	if (!p->version)
		return;
	put_head(sb, p);
	if (p->why_not)
		return;
	put_types(sb, p, top);
	put_arenas(sb, p);
}
