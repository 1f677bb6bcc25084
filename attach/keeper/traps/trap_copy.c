/* SPDX-License-Identifier: MIT */
/*
 * trap_copy: the traps in another process's copy of the memory, and how to take them out. Which traps the
 * copy has depends on when it was made: those planted now, those lifted or gone since, and those whose
 * numbers are reused by now. So all are looked for.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attach/keeper/traps/trap.h"
#include "attach/keeper/traps/trap_parts.h"

#define PAGE 4096u

/* The page that was read last: mostly, the next trap is in it, too. */
struct page {
	taddr at;	/* 1: none */
	bool missing;	/* nothing is mapped there, as where a trap is gone with its module */
	uint8_t bytes[PAGE];
};

static void look_at_page(struct page *p, int mem, taddr at)
{
	ssize_t n = pread(mem, p->bytes, PAGE, (off_t)at);

	p->missing = n < 0 && (errno == EIO || errno == EFAULT);
	p->at = p->missing || n == (ssize_t)PAGE ? at : 1;
}

/*
 * May there be a trap at @addr? A page is read once, for there are thousands of sites, and a newborn waits.
 * false: there is certainly none.
 */
static bool may_plant(struct page *p, int mem, taddr addr)
{
	taddr at = addr & ~(taddr)(PAGE - 1);

	if (p->at != at)
		look_at_page(p, mem, at);
	return p->at != at || (!p->missing && p->bytes[addr - at] == INT3);
}

int trap_clean_copy(const struct traps *ts, int mem)
{
	struct page page = { .at = 1 };

	for (uint32_t i = 0; i < trap_known(ts); i++) {
		const struct trap *t = trap_known_one(ts, i);
		int r;

		if (!trap_was_written(t))
			continue;
		r = may_plant(&page, mem, t->site.addr) ? trap_put_back(ts, mem, &t->site) : 0;
		if (r < 0)
			return r;
		trap_restore_step(mem, t);
	}
	return 0;
}

/* Those that are gone are in no hash table: a thread would run into one, and it would not be known. */
static int clean_gone(const struct traps *ts, int mem)
{
	struct page page = { .at = 1 };

	for (uint32_t i = 0; i < trap_known(ts); i++) {
		const struct trap *t = trap_known_one(ts, i);
		int r = 0;

		if (t->state != TRAP_GONE)
			continue;
		if (may_plant(&page, mem, t->site.addr))
			r = trap_put_back(ts, mem, &t->site);
		if (r < 0)
			return r;
		trap_restore_step(mem, t);
	}
	return 0;
}

static void copy_gone(struct traps *to, const struct traps *from)
{
	const uint32_t n = from->ngone < SHARED_SITES ? from->ngone : SHARED_SITES;

	memcpy(to->gone, from->gone, n * sizeof(to->gone[0]));
}

void trap_copy_table(struct traps *to, const struct traps *from)
{
	/* @to may be the memory of a larger table: what is left of that would refuse these numbers to new traps */
	if (to->bound > from->bound)
		memset(to->all + from->bound, 0, (to->bound - from->bound) * sizeof(to->all[0]));
	to->bound = from->bound;
	to->frozen = from->frozen;
	to->ngone = from->ngone;
	memcpy(to->slots, from->slots, sizeof(to->slots));
	memcpy(to->all, from->all, from->bound * sizeof(to->all[0]));
	copy_gone(to, from);
}

int trap_begin_copy(struct traps *ts, int mem)
{
	for (uint32_t i = 0; i < ts->bound; i++) {
		int r = 0;

		if (!ts->all[i].steppers)
			continue;
		ts->all[i].steppers = 0;
		r = trap_lift_found(ts, mem, i);
		if (r == 0 && !ts->all[i].shelved)
			r = trap_replant(ts, mem, i);
		if (r < 0)
			return r;
	}
	return clean_gone(ts, mem);
}

void trap_empty(struct traps *to, const struct traps *from)
{
	to->bound = 0;
	to->frozen = false;
	to->ngone = from->ngone;
	memset(to->slots, 0, sizeof(to->slots));
	memset(to->all, 0, sizeof(to->all));
	copy_gone(to, from);
}

void trap_keep_gone(struct traps *to, const struct trap *t)
{
	struct trap *gone = &to->gone[to->ngone % SHARED_SITES];

	if (!trap_was_written(t))
		return;
	*gone = *t;
	gone->state = TRAP_GONE;
	to->ngone++;
}

static const struct site *next_at(const struct traps *ts, taddr addr, uint32_t *i)
{
	while (*i < trap_known(ts)) {
		const struct trap *t = trap_known_one(ts, (*i)++);

		if (t->site.addr == addr && trap_was_written(t))
			return &t->site;
	}
	return NULL;
}

bool trap_was_ever_at(const struct traps *ts, taddr addr)
{
	uint32_t i = 0;

	return next_at(ts, addr, &i);
}

const struct site *trap_only_code_at(const struct traps *ts, taddr addr)
{
	uint32_t i = 0;
	const struct site *first = next_at(ts, addr, &i), *other = first;

	/* more traps are gone than the table remembers */
	if (ts->ngone > SHARED_SITES)
		return NULL;
	while (other && other->nbytes == first->nbytes && !memcmp(other->bytes, first->bytes, first->nbytes))
		other = next_at(ts, addr, &i);
	return other ? NULL : first;
}
