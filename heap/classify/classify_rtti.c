/* SPDX-License-Identifier: MIT */
/*
 * classify_rtti: from a vtable to the name of its class, each step checked (Itanium C++ ABI 2.5, 2.9).
 *
 * What proves a type_info to be one is what its own vtable says of itself: its type_info is named __class_type_info, or one of the
 * two derived from it. So neither libstdc++'s symbols nor libc++abi's are needed, and static programs are no exception.
 */
#include <string.h>

#include "base/log.h"
#include "heap/classify/classify_parts.h"

#define SLOT 8u
#define FAMILIES_MAX 4096	/* there are three in each C++ library; the target might show us any number */

static bool word(const struct classify *c, taddr at, uint64_t *out)
{
	return at % SLOT == 0 && !snapshot_word(c->s, at, out);
}

static bool is_name_char(uint8_t ch)
{
	return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z') || ch == '_' || ch == '.' ||
	       ch == '$' || ch >= 0x80;
}

/* The string at @at: a mangled type, with its end in sight. */
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

/* The name of the type_info at @at. '*' before it says that its address is not to be compared by name. */
static bool read_type(const struct classify *c, taddr at, char name[RTTI_NAME_MAX])
{
	uint64_t text;
	uint8_t first;

	if (!word(c, at + SLOT, &text) || snapshot_read(c->s, text, &first, 1) < 0)
		return false;
	return read_name(c, text + (first == '*'), name) && ((name[0] >= '0' && name[0] <= '9') || strchr("NSZ", name[0]));
}

static bool look_at_family(const struct classify *c, taddr vptr)
{
	static const char *const families[] = {
		"N10__cxxabiv117__class_type_infoE", "N10__cxxabiv120__si_class_type_infoE", "N10__cxxabiv121__vmi_class_type_infoE",
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

/* Does @vptr belong to the type_info of a class? What cannot be kept is looked at again the next time. */
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
		return word(c, vptr, &function) && classify_in_module(c, function) ? RTTI_WITHOUT : RTTI_NONE;
	if (!classify_in_module(c, info) || !word(c, info, &family) || !is_family(c, family))
		return RTTI_NONE;
	return read_type(c, info, name) ? RTTI_NAMED : RTTI_NONE;
}
