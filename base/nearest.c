/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define LONGEST 31
#define BEGINNING 3	/* letters, before a word is the beginning of a name */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* errors[i][j]: between the first i letters of @a and the first j of @b. */
size_t nearest_errors(const char *a, size_t na, const char *b, size_t nb)
{
	size_t errors[LONGEST + 1][LONGEST + 1];

	if (na > LONGEST || nb > LONGEST)
		return SIZE_MAX;
	for (size_t i = 0; i <= na; i++) {
		for (size_t j = 0; j <= nb; j++) {
			if (!i || !j) {
				errors[i][j] = i + j;
				continue;
			}
			errors[i][j] = least(least(errors[i - 1][j], errors[i][j - 1]) + 1,
					     errors[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				errors[i][j] = least(errors[i][j], errors[i - 2][j - 2] + 1);
		}
	}
	return errors[na][nb];
}

struct nearest nearest_to(const char *word, size_t len)
{
	return (struct nearest){ .word = word, .word_len = len, .errors = len < 2 ? 0 : 2 + len / 6 };
}

void nearest_try(struct nearest *near, const char *name, size_t len)
{
	size_t errors = nearest_errors(near->word, near->word_len, name, len);

	if (near->word_len >= BEGINNING && near->word_len < len && !memcmp(near->word, name, near->word_len))
		errors = 1;
	if (errors >= near->errors)
		return;
	near->errors = errors;
	near->name = name;
	near->len = len;
}
