/* SPDX-License-Identifier: MIT */
/*
 * uprobe.bpf: what happens in the kernel at a hit. A site's number is the cookie of its probe.
 *
 *	hit of a function's entry	UPROBE_OPENS: a brief record, and its arguments are stored
 *	its return, or a plain site	a record with registers, loads and a slice of the stack; or a brief one
 *
 * The ring is shared by all kinds. Records with a slice may fill three quarters of it: the rest is for brief
 * ones, so that no burst of allocations displaces a free. What finds no space is counted; no thread waits. The order of the ring is that of the calls: a free is recorded before it is carried out, an allocation
 * when it is done.
 */
#include <linux/bpf.h>
#include <asm/ptrace.h>

#include <bpf/bpf_helpers.h>

#include "attach/uprobe/uprobe_hits.h"

#define PAGE 4096ull
#define OPEN_CALLS 65536
#define MOST_PAGES 33
/* Keeps a bound that is checked, and its use, on one register, as the verifier wants it. */
#define SEEN_BY_VERIFIER(x) asm volatile("" : "+r"(x))
#define NULL ((void *)0)
#define NULL_BASE 0		/* of a load: SITE_BASE_NONE, ... in attach/keeper/shared/site.h */
#define BASE_ARG1 1
#define BASE_ARG6 6
#define BASE_RESULT 7
#define BASE_LOAD0 8

char LICENSE[] SEC("license") = "Dual MIT/GPL";

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

/* The thread's id in the upper half, how many bytes of its stack are wanted in the lower one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UPROBE_HINTS);
	__type(key, __u32);
	__type(value, __u64);
} hints SEC(".maps");

struct call_key {
	__u64 sp;
	__u32 tid, family;
};

struct call {
	__u64 args[6];
	__u32 site, unused;
};

/* Calls that have not returned. One that was left by longjmp stays until it is the oldest. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OPEN_CALLS);
	__type(key, struct call_key);
	__type(value, struct call);
} calls SEC(".maps");

/* --- space in the ring --- */

static __always_inline int lose(void)
{
	__sync_fetch_and_add(&control.lost, 1);
	return 0;
}

/* The reader polls while there is something to read; it is woken if it sleeps, or a quarter is full. */
static __always_inline __u64 wake(__u64 unread)
{
	return control.sleeping || unread > UPROBE_RING / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline void fill_head(struct uprobe_head *h, __u64 site, __u16 kind, __u16 flags)
{
	const __u64 id = bpf_get_current_pid_tgid();

	h->time_ns = bpf_ktime_get_ns();
	h->tid = (__u32)id;
	h->tgid = id >> 32;
	h->site = (__u32)site;
	h->generation = site >> 32;
	h->kind = kind;
	h->flags = flags;
	h->lost = (__u32)control.lost;
}

/* --- brief records --- */

static __always_inline void get_args(const struct pt_regs *r, __u64 args[6])
{
	args[0] = r->rdi;
	args[1] = r->rsi;
	args[2] = r->rdx;
	args[3] = r->rcx;
	args[4] = r->r8;
	args[5] = r->r9;
}

static __always_inline int put_brief(struct pt_regs *ctx, __u64 n, __u16 flags)
{
	struct uprobe_brief *b = bpf_ringbuf_reserve(&ring, sizeof(*b), 0);

	if (!b)
		return lose();
	fill_head(&b->head, n, UPROBE_HIT_BRIEF, flags);
	b->ip = ctx->rip;
	b->sp = ctx->rsp;
	get_args(ctx, b->args);
	bpf_ringbuf_submit(b, wake(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA)));
	return 0;
}

/* --- loads --- */

static __always_inline __u64 base_value(const struct uprobe_hit *h, __u32 base, __u32 i, __u64 result, int *known)
{
	*known = 1;
	if (base == NULL_BASE)
		return 0;
	if (base <= BASE_ARG6) {
		base -= BASE_ARG1;
		SEEN_BY_VERIFIER(base);
		return base < 6 ? h->args[base] : 0;
	}
	if (base == BASE_RESULT)
		return result;
	base -= BASE_LOAD0;
	*known = base < i && (h->loads_read | h->loads_null) & 1u << base;
	SEEN_BY_VERIFIER(base);
	return *known && base < UPROBE_LOADS ? h->loads[base] : 0;
}

static __always_inline void read_load(struct uprobe_hit *h, const struct uprobe_load *l, __u32 i, __u64 result)
{
	int known, index_known;
	__u64 base, index, at, value = 0;
	long r;

	h->loads[i] = 0;
	if (l->base == NULL_BASE)
		return;
	base = base_value(h, l->base, i, result, &known);
	index = base_value(h, l->index, i, result, &index_known);
	if (!known || !index_known)
		return;
	if (!base) {
		h->loads_null |= 1u << i;
		return;
	}
	at = base + index * l->scale + (__s64)l->disp;
	if (l->width == 0)
		r = bpf_probe_read_user_str(h->text, sizeof(h->text), (void *)at) < 0;
	else if (l->width == 8)
		r = bpf_probe_read_user(&value, 8, (void *)at);
	else if (l->width == 4)
		r = bpf_probe_read_user(&value, 4, (void *)at);
	else if (l->width == 2)
		r = bpf_probe_read_user(&value, 2, (void *)at);
	else
		r = bpf_probe_read_user(&value, 1, (void *)at);
	if (r)
		return;
	h->loads[i] = value;
	h->loads_read |= 1u << i;
}

/*
 * Not static, as readable() below: the verifier goes through such a function once, not once for each call of it,
 * which for all sizes of records takes it most of the time that attaching takes.
 */
__noinline int read_loads(struct uprobe_hit *h, const struct uprobe_site *asks, __u64 result)
{
	if (!h || !asks)
		return 0;
	for (__u32 i = 0; i < UPROBE_LOADS; i++)
		read_load(h, &asks->loads[i], i, result);
	return 0;
}

/* --- records with registers and a slice --- */

static __always_inline void copy_regs(struct uprobe_hit *h, const struct pt_regs *r)
{
	h->regs[0] = r->r15;
	h->regs[1] = r->r14;
	h->regs[2] = r->r13;
	h->regs[3] = r->r12;
	h->regs[4] = r->rbp;
	h->regs[5] = r->rbx;
	h->regs[6] = r->r11;
	h->regs[7] = r->r10;
	h->regs[8] = r->r9;
	h->regs[9] = r->r8;
	h->regs[10] = r->rax;
	h->regs[11] = r->rcx;
	h->regs[12] = r->rdx;
	h->regs[13] = r->rsi;
	h->regs[14] = r->rdi;
	h->regs[15] = r->orig_rax;
	h->regs[16] = r->rip;
	h->regs[17] = r->cs;
	h->regs[18] = r->eflags;
	h->regs[19] = r->rsp;
	h->regs[20] = r->ss;
}

/* The arguments of the call that ends, if they were stored. */
static __always_inline void find_call(struct uprobe_hit *h, const struct uprobe_site *s, __u64 sp)
{
	const struct call_key key = { sp, (__u32)bpf_get_current_pid_tgid(), s->family };
	const struct call *c = bpf_map_lookup_elem(&calls, &key);

	if (!c)
		return;
	h->outer = c->site;
	for (int i = 0; i < 6; i++)
		h->args[i] = c->args[i];
	bpf_map_delete_elem(&calls, &key);
}

static __always_inline void fill_hit(struct uprobe_hit *h, struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const struct uprobe_site *asks = s;

	h->loads_read = h->loads_null = 0;
	h->outer = (__u32)n;
	h->slice_len = 0;
	copy_regs(h, ctx);
	get_args(ctx, h->args);
	/* at a return rsp is one word above where it was at the entry */
	if (s->flags & UPROBE_CLOSES)
		find_call(h, s, h->regs[19] + (s->flags & UPROBE_RETURNS ? -8 : s->sp_delta));
	fill_head(&h->head, n, UPROBE_HIT, 0);
	if (h->outer != (__u32)n)
		asks = bpf_map_lookup_elem(&sites, &h->outer);
	if (asks && asks->flags & UPROBE_LOADED)
		read_loads(h, asks, s->flags & UPROBE_RESULT_RDI ? h->regs[14] : h->regs[10]);
}

/* How many of @n bytes at @sp can be read: up to the first page that is not there. */
__noinline __u64 readable(__u64 sp, __u64 n)
{
	__u64 page = (sp | (PAGE - 1)) + 1;
	char byte;

	for (__u32 i = 0; i < MOST_PAGES && page < sp + n; i++, page += PAGE)
		if (bpf_probe_read_user(&byte, 1, (void *)page))
			return page - sp;
	return n;
}

/* @room: the space at @to, a constant. Returns how many bytes were copied. */
static __always_inline __u32 copy_stack(unsigned char *to, __u64 sp, __u64 want, const __u64 room)
{
	__u64 n = want;

	SEEN_BY_VERIFIER(n);
	if (n > room)
		n = room;
	if (!bpf_probe_read_user(to, n, (void *)sp))
		return n;
	n = readable(sp, n);
	SEEN_BY_VERIFIER(n);
	if (n > room || bpf_probe_read_user(to, n, (void *)sp))
		return 0;
	return n;
}

static __always_inline int put_sized(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n, __u32 want,
				     const __u32 room)
{
	struct uprobe_hit *h = bpf_ringbuf_reserve(&ring, sizeof(*h) + room, 0);

	if (!h)
		return lose();
	fill_hit(h, ctx, s, n);
	if (want) {
		h->slice_len = copy_stack(h->slice, ctx->rsp, want, room);
		if (h->slice_len < want)
			h->head.flags |= UPROBE_CUT;
	}
	bpf_ringbuf_submit(h, wake(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA)));
	return 0;
}

/* Bytes of stack that are worth copying of this thread (attach/stacks/slice_size.h). */
static __always_inline __u32 slice_wanted(__u64 unread)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid(), i = tid % UPROBE_HINTS;
	const __u64 *hint = bpf_map_lookup_elem(&hints, &i);

	/* nothing is known: as much as is allowed, unless that would fill the ring */
	if (!hint || *hint >> 32 != tid)
		return unread < UPROBE_RING / 8 ? control.slice_bytes : control.slice_guess;
	return (__u32)*hint;
}

/* The space that is reserved must be a constant. */
static __always_inline int put_hit(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const __u64 unread = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	const __u32 want = s->flags & UPROBE_SLICE ? slice_wanted(unread) : 0;

	if (unread > UPROBE_RING / 4 * 3)
		return lose();
	if (want <= 64)
		return put_sized(ctx, s, n, want, 64);
	if (want <= 512)
		return put_sized(ctx, s, n, want, 512);
	if (want <= 1024)
		return put_sized(ctx, s, n, want, 1024);
	if (want <= 2048)
		return put_sized(ctx, s, n, want, 2048);
	if (want <= 4096)
		return put_sized(ctx, s, n, want, 4096);
	if (want <= 8192)
		return put_sized(ctx, s, n, want, 8192);
	if (want <= 16384)
		return put_sized(ctx, s, n, want, 16384);
	if (want <= 32768)
		return put_sized(ctx, s, n, want, 32768);
	return put_sized(ctx, s, n, want, 131072);
}

/* --- hits --- */

static __always_inline void store_call(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const struct call_key key = { ctx->rsp + s->sp_delta, (__u32)bpf_get_current_pid_tgid(), s->family };
	struct call c = { .site = (__u32)n };

	get_args(ctx, c.args);
	if (bpf_map_update_elem(&calls, &key, &c, BPF_ANY))
		__sync_fetch_and_add(&control.unstored, 1);
}

/* An entry. */
static __always_inline int opened(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	store_call(ctx, s, n);
	return put_brief(ctx, n, UPROBE_AT_ENTRY);
}

static __always_inline const struct uprobe_site *site_of(struct pt_regs *ctx, __u64 *n)
{
	__u32 number;

	if (control.off)
		return NULL;
	*n = bpf_get_attach_cookie(ctx);
	number = (__u32)*n;
	return bpf_map_lookup_elem(&sites, &number);
}

/* A site that is one address: an entry, or an exit. */
SEC("uprobe")
int at_site(struct pt_regs *ctx)
{
	__u64 n;
	const struct uprobe_site *s = site_of(ctx, &n);

	if (!s)
		return 0;
	if (s->flags & UPROBE_OPENS)
		return opened(ctx, s, n);
	if (s->flags & UPROBE_RETURNS)
		return 0;
	return s->flags & UPROBE_BRIEF ? put_brief(ctx, n, 0) : put_hit(ctx, s, n);
}

/*
 * In a session: at the return the registers are those of the caller. (bpf_session_is_return answers it, too, but with
 * a function of the kernel's the loader must read all of the kernel's types, which takes it 40 ms.)
 */
static __always_inline _Bool is_return(struct pt_regs *ctx)
{
	return bpf_get_func_ip(ctx) != ctx->rip;
}

/* UPROBE_RETURNS, in the three ways that kernels have. */
SEC("uprobe")
int at_session(struct pt_regs *ctx)
{
	__u64 n;
	const struct uprobe_site *s = site_of(ctx, &n);

	if (!s)
		return 0;
	if (is_return(ctx))
		return put_hit(ctx, s, n);
	if (s->flags & UPROBE_OPENS)
		opened(ctx, s, n);
	return 0;
}

SEC("uprobe")
int at_return(struct pt_regs *ctx)
{
	__u64 n;
	const struct uprobe_site *s = site_of(ctx, &n);

	return s ? put_hit(ctx, s, n) : 0;
}

/* --- threads and processes --- */

static __always_inline _Bool is_target(void)
{
	return bpf_get_current_pid_tgid() >> 32 == control.tgid;
}

SEC("raw_tracepoint/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct uprobe_head *h;

	if (!is_target())
		return 0;
	h = bpf_ringbuf_reserve(&ring, sizeof(*h), 0);
	if (!h)
		return lose();
	fill_head(h, 0, UPROBE_THREAD_END, 0);
	bpf_ringbuf_submit(h, 0);
	return 0;
}

SEC("raw_tracepoint/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	/* the new program is not the one that is watched */
	if (is_target())
		control.off = control.execed = 1;
	return 0;
}
