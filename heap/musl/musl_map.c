/* SPDX-License-Identifier: MIT */
#include "heap/musl/musl_map.h"

#define PAGE 4096u

int musl_map_find(const struct snapshot *s, struct musl_map *out)
{
	struct census c;
	struct musl g = { .s = s, .c = &c, .cursor = snapshot_cursor_of(s) };
	int r;

	census_init(&c);
	r = musl_find(&g);
	*out = (struct musl_map){ g.context.secret, g.data_lo, g.data_hi };
	census_fini(&c);
	return r;
}

/* --- the way from a block to its meta --- */

taddr musl_map_group(taddr at, uint64_t head)
{
	const struct musl_head h = musl_head_of(head);
	const uint64_t units = h.wide ? h.wide_offset : h.offset;

	if (at % MUSL_UNIT || h.index >> 5 >= MUSL_IS_GROUP || (h.wide && h.offset) || (units + 1) * MUSL_UNIT >= at)
		return 0;
	return at - (units + 1) * MUSL_UNIT;
}

taddr musl_map_secret(taddr meta)
{
	const uint64_t in_page = meta % PAGE;

	if (in_page < MUSL_AREA_HEAD || (in_page - MUSL_AREA_HEAD) % MUSL_META)
		return 0;
	return meta - in_page;
}

/* --- what they say --- */

struct musl_place musl_map_place(taddr at, uint64_t head, taddr group, const uint64_t meta[MUSL_META_WORDS])
{
	const struct musl_group gr = musl_group_of(meta);
	const struct musl_head h = musl_head_of(head);
	const unsigned i = h.index & 31;
	const taddr end = group + MUSL_UNIT + (i + 1) * gr.stride - MUSL_HEAD;
	struct musl_place out = { 0 };

	if (gr.mem != group || !gr.stride || i >= gr.slots || at >= end || end - at > gr.stride)
		return out;
	/* how many bytes at the end are unused, if that is in the head */
	out.usable = end - at - (h.index >> 5 < MUSL_ROOM_AT_END ? h.index >> 5 : 0);
	out.bytes = gr.stride;
	return out;
}

uint32_t musl_map_head(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

bool musl_map_is_freed(uint32_t head)
{
	return (head >> 8 & 0xff) == MUSL_FREED;
}
