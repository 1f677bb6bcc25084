/* SPDX-License-Identifier: MIT */
/*
 * dwexpr: see dwexpr.h. One function per kind of operation; each returns -EINVAL if there is too little on
 * the stack.
 */
#include "attach/stacks/unwind/dwexpr.h"

#include <dwarf.h>
#include <errno.h>

#include "symbolize/files/bytes.h"

struct machine {
	const struct dwexpr_env *env;
	const uint8_t *first;
	struct bytes code;
	uint64_t stack[DWEXPR_STACK];
	unsigned depth;
};

static int push(struct machine *m, uint64_t v)
{
	if (m->depth == DWEXPR_STACK)
		return -EINVAL;
	m->stack[m->depth++] = v;
	return 0;
}

static int push_register(struct machine *m, uint64_t reg)
{
	int64_t offset = bytes_sleb(&m->code);

	if (reg >= FRAME_REGS)
		return -EINVAL;
	if (!(m->env->regs->known >> reg & 1))
		return -ENODATA;
	return push(m, m->env->regs->r[reg] + (uint64_t)offset);
}

static int push_copy(struct machine *m, unsigned index)
{
	return index < m->depth ? push(m, m->stack[m->depth - 1 - index]) : -EINVAL;
}

static int deref(struct machine *m, unsigned size)
{
	uint64_t v = 0;
	int err;

	if (!m->depth || size < 1 || size > 8)
		return -EINVAL;
	err = m->env->load(m->env->ctx, m->stack[m->depth - 1], &v, size);
	m->stack[m->depth - 1] = v;
	return err;
}

static int branch(struct machine *m, bool conditional)
{
	int64_t by = bytes_signed(&m->code, 2);

	if (conditional) {
		if (!m->depth)
			return -EINVAL;
		if (!m->stack[--m->depth])
			return 0;
	}
	if (by < m->first - m->code.p || by > m->code.end - m->code.p)
		return -EINVAL;
	m->code.p += by;
	return 0;
}

static int one_operand(struct machine *m, uint8_t op)
{
	uint64_t *top;

	if (!m->depth)
		return -EINVAL;
	top = &m->stack[m->depth - 1];
	switch (op) {
	case DW_OP_neg: *top = -*top; break;
	case DW_OP_not: *top = ~*top; break;
	case DW_OP_abs: *top = (int64_t)*top < 0 ? -*top : *top; break;
	case DW_OP_plus_uconst: *top += bytes_uleb(&m->code); break;
	default: return -EINVAL;
	}
	return 0;
}

static uint64_t shifted(uint8_t op, uint64_t v, uint64_t by)
{
	if (op == DW_OP_shra)
		return (uint64_t)((int64_t)v >> (by < 63 ? by : 63));
	if (by > 63)
		return 0;
	return op == DW_OP_shl ? v << by : v >> by;
}

/* Division is signed, as DWARF has it; what would trap is refused. */
static int divide(uint8_t op, uint64_t *a, uint64_t b)
{
	if (!b || (*a == 1ull << 63 && b == UINT64_MAX))
		return -EINVAL;
	*a = op == DW_OP_mod ? *a % b : (uint64_t)((int64_t)*a / (int64_t)b);
	return 0;
}

static int two_operands(struct machine *m, uint8_t op)
{
	uint64_t *a, b;

	if (m->depth < 2)
		return -EINVAL;
	b = m->stack[--m->depth];
	a = &m->stack[m->depth - 1];
	switch (op) {
	case DW_OP_plus: *a += b; break;
	case DW_OP_minus: *a -= b; break;
	case DW_OP_mul: *a *= b; break;
	case DW_OP_and: *a &= b; break;
	case DW_OP_or: *a |= b; break;
	case DW_OP_xor: *a ^= b; break;
	case DW_OP_div: case DW_OP_mod: return divide(op, a, b);
	case DW_OP_shl: case DW_OP_shr: case DW_OP_shra: *a = shifted(op, *a, b); break;
	case DW_OP_eq: *a = *a == b; break;
	case DW_OP_ne: *a = *a != b; break;
	case DW_OP_lt: *a = (int64_t)*a < (int64_t)b; break;
	case DW_OP_le: *a = (int64_t)*a <= (int64_t)b; break;
	case DW_OP_gt: *a = (int64_t)*a > (int64_t)b; break;
	case DW_OP_ge: *a = (int64_t)*a >= (int64_t)b; break;
	default: return -EINVAL;
	}
	return 0;
}

/* Rotate the top @n: the top one becomes the lowest of them. */
static int rotate(struct machine *m, unsigned n)
{
	uint64_t *v = m->stack + m->depth, top;

	if (m->depth < n)
		return -EINVAL;
	top = v[-1];
	memmove(v - n + 1, v - n, (n - 1) * sizeof(*v));
	v[-(int)n] = top;
	return 0;
}

static int drop(struct machine *m)
{
	if (!m->depth)
		return -EINVAL;
	m->depth--;
	return 0;
}

/* Operations that push a number from the code. */
static int constant(struct machine *m, uint8_t op)
{
	struct bytes *c = &m->code;

	switch (op) {
	case DW_OP_const1u: return push(m, bytes_number(c, 1));
	case DW_OP_const2u: return push(m, bytes_number(c, 2));
	case DW_OP_const4u: return push(m, bytes_number(c, 4));
	case DW_OP_const8u: case DW_OP_const8s: return push(m, bytes_number(c, 8));
	case DW_OP_const1s: return push(m, (uint64_t)bytes_signed(c, 1));
	case DW_OP_const2s: return push(m, (uint64_t)bytes_signed(c, 2));
	case DW_OP_const4s: return push(m, (uint64_t)bytes_signed(c, 4));
	case DW_OP_constu: return push(m, bytes_uleb(c));
	case DW_OP_consts: return push(m, (uint64_t)bytes_sleb(c));
	}
	return -EINVAL;
}

static int step(struct machine *m)
{
	uint8_t op = (uint8_t)bytes_number(&m->code, 1);

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push(m, op - DW_OP_lit0);
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		return push_register(m, op - DW_OP_breg0);
	if (op >= DW_OP_const1u && op <= DW_OP_consts)
		return constant(m, op);
	switch (op) {
	case DW_OP_nop: return 0;
	case DW_OP_bregx: return push_register(m, bytes_uleb(&m->code));
	case DW_OP_deref: return deref(m, 8);
	case DW_OP_deref_size: return deref(m, (unsigned)bytes_number(&m->code, 1));
	case DW_OP_dup: return push_copy(m, 0);
	case DW_OP_over: return push_copy(m, 1);
	case DW_OP_pick: return push_copy(m, (unsigned)bytes_number(&m->code, 1));
	case DW_OP_drop: return drop(m);
	case DW_OP_swap: return rotate(m, 2);
	case DW_OP_rot: return rotate(m, 3);
	case DW_OP_bra: return branch(m, true);
	case DW_OP_skip: return branch(m, false);
	case DW_OP_abs: case DW_OP_neg: case DW_OP_not: case DW_OP_plus_uconst: return one_operand(m, op);
	}
	return two_operands(m, op);
}

int dwexpr_eval(const uint8_t *ops, size_t n, const struct dwexpr_env *env, uint64_t *out)
{
	struct machine m = { .env = env, .first = ops, .code = { ops, ops + n, false } };

	if (env->start)
		m.stack[m.depth++] = *env->start;
	for (unsigned steps = 0; m.code.p < m.code.end; steps++) {
		int err = steps < DWEXPR_STEPS ? step(&m) : -EINVAL;

		if (err || m.code.bad)
			return err ? err : -EINVAL;
	}
	if (!m.depth)
		return -EINVAL;
	*out = m.stack[m.depth - 1];
	return 0;
}
