/* SPDX-License-Identifier: MIT */
/*
 * uprobe.bpf: what happens in the kernel at a hit. A site's number is the cookie of its probe.
 *
 *	hit of a function's entry	UPROBE_OPENS: a brief record, and its arguments are stored
 *	its return, or a plain site	a record with registers, loads and a slice of the stack; or a brief one
 *
 * The ring is shared by all kinds. Records with a slice may fill three quarters of it: the rest is for brief
 * ones, so that no burst of allocations displaces a free. What finds no space is counted; no thread waits. The
 * order of the ring is that of the calls: a free is recorded before it is carried out, an allocation when it is
 * done.
 *
 * In a sample by bytes (uprobe_sample.h) only calls that allocate or free a sampled block are recorded. Whether
 * one is chosen is decided at its entry; if not, and the kernel lets us choose, its return is not even probed.
 */
#include "attach/uprobe/uprobe_maps.bpf.h"
#include "attach/uprobe/uprobe_records.bpf.h"
#include "attach/uprobe/uprobe_returns.bpf.h"
#include "attach/uprobe/uprobe_sample.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* --- hits --- */

/* An entry. */
static __always_inline void opened(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const struct call_key key = { ctx->rsp + s->sp_delta, (__u32)current_id(), s->family };
	const struct call *around = bpf_map_lookup_elem(&calls, &key);
	struct call c = { .site = (__u32)n };

	get_args(ctx, c.args);
	/* where a call has jumped here, its own return is the end of both */
	if (!(around && around->site != c.site && has_return(around)) && bpf_map_update_elem(&calls, &key, &c, BPF_ANY))
		__sync_fetch_and_add(&control.unstored, 1);
	put_brief(ctx, s, n, UPROBE_AT_ENTRY, c.args);
}

/*
 * An entry in a sample. True: nothing need be known of its return. Of a call that may call others of its family, it
 * must be known: until then what is called is a part of it.
 */
static __always_inline _Bool opened_sampled(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const struct call_key key = { ctx->rsp + s->sp_delta, (__u32)current_id(), s->family };
	struct sampling *its = sampling_of(key.tid, key.family);
	struct call c = { .site = (__u32)n };

	if (!its)
		return 1;
	/* where a call has jumped here, that ends with this one */
	if (is_inside(its, key.sp, (__u32)n)) {
		pass();
		return key.sp != its->sp;
	}
	get_args(ctx, c.args);
	if (s->choice.kind == UPROBE_REALLOC)
		c.flags |= take_old(s, c.args);
	if (choose(its, &s->choice, c.args))
		c.flags |= UPROBE_CHOSEN;
	if (!s->choice.calls_none)
		enter(its, s, key.sp, (__u32)n);
	if (!c.flags) {
		pass();
		return s->choice.calls_none;
	}
	if (bpf_map_update_elem(&calls, &key, &c, BPF_ANY)) {
		__sync_fetch_and_add(&control.unstored, 1);
		pass();
	} else if (!put_brief(ctx, s, n, UPROBE_AT_ENTRY, c.args)) {
		bpf_map_delete_elem(&calls, &key);
	}
	return 0;
}

/* An exit or a return in a sample. */
static __always_inline void closed_sampled(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const struct call_key key = { entry_sp(ctx, s), (__u32)current_id(), s->family };
	struct sampling *its = sampling_of(key.tid, key.family);
	const struct call *c = bpf_map_lookup_elem(&calls, &key);

	/* its own return comes next, and has the stack as it was (uprobe_calls.c) */
	if (c && !(s->flags & UPROBE_RETURNS) && has_return(c)) {
		pass();
		return;
	}
	if (its && its->sp == key.sp)
		its->sp = 0;
	if (!c)
		pass();
	else if (!put_hit(ctx, s, n))
		bpf_map_delete_elem(&calls, &key);
}

static __always_inline _Bool frees_sampled(struct pt_regs *ctx, const struct uprobe_site *s)
{
	__u64 args[6];

	get_args(ctx, args);
	return take_sampled(block_key(arg(args, s->choice.address), s->family));
}

static __always_inline const struct uprobe_site *site_of(struct pt_regs *ctx, __u64 *n)
{
	__u32 number;

	count_run();
	if (control.off) {
		pass();
		return NULL;
	}
	*n = bpf_get_attach_cookie(ctx);
	number = (__u32)*n;
	return bpf_map_lookup_elem(&sites, &number);
}

/* An exit, or a function of which its entry says all. */
static __always_inline void once(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	__u64 args[6];

	if (s->choice.kind == UPROBE_FREE && !frees_sampled(ctx, s)) {
		pass();
		return;
	}
	if (s->choice.kind && s->choice.kind != UPROBE_FREE) {
		closed_sampled(ctx, s, n);
	} else if (s->flags & UPROBE_BRIEF) {
		get_args(ctx, args);
		put_brief(ctx, s, n, 0, args);
	} else {
		put_hit(ctx, s, n);
	}
}

/* A site that is one address: an entry, or an exit. Not loaded for a session, as each program is verified: 9 ms. */
SEC("uprobe")
int at_site(struct pt_regs *ctx)
{
	__u64 n;
	const struct uprobe_site *s = site_of(ctx, &n);

	if (!s) {
		keep_stack_of_thread(ctx);
		return 0;
	}
	if (s->flags & UPROBE_OPENS && s->choice.kind)
		opened_sampled(ctx, s, n);
	else if (s->flags & UPROBE_OPENS)
		opened(ctx, s, n);
	else if (!(s->flags & UPROBE_RETURNS))
		once(ctx, s, n);
	else
		pass();
	return 0;
}

static __always_inline void returned(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	if (s->choice.kind)
		closed_sampled(ctx, s, n);
	else
		put_hit(ctx, s, n);
}

/*
 * In a session: at the return the registers are those of the caller. (bpf_session_is_return answers it, too, but with
 * a function of the kernel's the loader must read all of the kernel's types, which takes it 40 ms.)
 */
static __always_inline _Bool is_return(struct pt_regs *ctx)
{
	return bpf_get_func_ip(ctx) != ctx->rip;
}

/*
 * Any site, in a session. 1: the return is not probed, as of a site that is one address. So it is while nothing is
 * recorded, too: a return probe that is made without ends_others() may end the target.
 */
SEC("uprobe")
int at_session(struct pt_regs *ctx)
{
	__u64 n;
	const struct uprobe_site *s = site_of(ctx, &n);

	if (!s) {
		keep_stack_of_thread(ctx);
		return 1;
	}
	if (is_return(ctx)) {
		returned(ctx, s, n);
		return 0;
	}
	if (s->flags & UPROBE_RETURNS && ends_others(ctx->rsp)) {
		__sync_fetch_and_add(&control.unfollowed, 1);
		lose_hit();
		return 1;
	}
	if (s->flags & UPROBE_OPENS && s->choice.kind)
		return opened_sampled(ctx, s, n) || !(s->flags & UPROBE_RETURNS);
	if (s->flags & UPROBE_OPENS)
		opened(ctx, s, n);
	else if (!(s->flags & UPROBE_RETURNS))
		once(ctx, s, n);
	else
		pass();
	return !(s->flags & UPROBE_RETURNS);
}

/* --- threads and processes --- */

static __always_inline _Bool is_target(void)
{
	return current_id() >> 32 == control.tgid;
}

static __always_inline int put_head(__u64 site, __u16 kind)
{
	struct uprobe_head *h = bpf_ringbuf_reserve(&ring, sizeof(*h), 0);

	if (!h)
		return lose();
	fill_head(h, site, kind, 0);
	bpf_ringbuf_submit(h, 0);
	return 0;
}

/* As posix_spawn makes a child: that calls no allocator before it executes a program, or ends. */
static __always_inline _Bool is_spawn(void)
{
	const struct pt_regs *r = (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u64 call, first, flags = 0;

	if (bpf_probe_read_kernel(&call, sizeof(call), &r->orig_rax) ||
	    bpf_probe_read_kernel(&first, sizeof(first), &r->rdi))
		return 0;
	if (call == SYS_CLONE)
		flags = first;
	else if (call == SYS_CLONE3)
		bpf_probe_read_user(&flags, sizeof(flags), (void *)first);
	return (flags & CLONE_VFORK) != 0;
}

/*
 * A child that runs in the memory of the target (vfork) is not probed: the kernel asks for the process, not for the
 * memory. What it allocates and frees is not seen.
 */
SEC("raw_tracepoint/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	const __u32 id = BPF_CORE_READ(child, tgid);	/* as the kernel has it, whatever namespace we are in */
	const __u8 one = 1;

	if (!is_target() || id == (__u32)BPF_CORE_READ(parent, tgid) ||
	    BPF_CORE_READ(child, mm) != BPF_CORE_READ(parent, mm) || is_spawn() ||
	    bpf_map_update_elem(&sharers, &id, &one, BPF_ANY))
		return 0;
	__sync_fetch_and_add(&control.shared, 1);
	return put_head(__sync_fetch_and_add(&control.sharers, 1) + 1, UPROBE_SHARERS);
}

/* The current process has its own memory now, or has ended. */
static __always_inline int end_sharer(void)
{
	const __u32 id = bpf_get_current_pid_tgid() >> 32;

	if (bpf_map_delete_elem(&sharers, &id))
		return 0;
	return put_head(__sync_fetch_and_sub(&control.sharers, 1) - 1, UPROBE_SHARERS);
}

SEC("raw_tracepoint/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	const __u64 id = bpf_get_current_pid_tgid();

	if (is_target())
		return put_head(0, UPROBE_THREAD_END);
	return (__u32)id == id >> 32 ? end_sharer() : 0;
}

SEC("raw_tracepoint/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	/* the new program is not the one that is watched */
	if (is_target())
		control.off = control.execed = 1;
	return end_sharer();
}
