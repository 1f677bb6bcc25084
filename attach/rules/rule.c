/* SPDX-License-Identifier: MIT */
/*
 * rule: the parser.
 *
 * A rule is words parted by blanks: what it is, the function, then KEY=VALUE in
 * any order (rulekey.c). Everything else is an error with its column.
 */
#include "attach/rules/rule.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "attach/rules/rulekey.h"
#include "attach/rules/ruleword.h"

#define BUILD_ID_MIN 8

static const char *const op_names[] = {
	[RULE_ALLOC] = "alloc", [RULE_REALLOC] = "realloc", [RULE_FREE] = "free",   [RULE_REF] = "ref",
	[RULE_UNREF] = "unref", [RULE_FROM] = "from",	    [RULE_UNTIL] = "until", [RULE_IN] = "in",
	[RULE_PROTECT] = "protect",
};

enum { OPS = sizeof(op_names) / sizeof(*op_names) };

const char *rule_op_name(enum rule_op op)
{
	return op_names[op];
}

/* --- what it is, and the function --- */

static int parse_op(struct cursor *c, enum rule_op *op)
{
	struct word w = word_next(c);

	for (unsigned i = 0; i < OPS; i++) {
		if (word_is(w, op_names[i])) {
			*op = (enum rule_op)i;
			return 0;
		}
	}
	return word_refuse(c, w.at, "expected alloc, realloc, free, protect, ref, unref, from, until or in");
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
		return word_refuse(c, w.at, "expected %d to %zu hexadecimal digits of a build id", BUILD_ID_MIN,
			      sizeof(r->build_id) - 1);
	for (size_t i = 0; i < w.len; i++) {
		if (hex_digit(w.at[i]) < 0)
			return word_refuse(c, w.at + i, "expected a hexadecimal digit of a build id");
		r->build_id[i] = w.at[i] >= 'A' && w.at[i] <= 'F' ? (char)(w.at[i] | 0x20) : w.at[i];
	}
	r->build_id[w.len] = '\0';
	return 0;
}

/* MODULE+0xOFFSET or MODULE@BUILDID+0xOFFSET; the last + and the last @ before it count: libstdc++.so.6+0x10. */
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
		return word_refuse(c, w.at, "expected a function: NAME, 0xADDRESS, MODULE+0xOFFSET or MODULE@BUILDID+0xOFFSET");
	if (memchr(w.at, '=', w.len))
		return word_refuse(c, w.at, "expected a function before KEY=VALUE");
	if (w.len > 1 && w.at[0] == '0' && (w.at[1] | 0x20) == 'x') {
		r->where = WHERE_ADDRESS;
		return parse_hex(w.at, w.len, &r->addr) ? 0 : word_refuse(c, w.at, "not a hexadecimal address");
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

/* ret==0, or i32(ret)==0. */
static bool is_status(const struct expr *e)
{
	return (e->n == 3 || (e->n == 4 && e->nodes[1].op == EXPR_CAST)) && e->nodes[0].op == EXPR_RET &&
	       e->nodes[e->n - 2].op == EXPR_CONST && !e->nodes[e->n - 2].value && e->nodes[e->n - 1].op == EXPR_EQ;
}

/* A status is no block. */
static int check_status(struct cursor *c, const struct rule *r)
{
	for (unsigned i = 0; i < r->nifs; i++) {
		if (r->op == RULE_ALLOC && expr_is_ret(&r->ptr) && is_status(&r->ifs[i]))
			return word_refuse(c, c->text, "if=ret==0 needs ptr=, such as ptr=*arg1: the result is a status");
	}
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
		rc = rulekey_defaults(&c, &r);
	if (rc)
		return rc;
	for (w = word_next(&c); w.len; w = word_next(&c)) {
		rc = rulekey_take(&c, w, &r, &seen);
		if (rc)
			return rc;
	}
	rc = check_status(&c, &r);
	if (!rc)
		*out = r;
	return rc;
}

/* --- as text --- */

static int format_function(const struct rule *r, char *buf, size_t n)
{
	const char *op = op_names[r->op];

	switch (r->where) {
	case WHERE_ADDRESS:
		return snprintf(buf, n, "%s " PRItaddr, op, r->addr);
	case WHERE_OFFSET:
		return snprintf(buf, n, "%s %s%s%s+" PRItaddr, op, r->name, *r->build_id ? "@" : "", r->build_id, r->addr);
	case WHERE_NAME:
		break;
	}
	return snprintf(buf, n, "%s %s", op, r->name);
}

int rule_format(const struct rule *r, char *buf, size_t n)
{
	int len = format_function(r, buf, n);
	size_t at = (size_t)len < n ? (size_t)len : n;

	return len + rulekey_format(r, buf + at, n - at);
}

/* --- questions --- */

bool rule_is_scope(const struct rule *r)
{
	return r->op == RULE_FROM || r->op == RULE_UNTIL || r->op == RULE_IN;
}

bool rule_is_ref(const struct rule *r)
{
	return r->op == RULE_REF || r->op == RULE_UNREF;
}

bool rule_is_of_ranges(const struct rule *r)
{
	return r->op == RULE_PROTECT || r->prot.n || r->was.n || (r->op == RULE_FREE && r->size.n);
}

bool rule_is_birth(const struct rule *r)
{
	return r->op == RULE_REF && expr_is_ret(&r->ptr);
}

/* Does one of its expressions, the size not among them, ask @question? */
static bool any_uses(const struct rule *r, bool (*question)(const struct expr *, const struct expr_loads *))
{
	const struct expr *const all[] = { &r->ptr, &r->also, &r->old, &r->count, &r->by, &r->tag, &r->prot, &r->was };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (question(all[i], &r->loads))
			return true;
	for (unsigned i = 0; i < r->nifs; i++)
		if (question(&r->ifs[i], &r->loads))
			return true;
	return false;
}

bool rule_at_exit(const struct rule *r)
{
	return r->op == RULE_ALLOC || r->op == RULE_REALLOC || (!rule_is_scope(r) && any_uses(r, expr_uses_ret));
}

bool rule_needs_args(const struct rule *r)
{
	return rule_at_exit(r) && any_uses(r, expr_uses_args);
}

bool rule_holds_in(const struct rule *r, const char *module, const char *build_id)
{
	if (*r->module && fnmatch(r->module, module, 0))
		return false;
	if (r->where != WHERE_OFFSET)
		return true;
	return !fnmatch(r->name, module, 0) && !strncmp(r->build_id, build_id, strlen(r->build_id));
}
