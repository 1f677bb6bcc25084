/* SPDX-License-Identifier: MIT */
#include "heap/python/python_version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/datawords.h"

#define ALIGNED 16u		/* compilers align arrays of this size so, at least */
#define LONGEST 250u
#define FREETHREADED "free-threading build"

/* The length of "3.11.2", "3.13.0b1+" at the beginning of @text; 0: it is none. */
static size_t number_length(const char *text, struct python_version *out)
{
	unsigned micro;
	int n = 0;

	if (text[0] != '3' || text[1] != '.' || sscanf(text, "3.%2u.%3u%n", &out->minor, &micro, &n) != 2)
		return 0;
	n += (int)strcspn(text + n, " ");
	return (size_t)n < sizeof(out->text) ? (size_t)n : 0;
}

bool python_version_parse(const char *text, size_t n, struct python_version *out)
{
	char copy[LONGEST + 1];
	size_t length;

	n = n < LONGEST ? n : LONGEST;
	memcpy(copy, text, n);
	copy[n] = '\0';
	*out = (struct python_version){ 0 };
	length = number_length(copy, out);
	if (!length || !strstr(copy, "(") || !strstr(copy, ") ") || !strstr(copy, "["))
		return false;
	out->freethreaded = strstr(copy, FREETHREADED);
	copy[length] = '\0';
	out->release = !strpbrk(copy, "ab");
	memcpy(out->text, copy, length + 1);
	return true;
}

bool python_version_find(const struct snapshot *s, struct python_version *out)
{
	struct datawords d = datawords_of(s);

	while (datawords_next(&d))
		for (taddr at = (d.lo + ALIGNED - 1) & ~(taddr)(ALIGNED - 1); at + ALIGNED < d.hi; at += ALIGNED) {
			const char *text = (const char *)d.bytes + (at - d.lo);

			if (text[0] == '3' && python_version_parse(text, d.hi - at, out)) {
				out->file = d.file;
				return true;
			}
		}
	*out = (struct python_version){ 0 };
	return false;
}
