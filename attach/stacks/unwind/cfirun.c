/* SPDX-License-Identifier: MIT */
/* cfirun: see cfirun.h. */
#include "attach/stacks/unwind/cfirun.h"

#include <dwarf.h>
#include <errno.h>

struct run {
	const struct cfi_program *prog;
	struct bytes code;
	taddr at, until;
	struct cfi_rule now;
	struct cfi_rule initial;	/* as the CIE left it: what DW_CFA_restore goes back to */
	struct cfi_rule remembered[CFIRUN_REMEMBERED];
	unsigned nremembered;
};

/*
 * A register that the tables do not mention keeps its value, also one that calls may change: hand-written
 * code keeps a CFA in one across calls of its own helpers, and every other unwinder follows it.
 */
static void begin(struct cfi_rule *rule, bool signal)
{
	*rule = (struct cfi_rule){ .signal = signal };
	for (unsigned reg = 0; reg < FRAME_REGS; reg++)
		rule->regs[reg].how = CFI_SAME;
	rule->regs[FRAME_RSP].how = CFI_VAL_OFFSET;
}

static int set(struct run *r, uint64_t reg, struct cfi_place place)
{
	/* The registers beyond (vector registers) do not matter here. */
	if (reg < FRAME_REGS)
		r->now.regs[reg] = place;
	return 0;
}

static int set_how(struct run *r, uint64_t reg, enum cfi_how how)
{
	return set(r, reg, (struct cfi_place){ .how = (uint8_t)how });
}

static int set_offset(struct run *r, uint64_t reg, enum cfi_how how, uint64_t factored)
{
	int64_t offset = (int64_t)(factored * (uint64_t)r->prog->data_align);

	return set(r, reg, (struct cfi_place){ .how = (uint8_t)how, .offset = offset });
}

static int set_register(struct run *r, uint64_t reg, uint64_t in)
{
	if (in >= FRAME_REGS)
		return set_how(r, reg, CFI_UNDEFINED);
	return set(r, reg, (struct cfi_place){ .how = CFI_REGISTER, .reg = (uint8_t)in });
}

static int expression(struct run *r, enum cfi_how how, struct cfi_place *out)
{
	uint64_t n = bytes_uleb(&r->code);
	const uint8_t *expr = bytes_take(&r->code, n);

	if (!expr || n > UINT32_MAX)
		return -EINVAL;
	*out = (struct cfi_place){ .how = (uint8_t)how, .len = (uint32_t)n, .expr = expr };
	return 0;
}

static int set_expression(struct run *r, enum cfi_how how)
{
	uint64_t reg = bytes_uleb(&r->code);
	struct cfi_place place;
	int err = expression(r, how, &place);

	return err ? err : set(r, reg, place);
}

static int restore(struct run *r, uint64_t reg)
{
	return reg < FRAME_REGS ? set(r, reg, r->initial.regs[reg]) : 0;
}

static int set_cfa(struct run *r, uint64_t reg, int64_t offset)
{
	if (reg >= FRAME_REGS)
		return -EINVAL;
	r->now.cfa = (struct cfi_place){ .how = CFI_VAL_OFFSET, .reg = (uint8_t)reg, .offset = offset };
	return 0;
}

/*
 * Half of the CFA's definition changes; the other half stays as it was, even if an expression was set in
 * between (libgcrypt's SHA functions).
 */
static int set_cfa_offset(struct run *r, int64_t offset)
{
	return r->now.cfa.how != CFI_UNDEFINED ? set_cfa(r, r->now.cfa.reg, offset) : -EINVAL;
}

static int set_cfa_register(struct run *r, uint64_t reg)
{
	return r->now.cfa.how != CFI_UNDEFINED ? set_cfa(r, reg, r->now.cfa.offset) : -EINVAL;
}

static int set_cfa_expression(struct run *r)
{
	struct cfi_place place;
	int err = expression(r, CFI_VAL_EXPRESSION, &place);

	if (err)
		return err;
	place.reg = r->now.cfa.reg;
	place.offset = r->now.cfa.offset;
	r->now.cfa = place;
	return 0;
}

static int remember(struct run *r)
{
	if (r->nremembered == CFIRUN_REMEMBERED)
		return -EINVAL;
	r->remembered[r->nremembered++] = r->now;
	return 0;
}

static int go_back(struct run *r)
{
	if (!r->nremembered)
		return -EINVAL;
	r->now = r->remembered[--r->nremembered];
	return 0;
}

static int advance(struct run *r, uint64_t by)
{
	taddr to = r->at + by * r->prog->code_align;

	if (to < r->at)
		return -EINVAL;
	r->at = to;
	return 0;
}

static int set_place(struct run *r)
{
	taddr to = bytes_number(&r->code, 8);

	if (!r->prog->absolute || to < r->at)
		return -EINVAL;
	r->at = to;
	return 0;
}

static int64_t data_aligned(const struct run *r, int64_t v)
{
	return (int64_t)((uint64_t)v * (uint64_t)r->prog->data_align);
}

static int define_cfa(struct run *r, uint8_t op)
{
	struct bytes *c = &r->code;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = bytes_uleb(c);
		return set_cfa(r, reg, (int64_t)bytes_uleb(c));
	case DW_CFA_def_cfa_sf:
		reg = bytes_uleb(c);
		return set_cfa(r, reg, data_aligned(r, bytes_sleb(c)));
	case DW_CFA_def_cfa_register: return set_cfa_register(r, bytes_uleb(c));
	case DW_CFA_def_cfa_offset: return set_cfa_offset(r, (int64_t)bytes_uleb(c));
	case DW_CFA_def_cfa_offset_sf: return set_cfa_offset(r, data_aligned(r, bytes_sleb(c)));
	case DW_CFA_def_cfa_expression: return set_cfa_expression(r);
	}
	return -EINVAL;
}

static int define_register(struct run *r, uint8_t op)
{
	struct bytes *c = &r->code;
	uint64_t reg;

	if (op == DW_CFA_expression || op == DW_CFA_val_expression)
		return set_expression(r, op == DW_CFA_expression ? CFI_EXPRESSION : CFI_VAL_EXPRESSION);
	reg = bytes_uleb(c);
	switch (op) {
	case DW_CFA_undefined: return set_how(r, reg, CFI_UNDEFINED);
	case DW_CFA_same_value: return set_how(r, reg, CFI_SAME);
	case DW_CFA_restore_extended: return restore(r, reg);
	case DW_CFA_register: return set_register(r, reg, bytes_uleb(c));
	case DW_CFA_offset_extended: return set_offset(r, reg, CFI_OFFSET, bytes_uleb(c));
	case DW_CFA_offset_extended_sf: return set_offset(r, reg, CFI_OFFSET, (uint64_t)bytes_sleb(c));
	case DW_CFA_GNU_negative_offset_extended: return set_offset(r, reg, CFI_OFFSET, -bytes_uleb(c));
	case DW_CFA_val_offset: return set_offset(r, reg, CFI_VAL_OFFSET, bytes_uleb(c));
	case DW_CFA_val_offset_sf: return set_offset(r, reg, CFI_VAL_OFFSET, (uint64_t)bytes_sleb(c));
	}
	return -EINVAL;
}

static int step(struct run *r)
{
	uint8_t op = (uint8_t)bytes_number(&r->code, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc: return advance(r, low);
	case DW_CFA_offset: return set_offset(r, low, CFI_OFFSET, bytes_uleb(&r->code));
	case DW_CFA_restore: return restore(r, low);
	}
	switch (op) {
	case DW_CFA_nop: return 0;
	case DW_CFA_set_loc: return set_place(r);
	case DW_CFA_advance_loc1: return advance(r, bytes_number(&r->code, 1));
	case DW_CFA_advance_loc2: return advance(r, bytes_number(&r->code, 2));
	case DW_CFA_advance_loc4: return advance(r, bytes_number(&r->code, 4));
	case DW_CFA_remember_state: return remember(r);
	case DW_CFA_restore_state: return go_back(r);
	case DW_CFA_GNU_args_size: bytes_uleb(&r->code); return 0;
	case DW_CFA_def_cfa: case DW_CFA_def_cfa_sf: case DW_CFA_def_cfa_register: case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf: case DW_CFA_def_cfa_expression: return define_cfa(r, op);
	}
	return define_register(r, op);
}

/* Run until the end of the program, or beyond the address that is looked up. */
static int run(struct run *r, const struct bytes *code)
{
	if (code->end - code->p > CFIRUN_BYTES_MAX)
		return -EINVAL;
	r->code = *code;
	while (r->code.p < r->code.end) {
		int err = step(r);

		if (err || r->code.bad)
			return err ? err : -EINVAL;
		if (r->at > r->until)
			break;
	}
	return 0;
}

int cfirun(const struct cfi_program *prog, taddr addr, struct cfi_rule *out)
{
	struct run r = { .prog = prog, .at = prog->lo, .until = addr };
	int err;

	begin(&r.now, prog->signal);
	err = run(&r, &prog->cie);
	r.initial = r.now;
	if (!err)
		err = run(&r, &prog->fde);
	*out = r.now;
	return err;
}
