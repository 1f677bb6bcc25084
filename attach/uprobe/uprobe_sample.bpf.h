/* SPDX-License-Identifier: MIT */
/* uprobe_sample.bpf: which blocks are in a sample by bytes (uprobe_sample.h). */
#ifndef MM_UPROBE_SAMPLE_BPF_H
#define MM_UPROBE_SAMPLE_BPF_H

#include "attach/uprobe/uprobe_maps.bpf.h"
#include "attach/uprobe/uprobe_returns.bpf.h"

/* --- the sample --- */

static __always_inline __u64 arg(const __u64 args[6], __u32 n)
{
	n--;
	SEEN_BY_VERIFIER(n);
	return n < 6 ? args[n] : 0;
}

static __always_inline __u64 size_of_block(const struct uprobe_choice *c, const __u64 args[6])
{
	return c->times ? arg(args, c->size) * arg(args, c->times) : arg(args, c->size);
}

/* User addresses have 47 bits, or 56. */
static __always_inline __u64 block_key(__u64 addr, __u32 family)
{
	return addr ? addr ^ (__u64)family << 56 : 0;
}

/* 0: there is no space; it is counted as lost. */
static __always_inline _Bool put_sampled(__u64 key)
{
	const __u8 one = 1;

	/* of chosen sizes no free is recorded */
	if (!key || control.nsizes || !bpf_map_update_elem(&sampled, &key, &one, BPF_ANY))
		return 1;
	lose();
	return 0;
}

static __always_inline _Bool take_sampled(__u64 key)
{
	return key && bpf_map_lookup_elem(&sampled, &key) && !bpf_map_delete_elem(&sampled, &key);
}

static __always_inline struct sampling *sampling_of(__u32 tid, __u32 family)
{
	const __u32 i = (tid + family * 4099) % UPROBE_HINTS;
	struct sampling *its = bpf_map_lookup_elem(&samplings, &i);

	if (its && (its->tid != tid || its->family != family || its->begun != control.begun)) {
		its->tid = tid;
		its->family = family;
		its->begun = control.begun;
		its->sp = 0;
	}
	return its;
}

/* An exception has left it, and its return address was written over since. */
static __always_inline _Bool was_left(const struct sampling *its)
{
	const struct task_struct *t = (void *)bpf_get_current_task();
	__u64 ret;

	/* or by the kernel, for a return probe of another watch */
	return its->ret && !bpf_probe_read_user(&ret, sizeof(ret), (void *)its->sp) && ret != its->ret &&
	       ret != BPF_CORE_READ(t, mm, uprobes_state.xol_area, vaddr);
}

/*
 * In a call of the family, or at its end, where it has jumped to another function. Below the stack of one that was left
 * by longjmp there is none; and a function that is called there again was left, too.
 */
static __always_inline _Bool is_inside(struct sampling *its, __u64 sp, __u32 site)
{
	if (sp > its->sp || (sp == its->sp && site == its->site) || (sp < its->sp && was_left(its)))
		its->sp = 0;
	return its->sp;
}

static __always_inline void enter(struct sampling *its, const struct uprobe_site *s, __u64 sp, __u32 site)
{
	its->sp = sp;
	its->site = site;
	if (s->flags & UPROBE_RETURNS || bpf_probe_read_user(&its->ret, sizeof(its->ret), (void *)sp))
		its->ret = 0;
}

static __always_inline __s64 distance(void)
{
	const __u32 i = bpf_get_prandom_u32() & (UPROBE_STEPS - 1);

	return control.interval * control.distances[i] / UPROBE_STEP_ONE + 1;
}

static __always_inline _Bool is_chosen_size(__u64 size)
{
	for (__u32 i = 0; i < UPROBE_SIZES && i < control.nsizes; i++)
		if (size >= control.sizes[i].least && size <= control.sizes[i].most)
			return 1;
	return 0;
}

static __always_inline _Bool choose(struct sampling *its, const struct uprobe_choice *c, const __u64 args[6])
{
	__u64 size = size_of_block(c, args);

	if (c->kind == UPROBE_REALLOC && !size)
		return 0;
	if (control.nsizes)
		return is_chosen_size(size);
	if (!its->left)
		its->left = distance();
	its->left -= size < LEAST_BYTES ? LEAST_BYTES : size;
	if (its->left > 0)
		return 0;
	its->left = distance();
	return 1;
}

/* Until realloc fails, the old block is freed. What is not in the sample is no block. */
static __always_inline __u32 take_old(const struct uprobe_site *s, __u64 args[6])
{
	__u32 n = s->choice.old - 1;

	SEEN_BY_VERIFIER(n);
	if (n >= 6)
		return 0;
	if (take_sampled(block_key(args[n], s->family)))
		return UPROBE_WAS_CHOSEN;
	args[n] = 0;
	return 0;
}

/* The call has ended. */
static __always_inline void settle(struct uprobe_hit *h, const struct uprobe_site *s)
{
	const __u64 result = s->flags & UPROBE_RESULT_RDI ? h->regs[14] : h->regs[10];
	const __u32 outer = h->outer;
	const struct uprobe_site *opened_at = bpf_map_lookup_elem(&sites, &outer);
	__u32 load;

	if (!opened_at)
		return;
	load = opened_at->choice.address - UPROBE_LOAD0;
	SEEN_BY_VERIFIER(load);
	/* of a block whose free would not be recorded nothing is */
	if (h->head.flags & UPROBE_CHOSEN &&
	    !put_sampled(block_key(load < UPROBE_LOADS ? h->loads[load] : result, s->family)))
		h->head.flags |= UPROBE_NO_BLOCK;
	if (!(h->head.flags & UPROBE_WAS_CHOSEN))
		return;
	if (!result && size_of_block(&opened_at->choice, h->args))
		put_sampled(block_key(arg(h->args, opened_at->choice.old), s->family));
	else if (!(h->head.flags & UPROBE_CHOSEN))
		h->head.flags |= UPROBE_NO_BLOCK;
}

#endif
