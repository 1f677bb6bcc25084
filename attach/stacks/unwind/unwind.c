/* SPDX-License-Identifier: MIT */
/*
 * unwind: see unwind.h.
 *
 *	walk_fast ── run: frame after frame by their 16-byte rules, all out of the slice
 *	    │        step_any: a frame that is rare, new or outside the slice; then run again
 *	    │
 *	    └─ needs a register that was not followed ──▶ walk_full, from the start, with all of them
 *
 * The stack pointer must grow from frame to frame, unless it is restored from memory: a signal or a context
 * switch may come from another stack. The limit on the number of frames ends any loop there.
 */
#include "attach/stacks/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/stacks/unwind/frame.h"
#include "attach/stacks/unwind/rules.h"

#define GUESS_FRAME_MAX (1u << 20)	/* largest plausible distance of two frame pointers, in bytes */
#define FOLLOWED (FRAME_BIT(FRAME_RIP) | FRAME_BIT(FRAME_RSP) | FRAME_BIT(FRAME_RBP))
#define ALL (FRAME_BIT(FRAME_REGS) - 1)

struct unwinder {
	struct rules rules;
	struct unwind_stats stats;
};

struct walk {
	struct unwinder *u;
	struct frame_memory m;
	struct unwind_stack *out;
	uint32_t max;
	uint64_t frame;			/* the current frame, with UNWIND_EXACT or without... */
	struct frame_regs regs;		/* ...and its registers (the fast walk: rsp and rbp only) */
};

/* What a step returns beside enum unwind_end. */
enum { GO_ON = -1, NEEDS_ALL = -2 };

const char *unwind_end_text(enum unwind_end end)
{
	static const char *const text[] = {
		[UNWIND_WHOLE] = "whole",	  [UNWIND_CUT] = "cut",
		[UNWIND_LOST] = "lost",		  [UNWIND_DEEP] = "deep",
		[UNWIND_ELSEWHERE] = "elsewhere",
	};

	return text[end];
}

int unwinder_new(struct modules *ms, struct unwinder **out)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	if (rules_init(&u->rules, ms)) {
		free(u);
		return -ENOMEM;
	}
	*out = u;
	unwinder_modules_changed(u);
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	rules_fini(&u->rules);
	free(u);
}

void unwinder_follow_jit(struct unwinder *u, pid_t pid)
{
	jitcode_follow(&u->rules.jit, pid);
}

void unwinder_modules_changed(struct unwinder *u)
{
	rules_changed(&u->rules);
}

void unwinder_forget(struct unwinder *u)
{
	rules_forget(&u->rules);
}

void unwinder_stats(const struct unwinder *u, struct unwind_stats *out)
{
	*out = u->stats;
	out->cold = u->rules.cold;
}

/* Enter the next frame: UNWIND_WHOLE for the return address 0; UNWIND_DEEP, UNWIND_LOST or GO_ON. */
static int arrive(struct walk *w, taddr pc, bool exact)
{
	if (!pc && !exact)
		return UNWIND_WHOLE;
	if (pc & UNWIND_EXACT)
		return UNWIND_LOST;
	if (w->out->n >= w->max)
		return UNWIND_DEEP;
	w->frame = pc | (exact ? UNWIND_EXACT : 0);
	w->out->sps[w->out->n] = w->regs.r[FRAME_RSP];
	w->out->frames[w->out->n++] = w->frame;
	return GO_ON;
}

/*
 * No table describes this code. If it is no code at all, its address was no return address, and is not a
 * frame: other stacks of the same function have another word there. A frame pointer is accepted if it points
 * further up the stack, next to an address that follows a call. The frame pointer saved there may be any
 * value, since the caller need not use one; but it must not point down the stack again.
 */
static int guess(struct walk *w)
{
	taddr sp = w->regs.r[FRAME_RSP], bp = w->regs.r[FRAME_RBP];
	uint64_t saved[2];

	if (w->out->n > 1 && !rules_is_code(&w->u->rules, w->frame)) {
		w->out->n--;
		return UNWIND_LOST;
	}
	if (!(w->regs.known & FRAME_BIT(FRAME_RBP)) || bp < sp || bp - sp > GUESS_FRAME_MAX)
		return UNWIND_LOST;
	if (frame_read(&w->m, bp, saved, sizeof(saved)))
		return UNWIND_CUT;
	if ((saved[0] >= sp && saved[0] <= bp) || !rules_after_call(&w->u->rules, saved[1]))
		return UNWIND_LOST;
	w->regs.known = FOLLOWED;
	w->regs.r[FRAME_RBP] = saved[0];
	w->regs.r[FRAME_RSP] = bp + sizeof(saved);
	w->out->guessed = true;
	w->u->stats.guessed++;
	return arrive(w, saved[1], false);
}

static int end_of(int err, uint32_t want)
{
	if (err == -EFAULT)
		return UNWIND_CUT;
	return err == -ENODATA && want != ALL ? NEEDS_ALL : UNWIND_LOST;
}

/* Step by a whole rule, for the registers in @want. */
static int step_whole(struct walk *w, const struct cfi_rule *rule, uint32_t want)
{
	taddr sp = w->regs.r[FRAME_RSP];
	int err;

	if (rule->regs[FRAME_RIP].how == CFI_UNDEFINED)
		return UNWIND_WHOLE;
	if (rule->regs[FRAME_RIP].how == CFI_SAME)
		return UNWIND_LOST;	/* the tables do not have where the return address is */
	err = frame_step(rule, w->frame & UNWIND_EXACT, want, &w->m, &w->regs);
	if (err)
		return end_of(err, want);
	if (want != ALL && w->regs.known != want)
		return NEEDS_ALL;
	if (rule->regs[FRAME_RSP].how == CFI_VAL_OFFSET && w->regs.r[FRAME_RSP] <= sp)
		return UNWIND_LOST;
	return arrive(w, w->regs.r[FRAME_RIP], rule->signal);
}

static int walk_full(struct walk *w)
{
	int end;

	do {
		const struct cfi_rule *rule = rules_full(&w->u->rules, w->frame);

		end = rule ? step_whole(w, rule, ALL) : guess(w);
	} while (end == GO_ON);
	return end;
}

/* A frame whose 16-byte rule is not enough. (In the first frame all registers are known.) */
static int step_rare(struct walk *w, unsigned kind)
{
	const struct cfi_rule *rule;

	if (kind == RULE_END)
		return UNWIND_WHOLE;
	rule = kind == RULE_SLOW ? rules_full(&w->u->rules, w->frame) : NULL;
	if (!rule)
		return guess(w);
	w->u->stats.slow++;
	return step_whole(w, rule, FOLLOWED);
}

/* The caller's rbp. If it was popped already, its word may not be in the slice; then rbp has it. */
static bool load_rbp(struct walk *w, taddr addr)
{
	taddr *rbp = &w->regs.r[FRAME_RBP];

	if (w->frame & UNWIND_EXACT && frame_below(w->regs.r[FRAME_RSP], addr)) {
		frame_slice(&w->m, addr, rbp, sizeof(*rbp));
		return true;
	}
	return !frame_read(&w->m, addr, rbp, sizeof(*rbp));
}

/* Step by a 16-byte rule, wherever the memory is. */
static int step_short(struct walk *w, const struct fast_rule *rule)
{
	taddr sp = w->regs.r[FRAME_RSP], ra;
	taddr cfa = w->regs.r[rule->kind == RULE_RSP ? FRAME_RSP : FRAME_RBP] + (taddr)(int64_t)rule->cfa;

	if (cfa <= sp)
		return UNWIND_LOST;
	if (frame_read(&w->m, cfa - 8, &ra, sizeof(ra)))
		return UNWIND_CUT;
	if (rule->rbp && !load_rbp(w, cfa - 8 + (taddr)(8 * (int64_t)rule->rbp)))
		return UNWIND_CUT;
	w->regs.r[FRAME_RSP] = cfa;
	w->regs.known = FOLLOWED;
	return arrive(w, ra, false);
}

static int step_any(struct walk *w, const struct fast_rule *rule)
{
	return rule->kind <= RULE_RBP ? step_short(w, rule) : step_rare(w, rule->kind);
}

/*
 * As far as cached rules and the words of the slice allow: nearly always to the end. It is step_short without
 * its checks: two values that the compiler keeps in registers, and no branch that depends on how a function
 * saves its rbp, since the processor could not predict it.
 */
static void run(struct walk *w)
{
	const struct unwind_from *from = w->m.from;
	uint64_t words = from->slice_len >= 8 ? from->slice_len - 7 : 0;	/* offsets where one begins */
	taddr sp = w->regs.r[FRAME_RSP], bp = w->regs.r[FRAME_RBP];
	const struct fast_rule *rule;
	uint32_t n = w->out->n;
	uint64_t at = 0;

	while (n < w->max && (rule = rules_find(&w->u->rules, w->frame)) && rule->kind <= RULE_RBP) {
		taddr cfa = (rule->kind == RULE_RSP ? sp : bp) + (taddr)(int64_t)rule->cfa, ra, saved;
		uint64_t ra_at = cfa - 8 - from->slice_addr,
			 bp_at = ra_at + (uint64_t)(8 * (int64_t)rule->rbp);

		if (cfa <= sp || ra_at >= words || bp_at >= words)
			break;
		memcpy(&ra, from->slice + ra_at, sizeof(ra));
		memcpy(&saved, from->slice + bp_at, sizeof(saved));
		if (!ra || ra & UNWIND_EXACT)
			break;
		bp = rule->rbp ? saved : bp;
		sp = cfa;
		at = ra_at + 8;
		w->out->sps[n] = sp;
		w->frame = w->out->frames[n++] = ra;
	}
	if (n == w->out->n)
		return;
	w->out->n = n;
	w->m.used = at > w->m.used ? (uint32_t)at : w->m.used;
	w->regs.r[FRAME_RSP] = sp;
	w->regs.r[FRAME_RBP] = bp;
	w->regs.known = FOLLOWED;
}

static int walk_fast(struct walk *w)
{
	int end;

	do {
		const struct fast_rule *rule;

		run(w);
		rule = rules_find(&w->u->rules, w->frame);
		end = step_any(w, rule ? rule : rules_learn(&w->u->rules, w->frame));
	} while (end == GO_ON);
	return end;
}

/* Start with the first frame, which is always recorded. */
static int begin(struct walk *w)
{
	bool exact = !w->m.from->returned;
	taddr pc = w->m.from->regs->rip & ~UNWIND_EXACT;

	frame_begin(w->m.from->regs, &w->regs);
	w->frame = pc | (exact ? UNWIND_EXACT : 0);
	w->out->frames[0] = w->frame;
	w->out->sps[0] = w->regs.r[FRAME_RSP];
	w->out->n = 1;
	w->out->guessed = false;
	return w->frame ? GO_ON : UNWIND_LOST;
}

static uint64_t known(const struct frame_regs *regs, unsigned reg)
{
	return regs->known & FRAME_BIT(reg) ? regs->r[reg] : 0;
}

/* The registers that a function must preserve, by their DWARF numbers. */
static void copy_preserved(const struct frame_regs *regs, struct user_regs_struct *out)
{
	*out = (struct user_regs_struct){
		.rip = known(regs, FRAME_RIP), .rsp = known(regs, FRAME_RSP), .rbp = known(regs, FRAME_RBP),
		.rbx = known(regs, 3),
		.r12 = known(regs, 12), .r13 = known(regs, 13), .r14 = known(regs, 14),
		.r15 = known(regs, 15),
	};
}

bool unwind_out_of(struct unwinder *u, const struct unwind_from *from, bool (*is)(void *ctx, taddr pc),
		   void *ctx, struct user_regs_struct *caller)
{
	struct unwind_stack stack;
	struct walk w = { .u = u, .m = { .from = from }, .out = &stack, .max = UNWIND_MAX };
	bool found = false;
	int end = begin(&w);

	while (end == GO_ON) {
		const taddr pc = (w.frame & ~UNWIND_EXACT) - !(w.frame & UNWIND_EXACT);
		const struct cfi_rule *rule = rules_full(&u->rules, w.frame);
		const bool it_is = is(ctx, pc);

		end = rule ? step_whole(&w, rule, ALL) : guess(&w);
		if (!it_is || end != GO_ON)
			continue;
		copy_preserved(&w.regs, caller);
		found = caller->rsp != 0;
	}
	return found;
}

void unwind(struct unwinder *u, const struct unwind_from *from, uint32_t max, struct unwind_stack *out)
{
	struct walk w = {
		.u = u, .m = { .from = from }, .out = out, .max = max < UNWIND_MAX ? max : UNWIND_MAX,
	};
	int end = begin(&w);

	if (end == GO_ON)
		end = walk_fast(&w);
	if (end == NEEDS_ALL) {
		u->stats.full++;
		end = begin(&w) == GO_ON ? walk_full(&w) : UNWIND_LOST;
	}
	out->end = (enum unwind_end)end;
	out->has_sps = true;
	out->used = w.m.used;
	out->missed = w.m.missed;
	u->stats.stacks++;
	u->stats.frames += out->n;
}
