/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rbobjects.h"

#include "attach/stacks/scripts/script_language.h"

/* An object is five words. */
enum { OBJECT_FLAGS, OBJECT_CLASS, OBJECT_LENGTH, OBJECT_POINTER, OBJECT_LAST, OBJECT_WORDS };

#define LENGTH_SHIFT 14		/* of the length, in the flags of a string */
#define LENGTH_MASK 0x1fu
#define ELEMENTS_SHIFT 15	/* of how many there are, in the flags of an array */
#define ELEMENTS_MASK 0x7fu

/* Where the text of a string is, and how long. */
static taddr text_of(const struct rb_layout *l, taddr at, const uint64_t *object, uint64_t *length)
{
	*length = object[OBJECT_LENGTH];
	if (object[OBJECT_FLAGS] & RB_OUTSIDE)
		return object[OBJECT_POINTER];
	if (l->long_length)
		return at + OBJECT_POINTER * sizeof(*object);
	*length = object[OBJECT_FLAGS] >> LENGTH_SHIFT & LENGTH_MASK;
	return at + OBJECT_LENGTH * sizeof(*object);
}

bool rb_read_string(int mem, const struct rb_layout *l, taddr at, char *buf, size_t n)
{
	uint64_t object[OBJECT_WORDS], length;
	taddr text;

	if (!script_read(mem, at, object, sizeof(object)) || (object[OBJECT_FLAGS] & RB_TYPE) != RB_STRING)
		return false;
	text = text_of(l, at, object, &length);
	if (length > n - 1)
		length = n - 1;
	if (!script_read(mem, text, buf, length))
		return false;
	buf[length] = '\0';
	return true;
}

bool rb_read_element(int mem, taddr at, uint64_t i, uint64_t *out)
{
	uint64_t object[OBJECT_WORDS], length;

	if (!script_read(mem, at, object, sizeof(object)) || (object[OBJECT_FLAGS] & RB_TYPE) != RB_ARRAY)
		return false;
	if (!(object[OBJECT_FLAGS] & RB_INSIDE))
		return i < object[OBJECT_LENGTH] && script_read_word(mem, object[OBJECT_LAST] + 8 * i, out);
	length = object[OBJECT_FLAGS] >> ELEMENTS_SHIFT & ELEMENTS_MASK;
	return i < length && script_read_word(mem, at + 8 * (OBJECT_LENGTH + i), out);
}
