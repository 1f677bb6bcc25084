/* SPDX-License-Identifier: MIT */
#include "attach/verdicts/verdict_pointers.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/scan/scan_pointers.h"
#include "attach/verdicts/verdicts.h"
#include "report/text/scan/text_pointers.h"

#define STACKS 10u	/* stacks for which a verdict selects a block */

struct chosen {
	taddr addr[STACKS];
	uint64_t size[STACKS];
	uint32_t stack[STACKS];
	size_t n;
};

static void drop(struct chosen *c, size_t at)
{
	for (c->n--; at < c->n; at++) {
		c->addr[at] = c->addr[at + 1];
		c->size[at] = c->size[at + 1];
		c->stack[at] = c->stack[at + 1];
	}
}

/* Of each stack the largest block, and of all stacks those with the largest. */
static void choose(struct chosen *c, taddr addr, uint64_t size, uint32_t stack)
{
	size_t at = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->stack[i] != stack)
			continue;
		if (c->size[i] >= size)
			return;
		drop(c, i);
		break;
	}
	while (at < c->n && c->size[at] >= size)
		at++;
	if (at == STACKS)
		return;
	if (c->n == STACKS)
		c->n--;
	for (size_t i = c->n++; i > at; i--) {
		c->addr[i] = c->addr[i - 1];
		c->size[i] = c->size[i - 1];
		c->stack[i] = c->stack[i - 1];
	}
	c->addr[at] = addr;
	c->size[at] = size;
	c->stack[at] = stack;
}

static void choose_by_verdict(const struct verdicts *j, const struct ledger *l, enum verdict verdict,
			      struct chosen *c)
{
	struct live_block b;

	for (size_t i = 0; i < j->nblocks; i++) {
		const struct verdicts_block *jb = &j->blocks[i];

		if (jb->family != VERDICTS_NONE && jb->verdict == verdict &&
		    ledger_holds(l, jb->family, jb->addr, &b))
			choose(c, jb->addr, jb->size, b.stack);
	}
}

int verdict_pointers(struct verdict_asked *asked, struct verdicts *j, const struct snapshot *s,
		     const struct ledger *l)
{
	/* snapshot, census, blocks and reach stay the caller's */
	struct scan sc = {
		.opt = asked->opt, .modules = asked->modules, .snapshot = *s, .census = j->census,
		.blocks = j->nodes, .nblocks = j->nnodes, .reach = j->reach,
	};
	struct chosen c = { .n = 0 };
	int r;

	if (asked->opt->single.who_points_at_verdict != VERDICT_UNKNOWN)
		choose_by_verdict(j, l, asked->opt->single.who_points_at_verdict, &c);
	scan_init(&sc.report);
	sc.report.summary.run.verdicts.known = true;
	r = scan_pointers_add(&sc, asked->opt->single.who_points_at, asked->opt->single.nwho_points_at);
	if (r == 0)
		r = scan_pointers_add(&sc, c.addr, c.n);
	if (r == 0)
		r = scan_error(&sc.report);
	if (r == 0 && sc.report.nanswers)
		text_pointers(&asked->answer, &sc.report, asked->opt->shown.top);
	else if (r == 0 && asked->opt->single.who_points_at_verdict != VERDICT_UNKNOWN)
		strbuf_printf(&asked->answer, "\nno block that was watched is %s\n",
			      verdict_name(asked->opt->single.who_points_at_verdict));
	scan_fini(&sc.report);
	return r < 0 ? r : strbuf_error(&asked->answer);
}
