/* SPDX-License-Identifier: MIT */
/* ledger: see ledger.h. This file has the ledger as a whole; its parts are in ledger_parts.h. */
#include "report/ledger/ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "report/ledger/ledger_parts.h"

/* --- memory --- */

static int add_book(struct ledger *l)
{
	struct ledger_book *book = grow_by_one(&l->books, l->nbooks, sizeof(*book));

	if (!book)
		return -ENOMEM;
	*book = (struct ledger_book){ 0 };
	addrmap_init(&book->gone, 0);
	addrmap_init(&book->freed, sizeof(struct ledger_freed));
	if (live_new(&book->live) < 0)
		return -ENOMEM;
	l->nbooks++;
	return 0;
}

int ledger_init(struct ledger *l)
{
	const struct fact family = { .kind = MMT_INFO, .info = MMT_FAMILY_NAME };

	*l = (struct ledger){ .nowhere = DEFS_NONE };
	defs_init(&l->defs);
	addrmap_init(&l->aside, sizeof(struct ledger_aside));
	ledger_samples_init(&l->samples);
	merged_init(&l->merged);
	addrmap_init(&l->probe_index, sizeof(size_t));
	addrmap_init(&l->lost_index, sizeof(size_t));
	addrmap_init(&l->gap_index, sizeof(size_t));
	addrmap_init(&l->note_index, 0);
	addrmap_init(&l->skip_index, 0);
	addrmap_init(&l->twice_index, sizeof(size_t));
	if (defs_take(&l->defs, &family) < 0 || add_book(l) < 0) {
		ledger_fini(l);
		return -ENOMEM;
	}
	return 0;
}

static void book_fini(struct ledger_book *book)
{
	for (size_t i = 0; i < book->nplaces; i++)
		series_fini(&book->places[i].series);
	free(book->places);
	live_free(book->live);
	objects_free(book->objects);
	addrmap_fini(&book->gone);
	addrmap_fini(&book->freed);
	older_sizes_fini(&book->older);
}

void ledger_fini(struct ledger *l)
{
	for (size_t i = 0; i < l->nbooks; i++)
		book_fini(&l->books[i]);
	free(l->books);
	free(l->target.argv);
	free(l->probes);
	free(l->lost);
	free(l->gaps);
	free(l->notes);
	free(l->skips);
	free(l->twice);
	free(l->orphans);
	ledger_look_fini(&l->look);
	ledger_samples_fini(&l->samples);
	memories_fini(&l->memories);
	merged_fini(&l->merged);
	addrmap_fini(&l->aside);
	addrmap_fini(&l->probe_index);
	addrmap_fini(&l->lost_index);
	addrmap_fini(&l->gap_index);
	addrmap_fini(&l->note_index);
	addrmap_fini(&l->skip_index);
	addrmap_fini(&l->twice_index);
	defs_fini(&l->defs);
	*l = (struct ledger){ .nowhere = DEFS_NONE };
}

static size_t book_memory(const struct ledger_book *book)
{
	size_t sum = live_memory(book->live) + objects_memory(book->objects) + addrmap_memory(&book->gone) +
		     addrmap_memory(&book->freed) + older_sizes_memory(&book->older) +
		     book->places_size * sizeof(*book->places);

	for (size_t i = 0; i < book->nplaces; i++)
		if (book->places[i].series.points)
			sum += MMT_SERIES_POINTS * sizeof(*book->places[i].series.points);
	return sum;
}

/* The lists of the run are small, and not counted. */
size_t ledger_memory(const struct ledger *l)
{
	size_t sum = defs_memory(&l->defs) + addrmap_memory(&l->aside) + l->norphans * sizeof(*l->orphans) +
		     l->look.with.size + l->look.unknown.size + ledger_samples_memory(&l->samples) +
		     merged_memory(&l->merged);

	for (size_t i = 0; i < l->nbooks; i++)
		sum += book_memory(&l->books[i]);
	return sum;
}

/* --- definitions --- */

/* Has the family had events, so that its kind (blocks or objects) is fixed? */
static bool has_events(const struct ledger *l, uint32_t family)
{
	for (size_t i = 0; i < l->ntwice; i++)
		if (l->twice[i].family == family)
			return true;
	return l->books[family].nplaces || l->books[family].older.n;
}

/* Each family has a book. Once a family has events, its kind cannot change. */
static int take_family_name(struct ledger *l, const struct fact *f)
{
	uint32_t known = defs_family(&l->defs, f->family_name.number);

	if (known == DEFS_NONE)
		return l->nbooks < LEDGER_FAMILIES_MAX ? defs_take(&l->defs, f) : -EINVAL;
	if (l->defs.families[known].refs != f->family_name.refs && has_events(l, known))
		return -EINVAL;
	return defs_take(&l->defs, f);
}

static int take_definition(struct ledger *l, const struct fact *f)
{
	int r = f->info == MMT_FAMILY_NAME ? take_family_name(l, f) : defs_take(&l->defs, f);

	while (r == 0 && l->nbooks < l->defs.nfamilies)
		r = add_book(l);
	if (r == -ENOENT)
		l->undefined++;
	else if (r < 0 && r != -ENOMEM)
		l->nonsense++;
	return r == -ENOMEM ? r : 0;
}

/* --- facts --- */

void ledger_pass(struct ledger *l, uint64_t now_us)
{
	if (now_us > l->now_us)
		l->now_us = now_us;
}

int ledger_take(struct ledger *l, const struct fact *f)
{
	if (!l->has_facts)
		l->first_us = f->time_us;
	l->has_facts = true;
	ledger_pass(l, f->time_us);
	if (f->kind != MMT_INFO)
		return ledger_take_event(l, f);
	switch (f->info) {
	case MMT_FAMILY_NAME:
	case MMT_MODULE:
	case MMT_FRAME:
	case MMT_NODE:
	case MMT_TAG:
	case MMT_STACK:
	case MMT_NAMES:
		return take_definition(l, f);
	default:
		return ledger_take_info(l, f);
	}
}

/* --- questions --- */

const char *ledger_family_name(const struct ledger *l, uint32_t family)
{
	const char *name = family < l->defs.nfamilies ? l->defs.families[family].name : NULL;

	return name ? name : "unnamed";
}

uint64_t ledger_age_us(const struct ledger *l, uint64_t birth_us)
{
	return birth_us < l->now_us ? l->now_us - birth_us : 0;
}

double ledger_age_s(const struct ledger *l, uint64_t birth_us)
{
	return (double)ledger_age_us(l, birth_us) / 1e6;
}

bool ledger_old_enough(const struct ledger *l, uint64_t birth_us, uint64_t least_us)
{
	return !least_us || (birth_us <= l->now_us && l->now_us - birth_us >= least_us);
}
