/* SPDX-License-Identifier: MIT */
/* glob: see glob.h. Of several '*', only the last one reached is ever backtracked to. */
#include "report/suppress/glob.h"

#include <stddef.h>
#include <string.h>

bool glob_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

/* The first occurrence in @text of the @n characters at @part, or NULL. */
static const char *find(const char *text, const char *part, size_t n)
{
	return memmem(text, strlen(text), part, n);
}

static bool ends_with(const char *text, const char *part, size_t n)
{
	size_t len = strlen(text);

	return len >= n && !memcmp(text + len - n, part, n);
}

bool glob_finds(const char *pattern, const char *text)
{
	bool tied = *pattern == '^';

	pattern += tied;
	for (;;) {
		size_t n = strcspn(pattern, "*$");

		if (pattern[n] == '$')
			return ends_with(text, pattern, n) && (!tied || strlen(text) == n);
		const char *found = find(text, pattern, n);
		if (!found || (tied && found != text))
			return false;
		if (!pattern[n])
			return true;
		text = found + n;
		pattern += n + 1;
		tied = false;
	}
}
