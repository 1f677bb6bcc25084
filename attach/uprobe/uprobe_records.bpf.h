/* SPDX-License-Identifier: MIT */
/* uprobe_records.bpf: a record of a hit, with what its site asks for, is put into the ring (uprobe_hits.h). */
#ifndef MM_UPROBE_RECORDS_BPF_H
#define MM_UPROBE_RECORDS_BPF_H

#include "attach/uprobe/uprobe_sample.bpf.h"
#include "attach/uprobe/uprobe_task.bpf.h"

/* --- space in the ring --- */

/* The reader polls while there is something to read; it is woken if it sleeps, or a quarter is full. */
static __always_inline __u64 wake(__u64 unread)
{
	return control.sleeping || unread > control.ring_bytes / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline void fill_head(struct uprobe_head *h, __u64 site, __u16 kind, __u16 flags)
{
	const __u64 id = current_id();

	h->time_ns = bpf_ktime_get_ns();
	h->tid = (__u32)id;
	h->tgid = id >> 32;
	h->site = (__u32)site;
	h->generation = site >> 32;
	h->kind = kind;
	h->flags = flags;
	h->lost = (__u32)control.lost;
}

#include "attach/uprobe/uprobe_chain.bpf.h"

/* --- brief records --- */

/* glibc's header of the block that is about to be freed: only until then it says how large it is. */
static __always_inline __u64 word_before(__u64 address)
{
	__u64 word;

	if (!address || bpf_probe_read_user(&word, sizeof(word), (void *)(address - sizeof(word))))
		return 0;
	return word;
}

static __always_inline int put_brief(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n, __u16 flags,
				     const __u64 args[6])
{
	struct uprobe_brief *b = bpf_ringbuf_reserve(&ring, sizeof(*b), 0);

	if (!b)
		return lose_hit();
	fill_head(&b->head, n, UPROBE_HIT_BRIEF, flags);
	b->ip = ctx->rip;
	b->sp = ctx->rsp;
	for (int i = 0; i < 6; i++)
		b->args[i] = args[i];
	b->word = s->flags & UPROBE_WORD ? word_before(args[0]) : 0;
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

/* The call's return is probed. It ends there, also if its function jumps to another one whose `ret` is probed. */
static __always_inline _Bool has_return(const struct call *c)
{
	const struct uprobe_site *s = c ? bpf_map_lookup_elem(&sites, &c->site) : NULL;

	return s && s->flags & UPROBE_RETURNS;
}

/* The arguments of the call that ends, if they were stored. */
static __always_inline void find_call(struct uprobe_hit *h, const struct uprobe_site *s, __u64 sp)
{
	const struct call_key key = { sp, (__u32)current_id(), s->family };
	const struct call *c = bpf_map_lookup_elem(&calls, &key);

	if (!c || (!(s->flags & UPROBE_RETURNS) && has_return(c)))
		return;
	h->outer = c->site;
	h->head.flags |= c->flags;
	for (int i = 0; i < 6; i++)
		h->args[i] = c->args[i];
	bpf_map_delete_elem(&calls, &key);
}

/* Of the slice that begins at @sp. Those further down are of calls that have ended. */
static __always_inline void find_hidden(struct uprobe_hit *h, __u64 sp)
{
	const struct task_struct *t = (void *)bpf_get_current_task();
	const struct return_instance *r = BPF_CORE_READ(t, utask, return_instances);
	__u64 stack;

	h->nhidden = 0;
	for (int i = 0; i < MOST_INSTANCES && r; i++, r = BPF_CORE_READ(r, next)) {
		__u32 n = h->nhidden;

		stack = BPF_CORE_READ(r, stack);
		SEEN_BY_VERIFIER(n);
		if (stack < sp || n >= UPROBE_HIDDEN)
			continue;
		h->hidden[n].at = stack;
		h->hidden[n].ret = BPF_CORE_READ(r, orig_ret_vaddr);
		h->nhidden = n + 1;
	}
	if (h->nhidden)
		h->trampoline = BPF_CORE_READ(t, mm, uprobes_state.xol_area, vaddr);
}

/* All but the slice; not static, as read_loads. */
__noinline int fill_hit(struct pt_regs *ctx, struct uprobe_hit *h, const struct uprobe_site *s, __u64 n)
{
	const struct uprobe_site *asks = s;
	__u32 outer;

	if (!h || !s)
		return 0;
	h->loads_read = h->loads_null = 0;
	h->outer = (__u32)n;
	h->slice_len = 0;
	copy_regs(h, ctx);
	find_hidden(h, ctx->rsp);
	get_args(ctx, h->args);
	fill_head(&h->head, n, UPROBE_HIT, 0);
	/* at a return rsp is one word above where it was at the entry */
	if (s->flags & UPROBE_CLOSES)
		find_call(h, s, entry_sp(ctx, s));
	/* before 6.2 the verifier wants a key to be on the stack */
	outer = h->outer;
	if (outer != (__u32)n)
		asks = bpf_map_lookup_elem(&sites, &outer);
	if (asks && asks->flags & UPROBE_LOADED)
		read_loads(h, asks, s->flags & UPROBE_RESULT_RDI ? h->regs[14] : h->regs[10]);
	if (s->choice.kind)
		settle(h, s);
	return 0;
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
				     __u64 chain, const __u32 room)
{
	struct uprobe_hit *h = bpf_ringbuf_reserve(&ring, sizeof(*h) + room, 0);

	if (!h)
		return lose_hit();
	fill_hit(ctx, h, s, n);
	h->chain = chain;
	if (want) {
		h->slice_len = copy_stack(h->slice, ctx->rsp, want, room);
		if (h->slice_len < want)
			h->head.flags |= UPROBE_CUT;
	}
	bpf_ringbuf_submit(h, wake(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA)));
	return 1;
}

/*
 * An upper bound of the size of a stack of which nothing was learned yet: the stack of the process ends where it began,
 * and C libraries have the data that fs refers to at the end of a thread's stack. Else as much as is allowed, unless
 * that would fill the ring.
 */
static __always_inline __u32 slice_unknown(__u64 sp, __u64 unread)
{
	const struct task_struct *t = (void *)bpf_get_current_task();
	__u64 n = BPF_CORE_READ(t, mm, start_stack) - sp;

	if (n > control.slice_bytes)
		n = BPF_CORE_READ(t, thread.fsbase) - sp;
	if (n <= control.slice_bytes)
		return (__u32)n;
	return unread < control.ring_bytes / 8 ? control.slice_bytes : control.slice_guess;
}

/* Bytes of stack that are worth copying of this thread (attach/stacks/slice_size.h), as shared_slice() has it. */
static __always_inline __u32 slice_wanted(__u64 sp, __u64 unread)
{
	const __u32 tid = (__u32)current_id(), i = tid % UPROBE_HINTS;
	const struct uprobe_hint *hint = bpf_map_lookup_elem(&hints, &i);

	if (hint && hint->bytes >> 32 == tid) {
		if (hint->end - sp <= control.slice_bytes)
			return (__u32)(hint->end - sp);
		if ((__u32)hint->bytes)
			return (__u32)hint->bytes;
	}
	return slice_unknown(sp, unread);
}

/* The space that is reserved must be a constant. Not static, as read_loads. */
__noinline int put_hit(struct pt_regs *ctx, const struct uprobe_site *s, __u64 n)
{
	const __u64 unread = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	const __u32 want = s && s->flags & UPROBE_SLICE ? slice_wanted(ctx->rsp, unread) : 0;
	__u64 chain;

	if (!s)
		return 0;
	if (unread > control.ring_bytes / 4 * 3)
		return lose_hit();
	chain = want && control.chained ? put_chain(n) : 0;
	if (want <= 64)
		return put_sized(ctx, s, n, want, chain, 64);
	if (want <= 512)
		return put_sized(ctx, s, n, want, chain, 512);
	if (want <= 1024)
		return put_sized(ctx, s, n, want, chain, 1024);
	if (want <= 2048)
		return put_sized(ctx, s, n, want, chain, 2048);
	if (want <= 4096)
		return put_sized(ctx, s, n, want, chain, 4096);
	if (want <= 8192)
		return put_sized(ctx, s, n, want, chain, 8192);
	if (want <= 16384)
		return put_sized(ctx, s, n, want, chain, 16384);
	if (want <= 32768)
		return put_sized(ctx, s, n, want, chain, 32768);
	return put_sized(ctx, s, n, want, chain, 131072);
}

#endif
