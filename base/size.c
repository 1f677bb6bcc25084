/* SPDX-License-Identifier: MIT */
#include "base/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The power of 1024 that a suffix means; -EINVAL. */
static int power_of(const char *suffix)
{
	static const char letters[] = "kmgt";
	const char *at;

	if (!*suffix || !strcasecmp(suffix, "b"))
		return 0;
	at = strchr(letters, tolower((unsigned char)suffix[0]));
	if (!at || (suffix[1] && strcasecmp(suffix + 1, "b") && strcasecmp(suffix + 1, "ib")))
		return -EINVAL;
	return (int)(at - letters) + 1;
}

int size_parse(const char *text, uint64_t *bytes)
{
	unsigned long long n;
	char *end;
	int power;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	power = power_of(end);
	if (errno || power < 0 || n > UINT64_MAX >> 10 * power)
		return -EINVAL;
	*bytes = (uint64_t)n << 10 * power;
	return 0;
}
