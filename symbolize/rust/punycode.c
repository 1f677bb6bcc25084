/* SPDX-License-Identifier: MIT */
/*
 * punycode: see punycode.h. The ASCII characters come first; the numbers after the last '_' encode the other
 * characters and their positions.
 */
#include "symbolize/rust/punycode.h"

#include <stdint.h>
#include <string.h>

#include "symbolize/rust/utf8.h"

#define CHARS_MAX 256	/* of an identifier */
#define BASE 36
#define T_MIN 1
#define T_MAX 26
#define SKEW 38
#define DAMP 700
#define FIRST_BIAS 72
#define FIRST_CHAR 0x80

struct text {
	uint32_t c[CHARS_MAX];
	size_t n;
};

static bool insert(struct text *t, size_t at, uint64_t c)
{
	if (t->n == CHARS_MAX || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	memmove(t->c + at + 1, t->c + at, (t->n - at) * sizeof(t->c[0]));
	t->c[at] = (uint32_t)c;
	t->n++;
	return true;
}

static int digit_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	return c >= '0' && c <= '9' ? c - '0' + 26 : -1;
}

static uint32_t threshold(uint32_t k, uint32_t bias)
{
	return k <= bias + T_MIN ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
}

/* Read one number from @s. false if there is none, or it is too large. */
static bool read_number(const char **s, const char *end, uint32_t bias, uint64_t *out)
{
	uint64_t value = 0, weight = 1;

	for (uint32_t k = BASE; *s < end; k += BASE) {
		int digit = digit_of(*(*s)++);
		uint32_t t = threshold(k, bias);

		if (digit < 0 || weight > UINT32_MAX || value > UINT32_MAX)
			return false;
		value += (uint64_t)digit * weight;
		if ((uint32_t)digit < t) {
			*out = value;
			return true;
		}
		weight *= BASE - t;
	}
	return false;
}

static uint32_t adapt(uint64_t delta, size_t n, bool first)
{
	uint32_t k = 0;

	delta /= first ? DAMP : 2;
	delta += delta / n;
	for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (uint32_t)((BASE - T_MIN + 1) * delta / (delta + SKEW));
}

static bool decode(const char *s, const char *end, struct text *t)
{
	uint32_t bias = FIRST_BIAS;
	uint64_t c = FIRST_CHAR, at = 0, delta;

	for (bool first = true; s < end; first = false) {
		if (!read_number(&s, end, bias, &delta))
			return false;
		at += delta;
		c += at / (t->n + 1);
		at %= t->n + 1;
		if (!insert(t, (size_t)at, c))
			return false;
		bias = adapt(delta, t->n, first);
		at++;
	}
	return true;
}

bool punycode(const char *s, size_t n, struct strbuf *out)
{
	const char *last = memrchr(s, '_', n), *digits = last ? last + 1 : s;
	struct text t = { .n = 0 };

	for (const char *p = s; last && p < last; p++) {
		if (*p & 0x80 || !insert(&t, t.n, (unsigned char)*p))
			return false;
	}
	if (!decode(digits, s + n, &t))
		return false;
	for (size_t i = 0; i < t.n; i++)
		utf8_put(out, t.c[i]);
	return true;
}
