/* SPDX-License-Identifier: MIT */
/* json_lookup: see json_lookup.h. */
#include "report/json/json_lookup.h"

#include <inttypes.h>
#include <stdbool.h>

#include "report/json/json.h"
#include "report/json/json_stack.h"
#include "report/model/text_parts.h"
#include "report/query/lookup.h"

/* --- the list --- */

static void put_list_of(struct strbuf *sb, const struct lookup *lk, const struct text_part *part)
{
	json_key(sb, ",\n", "block_list_of");
	json_string(sb, "{", "family", part->family.name);
	json_number(sb, ", ", "entry", lk->question.entry);
	json_key(sb, ", ", "groups");
	for (size_t i = 0; i < lk->ngroups; i++)
		strbuf_printf(sb, "%s%zu", i ? ", " : "[", lk->groups[i]);
	strbuf_puts(sb, "]}");
}

static void put_listed(struct strbuf *sb, const struct lookup_block *b, bool refs)
{
	json_address(sb, "{", "address", b->addr);
	if (refs)
		json_signed(sb, ", ", "net", b->net);
	else
		json_number(sb, ", ", "bytes", b->bytes);
	json_real(sb, ", ", "age_s", b->age_s);
	strbuf_putc(sb, '}');
}

static void put_list(struct strbuf *sb, const struct summary *s)
{
	const struct lookup *lk = s->lookup;
	struct text_part part;

	text_part(s, lk->part, &part);
	put_list_of(sb, lk, &part);
	json_list(sb, ",\n", "block_list");
	for (size_t i = 0; i < lk->nlist; i++) {
		json_next_line(sb, i, "  ");
		put_listed(sb, &lk->list[i], part.family.refs);
	}
	strbuf_putc(sb, ']');
}

/* --- addresses --- */

static void put_where(struct strbuf *sb, const struct lookup_found *f)
{
	json_real(sb, ", ", "age_s", f->block.age_s);
	if (f->entry) {
		json_number(sb, ", ", "entry", f->entry);
		json_number(sb, ", ", "group", f->group);
	} else {
		strbuf_puts(sb, ", \"entry\": null, \"group\": null");
	}
}

static void put_stack(struct strbuf *sb, const struct lookup_use *u, struct json_frames *frames)
{
	json_number(sb, ", ", "wrappers", u->stack.wrappers);
	json_stack(sb, ", ", &u->stack, frames);
}

static void put_block(struct strbuf *sb, const struct lookup_found *f, taddr addr, struct json_frames *frames)
{
	json_string(sb, "{", "family", f->family);
	json_string(sb, ", ", "noun", f->noun);
	json_address(sb, ", ", "address", f->block.addr);
	json_number(sb, ", ", "bytes", f->block.bytes);
	json_number(sb, ", ", "offset", addr - f->block.addr);
	json_string(sb, ", ", "verdict", verdict_name(f->verdict));
	put_where(sb, f);
	put_stack(sb, f->uses, frames);
	strbuf_putc(sb, '}');
}

static void put_object(struct strbuf *sb, const struct lookup_found *f, struct json_frames *frames)
{
	json_string(sb, "{", "family", f->family);
	json_string(sb, ", ", "noun", f->noun);
	json_signed(sb, ", ", "net", f->block.net);
	json_bool(sb, ", ", "older", f->older);
	json_bool(sb, ", ", "counted", f->counted);
	put_where(sb, f);
	json_list(sb, ", ", "uses");
	for (size_t i = 0; i < f->nuses; i++) {
		json_next_line(sb, i, "     ");
		json_number(sb, "{", "taken", f->uses[i].taken);
		json_number(sb, ", ", "dropped", f->uses[i].dropped);
		put_stack(sb, &f->uses[i], frames);
		strbuf_putc(sb, '}');
	}
	strbuf_puts(sb, "]}");
}

static void put_found(struct strbuf *sb, const char *name, const struct lookup_at *at, bool refs,
		      struct json_frames *frames)
{
	size_t n = 0;

	json_list(sb, ",\n   ", name);
	for (size_t i = 0; i < at->nfound; i++) {
		if (at->found[i].refs != refs)
			continue;
		json_next_line(sb, n++, "    ");
		if (refs)
			put_object(sb, &at->found[i], frames);
		else
			put_block(sb, &at->found[i], at->addr, frames);
	}
	strbuf_putc(sb, ']');
}

static void put_at(struct strbuf *sb, const struct lookup_at *at, struct json_frames *frames)
{
	json_address(sb, "{", "address", at->addr);
	if (at->twice)
		json_real(sb, ", ", "released_twice_s", at->twice_s);
	else
		strbuf_puts(sb, ", \"released_twice_s\": null");
	put_found(sb, "blocks", at, false, frames);
	put_found(sb, "objects", at, true, frames);
	strbuf_putc(sb, '}');
}

static void put_addresses(struct strbuf *sb, const struct lookup *lk, struct json_frames *frames)
{
	json_list(sb, ",\n", "block_at");
	for (size_t i = 0; i < lk->nat; i++) {
		json_next_line(sb, i, "  ");
		put_at(sb, &lk->at[i], frames);
	}
	strbuf_putc(sb, ']');
}

void json_lookup(const struct summary *s, struct json_frames *frames, struct strbuf *sb)
{
	if (s->lookup && s->lookup->question.entry)
		put_list(sb, s);
	if (s->lookup && s->lookup->question.naddrs)
		put_addresses(sb, s->lookup, frames);
}
