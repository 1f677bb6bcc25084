/* SPDX-License-Identifier: MIT */
/* text_pointers: see text_pointers.h. */
#include "report/text/scan/text_pointers.h"

#include <inttypes.h>

#include "report/model/format_text.h"
#include "report/words/words.h"

#define LABEL_WIDTH 60
#define PLACE_WIDTH 64

/* "520 bytes, Session, definitely lost" */
static void put_block(struct strbuf *sb, const struct scan_block *b)
{
	strbuf_printf(sb, "%" PRIu64 " byte%s", b->size, b->size == 1 ? "" : "s");
	if (b->label) {
		strbuf_puts(sb, ", ");
		format_cut(sb, b->label, LABEL_WIDTH);
	}
	if (b->verdict != VERDICT_UNKNOWN)
		strbuf_printf(sb, ", %s", words_verdict_of_scan(b->verdict));
}

static void put_offset(struct strbuf *sb, int64_t offset)
{
	uint64_t n = offset < 0 ? -(uint64_t)offset : (uint64_t)offset;

	strbuf_printf(sb, "%c0x%" PRIx64, offset < 0 ? '-' : '+', n);
}

static void put_data(struct strbuf *sb, const struct scan_pointer *p)
{
	if (!p->module) {
		strbuf_printf(sb, "memory at " PRItaddr, p->at);
		return;
	}
	strbuf_puts(sb, "data of ");
	strbuf_text(sb, format_base(p->module));
	strbuf_printf(sb, "+0x%" PRIx64, p->offset);
	if (!p->symbol)
		return;
	strbuf_puts(sb, " (");
	format_cut(sb, p->symbol, LABEL_WIDTH);
	if (p->symbol_offset)
		strbuf_printf(sb, "+%" PRIu64, p->symbol_offset);
	strbuf_putc(sb, ')');
}

static void put_thread(struct strbuf *sb, const struct scan_pointer *p)
{
	if (p->tid)
		strbuf_printf(sb, " of thread %d", (int)p->tid);
}

static void put_in_block(struct strbuf *sb, const struct scan_pointer *p, taddr to)
{
	if (p->block.addr == to) {
		strbuf_puts(sb, "the block itself");
	} else {
		strbuf_printf(sb, "block " PRItaddr " (", p->block.addr);
		put_block(sb, &p->block);
		strbuf_putc(sb, ')');
	}
	strbuf_printf(sb, " +%" PRIu64, p->at - p->block.addr);
}

static void put_place(struct strbuf *sb, const struct scan_pointer *p, taddr to)
{
	switch (p->place) {
	case SCAN_IN_BLOCK:
		put_in_block(sb, p, to);
		break;
	case SCAN_IN_REGISTER:
		strbuf_printf(sb, "register %s", p->reg ? p->reg : "?");
		put_thread(sb, p);
		break;
	case SCAN_ON_STACK:
		strbuf_puts(sb, "stack");
		put_thread(sb, p);
		strbuf_puts(sb, p->sp_known ? ", sp" : "");
		if (p->sp_known)
			put_offset(sb, p->from_sp);
		break;
	case SCAN_IN_TLS:
		strbuf_puts(sb, "thread-local memory");
		put_thread(sb, p);
		strbuf_printf(sb, " at " PRItaddr, p->at);
		break;
	case SCAN_IN_DATA:
		put_data(sb, p);
		break;
	case SCAN_IN_ALLOCATOR:
		strbuf_printf(sb, "the allocator's or the loader's own memory at " PRItaddr, p->at);
		break;
	}
}

static void put_pointer(struct strbuf *sb, const struct scan_pointer *p, taddr to, const char *indent)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	strbuf_puts(sb, indent);
	put_place(&cell, p, to);
	format_left(sb, &cell, PLACE_WIDTH);
	if (p->value == to)
		strbuf_puts(sb, "  points at its beginning\n");
	else
		strbuf_printf(sb, "  points %" PRIu64 " bytes inside\n", p->value - to);
}

static void put_what(struct strbuf *sb, const struct scan_answer *a)
{
	strbuf_printf(sb, PRItaddr, a->addr);
	if (a->in_block) {
		if (a->addr == a->block.addr)
			strbuf_puts(sb, " is the beginning of a block of ");
		else
			strbuf_printf(sb, " is %" PRIu64 " bytes inside of the block at " PRItaddr " of ",
				      a->addr - a->block.addr, a->block.addr);
		put_block(sb, &a->block);
	} else {
		strbuf_puts(sb, " is in no block that is in use");
		strbuf_puts(sb, a->where ? ", but in " : "");
		strbuf_text(sb, a->where);
	}
	strbuf_putc(sb, '\n');
}

/* The first link is one of the pointers that are listed: if it is the first of these, it is not repeated. */
static void put_chain(struct strbuf *sb, const struct scan_answer *a, taddr to)
{
	const struct scan_chain *c = &a->chain;
	const bool listed = c->n && a->n && a->pointers[0].at == c->links[0].at;

	if (c->n < 2)
		return;
	if (listed)
		strbuf_printf(sb, "  block " PRItaddr, c->links[0].block.addr);
	else
		strbuf_puts(sb, "  it");
	if (c->root)
		strbuf_puts(sb, " is reached through:\n");
	else if (c->ring)
		strbuf_puts(sb, " is held by a ring of blocks, at which nothing else points:\n");
	else
		strbuf_printf(sb, " is held through (no root was found in %zu steps):\n", c->n);
	for (size_t i = 0; i < c->n; i++) {
		if (i || !listed)
			put_pointer(sb, &c->links[i], to, "    ");
		to = c->links[i].block.addr;
	}
}

static bool is_foreign(const struct scan_pointer *p)
{
	return p->place == SCAN_IN_DATA && !p->module;
}

/* After the pointers that are shown: what "memory at ADDRESS" is. */
static void put_foreign(struct strbuf *sb, const struct scan_answer *a, size_t shown)
{
	bool any = false;

	for (size_t i = 0; i < shown; i++)
		any |= is_foreign(&a->pointers[i]);
	for (size_t i = 0; i < a->chain.n; i++)
		any |= is_foreign(&a->chain.links[i]);
	if (any)
		strbuf_puts(sb, "  (memory at ADDRESS: mapped by the program itself or by an allocator other "
				"than malloc, whose blocks are not known)\n");
}

static void put_answer(struct strbuf *sb, const struct scan_answer *a, size_t top)
{
	taddr to = a->in_block ? a->block.addr : a->addr;
	size_t shown = top && top < a->n ? top : a->n;

	put_what(sb, a);
	for (size_t i = 0; i < shown; i++)
		put_pointer(sb, &a->pointers[i], to, "  ");
	if (!a->total)
		strbuf_puts(sb, "  nothing points there\n");
	if (a->total > shown)
		strbuf_printf(sb, "  and %zu more pointers%s\n", a->total - shown,
			      shown < a->n ? " (--top 0 shows more)" : "");
	put_chain(sb, a, to);
	put_foreign(sb, a, shown);
}

void text_pointers(struct strbuf *sb, const struct scan_report *r, size_t top)
{
	for (size_t i = 0; i < r->nanswers; i++) {
		strbuf_putc(sb, '\n');
		put_answer(sb, &r->answers[i], top);
	}
}
