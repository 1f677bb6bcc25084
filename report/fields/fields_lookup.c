/* SPDX-License-Identifier: MIT */
/* Answers about single blocks and objects (report/query/lookup.h). */
#include "report/fields/parts.h"
#include "report/fields/table.h"

#include "report/model/text_parts.h"
#include "report/names/sitename.h"
#include "report/query/lookup.h"

static bool lists_objects(const struct field_source *c)
{
	return c->s->nfamilies && c->s->families[c->s->lookup->part].refs;
}

static const char *listed_family(const struct field_source *c)
{
	struct text_part part;

	text_part(c->s, c->s->lookup->part, &part);
	return part.family.name;
}

#define LIST_OF(F) \
	F(string, family, ALL, listed_family(c), "Family of the group.")				\
	F(uint, number, ALL, lk->question.entry, "The n of its [n].")					\
	F(numbers, groups, ALL, LONGS(lk->groups, lk->ngroups), "Indices in groups, or refs.")

FIELDS(block_list_of, const struct lookup *lk, LIST_OF, "With --block-list: whose blocks are listed.");

#define LISTED(F) \
	F(address, address, ALL, b->addr, COLUMN("address", 24, "Where it is.")) \
	F(int, net, ALL | OPT, WHEN(lists_objects(c), b->net), COLUMN("net", 12, "Of an object: its net count."))		\
	F(bytes, bytes, ALL | OPT, WHEN(!lists_objects(c), b->bytes), "Of a block: its size.")		\
	F(uint, size_column, 0, b->bytes, COLUMN("bytes", 12, "In a table: to the byte."))		\
	F(seconds, age_s, ALL, b->age_s, COLUMN("age", 11, "At the end."))

FIELDS(listed, const struct lookup_block *b, LISTED, "A block or object of the list; the oldest is the first.");

#define ENTRY(F) \
	F(seconds, age_s, ALL, f->block.age_s, "At the end.")						\
	F(uint_or_null, number, ALL, OR_NULL(f->entry, f->entry), \
	  "The n of its [n]; null: the report leaves it out.")						\
	F(uint_or_null, group, ALL, OR_NULL(f->entry, f->group), "Index in groups, or refs.")

#define FOUND_BLOCK(F) \
	F(string, family, ALL, f->family, "Its family.")						\
	F(string, noun, ALL, f->noun, "What one is called.")						\
	F(address, address, ALL, f->block.addr, "Where it begins.")					\
	F(bytes, bytes, ALL, f->block.bytes, "Its size.")						\
	F(uint, offset, ALL, asked(c)->addr - f->block.addr, "Of the address in it.")			\
	F(word(verdict), verdict, ALL, f->verdict, "Its verdict.")					\
	ENTRY(F) \
	FIELDS_OF_SITE(F, &f->uses->stack, NULL)

static const struct lookup_at *asked(const struct field_source *c)
{
	return c->owner;
}

FIELDS(found_block, const struct lookup_found *f, FOUND_BLOCK, "A block that has the address.");

#define OBJECT_USE(F) \
	F(uint, acquired, ALL, u->taken, "References that were acquired there.")			\
	F(uint, released, ALL, u->dropped, "References that were released there.")			\
	FIELDS_OF_SITE(F, &u->stack, NULL)

FIELDS(object_use, const struct lookup_use *u, OBJECT_USE, "What a call site did to the object.");

#define FOUND_OBJECT(F) \
	F(string, family, ALL, f->family, "Its family.")						\
	F(string, noun, ALL, f->noun, "What one is called.")						\
	F(int, net, ALL, f->block.net, "Its net count.")						\
	F(bool, older, ALL, f->older, "It is older than the watch.")					\
	F(bool, counted, ALL, f->counted, "Its own count says so.")					\
	ENTRY(F) \
	F(list(object_use), uses, ALL, ARRAY(f->uses, f->nuses), "What was done to it.")

FIELDS(found_object, const struct lookup_found *f, FOUND_OBJECT, "An object that is at the address.");

static const void *found(const void *base, size_t i, bool refs)
{
	const struct lookup_found *f = (const struct lookup_found *)base + i;

	return f->refs == refs ? f : NULL;
}

static const void *block_at(const struct field_source *c, const void *base, size_t i)
{
	(void)c;
	return found(base, i, false);
}

static const void *object_at(const struct field_source *c, const void *base, size_t i)
{
	(void)c;
	return found(base, i, true);
}

#define BLOCK_AT(F) \
	F(address, address, ALL, its->addr, "The address that was asked for.")				\
	F(real_or_null, released_twice_s, ALL, OR_NULL(its->twice, its->twice_s), \
	  "When a block there was freed again; null: none was.")					\
	F(list(found_block), blocks, ALL, CHOSEN(its->found, its->nfound, block_at), \
	  "Blocks that have it.")									\
	F(list(found_object), objects, ALL, CHOSEN(its->found, its->nfound, object_at), "Objects that are there.")

FIELDS(block_at, const struct lookup_at *its, BLOCK_AT, "With --block-at: what is at an address.");
