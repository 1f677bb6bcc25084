/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/glibc_look.h"

#include <string.h>

#define PAGE 4096u
#define LEAD 16u		/* bytes before the block: prev_size and head */
#define ROOM 256u		/* blocks whose pieces are put together */

enum which { HEAD, REST, NEXT }; /* pieces that are read first; REST: words beyond the page of the head */
enum which_more { BEFORE, AGAIN, LINK };

void glibc_look_ask(struct glibc_look *k, uint64_t head)
{
	const taddr addr = k->addr, page_end = (addr - LEAD) / PAGE * PAGE + PAGE;
	const uint64_t size = chunkstate_size(head), usable = size - (chunkstate_mapped(head) ? 16 : 8);
	const uint64_t words = usable / 8 < CHUNKSTATE_WORDS ? usable / 8 : CHUNKSTATE_WORDS;
	const taddr end = addr + words * 8, first_end = end < page_end ? end : page_end;

	*k = (struct glibc_look){ .addr = addr, .head = head, .look.block = addr };
	k->pieces[HEAD] = remote_read_piece(addr - LEAD, &k->look.prev_size, first_end - (addr - LEAD));
	k->pieces[REST] = remote_read_piece(first_end, &k->look.words[(first_end - addr) / 8], end - first_end);
	k->pieces[NEXT] = remote_read_piece(addr + size - 8, &k->look.next_head, chunkstate_mapped(head) ? 0 : 8);
}

/* Read the pieces of some blocks, without empty ones, and copy the results back. */
static int read_pieces(struct remote_read *g, struct glibc_look *looked, size_t n)
{
	struct remote_read_piece all[ROOM * 3];
	size_t count = 0, at = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < 3; j++)
			if (looked[i].pieces[j].n)
				all[count++] = looked[i].pieces[j];
	r = remote_read_now(g, all, count);
	for (size_t i = 0; i < n && r == 0; i++)
		for (unsigned j = 0; j < 3; j++)
			if (looked[i].pieces[j].n)
				looked[i].pieces[j].got = all[at++].got;
	return r;
}

static bool has(const struct glibc_look *k, unsigned which)
{
	return remote_read_has(&k->pieces[which]);
}

static void take_first(struct glibc_look *k)
{
	const struct remote_read_piece *p = k->pieces;

	k->absent = p[HEAD].got == REMOTE_READ_ABSENT;
	k->away = !k->absent && !has(k, HEAD);
	k->look.has_head = k->look.has_prev_size = has(k, HEAD);
	k->look.has_next = has(k, NEXT);
	k->look.nwords = (uint8_t)((p[HEAD].n - LEAD + (has(k, REST) ? p[REST].n : 0)) / 8);
	if (!has(k, HEAD))
		k->look.nwords = 0;
}

static void ask_more(struct glibc_look *k)
{
	taddr to;

	memset(k->pieces, 0, sizeof(k->pieces));
	if (chunkstate_use(&k->look, k->head) != CHUNKSTATE_IN_USE)
		return;
	k->before = chunkstate_before(&k->look);
	if (k->before) {
		k->pieces[BEFORE] = remote_read_piece(k->before, &k->before_head, 8);
		k->pieces[AGAIN] = remote_read_piece(k->addr - LEAD, k->again, LEAD);
	}
	if (!chunkstate_link(&k->look, &to))
		return;
	k->list_end = !to;
	k->link = to;
	if (to)
		k->pieces[LINK] = remote_read_piece(to - 8, &k->link_head, 8);
}

int glibc_look_read(struct remote_read *g, struct glibc_look *looked, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i += ROOM) {
		const size_t some = n - i < ROOM ? n - i : ROOM;

		r = read_pieces(g, &looked[i], some);
		for (size_t j = i; j < i + some && r == 0; j++) {
			take_first(&looked[j]);
			ask_more(&looked[j]);
		}
		if (r == 0)
			r = read_pieces(g, &looked[i], some);
		for (size_t j = i; j < i + some && r == 0; j++) {
			looked[j].has_before = has(&looked[j], BEFORE) && has(&looked[j], AGAIN);
			looked[j].has_link = has(&looked[j], LINK);
		}
	}
	return r;
}

bool glibc_look_linked(const struct glibc_look *k)
{
	return k->list_end || (k->has_link && chunkstate_size(k->link_head) == chunkstate_size(k->head));
}

bool glibc_look_joined(const struct glibc_look *k)
{
	/* only if it has not changed between the two reads */
	return k->has_before && k->again[0] == k->look.prev_size && k->again[1] == k->look.head &&
	       !chunkstate_led(&k->look, k->before_head);
}
