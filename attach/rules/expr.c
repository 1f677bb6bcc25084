/* SPDX-License-Identifier: MIT */
/* expr: computing an expression, and questions about it. */
#include "attach/rules/expr.h"

/* --- computing --- */

static uint64_t narrow(uint64_t value, unsigned bits, bool sign)
{
	unsigned above = 64 - bits;

	if (!above)
		return value;
	return sign ? (uint64_t)((int64_t)(value << above) >> above) : value << above >> above;
}

static bool leaf(const struct expr_node *node, const struct expr_loads *loads, const struct expr_values *v,
		 uint64_t *out)
{
	const struct expr_load *load = &loads->all[node->n % EXPR_LOADS];

	switch (node->op) {
	case EXPR_CONST:
		*out = (uint64_t)node->value;
		return true;
	case EXPR_ARG:
		*out = v->args[node->n - 1];
		return true;
	case EXPR_RET:
		*out = v->ret;
		return true;
	default:
		if (!load->width || !(v->read >> node->n & 1))
			return false;
		*out = narrow(v->loads[node->n], load->width * 8, load->sign);
		return true;
	}
}

static uint64_t binary(enum expr_op op, uint64_t a, uint64_t b)
{
	switch (op) {
	case EXPR_MUL:
		return a * b;
	case EXPR_ADD:
		return a + b;
	case EXPR_SUB:
		return a - b;
	case EXPR_AND:
		return a & b;
	case EXPR_EQ:
		return a == b;
	case EXPR_NE:
		return a != b;
	case EXPR_LT:
		return (int64_t)a < (int64_t)b;
	case EXPR_GT:
		return (int64_t)a > (int64_t)b;
	case EXPR_LE:
		return (int64_t)a <= (int64_t)b;
	default:
		return (int64_t)a >= (int64_t)b;
	}
}

bool expr_eval(const struct expr *e, const struct expr_loads *loads, const struct expr_values *v,
	       uint64_t *out)
{
	uint64_t stack[EXPR_NODES];
	unsigned top = 0;

	for (unsigned i = 0; i < e->n; i++) {
		const struct expr_node *node = &e->nodes[i];

		if (node->op <= EXPR_LOAD) {
			if (!leaf(node, loads, v, &stack[top++]))
				return false;
		} else if (node->op == EXPR_CAST) {
			stack[top - 1] = narrow(stack[top - 1], node->n, node->sign);
		} else if (node->op == EXPR_NEG) {
			stack[top - 1] = 0 - stack[top - 1];
		} else {
			top--;
			stack[top - 1] = binary(node->op, stack[top - 1], stack[top]);
		}
	}
	if (!top)
		return false;
	*out = stack[0];
	return true;
}

/* --- questions --- */

/* A bit for each enum expr_base that load @i depends on, also through earlier loads. */
static unsigned load_sources(const struct expr_loads *loads, unsigned i)
{
	unsigned found = 1U << loads->all[i].base | 1U << loads->all[i].index;

	for (unsigned k = 0; k < i; k++) {
		if (found >> (EXPR_BASE_LOAD0 + k) & 1)
			found |= load_sources(loads, k);
	}
	return found;
}

unsigned expr_sources(const struct expr *e, const struct expr_loads *loads)
{
	unsigned found = 0;

	for (unsigned i = 0; i < e->n; i++) {
		const struct expr_node *node = &e->nodes[i];

		if (node->op == EXPR_ARG)
			found |= 1U << (EXPR_BASE_ARG1 + node->n - 1);
		else if (node->op == EXPR_RET)
			found |= 1U << EXPR_BASE_RET;
		else if (node->op == EXPR_LOAD)
			found |= load_sources(loads, node->n);
	}
	return found;
}

bool expr_uses_args(const struct expr *e, const struct expr_loads *loads)
{
	return expr_sources(e, loads) & (EXPR_ARGUMENTS);
}

bool expr_uses_ret(const struct expr *e, const struct expr_loads *loads)
{
	return expr_sources(e, loads) >> EXPR_BASE_RET & 1;
}

bool expr_is_arg(const struct expr *e, int n)
{
	return e->n == 1 && e->nodes[0].op == EXPR_ARG && e->nodes[0].n == n;
}

bool expr_is_ret(const struct expr *e)
{
	return e->n == 1 && e->nodes[0].op == EXPR_RET;
}

bool expr_is_load(const struct expr *e)
{
	return e->n == 1 && e->nodes[0].op == EXPR_LOAD;
}

bool expr_equal(const struct expr *a, const struct expr *b)
{
	bool equal = a->n == b->n;

	for (unsigned i = 0; equal && i < a->n; i++) {
		const struct expr_node *x = &a->nodes[i], *y = &b->nodes[i];

		equal = x->op == y->op && x->n == y->n && x->sign == y->sign && x->value == y->value;
	}
	return equal;
}
