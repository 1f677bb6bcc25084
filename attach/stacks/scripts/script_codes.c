/* SPDX-License-Identifier: MIT */
#include "attach/stacks/scripts/script_codes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

#define CODES_MOST 65536u	/* then all are forgotten */
#define TABLES_MOST (64u << 20)	/* bytes of all tables of lines; likewise */
#define POSITIONS_MOST (1u << 20)	/* likewise */

void script_codes_init(struct script_codes *c, struct script_places *places)
{
	*c = (struct script_codes){ .places = places };
	addrmap_init(&c->by_addr, sizeof(uint32_t));
	addrmap_init(&c->by_position, sizeof(uint32_t));
}

static void forget(struct script_codes *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->all[i].lines);
	c->n = 0;
	c->table_bytes = 0;
	addrmap_clear(&c->by_addr);
	addrmap_clear(&c->by_position);
}

void script_codes_fini(struct script_codes *c)
{
	forget(c);
	addrmap_fini(&c->by_addr);
	addrmap_fini(&c->by_position);
	free(c->all);
}

void script_codes_begin(struct script_codes *c, const struct script_language *l,
			const struct script_runtime *rt)
{
	forget(c);
	c->language = l;
	c->runtime = rt;
}

/* --- is it still the same --- */

static bool is_same(const struct script_runtime *rt, const struct script_code *a, const struct script_code *b)
{
	for (size_t i = 0; i < SCRIPT_IDENTITY; i++)
		if (script_code_word(a, rt->identity[i]) != script_code_word(b, rt->identity[i]))
			return false;
	return true;
}

/* One that was freed, and whose memory is not used again, is still the one that was executed. */
static bool is_replaced(const struct script_codes *c, const struct script_code *code)
{
	struct script_code now = { .addr = code->addr, .kind = code->kind };

	return c->language->read(c->runtime, &now) && !is_same(c->runtime, code, &now);
}

/* Was all that belongs to it there when it was read? It was if the object is there even now. */
static bool is_still_there(const struct script_codes *c, const struct script_code *code)
{
	struct script_code now = { .addr = code->addr, .kind = code->kind };

	return c->language->read(c->runtime, &now) && is_same(c->runtime, code, &now);
}

/* --- reading --- */

static bool read_parts(const struct script_codes *c, struct script_code *code)
{
	return c->language->read(c->runtime, code) && c->language->describe(c->runtime, c->places, code) &&
	       is_still_there(c, code);
}

/* What there is to know of it. If it is no code object, or no longer one, it has a name that says so. */
static void read_code(struct script_codes *c, struct script_code *code)
{
	if (!read_parts(c, code)) {
		memset(code->bytes, 0, sizeof(code->bytes));
		code->function = code->file = script_places_text(c->places, PLACES_GONE);
		code->gone = true;
	}
	c->table_bytes += code->nlines;
}

int script_codes_find(struct script_codes *c, taddr addr, uint32_t kind, uint64_t now_ns,
		      struct script_code **out)
{
	const uint32_t *known = addrmap_get(&c->by_addr, addr);
	uint32_t index;

	*out = known ? &c->all[*known] : NULL;
	if (known && (*out)->kind == kind) {
		if (now_ns < (*out)->checked_ns + SCRIPT_TRUSTED_NS)
			return 0;
		(*out)->checked_ns = now_ns;
		if (!is_replaced(c, *out))
			return 0;
	}
	if (c->n >= CODES_MOST || c->table_bytes >= TABLES_MOST)
		forget(c);
	if (grow_for(&c->all, c->n, &c->size, sizeof(*c->all)))
		return -ENOMEM;
	index = (uint32_t)c->n;
	*out = &c->all[c->n++];
	**out = (struct script_code){ .addr = addr, .kind = kind, .checked_ns = now_ns };
	read_code(c, *out);
	return addrmap_put(&c->by_addr, addr, &index);
}

/* --- places --- */

static uint32_t line_of(const struct script_codes *c, const struct script_code *code, uint32_t position)
{
	uint32_t line;

	if (code->gone)
		return 0;
	line = c->language->line(c->runtime, code, position);
	/* a table that was not read with the object may be another one's by now */
	return code->lines || is_still_there(c, code) ? line : 0;
}

int script_codes_place(struct script_codes *c, const struct script_code *code, uint32_t position,
		       uint32_t *place)
{
	const uint64_t key = (uint64_t)(code - c->all) << 32 | position;
	const uint32_t *known = addrmap_get(&c->by_position, key);
	struct script_place p;
	int r;

	c->gone += code->gone;
	if (known) {
		*place = *known;
		return 0;
	}
	if (addrmap_count(&c->by_position) >= POSITIONS_MOST)
		addrmap_clear(&c->by_position);
	p = (struct script_place){ code->function, code->file, line_of(c, code, position) };
	r = script_places_number(c->places, &p, place);
	return r < 0 ? r : addrmap_put(&c->by_position, key, place);
}
