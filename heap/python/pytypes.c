/* SPDX-License-Identifier: MIT */
/* pytypes: see pytypes.h. Names of types: pytypes_names.c. */
#include "heap/python/pytypes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/python/pytypes_parts.h"

#define SEEN_MAX (1u << 20)		/* addresses that are stored as no types */
/* what lives for ever, from 3.12 on, begins with UINT32_MAX, and extensions may count on */
#define REFERENCES_MAX ((UINT64_C(1) << 33) - 1)
#define LINKS 16u			/* of the collector */
#define MANAGED 16u
#define LEAST 16u
#define METATYPES 8			/* types of types */
#define ITEMS_AT 16u
#define UNICODE_HEAD 80u

#define FLAG_INLINE_VALUES (1u << 2)	/* behind the object, since 3.13 */
#define FLAG_MANAGED_WEAKREF (1u << 3)
#define FLAG_MANAGED_DICT (1u << 4)
#define FLAG_READY (1u << 12)
#define FLAG_COLLECTED (1u << 14)
#define FLAG_LONG (1u << 24)
#define FLAG_BYTES (1u << 27)
#define FLAG_UNICODE (1u << 28)
#define FLAG_TYPE (1u << 31)		/* its objects are types */

#define HOOK_MASK 0xffffffffffffff00u
#define HOOK 0xfdfdfdfdfdfdfd00u	/* the first byte is the domain, "o" for objects */

int pytypes_init(struct pytypes *t, const struct snapshot *s, unsigned minor)
{
	*t = (struct pytypes){ .s = s, .cursor = snapshot_cursor_of(s), .minor = minor };
	addrmap_init(&t->numbers, sizeof(uint64_t));
	intern_init(&t->pool);
	if (grow_for(&t->all, 0, &t->room, sizeof(*t->all)) < 0)
		return -ENOMEM;
	t->all[t->n++] = (struct pytype){ 0 };
	return 0;
}

void pytypes_fini(struct pytypes *t)
{
	free(t->all);
	addrmap_fini(&t->numbers);
	intern_fini(&t->pool);
}

/* --- is it a type? --- */

static bool read_head(const struct pytypes *t, taddr at, struct pytypes_head *out)
{
	return at % 8 == 0 && at && snapshot_read(t->s, at, out, sizeof(*out)) == 0 && out->flags & FLAG_READY &&
	       out->name && out->references;
}

/* Do the types of types lead to "type"? */
static bool leads_to_type(const struct pytypes *t, taddr at)
{
	struct pytypes_head head;
	char name[8];

	for (int i = 0; i < METATYPES; i++) {
		if (!read_head(t, at, &head) || !(head.flags & FLAG_TYPE))
			return false;
		if (head.type == at)
			return pytypes_text(t, head.name, name, sizeof(name)) && !strcmp(name, "type");
		at = head.type;
	}
	return false;
}

static unsigned before_of(const struct pytypes *t, uint64_t flags)
{
	const uint64_t managed = t->minor == 11 ? FLAG_MANAGED_DICT
				 : t->minor > 11 ? FLAG_MANAGED_DICT | FLAG_MANAGED_WEAKREF : 0;

	return (flags & FLAG_COLLECTED ? LINKS : 0) + (flags & managed ? MANAGED : 0);
}

/* Numbers have no pointers, and of texts only the head may have one. */
static void set_extent(const struct pytypes *t, const struct pytypes_head *head, struct pytype *out)
{
	if (head->flags & (FLAG_LONG | FLAG_BYTES))
		return;
	out->basic = (uint64_t)head->basic_size;
	out->item = (uint64_t)head->item_size;
	if (head->flags & FLAG_UNICODE)
		out->basic = UNICODE_HEAD;
	else if (t->minor > 12 && head->flags & FLAG_INLINE_VALUES)
		out->basic = UINT64_MAX;
}

static int add(struct pytypes *t, taddr at, const struct pytypes_head *head, uint64_t *number)
{
	char name[PYTYPES_NAME];
	const char *stored;

	pytypes_name(t, at, head, name);
	stored = intern_text(&t->pool, name);
	if (!stored || grow_for(&t->all, t->n, &t->room, sizeof(*t->all)) < 0)
		return -ENOMEM;
	*number = t->n++;
	t->all[*number] = (struct pytype){
		.at = at, .name = stored, .before = before_of(t, head->flags),
		.collected = head->flags & FLAG_COLLECTED,
	};
	set_extent(t, head, &t->all[*number]);
	return 0;
}

static int number_of(struct pytypes *t, taddr at, uint32_t *out)
{
	const uint64_t *seen = addrmap_get(&t->numbers, at);
	struct pytypes_head head;
	uint64_t number = PYTYPES_NONE;

	if (seen) {
		*out = (uint32_t)*seen;
		return 0;
	}
	if (read_head(t, at, &head) && leads_to_type(t, head.type) && add(t, at, &head, &number) < 0)
		return -ENOMEM;
	*out = (uint32_t)number;
	if (number == PYTYPES_NONE && addrmap_count(&t->numbers) > SEEN_MAX)
		return 0;
	return addrmap_put(&t->numbers, at, &number);
}

/* --- is it an object? --- */

/* With @before bytes before it. */
static int look_behind(struct pytypes *t, taddr at, unsigned before, struct pyobject *out)
{
	uint64_t references, type, link = 0;
	uint32_t number;

	if (!snapshot_cursor_word(&t->cursor, at + before, &references) || references > REFERENCES_MAX ||
	    !snapshot_cursor_word(&t->cursor, at + before + 8, &type) || type < SNAPSHOT_PAGE || type % 8)
		return 0;
	if (number_of(t, type, &number) < 0)
		return -ENOMEM;
	if (number == PYTYPES_NONE || t->all[number].before != before)
		return 0;
	if (t->all[number].collected && !snapshot_cursor_word(&t->cursor, at + before - LINKS, &link))
		return 0;
	*out = (struct pyobject){ number, .idle = !references, .tracked = link };
	return 0;
}

int pytypes_look(struct pytypes *t, taddr at, uint64_t size, struct pyobject *out)
{
	int r = 0;

	*out = (struct pyobject){ PYTYPES_NONE };
	for (unsigned before = 0; before <= LINKS + MANAGED && before + LEAST <= size; before += LINKS) {
		r = look_behind(t, at, before, out);
		if (r < 0 || out->type != PYTYPES_NONE)
			break;
	}
	return r;
}

uint64_t pytypes_extent(struct pytypes *t, uint32_t type, taddr at, uint64_t room)
{
	const struct pytype *of = &t->all[type];
	uint64_t items;

	if (of->basic >= room || !of->item)
		return of->basic < room ? of->basic : room;
	/* where there is no number, as in a frame, the block's end counts */
	if (!snapshot_cursor_word(&t->cursor, at + ITEMS_AT, &items) || items > (room - of->basic) / of->item)
		return room;
	return of->basic + items * of->item;
}

bool pytypes_has_hooks(struct pytypes *t, taddr at)
{
	uint64_t word;

	return snapshot_cursor_word(&t->cursor, at + 8, &word) && (word & HOOK_MASK) == HOOK;
}
