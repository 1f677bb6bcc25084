/* SPDX-License-Identifier: MIT */
/* uprobe_returns.bpf: where a return probe would end another one of its thread. */
#ifndef MM_UPROBE_RETURNS_BPF_H
#define MM_UPROBE_RETURNS_BPF_H

#include "attach/uprobe/uprobe_maps.bpf.h"
#include "attach/uprobe/uprobe_task.bpf.h"

static __always_inline _Bool is_within(__u64 addr, __u64 from, __u64 size)
{
	return addr - from < size;
}

/*
 * When a return probe is made, the kernel forgets those of the thread that are at lower addresses: their frames
 * have been left by longjmp. But if they are on another stack, where a signal on an alternate stack has
 * interrupted malloc, they return later, to a trampoline that knows nothing of them: SIGILL. So a call on the
 * alternate stack is not followed then; nor any other while a frame has the trampoline's address in it, and may
 * return.
 */
static __always_inline int ends_others(__u64 sp)
{
	const struct task_struct *t = (void *)bpf_get_current_task();
	const struct return_instance *r = BPF_CORE_READ(t, utask, return_instances);
	__u64 trampoline, from, size, stack, at;

	if (!r || BPF_CORE_READ(r, stack) >= sp)
		return 0;
	trampoline = BPF_CORE_READ(t, mm, uprobes_state.xol_area, vaddr);
	from = BPF_CORE_READ(t, sas_ss_sp);
	size = BPF_CORE_READ(t, sas_ss_size);
	for (int i = 0; i < MOST_INSTANCES && r; i++, r = BPF_CORE_READ(r, next)) {
		stack = BPF_CORE_READ(r, stack);
		if (stack >= sp)
			return 0;
		if (is_within(sp, from, size) && !is_within(stack, from, size))
			return 1;
		if (!bpf_probe_read_user(&at, sizeof(at), (void *)stack) && at == trampoline)
			return 1;
	}
	return r != NULL;
}

/*
 * For each thread of the target, once, before anything is probed. The kernel asks the programs of other watches, too,
 * and those do not leave out calls of our target: with a thread that has its alternate stack above its own one,
 * return probes are not used at all.
 */
SEC("iter/task")
int find_stacks(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	const struct pt_regs *r;
	__u64 sp;

	if (!t || !t->sas_ss_size)
		return 0;
	r = (const struct pt_regs *)bpf_task_pt_regs(t);
	if (bpf_probe_read_kernel(&sp, sizeof(sp), &r->rsp) || t->sas_ss_sp + t->sas_ss_size > sp)
		control.stack_above = 1;
	return 0;
}

#endif
