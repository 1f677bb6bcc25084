/* SPDX-License-Identifier: MIT */
#include "heap/census.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "heap/census_blocks.h"

void census_init(struct census *c)
{
	memset(c, 0, sizeof(*c));
	c->mmapped_claimed = UINT64_MAX;
}

void census_fini(struct census *c)
{
	census_blocks_free(c);
	free(c->own);
	free(c->areas);
	free(c->inner);
	free(c->arenas);
	memset(c, 0, sizeof(*c));
}

void census_problem(struct census *c, taddr at, const char *what, va_list args)
{
	if (c->nproblems++)
		return;
	c->problem.at = at;
	vsnprintf(c->problem.what, sizeof(c->problem.what), what, args);
}

static void note_doubt(struct census *c, size_t n, taddr at, const char *why)
{
	if (!n || *c->doubt.what)
		return;
	c->doubt.at = at;
	snprintf(c->doubt.what, sizeof(c->doubt.what), "%s", why);
}

void census_unsure(struct census *c, size_t n, taddr at, const char *why)
{
	note_doubt(c, n, at, why);
	c->unsure += n;
}

void census_differs(struct census *c, size_t n, taddr at, const char *why)
{
	note_doubt(c, n, at, why);
	c->differing += n;
}

void census_doubt(struct census *c, size_t at_work, taddr at, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	if (!at_work) {
		census_problem(c, at, what, args);
	} else if (c->unsure++ == 0 && !*c->doubt.what) {
		c->doubt.at = at;
		vsnprintf(c->doubt.what, sizeof(c->doubt.what), what, args);
	}
	va_end(args);
}

void census_count_rest(struct census_arena *a)
{
	const uint64_t counted = a->used.bytes + a->bins.bytes + a->top_bytes;

	a->system_bytes = a->walked_bytes;
	a->other_bytes = a->walked_bytes > counted ? a->walked_bytes - counted : 0;
}

const struct census_area *census_area_at(const struct census *c, taddr at)
{
	const size_t i = ADDR_SEARCH(c->areas, c->nareas, hi, at);

	return i < c->nareas && c->areas[i].lo <= at ? &c->areas[i] : NULL;
}

bool census_is_inner(const struct census *c, taddr at)
{
	size_t i;

	if (!c->ninner || at % CENSUS_INNER)
		return false;
	i = ADDR_SEARCH(c->inner, c->ninner, hi, at);
	return i < c->ninner && c->inner[i].lo <= at;
}

bool census_lists(const struct census *c, const char *allocator)
{
	for (size_t i = 0; i < c->nlisted; i++)
		if (!strcmp(c->listed[i], allocator))
			return true;
	return false;
}

/* Each thread that is between mapping and counting may cause a difference of one chunk. */
bool census_mapped_add_up(const struct census *c)
{
	const uint64_t seen = c->mmapped.blocks, claimed = c->mmapped_chunks_claimed;

	if (c->mmapped_claimed == UINT64_MAX)
		return true;
	/* bytes are counted too, but not reliably: in 2.43 each realloc of such a chunk adds 16 */
	return (seen > claimed ? seen - claimed : claimed - seen) <= c->between;
}

bool census_adds_up(const struct census *c)
{
	return c->known && !c->nproblems && !c->unsure && !c->differing;
}
