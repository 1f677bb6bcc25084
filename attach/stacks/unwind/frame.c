/* SPDX-License-Identifier: MIT */
/* frame: see frame.h. */
#include "attach/stacks/unwind/frame.h"

#include <errno.h>
#include <string.h>

struct step {
	const struct cfi_rule *rule;
	const struct frame_regs *callee;
	bool exact;
	struct frame_memory *m;
	taddr cfa;
};

bool frame_slice(struct frame_memory *m, taddr addr, void *buf, size_t n)
{
	const struct unwind_from *from = m->from;
	uint64_t at = addr - from->slice_addr;

	if (n > from->slice_len || at > from->slice_len - n)
		return false;
	memcpy(buf, from->slice + at, n);
	if (m->used < at + n)
		m->used = (uint32_t)(at + n);
	return true;
}

int frame_read(struct frame_memory *m, taddr addr, void *buf, size_t n)
{
	const struct unwind_from *from = m->from;

	if (frame_slice(m, addr, buf, n))
		return 0;
	if (from->read && !from->read(from->ctx, addr, buf, n))
		return 0;
	m->missed = addr;
	return -EFAULT;
}

void frame_begin(const struct user_regs_struct *regs, struct frame_regs *out)
{
	*out = (struct frame_regs){
		.r = {
			[FRAME_RAX] = regs->rax, [FRAME_RDX] = regs->rdx, [FRAME_RCX] = regs->rcx,
			[FRAME_RBX] = regs->rbx, [FRAME_RSI] = regs->rsi, [FRAME_RDI] = regs->rdi,
			[FRAME_RBP] = regs->rbp, [FRAME_RSP] = regs->rsp, [FRAME_R8] = regs->r8,
			[FRAME_R9] = regs->r9, [FRAME_R10] = regs->r10, [FRAME_R11] = regs->r11,
			[FRAME_R12] = regs->r12, [FRAME_R13] = regs->r13, [FRAME_R14] = regs->r14,
			[FRAME_R15] = regs->r15, [FRAME_RIP] = regs->rip,
		},
		.known = FRAME_BIT(FRAME_REGS) - 1,
	};
}

static int value_of(const struct frame_regs *regs, unsigned reg, uint64_t *out)
{
	if (reg >= FRAME_REGS || !(regs->known & FRAME_BIT(reg)))
		return -ENODATA;
	*out = regs->r[reg];
	return 0;
}

static int load(void *ctx, taddr addr, void *buf, size_t n)
{
	return frame_read(ctx, addr, buf, n);
}

static int evaluate(const struct step *s, const struct cfi_place *p, const taddr *start, uint64_t *out)
{
	const struct dwexpr_env env = { .regs = s->callee, .start = start, .load = load, .ctx = s->m };

	return dwexpr_eval(p->expr, p->len, &env, out);
}

static int find_cfa(struct step *s)
{
	const struct cfi_place *p = &s->rule->cfa;
	int err;

	if (p->how == CFI_VAL_EXPRESSION)
		return evaluate(s, p, NULL, &s->cfa);
	if (p->how != CFI_VAL_OFFSET)
		return -EINVAL;
	err = value_of(s->callee, p->reg, &s->cfa);
	s->cfa += (uint64_t)p->offset;
	return err;
}

/* See frame_below. */
static int load_saved(const struct step *s, unsigned reg, taddr addr, uint64_t *out)
{
	if (!s->exact || reg == FRAME_RIP || !frame_below(s->callee->r[FRAME_RSP], addr))
		return frame_read(s->m, addr, out, sizeof(*out));
	return frame_slice(s->m, addr, out, sizeof(*out)) ? 0 : value_of(s->callee, reg, out);
}

static int find_register(const struct step *s, unsigned reg, uint64_t *out)
{
	const struct cfi_place *p = &s->rule->regs[reg];
	taddr addr;
	int err;

	switch ((enum cfi_how)p->how) {
	case CFI_UNDEFINED:
		return -ENODATA;
	case CFI_SAME:
		return value_of(s->callee, reg, out);
	case CFI_REGISTER:
		return value_of(s->callee, p->reg, out);
	case CFI_VAL_OFFSET:
		*out = s->cfa + (uint64_t)p->offset;
		return 0;
	case CFI_OFFSET:
		return load_saved(s, reg, s->cfa + (uint64_t)p->offset, out);
	case CFI_VAL_EXPRESSION:
		return evaluate(s, p, &s->cfa, out);
	case CFI_EXPRESSION:
		err = evaluate(s, p, &s->cfa, &addr);
		return err ? err : load_saved(s, reg, addr, out);
	}
	return -EINVAL;
}

/*
 * A register that the tables do not give is unknown in the caller; only without rip or rsp there is no frame.
 */
int frame_step(const struct cfi_rule *rule, bool exact, uint32_t want, struct frame_memory *m,
	       struct frame_regs *regs)
{
	const struct frame_regs callee = *regs;
	struct step s = { .rule = rule, .callee = &callee, .exact = exact, .m = m };
	int err = find_cfa(&s);

	if (err)
		return err;
	regs->known = 0;
	for (unsigned reg = 0; reg < FRAME_REGS; reg++) {
		if (!(want & FRAME_BIT(reg)))
			continue;
		err = find_register(&s, reg, &regs->r[reg]);
		if (!err)
			regs->known |= FRAME_BIT(reg);
		else if (err != -ENODATA || reg == FRAME_RIP || reg == FRAME_RSP)
			return err;
	}
	return 0;
}
