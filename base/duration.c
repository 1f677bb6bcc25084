/* SPDX-License-Identifier: MIT */
/*
 * duration: see duration.h. A loop over (number, unit) with units that may only get smaller.
 */
#include "base/duration.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define S UINT64_C(1000000000)

/* From large to small; plain seconds are those without a unit. */
static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "d", 86400 * S }, { "h", 3600 * S }, { "m", 60 * S }, { "s", S },
	{ "ms", S / 1000 }, { "us", S / 1000000 }, { "ns", 1 },
};

#define UNITS (sizeof(units) / sizeof(units[0]))
#define SECONDS 3	/* index of "s" */

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* One number, whole and fraction: "1.5" is 1 and 5 of 10. */
struct number {
	uint64_t whole, part, scale;
};

static int take_digit(uint64_t *n, char c)
{
	if (__builtin_mul_overflow(*n, 10, n) || __builtin_add_overflow(*n, (uint64_t)(c - '0'), n))
		return -ERANGE;
	return 0;
}

static int take_number(const char **p, struct number *n)
{
	*n = (struct number){ 0, 0, 1 };
	if (!is_digit(**p))
		return -EINVAL;
	for (; is_digit(**p); ++*p)
		if (take_digit(&n->whole, **p))
			return -ERANGE;
	if (**p != '.')
		return 0;
	++*p;
	if (!is_digit(**p))
		return -EINVAL;
	for (; is_digit(**p); ++*p) {
		if (n->scale >= S)
			continue;	/* nine digits are enough, and part * scale still fits */
		n->part = n->part * 10 + (uint64_t)(**p - '0');
		n->scale *= 10;
	}
	return 0;
}

/* The unit at *@p, not larger than units[@from]: its index, or UNITS if there is none. */
static size_t take_unit(const char **p, size_t from)
{
	size_t len = 0;

	while ((*p)[len] >= 'a' && (*p)[len] <= 'z')
		len++;
	for (size_t i = from; i < UNITS; i++) {
		if (strlen(units[i].name) == len && !strncmp(units[i].name, *p, len)) {
			*p += len;
			return i;
		}
	}
	return UNITS;
}

static int add_part(uint64_t *ns, const struct number *n, uint64_t unit)
{
	uint64_t whole, part = unit / n->scale * n->part + unit % n->scale * n->part / n->scale;

	if (__builtin_mul_overflow(n->whole, unit, &whole) || __builtin_add_overflow(*ns, whole, ns) ||
	    __builtin_add_overflow(*ns, part, ns) || *ns > INT64_MAX)
		return -ERANGE;
	return 0;
}

int duration_parse(const char *text, uint64_t *ns)
{
	uint64_t sum = 0;
	size_t from = 0;

	for (const char *p = text; p == text || *p; ) {
		struct number n;
		int err = take_number(&p, &n);
		if (err)
			return err;
		bool plain = !*p && from == 0;
		size_t unit = plain ? SECONDS : take_unit(&p, from);
		if (unit == UNITS)
			return -EINVAL;
		err = add_part(&sum, &n, units[unit].ns);
		if (err)
			return err;
		from = unit + 1;
	}
	*ns = sum;
	return 0;
}

/* From a minute on: "1h30m", "10m", "2d"; the second unit only if it is not 0. */
static void format_long(uint64_t ns, size_t unit, char *buf, size_t n)
{
	uint64_t large = units[unit].ns, small = units[unit + 1].ns;
	unsigned long long rest = ns % large / small;

	if (rest)
		snprintf(buf, n, "%llu%s%llu%s", (unsigned long long)(ns / large), units[unit].name, rest,
			 units[unit + 1].name);
	else
		snprintf(buf, n, "%llu%s", (unsigned long long)(ns / large), units[unit].name);
}

/* Below: one unit, one digit behind the point unless it is 0. */
static void format_short(uint64_t ns, size_t unit, char *buf, size_t n)
{
	unsigned long long whole = ns / units[unit].ns, tenth = ns % units[unit].ns * 10 / units[unit].ns;

	if (tenth)
		snprintf(buf, n, "%llu.%llu%s", whole, tenth, units[unit].name);
	else
		snprintf(buf, n, "%llu%s", whole, units[unit].name);
}

char *duration_format(uint64_t ns, char *buf, size_t n)
{
	size_t unit = 0;

	while (unit < UNITS - 1 && ns < units[unit].ns)
		unit++;
	if (ns == 0)
		snprintf(buf, n, "0s");
	else if (unit < SECONDS)
		format_long(ns, unit, buf, n);
	else
		format_short(ns, unit, buf, n);
	return buf;
}
