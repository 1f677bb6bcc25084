/* SPDX-License-Identifier: MIT */
/*
 * ledger_books: the stack and the place to which a fact belongs; and questions about the contents of the
 * books (ledger_parts.h, ledger.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/ledger/ledger_parts.h"
#include "report/sampling/byte_sample.h"

/* --- stacks --- */

/*
 * Define a stack without frames, by a number that a run does not use; if a file does use it, by the one
 * before.
 */
static int define_nowhere(struct ledger *l)
{
	struct fact f = { .kind = MMT_INFO, .info = MMT_STACK,
			  .stack = { UINT32_MAX - 1, 0, MMT_END_LOST, FACT_NONE } };
	int r;

	while ((r = defs_take(&l->defs, &f)) == -EINVAL)
		f.stack.number--;
	l->nowhere = defs_stack(&l->defs, f.stack.number);
	return r < 0 || l->nowhere == DEFS_NONE ? -ENOMEM : 0;
}

int ledger_stack(struct ledger *l, uint32_t number, uint32_t *index)
{
	*index = defs_stack(&l->defs, number);
	if (*index != DEFS_NONE)
		return 0;
	if (l->nowhere == DEFS_NONE && define_nowhere(l) < 0)
		return -ENOMEM;
	l->undefined++;
	*index = l->nowhere;
	return 0;
}

int ledger_stack_or_none(struct ledger *l, uint32_t number_and_one, uint32_t *index)
{
	*index = DEFS_NONE;
	return number_and_one == FACT_NONE ? 0 : ledger_stack(l, number_and_one - 1, index);
}

/* --- places --- */

static int reserve_places(struct ledger_book *book, uint32_t stack)
{
	size_t size = book->places_size ? book->places_size : 64;

	while (size <= stack)
		size *= 2;
	if (size > book->places_size) {
		struct place *bigger = reallocarray(book->places, size, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		book->places = bigger;
		book->places_size = size;
	}
	memset(&book->places[book->nplaces], 0, (stack + 1 - book->nplaces) * sizeof(*book->places));
	book->nplaces = stack + 1;
	return 0;
}

struct place *ledger_place_now(struct ledger *l, uint32_t family, uint32_t stack)
{
	struct ledger_book *book = &l->books[family];
	struct place *p;

	if (stack >= book->nplaces && reserve_places(book, stack) < 0)
		return NULL;
	p = &book->places[stack];
	return series_advance(&p->series, l->now_us, p->bytes) < 0 ? NULL : p;
}

const struct place *ledger_place(struct ledger *l, uint32_t family, uint32_t stack)
{
	struct place *p;

	if (family >= l->nbooks || stack >= l->books[family].nplaces)
		return NULL;
	p = &l->books[family].places[stack];
	if (!p->allocs && !p->frees && !p->blocks && !p->series.points)
		return NULL;
	return series_advance(&p->series, l->now_us, p->bytes) < 0 ? NULL : p;
}

/* --- live blocks and objects --- */

bool ledger_holds(const struct ledger *l, uint32_t family, taddr addr, struct live_block *out)
{
	return family < l->nbooks && live_get(l->books[family].live, addr, out);
}

uint64_t ledger_weight(const struct ledger *l, taddr addr, const struct live_block *b)
{
	return byte_sample_weight(l->run.sample_bytes, b->size, addr, b->birth_us);
}

const struct object *ledger_object(const struct ledger *l, uint32_t family, taddr addr)
{
	return family < l->nbooks ? objects_get(l->books[family].objects, addr) : NULL;
}
