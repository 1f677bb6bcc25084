/* SPDX-License-Identifier: MIT */
/*
 * exprparse: expr_parse, by recursive descent; each level of precedence is a line of a
 * table. The output is postfix: operands as they are read, each operator after its operands. So what was
 * parsed last is at the end: a load removes its address from there (expraddr.h) and
 * takes its place.
 */
#include "attach/rules/expr.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attach/rules/expraddr.h"

#define DEPTH_MAX 16

struct parser {
	const char *text, *at, *end;
	struct expr *out;
	struct expr_loads *loads;
	struct expr_error *err;
	unsigned depth;
};

struct operator {
	const char *text;
	enum expr_op op;
};

/* From the loosest to the tightest; of two operators with the same beginning, the longer one is first. */
enum { LEVELS = 5, LEVEL_OPERATORS = 4 };
static const struct operator levels[LEVELS][LEVEL_OPERATORS] = {
	{ { "&", EXPR_AND } },
	{ { "==", EXPR_EQ }, { "!=", EXPR_NE } },
	{ { "<=", EXPR_LE }, { ">=", EXPR_GE }, { "<", EXPR_LT }, { ">", EXPR_GT } },
	{ { "+", EXPR_ADD }, { "-", EXPR_SUB } },
	{ { "*", EXPR_MUL } },
};

/* u8 ... i64 */
struct width {
	uint8_t bits;
	bool sign;
};

static int parse_level(struct parser *p, unsigned level);

__attribute__((format(printf, 3, 4)))
static int refuse(struct parser *p, const char *where, const char *format, ...)
{
	va_list ap;

	p->err->offset = (size_t)(where - p->text);
	va_start(ap, format);
	vsnprintf(p->err->message, sizeof(p->err->message), format, ap);
	va_end(ap);
	return -EINVAL;
}

static bool take(struct parser *p, const char *what)
{
	size_t len = strlen(what);

	if ((size_t)(p->end - p->at) < len || memcmp(p->at, what, len))
		return false;
	p->at += len;
	return true;
}

static int push(struct parser *p, struct expr_node node)
{
	if (p->out->n == EXPR_NODES)
		return refuse(p, p->at, "too long an expression: more than %d operands and operators",
			      EXPR_NODES);
	p->out->nodes[p->out->n++] = node;
	return 0;
}

/* --- loads --- */

static bool same_load(const struct expr_load *a, const struct expr_load *b)
{
	return a->base == b->base && a->index == b->index && a->scale == b->scale && a->width == b->width &&
	       a->sign == b->sign && a->disp == b->disp;
}

/* The number of @load in the list, to which it is added if it is not there. */
static int add_load(struct parser *p, const struct expr_load *load, const char *where, uint8_t *number)
{
	struct expr_loads *ls = p->loads;
	uint8_t i = 0;

	while (i < ls->n && !same_load(&ls->all[i], load))
		i++;
	if (i == EXPR_LOADS)
		return refuse(p, where, "too many loads: a rule can have %d", EXPR_LOADS);
	if (i == ls->n)
		ls->all[ls->n++] = *load;
	*number = i;
	return 0;
}

/* Replace the expression from node @first on, written at @where, by the load from that address. */
static int load_from(struct parser *p, unsigned first, const char *where, struct width w)
{
	struct expr_load load = { .width = w.bits / 8, .sign = w.sign && w.bits < 64 };
	struct expr_node node = { .op = EXPR_LOAD };
	int r;

	if (!expraddr_of(p->out->nodes + first, p->out->n - first, p->loads, &load))
		return refuse(p, where, "too complicated an address: expected BASE+INDEX*NUMBER+NUMBER");
	p->out->n = (uint8_t)first;
	r = add_load(p, &load, where, &node.n);
	return r ? r : push(p, node);
}

/* --- operands --- */

static int parse_number(struct parser *p)
{
	unsigned base = take(p, "0x") || take(p, "0X") ? 16 : 10;
	const char *first = p->at;
	uint64_t value = 0;

	for (; p->at < p->end; p->at++) {
		char c = *p->at >= 'A' && *p->at <= 'F' ? (char)(*p->at | 0x20) : *p->at;
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
							: base;

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return refuse(p, first, "a number that does not fit into 64 bits");
	}
	if (p->at == first)
		return refuse(p, first, "expected hexadecimal digits");
	return push(p, (struct expr_node){ .op = EXPR_CONST, .value = (int64_t)value });
}

/* u8( ... i64(, with the parenthesis. */
static bool take_width(struct parser *p, struct width *w)
{
	static const struct {
		const char *text;
		struct width w;
	} widths[] = {
		{ "u8(", { 8, false } },   { "u16(", { 16, false } }, { "u32(", { 32, false } },
		{ "u64(", { 64, false } }, { "i8(", { 8, true } },    { "i16(", { 16, true } },
		{ "i32(", { 32, true } },  { "i64(", { 64, true } },
	};

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		if (take(p, widths[i].text)) {
			*w = widths[i].w;
			return true;
		}
	}
	return false;
}

static int parse_to_parenthesis(struct parser *p)
{
	int r = parse_level(p, 0);

	if (r == 0 && !take(p, ")"))
		r = refuse(p, p->at, "expected an operator or )");
	return r;
}

static int parse_argument(struct parser *p)
{
	if (p->at == p->end || *p->at < '1' || *p->at > '6')
		return refuse(p, p->at, "expected a number from 1 to 6: arg1 to arg6");
	return push(p, (struct expr_node){ .op = EXPR_ARG, .n = (uint8_t)(*p->at++ - '0') });
}

static int parse_operand(struct parser *p)
{
	struct width w;
	int r;

	if (take(p, "("))
		return parse_to_parenthesis(p);
	if (p->at < p->end && *p->at >= '0' && *p->at <= '9')
		return parse_number(p);
	if (take(p, "arg"))
		return parse_argument(p);
	if (take(p, "ret"))
		return push(p, (struct expr_node){ .op = EXPR_RET });
	if (!take_width(p, &w))
		return refuse(
			p, p->at,
			"expected a value: a number, arg1 to arg6, ret, *ADDRESS, *u32(ADDRESS), u32(VALUE)");
	r = parse_to_parenthesis(p);
	if (r || w.bits == 64)
		return r;
	return push(p, (struct expr_node){ .op = EXPR_CAST, .n = w.bits, .sign = w.sign });
}

static int parse_unary(struct parser *p);

/* Behind a *. */
static int parse_load(struct parser *p)
{
	struct width w = { 64, false };
	unsigned first = p->out->n;
	bool wide = !take_width(p, &w);
	const char *where = p->at;
	int r = wide ? parse_unary(p) : parse_to_parenthesis(p);

	return r ? r : load_from(p, first, where, w);
}

static int parse_negative(struct parser *p)
{
	struct expr_node *last;
	int r = parse_unary(p);

	if (r)
		return r;
	last = &p->out->nodes[p->out->n - 1];
	if (last->op != EXPR_CONST)
		return push(p, (struct expr_node){ .op = EXPR_NEG });
	last->value = (int64_t)(0 - (uint64_t)last->value);
	return 0;
}

static int parse_unary(struct parser *p)
{
	int r;

	if (p->depth == DEPTH_MAX)
		return refuse(p, p->at, "too deep an expression: simplify it");
	p->depth++;
	if (take(p, "-"))
		r = parse_negative(p);
	else if (take(p, "*"))
		r = parse_load(p);
	else
		r = parse_operand(p);
	p->depth--;
	return r;
}

/* --- operators --- */

static bool take_operator(struct parser *p, unsigned level, enum expr_op *op)
{
	for (unsigned i = 0; i < LEVEL_OPERATORS && levels[level][i].text; i++) {
		if (take(p, levels[level][i].text)) {
			*op = levels[level][i].op;
			return true;
		}
	}
	return false;
}

static int parse_level(struct parser *p, unsigned level)
{
	enum expr_op op;
	int r;

	if (level == LEVELS)
		return parse_unary(p);
	r = parse_level(p, level + 1);
	while (r == 0 && take_operator(p, level, &op)) {
		r = parse_level(p, level + 1);
		if (r == 0)
			r = push(p, (struct expr_node){ .op = op });
	}
	return r;
}

static int parse_all(struct parser *p)
{
	int r;

	*p->out = (struct expr){ 0 };
	r = parse_level(p, 0);
	if (r == 0 && p->at != p->end)
		r = refuse(p, p->at, "expected an operator or the end");
	return r;
}

int expr_parse(const char *text, size_t len, struct expr *out, struct expr_loads *loads,
	       struct expr_error *err)
{
	struct parser p = {
		.text = text, .at = text, .end = text + len, .out = out, .loads = loads, .err = err
	};

	return parse_all(&p);
}

int expr_parse_text(const char *text, size_t len, struct expr *out, struct expr_loads *loads,
		    struct expr_error *err)
{
	struct parser p = {
		.text = text, .at = text, .end = text + len, .out = out, .loads = loads, .err = err
	};
	int r = parse_all(&p);

	if (r)
		return r;
	if (loads->text)
		return refuse(&p, text, "a rule can have one string");
	loads->text = true;
	return load_from(&p, 0, text, (struct width){ 0, false });
}
