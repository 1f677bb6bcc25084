/* SPDX-License-Identifier: MIT */
/*
 * expraddr: the expression is computed once with sums of multiples in place of
 * numbers: 2*(arg2+4)+arg1 is 1 arg1, 2 arg2 and 8. If it is not such a sum (a product of
 * two arguments, a comparison, a cast), it is not an address.
 */
#include "attach/rules/expraddr.h"

#define SCALE_MAX 255

/* The terms are in the order in which they were written: of two with factor 1, the first is the base. */
struct sum {
	struct term {
		uint8_t source;		/* enum expr_base */
		uint64_t factor;
	} terms[EXPR_NODES];
	unsigned n;
	uint64_t constant;
};

static void add_term(struct sum *s, const struct term *t, uint64_t times)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->terms[i].source == t->source) {
			s->terms[i].factor += t->factor * times;
			return;
		}
	}
	s->terms[s->n++] = (struct term){ t->source, t->factor * times };
}

static void add_sum(struct sum *to, const struct sum *s, uint64_t times)
{
	for (unsigned i = 0; i < s->n; i++)
		add_term(to, &s->terms[i], times);
	to->constant += s->constant * times;
}

static void scale(struct sum *s, uint64_t times)
{
	struct sum scaled = { .n = 0 };

	add_sum(&scaled, s, times);
	*s = scaled;
}

/* A signed load changes the value that is read: it cannot be part of another load's address. */
static bool leaf(const struct expr_node *node, const struct expr_loads *loads, struct sum *out)
{
	*out = (struct sum){ .n = 1, .terms = { { .factor = 1 } } };
	switch (node->op) {
	case EXPR_CONST:
		*out = (struct sum){ .constant = (uint64_t)node->value };
		return true;
	case EXPR_ARG:
		out->terms[0].source = (uint8_t)(EXPR_BASE_ARG1 + node->n - 1);
		return true;
	case EXPR_RET:
		out->terms[0].source = EXPR_BASE_RET;
		return true;
	case EXPR_LOAD:
		out->terms[0].source = (uint8_t)(EXPR_BASE_LOAD0 + node->n);
		return !loads->all[node->n].sign;
	default:
		return false;
	}
}

static bool binary(enum expr_op op, struct sum *a, const struct sum *b)
{
	struct sum left = *a;

	switch (op) {
	case EXPR_ADD:
		add_sum(a, b, 1);
		return true;
	case EXPR_SUB:
		add_sum(a, b, (uint64_t)-1);
		return true;
	case EXPR_MUL:
		if (b->n) {
			*a = *b;
			b = &left;
		}
		scale(a, b->constant);
		return !b->n;
	default:
		return false;
	}
}

static bool compute(const struct expr_node *nodes, unsigned n, const struct expr_loads *loads,
		    struct sum *out)
{
	struct sum stack[EXPR_NODES];
	unsigned top = 0;

	for (unsigned i = 0; i < n; i++) {
		bool sum;

		if (nodes[i].op <= EXPR_LOAD) {
			sum = leaf(&nodes[i], loads, &stack[top++]);
		} else if (nodes[i].op == EXPR_NEG) {
			scale(&stack[top - 1], (uint64_t)-1);
			sum = true;
		} else if (nodes[i].op == EXPR_CAST) {
			sum = false;
		} else {
			top--;
			sum = binary(nodes[i].op, &stack[top - 1], &stack[top]);
		}
		if (!sum)
			return false;
	}
	*out = stack[0];
	return true;
}

static void drop_zeros(struct sum *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++) {
		if (s->terms[i].factor)
			s->terms[n++] = s->terms[i];
	}
	s->n = n;
}

bool expraddr_of(const struct expr_node *nodes, unsigned n, const struct expr_loads *loads,
		 struct expr_load *out)
{
	struct sum s;
	unsigned base;

	if (!compute(nodes, n, loads, &s))
		return false;
	drop_zeros(&s);
	if (s.n < 1 || s.n > 2 || s.constant + (1U << 31) > UINT32_MAX)
		return false;
	base = s.terms[0].factor == 1 ? 0 : 1;
	if (base >= s.n || s.terms[base].factor != 1)
		return false;
	out->base = s.terms[base].source;
	out->disp = (int32_t)s.constant;
	out->index = EXPR_BASE_NONE;
	out->scale = 0;
	if (s.n == 2) {
		if (s.terms[!base].factor > SCALE_MAX)
			return false;
		out->index = s.terms[!base].source;
		out->scale = (uint8_t)s.terms[!base].factor;
	}
	return true;
}
