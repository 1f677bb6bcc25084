/* SPDX-License-Identifier: MIT */
#include "attach/stacks/scripts/script_join.h"

#include <errno.h>

struct join {
	const struct script_language *language;
	struct script_codes *codes;
	struct script_chain chain;
	const struct unwind_stack *st;
	uint32_t next;			/* link */
	taddr entry;			/* in the piece of stack of the next call of the loop; 0: not known */
	uint32_t n, max;		/* frames of the result */
	taddr frames[UNWIND_MAX];
	bool misfit;
	bool deep;			/* more than max */
	bool unread;			/* what is further out was not read: the stack ends here */
};

/* --- calls of the evaluation loop --- */

static void next_entry(struct join *j)
{
	if (j->chain.runtime->has_entries)
		j->entry = j->language->entry(&j->chain, j->next, j->entry);
}

static bool has_entry(const struct join *j, uint32_t i)
{
	const struct unwind_stack *st = j->st;

	return st->has_sps && j->entry && i + 1 < st->n && j->entry >= st->sps[i] &&
	       j->entry < st->sps[i + 1];
}

/*
 * Each call is known by what is on the stack. Then those behind the last one are of another chain: where a
 * thread switches between several of them, as greenlets do, stacks lead from one into the other.
 */
static bool is_sure(const struct join *j)
{
	return j->st->has_sps && j->chain.runtime->has_entries;
}

static bool is_loop(const struct script_runtime *rt, taddr frame)
{
	const taddr pc = frame & UNWIND_EXACT ? frame & ~UNWIND_EXACT : frame - 1;

	return pc >= rt->loop.lo && pc < rt->loop.hi;
}

bool script_join_any(const struct script_runtime *rt, const struct unwind_stack *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		if (is_loop(rt, st->frames[i]))
			return true;
	return false;
}

static bool was_read_to_the_end(const struct join *j)
{
	return j->chain.hit->chain_end == CHAIN_WHOLE;
}

/* --- putting them together --- */

static void put(struct join *j, taddr frame)
{
	if (j->n < j->max)
		j->frames[j->n++] = frame;
	else
		j->deep = true;
}

static int put_link(struct join *j, uint32_t i)
{
	uint32_t place;
	int r = j->language->place(&j->chain, i, j->codes, &place);

	if (r == 0)
		put(j, UNWIND_EXACT | UNWIND_SCRIPT | place);
	return r == -ENOENT ? 0 : r;
}

/* What the call of the loop in frame @i of the stack executes. */
static int put_call(struct join *j, uint32_t i)
{
	bool begun = false;
	int r = 0;

	if (j->next == j->chain.n && was_read_to_the_end(j) && is_sure(j)) {
		put(j, j->st->frames[i]);
		return 0;
	}
	j->misfit |= j->entry && is_sure(j) && !has_entry(j, i);
	while (r == 0 && !begun && j->next < j->chain.n) {
		begun = j->language->begins(&j->chain, j->next);
		r = put_link(j, j->next++);
	}
	j->misfit |= !begun && was_read_to_the_end(j);
	j->unread |= !begun && !was_read_to_the_end(j);
	next_entry(j);
	return r;
}

/* Is there a frame of the chain that no call of the loop executes? */
static bool any_left(const struct join *j)
{
	for (uint32_t i = j->next; i < j->chain.n; i++)
		if (j->language->executes(&j->chain, i))
			return true;
	return false;
}

static int put_all(struct join *j)
{
	const struct unwind_stack *st = j->st;
	int r = 0;

	next_entry(j);
	for (uint32_t i = 0; i < st->n && r == 0 && !j->unread; i++) {
		if (is_loop(j->chain.runtime, st->frames[i]) || has_entry(j, i))
			r = put_call(j, i);
		else
			put(j, st->frames[i]);
	}
	j->misfit |= st->end == UNWIND_WHOLE && !j->unread && any_left(j);
	return r;
}

int script_join(struct script_codes *codes, const struct record_hit *hit, uint32_t max,
		struct unwind_stack *st)
{
	struct join j = { .language = codes->language, .codes = codes, .st = st,
			  .chain = { codes->runtime, hit, record_chain(hit), hit->chain_len },
			  .max = max < UNWIND_MAX ? max : UNWIND_MAX };
	int r = put_all(&j);

	if (r < 0)
		return r;
	if (j.misfit)
		return -EBADMSG;
	st->n = j.n;
	st->end = j.deep || j.unread ? UNWIND_DEEP : st->end;
	memcpy(st->frames, j.frames, j.n * sizeof(j.frames[0]));
	return 0;
}
