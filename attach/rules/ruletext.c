/* SPDX-License-Identifier: MIT */
/*
 * ruletext: see ruletext.h.
 *
 * A rule is words separated by blanks: its kind, the function, then KEY=VALUE in
 * any order. Everything else is an error with its column. A table has for each key the
 * rules that take it, how its value is parsed and formatted, and its default. Defaults
 * are filled in by the parser, so that users of a rule need not know them; formatting leaves them out again.
 */
#include "attach/rules/ruletext.h"

#include <stdio.h>
#include <string.h>

#include "attach/rules/ruleword.h"

#define BUILD_ID_MIN 8
#define SKIP_MAX 32

#define BIT(x) (1U << (x))

/* --- the kind, and the function --- */

static int parse_op(struct cursor *c, enum rule_op *op)
{
	struct word w = word_next(c);

	for (unsigned i = 0; i < RULE_OPS; i++) {
		if (word_is(w, rule_op_name(i))) {
			*op = (enum rule_op)i;
			return 0;
		}
	}
	return word_refuse(c, w.at,
			   "expected alloc, realloc, free, pool, reset, move, protect, ref, unref, from, until or in");
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* All of @text from 0x on must be hexadecimal and fit in 64 bits. */
static bool parse_hex(const char *text, size_t len, taddr *out)
{
	if (len < 3 || len > 18 || text[0] != '0' || (text[1] | 0x20) != 'x')
		return false;
	*out = 0;
	for (size_t i = 2; i < len; i++) {
		if (hex_digit(text[i]) < 0)
			return false;
		*out = *out << 4 | (taddr)hex_digit(text[i]);
	}
	return true;
}

static int parse_build_id(struct cursor *c, struct word w, struct rule *r)
{
	if (w.len < BUILD_ID_MIN || w.len >= sizeof(r->build_id))
		return word_refuse(c, w.at, "expected %d to %zu hexadecimal digits of a build id",
				   BUILD_ID_MIN, sizeof(r->build_id) - 1);
	for (size_t i = 0; i < w.len; i++) {
		if (hex_digit(w.at[i]) < 0)
			return word_refuse(c, w.at + i, "expected a hexadecimal digit of a build id");
		r->build_id[i] = w.at[i] >= 'A' && w.at[i] <= 'F' ? (char)(w.at[i] | 0x20) : w.at[i];
	}
	r->build_id[w.len] = '\0';
	return 0;
}

/*
 * MODULE+0xOFFSET or MODULE@BUILDID+0xOFFSET; the last + and the last @ before it count: libstdc++.so.6+0x10.
 */
static int parse_offset(struct cursor *c, struct word w, const char *plus, struct rule *r)
{
	struct word module = { w.at, (size_t)(plus - w.at) };
	const char *at = module.len ? memrchr(w.at, '@', module.len) : NULL;
	int rc = 0;

	r->where = WHERE_OFFSET;
	if (at) {
		module.len = (size_t)(at - w.at);
		rc = parse_build_id(c, (struct word){ at + 1, (size_t)(plus - at) - 1 }, r);
	}
	if (rc)
		return rc;
	if (!module.len || !parse_hex(plus + 1, (size_t)(w.at + w.len - plus) - 1, &r->addr))
		return word_refuse(c, plus, "expected MODULE+0xOFFSET");
	return word_copy(c, module, r->name, sizeof(r->name));
}

static int parse_function(struct cursor *c, struct word w, struct rule *r)
{
	const char *plus = w.len ? memrchr(w.at, '+', w.len) : NULL;

	if (!w.len)
		return word_refuse(
			c, w.at,
			"expected a function: NAME, 0xADDRESS, MODULE+0xOFFSET or MODULE@BUILDID+0xOFFSET");
	if (memchr(w.at, '=', w.len))
		return word_refuse(c, w.at, "expected a function before KEY=VALUE");
	if (w.len > 1 && w.at[0] == '0' && (w.at[1] | 0x20) == 'x') {
		r->where = WHERE_ADDRESS;
		return parse_hex(w.at, w.len, &r->addr) ? 0
							: word_refuse(c, w.at, "not a hexadecimal address");
	}
	if (plus)
		return parse_offset(c, w, plus, r);
	return word_copy(c, w, r->name, sizeof(r->name));
}

int rule_parse_function(const char *text, size_t len, struct rule *out, struct rule_error *err)
{
	struct cursor c = { .text = text, .at = text, .err = err };

	return parse_function(&c, (struct word){ text, len }, out);
}

/* --- keys --- */

/* A key: the rules that take it, and where its value goes. An expression has a place, perhaps a default. */
struct key {
	const char *name;
	unsigned ops;		/* bit per enum rule_op */
	int (*parse)(struct cursor *c, const struct key *k, struct word value, struct rule *r);
	int (*format)(const struct key *k, const struct rule *r, char *buf, size_t n);
	size_t place;		/* of a struct expr in struct rule */
	const char *standard;	/* its default; NULL: none */
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
		number = value.at[i] >= '0' && value.at[i] <= '9'
				 ? number * 10 + (unsigned)(value.at[i] - '0')
				 : SKIP_MAX + 1;
	if (!value.len || number > SKIP_MAX)
		return word_refuse(c, value.at, "expected a number of frames, 0 to %d", SKIP_MAX);
	r->skip = (uint8_t)number;
	return 0;
}

static int format_skip(const struct key *k, const struct rule *r, char *buf, size_t n)
{
	return r->skip ? snprintf(buf, n, " %s=%u", k->name, r->skip) : 0;
}

#define BLOCKS (BIT(RULE_ALLOC) | BIT(RULE_REALLOC) | BIT(RULE_POOL))
#define POOLS (BIT(RULE_RESET) | BIT(RULE_MOVE))
#define CALLS (BLOCKS | POOLS | BIT(RULE_FREE) | BIT(RULE_PROTECT))
#define REFS (BIT(RULE_REF) | BIT(RULE_UNREF))
#define VALUE(name) parse_expr, format_expr, offsetof(struct rule, name)

/* In the order in which they are written. */
static const struct key keys[] = {
	{ "obj", REFS, VALUE(ptr), "arg1", false },
	{ "old", BIT(RULE_REALLOC), VALUE(old), "arg1", false },
	{ "ptr", BLOCKS, VALUE(ptr), "ret", false },
	{ "ptr", BIT(RULE_FREE) | POOLS, VALUE(ptr), "arg1", false },
	{ "also", BIT(RULE_ALLOC), VALUE(also), NULL, false },
	{ "ptr", BIT(RULE_PROTECT), VALUE(ptr), "arg1", false },
	{ "was", BIT(RULE_REALLOC), VALUE(was), NULL, false },
	{ "pool", BLOCKS | BIT(RULE_MOVE), VALUE(pool), NULL, false },
	{ "children", BIT(RULE_RESET), VALUE(children), "1", false },
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

static int take_key(struct cursor *c, struct word w, struct rule *r, unsigned *seen)
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
		return word_refuse(c, w.at, "%s has no %.*s=", rule_op_name(r->op),
				   (int)(name.len < 32 ? name.len : 32), name.at);
	if (*seen & BIT(k - keys) && !k->again)
		return word_refuse(c, w.at, "%s= twice", k->name);
	*seen |= BIT(k - keys);
	return k->parse(c, k, value, r);
}

static int take_defaults(struct cursor *c, struct rule *r)
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

static int format_keys(const struct rule *r, char *buf, size_t n)
{
	int len = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		size_t at = (size_t)len < n ? (size_t)len : n;

		if (keys[i].ops & BIT(r->op))
			len += keys[i].format(&keys[i], r, buf + at, n - at);
	}
	return len;
}

/* --- the whole rule --- */

/* ret==0, or i32(ret)==0. */
static bool is_status(const struct expr *e)
{
	return (e->n == 3 || (e->n == 4 && e->nodes[1].op == EXPR_CAST)) && e->nodes[0].op == EXPR_RET &&
	       e->nodes[e->n - 2].op == EXPR_CONST && !e->nodes[e->n - 2].value &&
	       e->nodes[e->n - 1].op == EXPR_EQ;
}

/* If the result is a status, it is not the block: ptr= must be given. */
static int check_status(struct cursor *c, const struct rule *r)
{
	for (unsigned i = 0; i < r->nifs; i++) {
		if ((r->op == RULE_ALLOC || r->op == RULE_POOL) && expr_is_ret(&r->ptr) && is_status(&r->ifs[i]))
			return word_refuse(c, c->text,
					   "if=ret==0 needs ptr=, such as ptr=*arg1: the result is a status");
	}
	return 0;
}

static int check_move(struct cursor *c, const struct rule *r)
{
	if (r->op == RULE_MOVE && !r->pool.n)
		return word_refuse(c, c->text, "expected pool=: the pool that it is moved to");
	return 0;
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
		rc = parse_function(&c, word_next(&c), &r);
	if (!rc)
		rc = take_defaults(&c, &r);
	if (rc)
		return rc;
	for (w = word_next(&c); w.len; w = word_next(&c)) {
		rc = take_key(&c, w, &r, &seen);
		if (rc)
			return rc;
	}
	rc = check_status(&c, &r);
	if (!rc)
		rc = check_move(&c, &r);
	if (!rc)
		*out = r;
	return rc;
}

static int format_function(const struct rule *r, char *buf, size_t n)
{
	const char *op = rule_op_name(r->op);

	switch (r->where) {
	case WHERE_ADDRESS:
		return snprintf(buf, n, "%s " PRItaddr, op, r->addr);
	case WHERE_OFFSET:
		return snprintf(buf, n, "%s %s%s%s+" PRItaddr, op, r->name, *r->build_id ? "@" : "",
				r->build_id, r->addr);
	case WHERE_NAME:
		break;
	}
	return snprintf(buf, n, "%s %s", op, r->name);
}

int rule_format(const struct rule *r, char *buf, size_t n)
{
	int len = format_function(r, buf, n);
	size_t at = (size_t)len < n ? (size_t)len : n;

	return len + format_keys(r, buf + at, n - at);
}
