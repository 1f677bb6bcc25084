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
#include <linux/bpf.h>
#include <asm/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "attach/uprobe/uprobe_hits.h"

#define PAGE 4096ull
#define OPEN_CALLS 65536
#define SAMPLED_BLOCKS (1u << 20)
#define LEAST_BYTES 16		/* BYTE_SAMPLE_LEAST */
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
	__u32 site, flags;
};

/* Calls that have not returned. One that was left by longjmp stays until it is the oldest. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OPEN_CALLS);
	__type(key, struct call_key);
	__type(value, struct call);
} calls SEC(".maps");

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
	__s64 left;		/* bytes to the next one that is chosen; 0: not drawn yet */
	__u32 tid, family;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UPROBE_HINTS);
	__type(key, __u32);
	__type(value, struct sampling);
} samplings SEC(".maps");

/* Of the kernel's types, what is read here; where it is in them is found when the program is loaded. */
#define KERNEL_TYPE __attribute__((preserve_access_index))

struct return_instance {
	unsigned long stack;
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
	struct uprobes_state uprobes_state;
} KERNEL_TYPE;

struct task_struct {
	struct mm_struct *mm;
	struct uprobe_task *utask;
	unsigned long sas_ss_sp;
	__SIZE_TYPE__ sas_ss_size;
	int tgid;
} KERNEL_TYPE;

struct bpf_iter__task {
	struct task_struct *task;
} KERNEL_TYPE;

/* --- space in the ring --- */

/* What makes a record returns 1 if it did. */
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

static __always_inline int put_brief(struct pt_regs *ctx, __u64 n, __u16 flags, const __u64 args[6])
{
	struct uprobe_brief *b = bpf_ringbuf_reserve(&ring, sizeof(*b), 0);

	if (!b)
		return lose();
	fill_head(&b->head, n, UPROBE_HIT_BRIEF, flags);
	b->ip = ctx->rip;
	b->sp = ctx->rsp;
	for (int i = 0; i < 6; i++)
		b->args[i] = args[i];
	bpf_ringbuf_submit(b, wake(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA)));
	return 1;
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

static __always_inline void put_sampled(__u64 key)
{
	const __u8 one = 1;

	if (key && bpf_map_update_elem(&sampled, &key, &one, BPF_ANY))
		lose();
}

static __always_inline _Bool take_sampled(__u64 key)
{
	return key && bpf_map_lookup_elem(&sampled, &key) && !bpf_map_delete_elem(&sampled, &key);
}

static __always_inline struct sampling *sampling_of(__u32 tid, __u32 family)
{
	const __u32 i = (tid + family * 4099) % UPROBE_HINTS;
	struct sampling *its = bpf_map_lookup_elem(&samplings, &i);

	if (its && (its->tid != tid || its->family != family)) {
		its->tid = tid;
		its->family = family;
		its->sp = 0;
	}
	return its;
}

/* In a call of the family, or at its end. Below the stack of one that was left by longjmp there is none. */
static __always_inline _Bool is_inside(struct sampling *its, __u64 sp)
{
	if (sp > its->sp)
		its->sp = 0;
	return its->sp;
}

static __always_inline __s64 distance(void)
{
	const __u32 i = bpf_get_prandom_u32() & (UPROBE_STEPS - 1);

	return control.interval * control.distances[i] / UPROBE_STEP_ONE + 1;
}

static __always_inline _Bool choose(struct sampling *its, const struct uprobe_choice *c, const __u64 args[6])
{
	__u64 size = size_of_block(c, args);

	if (c->kind == UPROBE_REALLOC && !size)
		return 0;
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
	const struct uprobe_site *opened_at = bpf_map_lookup_elem(&sites, &h->outer);
	__u32 load;

	if (!opened_at)
		return;
	load = opened_at->choice.address - UPROBE_LOAD0;
	SEEN_BY_VERIFIER(load);
	if (h->head.flags & UPROBE_CHOSEN)
		put_sampled(block_key(load < UPROBE_LOADS ? h->loads[load] : result, s->family));
	if (!(h->head.flags & UPROBE_WAS_CHOSEN))
		return;
	if (!result && size_of_block(&opened_at->choice, h->args))
		put_sampled(block_key(arg(h->args, opened_at->choice.old), s->family));
	else if (!(h->head.flags & UPROBE_CHOSEN))
		h->head.flags |= UPROBE_ONLY_FREES;
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

/* rsp at the function's entry, at its exit or return. */
static __always_inline __u64 entry_sp(const struct pt_regs *ctx, const struct uprobe_site *s)
{
	return ctx->rsp + (s->flags & UPROBE_RETURNS ? -8 : s->sp_delta);
}

/* The arguments of the call that ends, if they were stored. */
static __always_inline void find_call(struct uprobe_hit *h, const struct uprobe_site *s, __u64 sp)
{
	const struct call_key key = { sp, (__u32)bpf_get_current_pid_tgid(), s->family };
	const struct call *c = bpf_map_lookup_elem(&calls, &key);

	if (!c)
		return;
	h->outer = c->site;
	h->head.flags |= c->flags;
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
	fill_head(&h->head, n, UPROBE_HIT, 0);
	/* at a return rsp is one word above where it was at the entry */
	if (s->flags & UPROBE_CLOSES)
		find_call(h, s, entry_sp(ctx, s));
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
	if (s->choice.kind)
		settle(h, s);
	if (want) {
		h->slice_len = copy_stack(h->slice, ctx->rsp, want, room);
		if (h->slice_len < want)
			h->head.flags |= UPROBE_CUT;
	}
	bpf_ringbuf_submit(h, wake(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA)));
	return 1;
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

/* An entry. */
static __always_inline void opened(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const struct call_key key = { ctx->rsp + s->sp_delta, (__u32)bpf_get_current_pid_tgid(), s->family };
	struct call c = { .site = (__u32)n };

	get_args(ctx, c.args);
	if (bpf_map_update_elem(&calls, &key, &c, BPF_ANY))
		__sync_fetch_and_add(&control.unstored, 1);
	put_brief(ctx, n, UPROBE_AT_ENTRY, c.args);
}

/*
 * An entry in a sample. True: nothing need be known of its return. Of a call that may call others of its family, it
 * must be known: until then what is called is a part of it.
 */
static __always_inline _Bool opened_sampled(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const struct call_key key = { ctx->rsp + s->sp_delta, (__u32)bpf_get_current_pid_tgid(), s->family };
	struct sampling *its = sampling_of(key.tid, key.family);
	struct call c = { .site = (__u32)n };

	if (!its || is_inside(its, key.sp))
		return 1;
	get_args(ctx, c.args);
	if (s->choice.kind == UPROBE_REALLOC)
		c.flags |= take_old(s, c.args);
	if (choose(its, &s->choice, c.args))
		c.flags |= UPROBE_CHOSEN;
	if (!s->choice.calls_none)
		its->sp = key.sp;
	if (!c.flags)
		return s->choice.calls_none;
	if (bpf_map_update_elem(&calls, &key, &c, BPF_ANY))
		__sync_fetch_and_add(&control.unstored, 1);
	else if (!put_brief(ctx, n, UPROBE_AT_ENTRY, c.args))
		bpf_map_delete_elem(&calls, &key);
	return 0;
}

/* An exit or a return in a sample. */
static __always_inline void closed_sampled(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const struct call_key key = { entry_sp(ctx, s), (__u32)bpf_get_current_pid_tgid(), s->family };
	struct sampling *its = sampling_of(key.tid, key.family);

	if (its && its->sp == key.sp)
		its->sp = 0;
	if (bpf_map_lookup_elem(&calls, &key) && !put_hit(ctx, s, n))
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

	if (control.off)
		return NULL;
	*n = bpf_get_attach_cookie(ctx);
	number = (__u32)*n;
	return bpf_map_lookup_elem(&sites, &number);
}

/* An exit, or a function of which its entry says all. */
static __always_inline void once(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	__u64 args[6];

	if (s->choice.kind == UPROBE_FREE && !frees_sampled(ctx, s))
		return;
	if (s->choice.kind && s->choice.kind != UPROBE_FREE) {
		closed_sampled(ctx, s, n);
	} else if (s->flags & UPROBE_BRIEF) {
		get_args(ctx, args);
		put_brief(ctx, n, 0, args);
	} else {
		put_hit(ctx, s, n);
	}
}

/* A site that is one address: an entry, or an exit. */
SEC("uprobe")
int at_site(struct pt_regs *ctx)
{
	__u64 n;
	const struct uprobe_site *s = site_of(ctx, &n);

	if (!s)
		return 0;
	if (s->flags & UPROBE_OPENS && s->choice.kind)
		opened_sampled(ctx, s, n);
	else if (s->flags & UPROBE_OPENS)
		opened(ctx, s, n);
	else if (!(s->flags & UPROBE_RETURNS))
		once(ctx, s, n);
	return 0;
}

static __always_inline void returned(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	if (s->choice.kind)
		closed_sampled(ctx, s, n);
	else
		put_hit(ctx, s, n);
}

#define MOST_INSTANCES 8

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
 * For each thread there is, once, before anything is probed. The kernel asks the programs of other watches, too, and
 * those do not leave out calls of our target: with a thread that has its alternate stack above its own one, return
 * probes are not used at all.
 */
SEC("iter/task")
int find_stacks(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	const struct pt_regs *r;
	__u64 sp;

	if (!t || (__u32)t->tgid != control.tgid || !t->sas_ss_size)
		return 0;
	r = (const struct pt_regs *)bpf_task_pt_regs(t);
	if (bpf_probe_read_kernel(&sp, sizeof(sp), &r->rsp) || t->sas_ss_sp + t->sas_ss_size > sp)
		control.stack_above = 1;
	return 0;
}

/*
 * In a session: at the return the registers are those of the caller. (bpf_session_is_return answers it, too, but with
 * a function of the kernel's the loader must read all of the kernel's types, which takes it 40 ms.)
 */
static __always_inline _Bool is_return(struct pt_regs *ctx)
{
	return bpf_get_func_ip(ctx) != ctx->rip;
}

/* UPROBE_RETURNS, in the three ways that kernels have. A session that returns 1 has no return. */
SEC("uprobe")
int at_session(struct pt_regs *ctx)
{
	__u64 n;
	const struct uprobe_site *s = site_of(ctx, &n);

	if (!s)
		return 0;
	if (is_return(ctx)) {
		returned(ctx, s, n);
		return 0;
	}
	if (ends_others(ctx->rsp)) {
		__sync_fetch_and_add(&control.unfollowed, 1);
		lose();
		return 1;
	}
	if (s->flags & UPROBE_OPENS && s->choice.kind)
		return opened_sampled(ctx, s, n);	/* 1: the return is not probed */
	if (s->flags & UPROBE_OPENS)
		opened(ctx, s, n);
	return 0;
}

SEC("uprobe")
int at_return(struct pt_regs *ctx)
{
	__u64 n;
	const struct uprobe_site *s = site_of(ctx, &n);

	if (s)
		returned(ctx, s, n);
	return 0;
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
