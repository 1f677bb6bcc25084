/* SPDX-License-Identifier: MIT */
/*
 * pytypes_names: how a type is called. That of a C module has a whole name, "collections.OrderedDict", or is
 * built in, "dict". A class of a script has its name without the module there; the qualified name is an object
 * behind the type ("Cart.Item"), and the module is in its dictionary. There the key "__module__" is searched
 * for in the table word by word: each key is before its value.
 */
#include <stdio.h>
#include <string.h>

#include "heap/python/pytypes_parts.h"

#define FLAG_HEAP (1u << 9)		/* made while the program runs */

#define STRING_LENGTH 16u
#define STRING_STATE 32u
#define STRING_COMPACT_ASCII (3u << 5)
#define DICT_TABLE 32u
#define TABLE_MOST 4096u		/* bytes that are searched */

bool pytypes_text(const struct pytypes *t, taddr at, char *out, size_t n)
{
	size_t got = 0;

	while (got + 1 < n && snapshot_read(t->s, at + got, out + got, 1) == 0 && out[got])
		got++;
	out[got] = '\0';
	return got;
}

/* Where a type has its qualified name. */
static unsigned qualified_at(unsigned minor)
{
	return minor < 10 ? 856 : minor < 12 ? 864 : 872;
}

/* Where the letters of an ASCII string begin. */
static unsigned letters_at(unsigned minor)
{
	return minor < 12 ? 48 : 40;
}

/* An ASCII string object. false: it is none, or not as short as @n. */
static bool read_string(const struct pytypes *t, taddr at, char *out, size_t n)
{
	uint64_t length;
	uint32_t state;

	if (at % 8 || snapshot_word(t->s, at + STRING_LENGTH, &length) < 0 || !length || length >= n ||
	    snapshot_read(t->s, at + STRING_STATE, &state, sizeof(state)) < 0 ||
	    (state & STRING_COMPACT_ASCII) != STRING_COMPACT_ASCII ||
	    snapshot_read(t->s, at + letters_at(t->minor), out, length) < 0)
		return false;
	out[length] = '\0';
	return strlen(out) == length;
}

/* The value of "__module__" in the dictionary at @dict. */
static bool read_module(const struct pytypes *t, taddr dict, char *out, size_t n)
{
	uint64_t table, word;
	char key[16];

	if (!dict || snapshot_word(t->s, dict + DICT_TABLE, &table) < 0 || !table)
		return false;
	for (unsigned at = 0; at < TABLE_MOST && snapshot_word(t->s, table + at, &word) == 0; at += 8)
		if (word >= SNAPSHOT_PAGE && read_string(t, word, key, sizeof(key)) && !strcmp(key, "__module__"))
			return snapshot_word(t->s, table + at + 8, &word) == 0 && read_string(t, word, out, n);
	return false;
}

void pytypes_name(const struct pytypes *t, taddr at, const struct pytypes_head *head, char out[PYTYPES_NAME])
{
	char module[PYTYPES_NAME / 2], name[PYTYPES_NAME / 2 - 1];
	uint64_t qualified;

	if (!pytypes_text(t, head->name, out, PYTYPES_NAME))
		snprintf(out, PYTYPES_NAME, "type at " PRItaddr, at);
	if (!(head->flags & FLAG_HEAP) || strchr(out, '.') ||
	    snapshot_word(t->s, at + qualified_at(t->minor), &qualified) < 0 ||
	    !read_string(t, qualified, name, sizeof(name)) || !read_module(t, head->dict, module, sizeof(module)) ||
	    !strcmp(module, "builtins"))
		return;
	snprintf(out, PYTYPES_NAME, "%s.%s", module, name);
}
