/* SPDX-License-Identifier: MIT */
/*
 * rulekey: a table says for each key which rules take it, how its value is parsed and
 * formatted, and what holds if it is not said: that is filled in at once, so that users of a
 * rule need not know it; formatting leaves it out again.
 */
#include "attach/rules/rulekey.h"

#include <stdio.h>
#include <string.h>

#define SKIP_MAX 32

#define BIT(x) (1U << (x))

/* A key: the rules that take it, and where its value goes. An expression has a place and may have a standard. */
struct key {
	const char *name;
	unsigned ops;		/* bit per enum rule_op */
	int (*parse)(struct cursor *c, const struct key *k, struct word value, struct rule *r);
	int (*format)(const struct key *k, const struct rule *r, char *buf, size_t n);
	size_t place;		/* of a struct expr in struct rule */
	const char *standard;	/* holds if it is not said; NULL: then there is none */
	bool again;		/* may be given more than once */
};

static struct expr *place_of(struct rule *r, const struct key *k)
{
	return (struct expr *)((char *)r + k->place);
}

static const struct expr *expr_at(const struct rule *r, const struct key *k)
{
	return (const struct expr *)((const char *)r + k->place);
}

static int refuse_expr(struct cursor *c, struct word value, const struct expr_error *err)
{
	return word_refuse(c, value.at + err->offset, "%s", err->message);
}

static int parse_expr(struct cursor *c, const struct key *k, struct word value, struct rule *r)
{
	struct expr_error err;

	if (expr_parse(value.at, value.len, place_of(r, k), &r->loads, &err))
		return refuse_expr(c, value, &err);
	return 0;
}

static int parse_tag(struct cursor *c, const struct key *k, struct word value, struct rule *r)
{
	struct word address = { value.at + 4, value.len - 5 };
	struct expr_error err;

	if (value.len < 5 || memcmp(value.at, "str(", 4) || value.at[value.len - 1] != ')')
		return parse_expr(c, k, value, r);
	r->tag_text = true;
	if (expr_parse_text(address.at, address.len, &r->tag, &r->loads, &err))
		return refuse_expr(c, address, &err);
	return 0;
}

static int format_expr(const struct key *k, const struct rule *r, char *buf, size_t n)
{
	const struct expr *e = expr_at(r, k);
	struct expr_loads none = { 0 };
	struct expr_error err;
	struct expr standard;
	char text[512];

	if (!e->n || (k->standard && !expr_parse(k->standard, strlen(k->standard), &standard, &none, &err) &&
		      expr_equal(e, &standard)))
		return 0;
	expr_format(e, &r->loads, text, sizeof(text));
	return snprintf(buf, n, " %s=%s", k->name, text);
}

static int parse_if(struct cursor *c, const struct key *k, struct word value, struct rule *r)
{
	struct expr_error err;

	(void)k;
	if (r->nifs == RULE_IFS)
		return word_refuse(c, value.at, "if= more than %d times", RULE_IFS);
	if (expr_parse(value.at, value.len, &r->ifs[r->nifs], &r->loads, &err))
		return refuse_expr(c, value, &err);
	r->nifs++;
	r->own_condition = true;
	return 0;
}

static int format_ifs(const struct key *k, const struct rule *r, char *buf, size_t n)
{
	char text[512];
	int len = 0;

	for (unsigned i = 0; i < r->nifs; i++) {
		size_t at = (size_t)len < n ? (size_t)len : n;

		expr_format(&r->ifs[i], &r->loads, text, sizeof(text));
		len += snprintf(buf + at, n - at, " %s=%s", k->name, text);
	}
	return len;
}

static int parse_module(struct cursor *c, const struct key *k, struct word value, struct rule *r)
{
	(void)k;
	if (!value.len)
		return word_refuse(c, value.at, "expected a module's base name, which may hold * and ?");
	return word_copy(c, value, r->module, sizeof(r->module));
}

static int format_module(const struct key *k, const struct rule *r, char *buf, size_t n)
{
	return *r->module ? snprintf(buf, n, " %s=%s", k->name, r->module) : 0;
}

static int parse_skip(struct cursor *c, const struct key *k, struct word value, struct rule *r)
{
	unsigned number = 0;

	(void)k;
	for (size_t i = 0; i < value.len && number <= SKIP_MAX; i++)
		number = value.at[i] >= '0' && value.at[i] <= '9' ? number * 10 + (unsigned)(value.at[i] - '0') : SKIP_MAX + 1;
	if (!value.len || number > SKIP_MAX)
		return word_refuse(c, value.at, "expected a number of frames, 0 to %d", SKIP_MAX);
	r->skip = (uint8_t)number;
	return 0;
}

static int format_skip(const struct key *k, const struct rule *r, char *buf, size_t n)
{
	return r->skip ? snprintf(buf, n, " %s=%u", k->name, r->skip) : 0;
}

#define BLOCKS (BIT(RULE_ALLOC) | BIT(RULE_REALLOC))
#define CALLS (BLOCKS | BIT(RULE_FREE) | BIT(RULE_PROTECT))
#define REFS (BIT(RULE_REF) | BIT(RULE_UNREF))
#define VALUE(name) parse_expr, format_expr, offsetof(struct rule, name)

/* In the order in which they are written. */
static const struct key keys[] = {
	{ "obj", REFS, VALUE(ptr), "arg1", false },
	{ "old", BIT(RULE_REALLOC), VALUE(old), "arg1", false },
	{ "ptr", BLOCKS, VALUE(ptr), "ret", false },
	{ "ptr", BIT(RULE_FREE), VALUE(ptr), "arg1", false },
	{ "also", BIT(RULE_ALLOC), VALUE(also), NULL, false },
	{ "ptr", BIT(RULE_PROTECT), VALUE(ptr), "arg1", false },
	{ "was", BIT(RULE_REALLOC), VALUE(was), NULL, false },
	{ "size", BLOCKS | BIT(RULE_FREE), VALUE(size), NULL, false },
	{ "size", BIT(RULE_PROTECT), VALUE(size), "arg2", false },
	{ "prot", BIT(RULE_ALLOC), VALUE(prot), NULL, false },
	{ "prot", BIT(RULE_PROTECT), VALUE(prot), "arg3", false },
	{ "count", REFS, VALUE(count), NULL, false },
	{ "by", REFS, VALUE(by), "1", false },
	{ "tag", BLOCKS, parse_tag, format_expr, offsetof(struct rule, tag), NULL, false },
	{ "if", CALLS | REFS, parse_if, format_ifs, 0, NULL, true },
	{ "module", CALLS | REFS, parse_module, format_module, 0, NULL, false },
	{ "skip", BLOCKS | BIT(RULE_PROTECT) | REFS, parse_skip, format_skip, 0, NULL, false },
};

enum { KEYS = sizeof(keys) / sizeof(*keys) };

static const struct key *find_key(enum rule_op op, struct word name)
{
	for (unsigned i = 0; i < KEYS; i++) {
		if (keys[i].ops & BIT(op) && word_is(name, keys[i].name))
			return &keys[i];
	}
	return NULL;
}

int rulekey_take(struct cursor *c, struct word w, struct rule *r, unsigned *seen)
{
	const char *equals = memchr(w.at, '=', w.len);
	const struct key *k;
	struct word name, value;

	if (!equals)
		return word_refuse(c, w.at, "expected KEY=VALUE");
	name = (struct word){ w.at, (size_t)(equals - w.at) };
	value = (struct word){ equals + 1, w.len - name.len - 1 };
	k = find_key(r->op, name);
	if (!k)
		return word_refuse(c, w.at, "%s has no %.*s=", rule_op_name(r->op), (int)(name.len < 32 ? name.len : 32), name.at);
	if (*seen & BIT(k - keys) && !k->again)
		return word_refuse(c, w.at, "%s= twice", k->name);
	*seen |= BIT(k - keys);
	return k->parse(c, k, value, r);
}

int rulekey_defaults(struct cursor *c, struct rule *r)
{
	for (unsigned i = 0; i < KEYS; i++) {
		const struct key *k = &keys[i];
		struct word standard = { k->standard, k->standard ? strlen(k->standard) : 0 };
		int rc;

		if (!(k->ops & BIT(r->op)) || !k->standard)
			continue;
		rc = k->parse(c, k, standard, r);
		if (rc)
			return rc;
	}
	return 0;
}

int rulekey_format(const struct rule *r, char *buf, size_t n)
{
	int len = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		size_t at = (size_t)len < n ? (size_t)len : n;

		if (keys[i].ops & BIT(r->op))
			len += keys[i].format(&keys[i], r, buf + at, n - at);
	}
	return len;
}
