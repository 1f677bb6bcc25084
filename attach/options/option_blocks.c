/* SPDX-License-Identifier: MIT */
#include "attach/options/option_blocks.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/option_arg.h"
#include "base/grow.h"

/* --- --block-list --- */

static int refuse_group(const char *arg, struct usage_error *err)
{
	usage_refuse(err, "--block-list %s: not the number of a group", arg);
	return usage_advise(err, "write 3 or fd:3 for the group that the text report calls [3] or [fd 3]");
}

/* The report's own form, "[fd 3]", is accepted too. */
static char *without_brackets(const char *arg)
{
	size_t n = strlen(arg);

	return arg[0] == '[' && arg[n - 1] == ']' ? strndup(arg + 1, n - 2) : strdup(arg);
}

/* The start of the number: behind the last colon or blank. */
static char *number_of(char *text)
{
	size_t n = strlen(text);

	while (n && text[n - 1] != ':' && text[n - 1] != ' ')
		n--;
	return text + n;
}

int option_block_list(struct options *o, const char *arg, struct usage_error *err)
{
	cleanup_free char *text = without_brackets(arg);
	char *number = text ? number_of(text) : NULL;
	unsigned long group;

	if (!text)
		return -ENOMEM;
	if (o->single.block_entry)
		return usage_refuse(err, "--block-list is given twice: one group at a time is listed");
	if (!option_number(number, UINT_MAX, &group) || !group || number == text + 1)
		return refuse_group(arg, err);
	o->single.block_entry = group;
	if (number == text)
		return 0;
	number[-1] = '\0';
	o->single.block_family = text;
	text = NULL;
	return 0;
}

/* --- --block-at --- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Up to the next comma, or the end. */
static bool parse_address(const char **at, taddr *out)
{
	char *end;

	if (!is_hex(**at))
		return false;
	errno = 0;
	*out = strtoull(*at, &end, 16);
	*at = end;
	return !errno && (!*end || *end == ',');
}

static int add_address(taddr **list, size_t *n, taddr addr)
{
	taddr *slot = grow_by_one(list, *n, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = addr;
	++*n;
	return 0;
}

static int refuse_address(const char *option, const char *arg, struct usage_error *err)
{
	usage_refuse(err, "%s %.*s: not an address", option, (int)strcspn(arg, ","), arg);
	return usage_advise(err, "write it in hexadecimal: 0x7f12a4003010, several with commas between them");
}

int option_addresses(const char *option, taddr **list, size_t *n, const char *arg, struct usage_error *err)
{
	for (const char *at = arg;; at++) {
		const char *begin = at;
		taddr addr;

		if (!parse_address(&at, &addr))
			return refuse_address(option, begin, err);
		if (add_address(list, n, addr) < 0)
			return -ENOMEM;
		if (!*at)
			return 0;
	}
}

int option_block_at(struct options *o, const char *arg, struct usage_error *err)
{
	return option_addresses("--block-at", &o->single.block_at, &o->single.nblock_at, arg, err);
}
