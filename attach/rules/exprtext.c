/* SPDX-License-Identifier: MIT */
/* exprtext: expr_format: an expression as text again, with no more parentheses than it needs. */
#include "attach/rules/expr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct text {
	char *buf;
	size_t size, len;
};

/* How tightly an operator binds. A node that is not an operator binds tightest. */
static const struct {
	const char *text;
	int binds;
} operators[] = {
	[EXPR_CONST] = { "", 7 }, [EXPR_ARG] = { "", 7 }, [EXPR_RET] = { "", 7 }, [EXPR_CAST] = { "", 7 },
	[EXPR_LOAD] = { "*", 6 }, [EXPR_NEG] = { "-", 6 },
	[EXPR_MUL] = { "*", 5 },
	[EXPR_ADD] = { "+", 4 },  [EXPR_SUB] = { "-", 4 },
	[EXPR_LT] = { "<", 3 },	  [EXPR_GT] = { ">", 3 },   [EXPR_LE] = { "<=", 3 }, [EXPR_GE] = { ">=", 3 },
	[EXPR_EQ] = { "==", 2 },  [EXPR_NE] = { "!=", 2 },
	[EXPR_AND] = { "&", 1 },
};

__attribute__((format(printf, 2, 3)))
static void put(struct text *t, const char *format, ...)
{
	size_t at = t->len < t->size ? t->len : t->size;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->buf + at, t->size - at, format, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
}

static void put_number(struct text *t, int64_t value, uint64_t decimal_to)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	if (value < 0)
		put(t, "-");
	if (size <= decimal_to)
		put(t, "%" PRIu64, size);
	else
		put(t, "0x%" PRIx64, size);
}

static void put_load(struct text *t, const struct expr_loads *loads, const struct expr_load *load);

static void put_base(struct text *t, const struct expr_loads *loads, unsigned base)
{
	if (base >= EXPR_BASE_LOAD0)
		put_load(t, loads, &loads->all[base - EXPR_BASE_LOAD0]);
	else if (base == EXPR_BASE_RET)
		put(t, "ret");
	else
		put(t, "arg%u", base - EXPR_BASE_ARG1 + 1);
}

static void put_address(struct text *t, const struct expr_loads *loads, const struct expr_load *load)
{
	put_base(t, loads, load->base);
	if (load->index != EXPR_BASE_NONE) {
		put(t, "+");
		put_base(t, loads, load->index);
		if (load->scale != 1)
			put(t, "*%u", load->scale);
	}
	if (load->disp > 0)
		put(t, "+");
	if (load->disp)
		put_number(t, load->disp, 9);
}

static void put_load(struct text *t, const struct expr_loads *loads, const struct expr_load *load)
{
	if (load->width == 8 && load->index == EXPR_BASE_NONE && !load->disp) {
		put(t, "*");
		put_base(t, loads, load->base);
		return;
	}
	if (load->width)
		put(t, "*%c%u(", load->sign ? 'i' : 'u', load->width * 8);
	else
		put(t, "str(");
	put_address(t, loads, load);
	put(t, ")");
}

static unsigned operands(const struct expr_node *node)
{
	return node->op <= EXPR_LOAD ? 0 : node->op <= EXPR_NEG ? 1 : 2;
}

/* Where the expression begins that ends with the node @last. */
static unsigned beginning(const struct expr *e, unsigned last)
{
	unsigned wanted = operands(&e->nodes[last]);

	while (wanted) {
		last--;
		wanted += operands(&e->nodes[last]) - 1;
	}
	return last;
}

static void put_leaf(struct text *t, const struct expr_loads *loads, const struct expr_node *node)
{
	switch (node->op) {
	case EXPR_CONST:
		put_number(t, node->value, 9999);
		break;
	case EXPR_ARG:
		put(t, "arg%u", node->n);
		break;
	case EXPR_RET:
		put(t, "ret");
		break;
	default:
		put_load(t, loads, &loads->all[node->n]);
	}
}

/* The expression that ends with the node @last, in parentheses if it binds less tightly than @binds. */
static void put_expr(struct text *t, const struct expr *e, const struct expr_loads *loads, unsigned last,
		     int binds)
{
	const struct expr_node *node = &e->nodes[last];
	int mine = operators[node->op].binds;
	bool enclosed = mine < binds;

	if (enclosed)
		put(t, "(");
	if (!operands(node)) {
		put_leaf(t, loads, node);
	} else if (node->op == EXPR_CAST) {
		put(t, "%c%u(", node->sign ? 'i' : 'u', node->n);
		put_expr(t, e, loads, last - 1, 0);
		put(t, ")");
	} else if (node->op == EXPR_NEG) {
		put(t, "-");
		put_expr(t, e, loads, last - 1, mine);
	} else {
		put_expr(t, e, loads, beginning(e, last - 1) - 1, mine);
		put(t, "%s", operators[node->op].text);
		put_expr(t, e, loads, last - 1, mine + 1);
	}
	if (enclosed)
		put(t, ")");
}

int expr_format(const struct expr *e, const struct expr_loads *loads, char *buf, size_t n)
{
	struct text t = { .buf = buf, .size = n };

	put(&t, "%s", "");
	if (e->n)
		put_expr(&t, e, loads, e->n - 1U, 0);
	return (int)t.len;
}
