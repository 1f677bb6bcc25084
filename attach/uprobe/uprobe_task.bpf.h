/* SPDX-License-Identifier: MIT */
/* uprobe_task.bpf: of the kernel's types, what is read; where it is in them is found when the program is loaded. */
#ifndef MM_UPROBE_TASK_BPF_H
#define MM_UPROBE_TASK_BPF_H

#include <bpf/bpf_core_read.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct return_instance {
	unsigned long stack, orig_ret_vaddr;
	struct return_instance *next;
} KERNEL_TYPE;

struct uprobe_task {
	struct return_instance *return_instances;
} KERNEL_TYPE;

struct xol_area {
	unsigned long vaddr;
} KERNEL_TYPE;

struct uprobes_state {
	struct xol_area *xol_area;
} KERNEL_TYPE;

struct mm_struct {
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
} KERNEL_TYPE;

struct thread_struct {
	unsigned long fsbase;
} KERNEL_TYPE;

struct task_struct {
	struct thread_struct thread;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	unsigned long sas_ss_sp;
	__SIZE_TYPE__ sas_ss_size;
	int tgid;
} KERNEL_TYPE;

struct bpf_iter__task {
	struct task_struct *task;
} KERNEL_TYPE;

#define MOST_INSTANCES 8	/* of return probes, that are looked at */

#endif
