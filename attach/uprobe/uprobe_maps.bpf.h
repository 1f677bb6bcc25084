/* SPDX-License-Identifier: MIT */
/*
 * uprobe_maps.bpf: the tables of the BPF programs (uprobe.bpf.c), and what all of its parts use. The parts
 * are headers, since they become one object, of functions that are inlined.
 */
#ifndef MM_UPROBE_MAPS_BPF_H
#define MM_UPROBE_MAPS_BPF_H

#include <linux/bpf.h>
#include <asm/ptrace.h>

#include <bpf/bpf_helpers.h>

#include "attach/uprobe/uprobe_hits.h"

#define PAGE 4096ull
#define OPEN_CALLS 65536
#define MOST_SHARERS 4096
#define SAMPLED_BLOCKS (1u << 20)
#define LEAST_BYTES 16		/* BYTE_SAMPLE_LEAST */
#define MOST_PAGES 33
/* Keeps a bound that is checked, and its use, on one register, as the verifier wants it. */
#define SEEN_BY_VERIFIER(x) asm volatile("" : "+r"(x))
#define SYS_CLONE 56
#define SYS_CLONE3 435
#define CLONE_VFORK 0x4000
#define NULL ((void *)0)
#define NULL_BASE 0		/* of a load: SITE_BASE_NONE, ... in attach/keeper/shared/site.h */
#define BASE_ARG1 1
#define BASE_ARG6 6
#define BASE_RESULT 7
#define BASE_LOAD0 8

struct uprobe_control control;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, UPROBE_RING);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UPROBE_SITES);
	__type(key, __u32);
	__type(value, struct uprobe_site);
} sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UPROBE_HINTS);
	__type(key, __u32);
	__type(value, struct uprobe_hint);
} hints SEC(".maps");

struct call_key {
	__u64 sp;
	__u32 tid, family;
};

struct call {
	__u64 args[6];
	__u32 site, flags;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct uprobe_counts);
} counts SEC(".maps");

/* Calls that have not returned. One that was left by longjmp stays until it is the oldest. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OPEN_CALLS);
	__type(key, struct call_key);
	__type(value, struct call);
} calls SEC(".maps");

/* Other processes in the target's memory, by process id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MOST_SHARERS);
	__type(key, __u32);
	__type(value, __u8);
} sharers SEC(".maps");

/* The sampled blocks that are live: address and family. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SAMPLED_BLOCKS);
	__type(key, __u64);
	__type(value, __u8);
} sampled SEC(".maps");

/* Of a thread in a family, by a hash of both. */
struct sampling {
	__u64 sp;		/* at the entry of its outermost call that may call others; 0: none */
	__u64 ret;		/* to where that returns; 0: the kernel has its return */
	__s64 left;		/* bytes to the next one that is chosen; 0: not drawn yet */
	__u32 tid, family;
	__u32 site;		/* of that call */
	__u32 begun;		/* as control.begun was then */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UPROBE_HINTS);
	__type(key, __u32);
	__type(value, struct sampling);
} samplings SEC(".maps");

#define WINDOW 4096u		/* a page */
#define LINK_MOST (UPROBE_LINK_WORDS * 8)
#define ASIDE 24u

/* Where a thread's chain is put together; if two threads want the same, one of them has none at that hit. */
struct chain_slot {
	__u64 busy;
	/*
	 * links that lie beside each other are read together: those below one, or behind it in an array,
	 * within its page; and likewise what an array's links have elsewhere
	 */
	__u64 from, bytes;
	__u64 next;		/* link */
	__u64 array_end;
	__u64 aside_from, aside_bytes;
	__u64 differs;		/* not 0: a link is another one than at the hit before */
	unsigned char window[WINDOW + LINK_MOST];
	unsigned char asides[WINDOW + ASIDE];
	/* as at the last hit; head.time_ns 0: the reader does not have it */
	struct uprobe_chain chain;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UPROBE_CHAIN_SLOTS);
	__type(key, __u32);
	__type(value, struct chain_slot);
} chain_slots SEC(".maps");

/* Empty: a tail call into it leads nowhere. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_programs SEC(".maps");

/*
 * Leads nowhere: what matters is that a program contains a tail call. Since Linux 6.13 the compiler for x86-64 may put
 * a program's stack not on the kernel stack of its thread, but into memory that each processor has once. A uprobe's
 * program can be preempted where kernel code can; then another thread's run of it on that processor writes over what
 * the first one keeps there. Hits were recorded with wrong arguments or not at all, without a loss that could be
 * counted, and the kernel crashed. A program with a tail call keeps its stack on that of its thread, on all kernels
 * (doc/BPF-NOTES.md). Before anything is probed, uprobe_jit.h sees to it that it does.
 */
static __always_inline void keep_stack_of_thread(void *ctx)
{
	bpf_tail_call(ctx, &no_programs, 0);
}

/* Process and thread, as mmattach sees their numbers: in its own PID namespace. */
static __always_inline __u64 current_id(void)
{
	struct bpf_pidns_info ids;

	if (!control.ns_inode)
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(control.ns_device, control.ns_inode, &ids, sizeof(ids)))
		return 0;	/* it is in another one */
	return (__u64)ids.tgid << 32 | ids.pid;
}

/* Atomic, since another thread's run may come between on the same processor. */
static __always_inline void count_run(void)
{
	const __u32 zero = 0;
	struct uprobe_counts *c = bpf_map_lookup_elem(&counts, &zero);

	if (c)
		__sync_fetch_and_add(&c->runs, 1);
}

/* This run makes no record, and need not. */
static __always_inline void pass(void)
{
	const __u32 zero = 0;
	struct uprobe_counts *c = bpf_map_lookup_elem(&counts, &zero);

	if (c)
		__sync_fetch_and_add(&c->passed, 1);
}

/* What makes a record returns 1 if it did. */
static __always_inline int lose(void)
{
	__sync_fetch_and_add(&control.lost, 1);
	return 0;
}

static __always_inline int lose_hit(void)
{
	pass();
	return lose();
}

static __always_inline void get_args(const struct pt_regs *r, __u64 args[6])
{
	args[0] = r->rdi;
	args[1] = r->rsi;
	args[2] = r->rdx;
	args[3] = r->rcx;
	args[4] = r->r8;
	args[5] = r->r9;
}

#endif
