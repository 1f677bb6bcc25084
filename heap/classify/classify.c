/* SPDX-License-Identifier: MIT */
/*
 * classify: see classify.h. Most blocks are not objects of such a class, so "no" is decided quickly: the
 * first word is no address of a module's data. If a block is an object, its vtable has mostly been seen
 * lately.
 */
#include "heap/classify/classify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/classify/classify_parts.h"

#define SEEN_MAX (1u << 20)	/* results that are stored; further addresses are examined each time */
#define STRIDES_MAX 4

int classify_new(const struct snapshot *s, const struct backing *b, struct classify **out)
{
	struct classify *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->s = s;
	c->cursor = snapshot_cursor_of(s);
	c->b = b;
	intern_init(&c->pool);
	addrmap_init(&c->vtables, sizeof(uint64_t));
	addrmap_init(&c->types, sizeof(uint64_t));
	addrmap_init(&c->families, sizeof(uint64_t));
	/* number 0 is CLASS_NONE */
	if (rtti_find_ranges(c) < 0 || grow_for(&c->classes, 0, &c->room, sizeof(*c->classes)) < 0) {
		classify_free(c);
		return -ENOMEM;
	}
	c->classes[c->n++] = (struct class){ .settled = true };
	*out = c;
	return 0;
}

void classify_free(struct classify *c)
{
	if (!c)
		return;
	free(c->ranges);
	free(c->classes);
	addrmap_fini(&c->vtables);
	addrmap_fini(&c->types);
	addrmap_fini(&c->families);
	intern_fini(&c->pool);
	free(c);
}

size_t classify_count(const struct classify *c)
{
	return c->n;
}

const char *classify_name(const struct classify *c, uint32_t class)
{
	const struct class *k = class < c->n ? &c->classes[class] : NULL;

	return k ? k->name ? k->name : k->type : NULL;
}

const char *classify_module(const struct classify *c, uint32_t class)
{
	return class < c->n ? c->classes[class].module : NULL;
}

/* --- a vtable that was not seen before --- */

static int add_class(struct classify *c, struct class k, taddr vptr, uint32_t *class)
{
	const struct mapping *m = procmaps_find(&c->s->maps, vptr);

	k.module = m && m->ino ? m->path : NULL;
	if (c->n >= UINT32_MAX || grow_for(&c->classes, c->n, &c->room, sizeof(*c->classes)) < 0)
		return -ENOMEM;
	*class = (uint32_t)c->n;
	c->classes[c->n++] = k;
	return 0;
}

/* A class may have several vtables: each library can have its own. */
static int add_named(struct classify *c, taddr vptr, const char *name, bool array, uint32_t *class)
{
	const char *type = intern_text(&c->pool, name);
	uint64_t *number;
	bool fresh;
	int err = 0;

	if (!type)
		return -ENOMEM;
	/* texts are apart by more than a byte: even an empty one has its NUL and malloc's own alignment */
	number = addrmap_slot(&c->types, (uintptr_t)type + array, &fresh);
	if (!number)
		return -ENOMEM;
	if (fresh) {
		err = add_class(c, (struct class){ .type = type, .array = array }, vptr, class);
		*number = err ? CLASS_NONE : *class;
	}
	*class = (uint32_t)*number;
	return err;
}

/* The place of @at in the file that is mapped there. */
static bool place_in_file(const struct classify *c, taddr at, const struct backing_file **file, taddr *vaddr)
{
	const struct mapping *m = procmaps_find(&c->s->maps, at);

	*file = m && c->b ? backing_find(c->b, m) : NULL;
	return *file && backing_vaddr(*file, m, at, vaddr);
}

static int add_by_symbol(struct classify *c, taddr vptr, bool array, uint32_t *class)
{
	struct class k = { .array = array };

	return place_in_file(c, vptr, &k.file, &k.vaddr) ? add_class(c, k, vptr, class) : 0;
}

static int look(struct classify *c, taddr vptr, bool array, uint32_t *class)
{
	char name[RTTI_NAME_MAX];
	uint64_t number;
	int err = 0;

	*class = CLASS_NONE;
	switch (rtti_look(c, vptr, name)) {
	case RTTI_NAMED:
		err = add_named(c, vptr, name, array, class);
		break;
	case RTTI_WITHOUT:
		if (addrmap_count(&c->vtables) < SEEN_MAX)
			err = add_by_symbol(c, vptr, array, class);
		break;
	case RTTI_NONE:
		break;
	}
	number = *class;
	if (!err && (number || addrmap_count(&c->vtables) < SEEN_MAX))
		err = addrmap_put(&c->vtables, vptr + array, &number);
	return err;
}

static int find(struct classify *c, taddr vptr, bool array, uint32_t *class)
{
	const taddr key = vptr + array;
	struct recent *r =
		&c->recent[(key >> 3 ^ key >> 11 ^ key) % (sizeof(c->recent) / sizeof(c->recent[0]))];
	const uint64_t *known;
	int err = 0;

	if (r->key == key) {
		*class = r->class;
		return 0;
	}
	known = addrmap_get(&c->vtables, key);
	if (known)
		*class = (uint32_t)*known;
	else
		err = look(c, vptr, array, class);
	if (!err)
		*r = (struct recent){ key, *class };
	return err;
}

/* --- a block --- */

static bool is_vptr(struct classify *c, uint64_t word)
{
	return word % 8 == 0 && rtti_in_module(c, word);
}

/*
 * Are there @count objects after the length at @addr, as far as the second one shows? Its distance is not
 * known exactly, because a block may be a little larger than requested.
 */
static bool is_array(struct classify *c, taddr addr, uint64_t size, uint64_t count, uint64_t vptr)
{
	uint64_t stride = (size - 8) / count & ~7ull, next;

	if (count == 1)
		return true;
	for (int i = 0; i < STRIDES_MAX && stride >= 8; i++, stride -= 8) {
		if (stride * count + 8 + 24 < size)
			return false;
		if (snapshot_cursor_word(&c->cursor, addr + 8 + stride, &next) && next == vptr)
			return true;
	}
	return false;
}

int classify_block(struct classify *c, taddr addr, uint64_t size, uint32_t *class)
{
	uint64_t first, second;

	*class = CLASS_NONE;
	if (size < 8 || !snapshot_cursor_word(&c->cursor, addr, &first))
		return 0;
	if (is_vptr(c, first))
		return find(c, first, false, class);
	if (!first || size < 16 || first > (size - 8) / 8 ||
	    !snapshot_cursor_word(&c->cursor, addr + 8, &second) || !is_vptr(c, second) ||
	    !is_array(c, addr, size, first, second))
		return 0;
	return find(c, second, true, class);
}
