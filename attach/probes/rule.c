/* SPDX-License-Identifier: MIT */
/*
 * rule: the parser, and the rules of libc.
 *
 * A rule is words parted by blanks: what it is, the function, then KEY=VALUE in
 * any order. A table says for each kind of rule which keys it takes and which values
 * these can have; everything else is an error with its column. What is not said
 * gets the default of its place at once, so that users of a rule need not know it;
 * rule_format leaves it out again.
 */
#include "attach/probes/rule.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text being parsed, and how far we are. */
struct cursor {
	const char *text, *at;
	struct rule_error *err;
};

struct word {
	const char *at;
	size_t len;
};

static const char *const op_names[] = {
	[RULE_ALLOC] = "alloc", [RULE_REALLOC] = "realloc", [RULE_FREE] = "free",
	[RULE_FROM] = "from",	[RULE_UNTIL] = "until",
};

enum { OPS = sizeof(op_names) / sizeof(*op_names) };

#define BIT(x) (1U << (x))

/* A key: the rules that take it, the values it takes there, and what holds if it is not said. */
static const struct key {
	const char *name;
	enum rule_op op;
	size_t place;		/* of a struct rule_value in struct rule */
	unsigned kinds;		/* bit per enum rule_value_kind */
	struct rule_value standard;
	const char *expected;
} keys[] = {
	{ "ptr", RULE_ALLOC, offsetof(struct rule, ptr), BIT(VALUE_RET) | BIT(VALUE_LOAD), { VALUE_RET, 0, 0 },
	  "ret or *argN" },
	{ "size", RULE_ALLOC, offsetof(struct rule, size), BIT(VALUE_ARG) | BIT(VALUE_PRODUCT), { VALUE_NONE, 0, 0 },
	  "argN or argN*argM" },
	{ "old", RULE_REALLOC, offsetof(struct rule, old), BIT(VALUE_ARG), { VALUE_ARG, 1, 0 }, "argN" },
	{ "size", RULE_REALLOC, offsetof(struct rule, size), BIT(VALUE_ARG) | BIT(VALUE_PRODUCT), { VALUE_NONE, 0, 0 },
	  "argN or argN*argM" },
	{ "ptr", RULE_FREE, offsetof(struct rule, ptr), BIT(VALUE_ARG), { VALUE_ARG, 1, 0 }, "argN" },
};

enum { KEYS = sizeof(keys) / sizeof(*keys) };

const char *rule_op_name(enum rule_op op)
{
	return op_names[op];
}

static struct rule_value *place_of(struct rule *r, const struct key *k)
{
	return (struct rule_value *)((char *)r + k->place);
}

static const struct rule_value *value_at(const struct rule *r, const struct key *k)
{
	return (const struct rule_value *)((const char *)r + k->place);
}

__attribute__((format(printf, 3, 4)))
static int refuse(struct cursor *c, const char *where, const char *format, ...)
{
	va_list ap;

	c->err->column = (size_t)(where - c->text) + 1;
	va_start(ap, format);
	vsnprintf(c->err->message, sizeof(c->err->message), format, ap);
	va_end(ap);
	return -EINVAL;
}

static struct word next_word(struct cursor *c)
{
	struct word w;

	c->at += strspn(c->at, " \t\r\n");
	w.at = c->at;
	w.len = strcspn(c->at, " \t\r\n");
	c->at += w.len;
	return w;
}

static bool word_is(struct word w, const char *text)
{
	return w.len == strlen(text) && !memcmp(w.at, text, w.len);
}

static int parse_op(struct cursor *c, enum rule_op *op)
{
	struct word w = next_word(c);

	for (unsigned i = 0; i < OPS; i++) {
		if (word_is(w, op_names[i])) {
			*op = (enum rule_op)i;
			return 0;
		}
	}
	return refuse(c, w.at, "expected alloc, realloc, free, from or until");
}

/* All of @text from 0x on must be hexadecimal and fit in 64 bits. */
static bool parse_hex(const char *text, size_t len, taddr *out)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit;

	if (len < 3 || len > 18 || text[0] != '0' || (text[1] | 0x20) != 'x')
		return false;
	*out = 0;
	for (size_t i = 2; i < len; i++) {
		char low = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] | 0x20) : text[i];

		digit = memchr(digits, low, 16);
		if (!digit)
			return false;
		*out = *out << 4 | (taddr)(digit - digits);
	}
	return true;
}

/* name, 0xADDRESS or MODULE+0xOFFSET; the last + counts: libstdc++.so.6+0x10. */
static int parse_function(struct cursor *c, struct rule *r)
{
	struct word w = next_word(c);
	const char *plus = w.len ? memrchr(w.at, '+', w.len) : NULL;
	size_t len = w.len;

	if (!w.len)
		return refuse(c, w.at, "expected a function: NAME, 0xADDRESS or MODULE+0xOFFSET");
	if (len > 1 && w.at[0] == '0' && (w.at[1] | 0x20) == 'x') {
		r->where = WHERE_ADDRESS;
		return parse_hex(w.at, len, &r->addr) ? 0 : refuse(c, w.at, "not a hexadecimal address");
	}
	if (plus) {
		r->where = WHERE_OFFSET;
		len = (size_t)(plus - w.at);
		if (!len || !parse_hex(plus + 1, w.len - len - 1, &r->addr))
			return refuse(c, plus, "expected MODULE+0xOFFSET");
	}
	if (memchr(w.at, '=', len))
		return refuse(c, w.at, "expected a function before KEY=VALUE");
	if (len >= sizeof(r->name))
		return refuse(c, w.at, "name longer than %zu", sizeof(r->name) - 1);
	memcpy(r->name, w.at, len);
	return 0;
}

/* argN at the head of @w, which is cut off it. */
static bool take_argument(struct word *w, int *number)
{
	if (w->len < 4 || memcmp(w->at, "arg", 3) || w->at[3] < '1' || w->at[3] > '6')
		return false;
	*number = w->at[3] - '0';
	w->at += 4;
	w->len -= 4;
	return true;
}

static bool parse_value(struct word w, struct rule_value *v)
{
	*v = (struct rule_value){ VALUE_NONE, 0, 0 };
	if (word_is(w, "ret")) {
		v->kind = VALUE_RET;
		return true;
	}
	v->kind = VALUE_ARG;
	if (w.len && *w.at == '*') {
		v->kind = VALUE_LOAD;
		w.at++;
		w.len--;
	}
	if (!take_argument(&w, &v->a))
		return false;
	if (v->kind == VALUE_ARG && w.len && *w.at == '*') {
		v->kind = VALUE_PRODUCT;
		w.at++;
		w.len--;
		if (!take_argument(&w, &v->b))
			return false;
	}
	return w.len == 0;
}

static const struct key *find_key(enum rule_op op, struct word name)
{
	for (unsigned i = 0; i < KEYS; i++) {
		if (keys[i].op == op && word_is(name, keys[i].name))
			return &keys[i];
	}
	return NULL;
}

static int parse_if(struct cursor *c, struct word value, struct rule *r)
{
	if (r->op != RULE_ALLOC)
		return refuse(c, value.at, "if= goes with alloc only");
	if (!word_is(value, "ret==0"))
		return refuse(c, value.at, "expected ret==0");
	r->if_ret_zero = true;
	return 0;
}

static int parse_pair(struct cursor *c, struct word w, struct rule *r, unsigned *seen)
{
	const char *equals = memchr(w.at, '=', w.len);
	const struct key *k;
	struct word name, value;

	if (!equals)
		return refuse(c, w.at, "expected KEY=VALUE");
	name = (struct word){ w.at, (size_t)(equals - w.at) };
	value = (struct word){ equals + 1, w.len - name.len - 1 };
	if (word_is(name, "if"))
		return parse_if(c, value, r);
	k = find_key(r->op, name);
	if (!k)
		return refuse(c, w.at, "%s has no %.*s=", op_names[r->op], (int)(name.len < 32 ? name.len : 32), name.at);
	if (*seen & BIT(k - keys))
		return refuse(c, w.at, "%s= twice", k->name);
	*seen |= BIT(k - keys);
	if (!parse_value(value, place_of(r, k)) || !(k->kinds & BIT(value_at(r, k)->kind)))
		return refuse(c, value.at, "expected %s (N, M: 1 to 6)", k->expected);
	return 0;
}

static void set_defaults(struct rule *r)
{
	for (unsigned i = 0; i < KEYS; i++) {
		if (keys[i].op == r->op)
			*place_of(r, &keys[i]) = keys[i].standard;
	}
	if (r->op == RULE_REALLOC)
		r->ptr.kind = VALUE_RET;
}

int rule_parse(const char *text, struct rule *out, struct rule_error *err)
{
	struct cursor c = { .text = text, .at = text, .err = err };
	struct rule r = { .op = RULE_ALLOC };
	unsigned seen = 0;
	struct word w;
	int rc;

	rc = parse_op(&c, &r.op);
	if (!rc)
		rc = parse_function(&c, &r);
	if (rc)
		return rc;
	set_defaults(&r);
	for (w = next_word(&c); w.len; w = next_word(&c)) {
		rc = parse_pair(&c, w, &r, &seen);
		if (rc)
			return rc;
	}
	if (r.if_ret_zero && r.ptr.kind == VALUE_RET)
		return refuse(&c, text, "if=ret==0 needs ptr=*argN: the result is a status");
	*out = r;
	return 0;
}

static int format_value(const struct rule_value *v, char *buf, size_t n)
{
	switch (v->kind) {
	case VALUE_RET:
		return snprintf(buf, n, "ret");
	case VALUE_ARG:
		return snprintf(buf, n, "arg%d", v->a);
	case VALUE_LOAD:
		return snprintf(buf, n, "*arg%d", v->a);
	case VALUE_PRODUCT:
		return snprintf(buf, n, "arg%d*arg%d", v->a, v->b);
	case VALUE_NONE:
		break;
	}
	return snprintf(buf, n, "%s", "");
}

static int format_function(const struct rule *r, char *buf, size_t n)
{
	switch (r->where) {
	case WHERE_ADDRESS:
		return snprintf(buf, n, "%s " PRItaddr, op_names[r->op], r->addr);
	case WHERE_OFFSET:
		return snprintf(buf, n, "%s %s+" PRItaddr, op_names[r->op], r->name, r->addr);
	case WHERE_NAME:
		break;
	}
	return snprintf(buf, n, "%s %s", op_names[r->op], r->name);
}

int rule_format(const struct rule *r, char *buf, size_t n)
{
	char text[RULE_NAME_MAX + 96], value[32];
	int len = format_function(r, text, sizeof(text));

	for (unsigned i = 0; i < KEYS; i++) {
		const struct key *k = &keys[i];

		if (k->op != r->op || !memcmp(value_at(r, k), &k->standard, sizeof(k->standard)))
			continue;
		format_value(value_at(r, k), value, sizeof(value));
		len += snprintf(text + len, sizeof(text) - (size_t)len, " %s=%s", k->name, value);
	}
	if (r->if_ret_zero)
		snprintf(text + len, sizeof(text) - (size_t)len, " if=ret==0");
	return snprintf(buf, n, "%s", text);
}

#define RET { VALUE_RET, 0, 0 }
#define ARG(n) { VALUE_ARG, (n), 0 }
#define BUILTIN(operation, function, ...) { .op = (operation), .name = (function), .builtin = true, __VA_ARGS__ }

/*
 * What every C library has. reallocarray and C++'s new and delete are not here: they
 * reach malloc, realloc and free through the functions that are.
 */
static const struct rule libc_rules[] = {
	BUILTIN(RULE_ALLOC, "malloc", .ptr = RET, .size = ARG(1)),
	BUILTIN(RULE_ALLOC, "calloc", .ptr = RET, .size = { VALUE_PRODUCT, 1, 2 }),
	BUILTIN(RULE_REALLOC, "realloc", .ptr = RET, .old = ARG(1), .size = ARG(2)),
	BUILTIN(RULE_ALLOC, "aligned_alloc", .ptr = RET, .size = ARG(2)),
	BUILTIN(RULE_ALLOC, "memalign", .ptr = RET, .size = ARG(2)),
	BUILTIN(RULE_ALLOC, "posix_memalign", .ptr = { VALUE_LOAD, 1, 0 }, .size = ARG(3), .if_ret_zero = true),
	BUILTIN(RULE_ALLOC, "valloc", .ptr = RET, .size = ARG(1)),
	BUILTIN(RULE_ALLOC, "pvalloc", .ptr = RET, .size = ARG(1)),
	BUILTIN(RULE_FREE, "free", .ptr = ARG(1)),
};

const struct rule *rule_libc(size_t *n)
{
	*n = sizeof(libc_rules) / sizeof(*libc_rules);
	return libc_rules;
}
