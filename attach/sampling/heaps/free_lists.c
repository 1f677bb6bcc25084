/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/free_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"

#define PAGE 4096u
#define HIGHEST (1ull << 47)
#define READINGS 4u		/* until two agree */
#define PAUSE 9u		/* times as long as the readings took */
#define UNCOUNTED UINT64_MAX
#define BLOCKS_MOST 65536u	/* in the lists of a source */

enum when { BEFORE, AFTER };

struct asked {
	uint64_t kind, other;
	/* bit i of reading i: a list has it; all lists of its kinds were whole */
	uint8_t found, whole;
	bool doubtful;			/* a list that was not whole has led to it */
};

void free_lists_init(struct free_lists *f, free_lists_lead *lead, void *ctx)
{
	*f = (struct free_lists){ .lead = lead, .ctx = ctx };
	addrmap_init(&f->pages, sizeof(uint64_t));
	addrmap_init(&f->asked, sizeof(struct asked));
	addrmap_init(&f->left_out, 0);
	addrmap_init(&f->torn, 0);
}

void free_lists_fini(struct free_lists *f)
{
	for (unsigned i = 0; i < 2; i++) {
		free(f->words[i]);
		free(f->pieces[i]);
	}
	free(f->sources);
	free(f->lists);
	free(f->of_page);
	free(f->bytes);
	free(f->hits);
	addrmap_fini(&f->pages);
	addrmap_fini(&f->asked);
	addrmap_fini(&f->left_out);
	addrmap_fini(&f->torn);
}

/* --- what is in question --- */

void free_lists_begin(struct free_lists *f)
{
	f->n = f->nwords = 0;
	addrmap_clear(&f->asked);
	addrmap_clear(&f->left_out);
}

int free_lists_ask(struct free_lists *f, taddr at, uint64_t kind, uint64_t other)
{
	return addrmap_put(&f->asked, at, &(struct asked){ .kind = kind, .other = other });
}

int free_lists_source(struct free_lists *f, const struct free_source *s)
{
	int r;

	if (f->n == FREE_LISTS_SOURCES)
		return addrmap_put(&f->left_out, s->kind, NULL);
	r = grow_for(&f->sources, f->n, &f->room, sizeof(*f->sources));
	if (r < 0)
		return r;
	f->sources[f->n++] = (struct source){ .is = *s, .word = f->nwords };
	f->nwords += s->bytes / 8;
	return 0;
}

/* --- sources --- */

static int make_room(struct free_lists *f)
{
	int r = 0;

	for (unsigned i = 0; i < 2 && r == 0; i++) {
		r = grow_for(&f->words[i], f->nwords, &f->word_room[i], sizeof(*f->words[i]));
		if (r == 0)
			r = grow_for(&f->pieces[i], f->n, &f->piece_room[i], sizeof(*f->pieces[i]));
	}
	if (r == 0 && !f->bytes)
		f->bytes = malloc((size_t)FREE_LISTS_PAGES * PAGE);
	if (r == 0 && !f->of_page)
		f->of_page = calloc(FREE_LISTS_PAGES, sizeof(*f->of_page));
	return r == 0 && f->bytes && f->of_page ? 0 : -ENOMEM;
}

static int read_sources(struct free_lists *f, struct remote_read *g, enum when when)
{
	for (size_t i = 0; i < f->n; i++)
		f->pieces[when][i] = remote_read_piece(f->sources[i].is.at, &f->words[when][f->sources[i].word],
						       f->sources[i].is.bytes);
	return remote_read_now(g, f->pieces[when], f->n);
}

void free_lists_list(struct free_lists *f, taddr first)
{
	if (!first)
		return;
	if (grow_for(&f->lists, f->nlists, &f->list_room, sizeof(*f->lists)) < 0)
		f->no_memory = true;
	else
		f->lists[f->nlists++] = (struct list){ .source = f->leading, .at = first };
}

void free_lists_count(struct free_lists *f, uint64_t n)
{
	f->sources[f->leading].count = n;
}

static void find_lists(struct free_lists *f)
{
	f->nlists = 0;
	for (f->leading = 0; f->leading < f->n; f->leading++) {
		struct source *s = &f->sources[f->leading];

		s->blocks = 0;
		s->count = UNCOUNTED;
		s->whole = remote_read_has(&f->pieces[BEFORE][f->leading]);
		if (s->whole)
			f->lead(f->ctx, f, &s->is, &f->words[BEFORE][s->word]);
	}
}

/* --- the way along the lists --- */

/* The word at @at, if its page was fetched. Otherwise the page is wanted. false: there is none now. */
static bool next_of(struct free_lists *f, taddr at, uint64_t *out, bool *wanted)
{
	const uint64_t page = at / PAGE, *known = addrmap_get(&f->pages, page);

	*wanted = false;
	if (known && *known < f->fetched) {
		if (!remote_read_has(&f->of_page[*known]))
			return false;
		memcpy(out, f->bytes + *known * PAGE + at % PAGE, sizeof(*out));
		return true;
	}
	*wanted = known || f->npages < FREE_LISTS_PAGES;
	if (known || !*wanted)
		return false;
	if (addrmap_put(&f->pages, page, &(uint64_t){ f->npages }) < 0) {
		f->no_memory = true;
		return *wanted = false;
	}
	f->of_page[f->npages] = remote_read_piece(page * PAGE, f->bytes + f->npages * PAGE, PAGE);
	f->npages++;
	return false;
}

static void note(struct free_lists *f, const struct list *l)
{
	if (!addrmap_get(&f->asked, l->at))
		return;
	if (grow_for(&f->hits, f->nhits, &f->hit_room, sizeof(*f->hits)) < 0)
		f->no_memory = true;
	else
		f->hits[f->nhits++] = (struct hit){ l->source, l->at };
}

/* As far as pages are there. true: it has not come to an end. */
static bool advance(struct free_lists *f, struct list *l)
{
	struct source *s = &f->sources[l->source];
	bool wanted = false;

	while (l->at && !l->over) {
		uint64_t next;

		if (l->at % 8 || l->at < PAGE || l->at >= HIGHEST || s->blocks == BLOCKS_MOST || s->blocks > s->count ||
		    !next_of(f, l->at, &next, &wanted)) {
			if (wanted)
				return true;
			l->over = true;
			s->whole = false;
			break;
		}
		note(f, l);
		s->blocks++;
		l->at = next;
	}
	return false;
}

/* The pages from number @from on. */
static int fetch(struct free_lists *f, struct remote_read *g, size_t from)
{
	f->fetched = f->npages;
	return remote_read_now(g, &f->of_page[from], f->npages - from);
}

static int follow(struct free_lists *f, struct remote_read *g)
{
	int r = 0;

	for (bool more = true; more && r == 0;) {
		more = false;
		for (size_t i = 0; i < f->nlists; i++)
			more |= advance(f, &f->lists[i]);
		if (more)
			r = fetch(f, g, f->fetched);
	}
	return r;
}

/* --- a reading --- */

static bool is_whole(const struct free_lists *f, size_t i)
{
	const struct source *s = &f->sources[i];

	return s->whole && (s->count == UNCOUNTED || s->blocks == s->count) &&
	       remote_read_has(&f->pieces[AFTER][i]) &&
	       !memcmp(&f->words[BEFORE][s->word], &f->words[AFTER][s->word], s->is.bytes);
}

static void find_torn(struct free_lists *f)
{
	addrmap_clear(&f->torn);
	for (size_t i = 0; i < f->n; i++) {
		struct source *s = &f->sources[i];

		s->whole = is_whole(f, i);
		if (!s->whole && addrmap_put(&f->torn, s->is.kind, NULL) < 0)
			f->no_memory = true;
	}
}

static bool is_sure(const struct asked *a)
{
	return __builtin_popcount(a->found) >= 2 || (a->whole && !a->found && !a->doubtful);
}

/* Were all lists of that kind whole? */
static bool was_read(const struct free_lists *f, uint64_t kind)
{
	return !addrmap_get(&f->torn, kind) && !addrmap_get(&f->left_out, kind);
}

/* Is there still a block of which it is not known? */
static bool conclude(struct free_lists *f, unsigned reading)
{
	bool unsure = false;
	uint64_t block;
	void *value;

	for (size_t i = 0; i < f->nhits; i++) {
		struct asked *a = addrmap_get(&f->asked, f->hits[i].block);

		if (f->sources[f->hits[i].source].whole)
			a->found |= (uint8_t)(1u << reading);
		else
			a->doubtful = true;
	}
	for (size_t i = 0; addrmap_next(&f->asked, &i, &block, &value);) {
		struct asked *a = value;

		if (was_read(f, a->kind) && was_read(f, a->other))
			a->whole |= (uint8_t)(1u << reading);
		unsure |= !is_sure(a);
	}
	return unsure;
}

/* Pages that the reading before has led to are fetched at once: most are wanted again. */
static int read_once(struct free_lists *f, struct remote_read *g)
{
	int r = read_sources(f, g, BEFORE);

	f->nhits = 0;
	if (r == 0)
		r = fetch(f, g, 0);
	if (r == 0) {
		find_lists(f);
		r = follow(f, g);
	}
	if (r == 0)
		r = read_sources(f, g, AFTER);
	if (r == 0)
		find_torn(f);
	return r < 0 ? r : f->no_memory ? -ENOMEM : 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool free_lists_may_read(const struct free_lists *f)
{
	return now_ns() >= f->rest_until_ns;
}

int free_lists_read(struct free_lists *f, struct remote_read *g)
{
	const uint64_t start = now_ns();
	bool unsure = true;
	int r;

	f->no_memory = false;
	f->npages = f->fetched = 0;
	addrmap_clear(&f->pages);
	r = make_room(f);
	for (unsigned i = 0; i < READINGS && unsure && r == 0; i++) {
		r = read_once(f, g);
		if (r == 0)
			unsure = conclude(f, i);
	}
	f->rest_until_ns = now_ns() + PAUSE * (now_ns() - start);
	return r;
}

enum free_lists_answer free_lists_answer(const struct free_lists *f, taddr at)
{
	const struct asked *a = addrmap_get(&f->asked, at);

	if (!a || !is_sure(a))
		return LISTED_UNSURE;
	return a->found ? LISTED_YES : LISTED_NO;
}
