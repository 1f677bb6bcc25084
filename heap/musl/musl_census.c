/* SPDX-License-Identifier: MIT */
/* musl_census: see musl.h: what is found becomes a census. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "heap/atwork.h"
#include "heap/census_blocks.h"
#include "heap/census_order.h"
#include "heap/musl/musl.h"
#include "heap/musl/oldmusl.h"

static int make_arena(struct musl *g)
{
	struct census *c = g->c;

	c->arenas = calloc(1, sizeof(*c->arenas));
	if (!c->arenas)
		return -ENOMEM;
	c->narenas = 1;
	c->arenas->at = g->at;
	c->arenas->state_bytes = sizeof(g->context);
	c->arenas->head_bytes = MUSL_HEAD;
	c->known = true;
	c->between = g->at_work;
	snprintf(c->layout, sizeof(c->layout), "musl 1.2.1 or later");
	return 0;
}

int musl_census(const struct snapshot *s, struct census *c)
{
	struct musl g = { .s = s, .c = c, .cursor = snapshot_cursor_of(s) };
	taddr overlap;
	int r = musl_find(&g);

	if (r == -ENOENT)
		return oldmusl_census(s, c);
	if (r < 0)
		return r;
	g.at_work = atwork_in_file(s, g.file, g.data_lo, g.data_hi);
	r = make_arena(&g);
	if (r == 0)
		r = musl_take_all(&g);
	if (r == 0) {
		overlap = census_order(c);
		if (overlap)
			census_doubt(c, g.at_work, overlap, "corrupt: a block lies inside of another one");
		census_count_rest(c->arenas);
		census_blocks_trim(c);
	}
	free(g.areas);
	return r;
}
