/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/chain_read.h"

#include <string.h>

/* The controller may have written anything there. */
static bool is_sound(const struct chain_plan *p)
{
	const uint32_t bytes = p->link_bytes;

	return bytes <= CHAIN_LINK_MOST && p->code + 8u <= bytes && p->at + 8u <= bytes && p->next + 8u <= bytes &&
	       p->kind + 2u <= bytes && p->aside + 8u <= bytes && (!p->stride || p->stride >= bytes);
}

void chain_begin(struct keeper *k)
{
	k->chained = atomic_load_explicit(&k->shared->chained, memory_order_acquire);
	if (k->chained)
		k->chain = k->shared->chain;
	k->chained = k->chained && is_sound(&k->chain);
}

uint32_t chain_room(const struct keeper *k, uint32_t slice)
{
	const uint32_t links = CHAIN_MAX * (uint32_t)sizeof(struct chain_link);

	return k->chained ? record_chain_at(slice) - slice + links : 0;
}

static bool read_word(struct keeper *k, taddr addr, uint64_t *out)
{
	return chain_pages_read(&k->chain_pages, addr, out, sizeof(*out));
}

/* Is there a thread's state at @state, and is it this thread's? */
static bool is_state(struct keeper *k, taddr state, taddr fs_base)
{
	uint64_t owner;

	if (state && k->chain.owner == CHAIN_DIRECT)
		return true;
	return state && read_word(k, state + k->chain.owner, &owner) && owner == fs_base;
}

/* The state of the thread; 0: it has none. */
static taddr find_state(struct keeper *k, struct tracee *t, taddr fs_base)
{
	const taddr slot = fs_base + (taddr)(int64_t)k->chain.slot;
	uint64_t state;

	/* of several interpreters, a thread has a state in each */
	t->chain_state = 0;
	if (read_word(k, slot, &state) && is_state(k, state, fs_base))
		t->chain_state = state;
	return t->chain_state;
}

/* A word that may be on the thread's own stack, of which there is a copy already, unless gdb has unwound it. */
static bool read_near(struct keeper *k, const struct record_hit *rec, taddr addr, uint64_t *out)
{
	const uint32_t copied = rec->head.flags & RECORD_FRAMES ? 0 : rec->slice_len;
	const uint64_t at = addr - rec->regs.rsp;

	if (copied < sizeof(*out) || at > copied - sizeof(*out))
		return read_word(k, addr, out);
	memcpy(out, rec->slice + at, sizeof(*out));
	return true;
}

static bool first_link(struct keeper *k, taddr state, struct record_hit *rec, taddr *out)
{
	const struct chain_plan *p = &k->chain;

	if (!read_word(k, state + p->head, &rec->chain_head))
		return false;
	*out = rec->chain_head;
	if (p->head_of == CHAIN_DIRECT || !rec->chain_head)
		return true;
	return read_near(k, rec, rec->chain_head + p->head_of, out);
}

/* What is not in a link of an array itself. */
static bool read_aside(struct keeper *k, taddr addr, uint16_t *kind, uint64_t *code)
{
	uint64_t words[3];

	if (!chain_pages_read(&k->chain_pages, addr - 16, words, sizeof(words)))
		return false;
	*kind = (uint16_t)words[2];
	if (!*code)
		*code = words[0];
	return true;
}

static bool read_link(struct keeper *k, taddr addr, struct chain_link *out, taddr *next)
{
	const struct chain_plan *p = &k->chain;
	uint8_t bytes[CHAIN_LINK_MOST];
	uint16_t kind;
	taddr aside;

	if (!chain_pages_read(&k->chain_pages, addr, bytes, p->link_bytes))
		return false;
	memcpy(&kind, bytes + p->kind, sizeof(kind));
	memcpy(&out->code, bytes + p->code, sizeof(out->code));
	memcpy(&out->at, bytes + p->at, sizeof(out->at));
	memcpy(next, bytes + p->next, sizeof(*next));
	memcpy(&aside, bytes + p->aside, sizeof(aside));
	if (p->stride && !read_aside(k, aside, &kind, &out->code))
		return false;
	out->where = (addr & 0xffffffffffffull) | (uint64_t)kind << 48;
	return true;
}

/* Where the array of @state ends that has a link at @addr; 0: it is no such array. */
static taddr end_of_array(struct keeper *k, taddr state, taddr addr)
{
	const struct chain_plan *p = &k->chain;
	uint64_t from, words, bytes;

	if (!read_word(k, state + p->array, &from) || !read_word(k, state + p->array + 8u, &words))
		return 0;
	bytes = words * 8;
	if (words > UINT32_MAX || addr < from || addr - from >= bytes ||
	    (bytes - (addr - from)) % p->stride)
		return 0;
	return from + bytes;
}

/* All links from @addr on; if in an array, up to @array_end. How it ended. */
static enum chain_end read_links(struct keeper *k, taddr addr, taddr array_end, struct record_hit *rec)
{
	const uint16_t stride = k->chain.stride;
	struct chain_link *links = (void *)(rec->slice + record_chain_at(rec->slice_len));
	enum chain_end end = CHAIN_WHOLE;
	uint16_t n = 0;

	for (; addr && end == CHAIN_WHOLE; n += end == CHAIN_WHOLE) {
		const taddr behind = addr + stride;

		if (n == CHAIN_MAX || k->chain_pages.fetches >= CHAIN_FETCHES)
			end = CHAIN_CUT;
		else if (!read_link(k, addr, &links[n], &addr))
			end = CHAIN_LOST;
		if (stride)
			addr = behind < array_end ? behind : 0;
	}
	rec->chain_len = n;
	return end;
}

void chain_read(struct keeper *k, struct tracee *t, struct record_hit *rec)
{
	const taddr slot = rec->regs.fs_base + (taddr)(int64_t)k->chain.slot;
	taddr state, link, array_end = 0;

	rec->chain_len = 0;
	rec->chain_end = CHAIN_NONE;
	rec->chain_head = 0;
	if (!k->chained)
		return;
	chain_pages_begin(&k->chain_pages, keeper_memory(k, t),
			  (const taddr[]){ slot, t->chain_state, t->chain_top });
	state = find_state(k, t, rec->regs.fs_base);
	if (!state)
		return;
	if (!first_link(k, state, rec, &link)) {
		rec->chain_end = CHAIN_LOST;
		return;
	}
	t->chain_top = link;
	if (k->chain.stride)
		array_end = end_of_array(k, state, link);
	rec->chain_end = k->chain.stride && !array_end ? CHAIN_LOST : read_links(k, link, array_end, rec);
}
