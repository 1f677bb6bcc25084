/* SPDX-License-Identifier: MIT */
/*
 * classify_rtti: from a vtable to the name of its class, each step checked (Itanium C++ ABI 2.5, 2.9).
 *
 * A type_info is proved by its own vtable: the type_info there is named __class_type_info, or one of the two
 * derived classes. So the symbols of libstdc++ or libc++abi are not needed, and static programs work, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/log.h"
#include "heap/classify/classify_parts.h"

/*
 * so much of bss: programs have copies of libraries' vtables there, and the heap of brk(2) may follow
 * directly
 */
#define BSS_MAX (1u << 20)
#define SLOT 8u
#define FAMILIES_MAX 4096	/* each C++ library has three; a target might have any number */

/* --- where vtables can be --- */

/*
 * Mappings of files, and the beginning of a mapping without a file that follows one. Neighbours are joined.
 */
int rtti_find_ranges(struct classify *c)
{
	const struct procmaps *maps = &c->s->maps;

	c->ranges = calloc(maps->n + 1, sizeof(*c->ranges));
	if (!c->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->maps[i], *before = i ? m - 1 : NULL;
		struct module_range *last = c->nranges ? &c->ranges[c->nranges - 1] : NULL;
		bool bss = !m->ino && before && before->ino && before->hi == m->lo;
		taddr hi = bss && m->hi - m->lo > BSS_MAX ? m->lo + BSS_MAX : m->hi;

		if (m->perms & MAPPING_SHARED || (!m->ino && !bss))
			continue;
		if (last && last->hi == m->lo)
			last->hi = hi;
		else
			c->ranges[c->nranges++] = (struct module_range){ m->lo, hi };
	}
	return 0;
}

bool rtti_in_module(struct classify *c, taddr at)
{
	size_t i;

	if (c->range < c->nranges && at >= c->ranges[c->range].lo && at < c->ranges[c->range].hi)
		return true;
	i = ADDR_SEARCH(c->ranges, c->nranges, hi, at);
	if (i == c->nranges || c->ranges[i].lo > at)
		return false;
	c->range = i;
	return true;
}

/* --- what their words say --- */

static bool word(const struct classify *c, taddr at, uint64_t *out)
{
	return at % SLOT == 0 && !snapshot_word(c->s, at, out);
}

static bool is_name_char(uint8_t ch)
{
	return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z') ||
	       ch == '_' || ch == '.' || ch == '$' || ch >= 0x80;
}

/* The string at @at: a mangled type that ends within the limit. */
static bool read_name(const struct classify *c, taddr at, char name[RTTI_NAME_MAX])
{
	size_t n = 0;

	while (n < RTTI_NAME_MAX) {
		uint64_t have;
		const uint8_t *p = snapshot_bytes(c->s, at + n, &have);

		for (uint64_t i = 0; p && i < have && n < RTTI_NAME_MAX; i++) {
			uint8_t ch = p[i];

			name[n] = (char)ch;
			if (!ch)
				return n > 0;
			if (!is_name_char(ch))
				return false;
			n++;
		}
		if (!p)
			return false;
	}
	return false;
}

/* The name of the type_info at @at. A '*' before it means that types are not to be compared by name. */
static bool read_type(const struct classify *c, taddr at, char name[RTTI_NAME_MAX])
{
	uint64_t text;
	uint8_t first;

	if (!word(c, at + SLOT, &text) || snapshot_read(c->s, text, &first, 1) < 0)
		return false;
	return read_name(c, text + (first == '*'), name) &&
	       ((name[0] >= '0' && name[0] <= '9') || strchr("NSZ", name[0]));
}

static bool look_at_family(const struct classify *c, taddr vptr)
{
	static const char *const families[] = {
		"N10__cxxabiv117__class_type_infoE",
		"N10__cxxabiv120__si_class_type_infoE",
		"N10__cxxabiv121__vmi_class_type_infoE",
	};
	char name[RTTI_NAME_MAX];
	uint64_t info;

	if (!word(c, vptr - SLOT, &info) || !read_type(c, info, name))
		return false;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (!strcmp(name, families[i]))
			return true;
	}
	return false;
}

/*
 * Does @vptr belong to the type_info of a class? A result that cannot be stored is found again the next time.
 */
static bool is_family(struct classify *c, taddr vptr)
{
	const uint64_t *known = addrmap_get(&c->families, vptr);
	uint64_t is;

	if (known)
		return *known;
	is = look_at_family(c, vptr);
	if (addrmap_count(&c->families) >= FAMILIES_MAX || addrmap_put(&c->families, vptr, &is) < 0)
		log_debug(MODULE, "type_info vtable " PRItaddr ": not kept", vptr);
	return is;
}

enum rtti rtti_look(struct classify *c, taddr vptr, char name[RTTI_NAME_MAX])
{
	uint64_t top, info, family, function;

	if (vptr < 2 * SLOT || !word(c, vptr - 2 * SLOT, &top) || top || !word(c, vptr - SLOT, &info))
		return RTTI_NONE;
	if (!info)
		return word(c, vptr, &function) && rtti_in_module(c, function) ? RTTI_WITHOUT : RTTI_NONE;
	if (!rtti_in_module(c, info) || !word(c, info, &family) || !is_family(c, family))
		return RTTI_NONE;
	return read_type(c, info, name) ? RTTI_NAMED : RTTI_NONE;
}
