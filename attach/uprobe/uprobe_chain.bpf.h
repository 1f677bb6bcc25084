/* SPDX-License-Identifier: MIT */
/*
 * uprobe_chain.bpf: the chain of a thread (attach/keeper/shared/chain.h) as a record of its own, before that
 * of the hit. A thread that allocates in a loop has the same chain at hit after hit: then there is no record,
 * and the hit refers to the one before, which the reader still has.
 */
#ifndef MM_UPROBE_CHAIN_BPF_H
#define MM_UPROBE_CHAIN_BPF_H

#include "attach/uprobe/uprobe_maps.bpf.h"
#include "attach/uprobe/uprobe_task.bpf.h"

enum { CHAIN_NONE, CHAIN_WHOLE, CHAIN_CUT, CHAIN_LOST };
#define CHAIN_DIRECT 0xffffu
#define ADDRESS_BITS 0xffffffffffffull

static __always_inline _Bool read_user(__u64 addr, __u64 *out)
{
	return !bpf_probe_read_user(out, sizeof(*out), (void *)addr);
}

/* The state of the thread; 0: it has none. */
static __always_inline __u64 state_of_thread(void)
{
	const struct task_struct *t = (void *)bpf_get_current_task();
	const __u64 self = BPF_CORE_READ(t, thread.fsbase);
	__u64 state, owner;

	if (!read_user(self + (__s64)control.chain.slot, &state) || !state)
		return 0;
	if (control.chain.owner != CHAIN_DIRECT &&
	    (!read_user(state + control.chain.owner, &owner) || owner != self))
		return 0;
	return state;
}

/* Get the link at @link into the window, if it is not there. */
static __always_inline _Bool see(struct chain_slot *slot, __u64 link, __u64 bytes)
{
	const __u64 in_page = link & (PAGE - 1), room = in_page < WINDOW ? in_page : WINDOW;
	const __u64 below = control.chain.stride ? 0 : room;
	__u64 n = below + bytes;

	if (link - slot->from < slot->bytes && link - slot->from + bytes <= slot->bytes)
		return 1;
	if (control.chain.stride && slot->array_end - link > n)
		n = slot->array_end - link < WINDOW ? slot->array_end - link : WINDOW;
	if (control.chain.stride && n > bytes && n > PAGE - in_page)
		n = bytes > PAGE - in_page ? bytes : PAGE - in_page;
	SEEN_BY_VERIFIER(n);
	if (n > sizeof(slot->window) || bpf_probe_read_user(slot->window, n, (void *)(link - below))) {
		slot->bytes = 0;
		return 0;
	}
	slot->from = link - below;
	slot->bytes = n;
	return 1;
}

static __always_inline __u64 word_at(const struct chain_slot *slot, __u64 at)
{
	SEEN_BY_VERIFIER(at);
	return at <= sizeof(slot->window) - sizeof(__u64) ? *(const __u64 *)(slot->window + at) : 0;
}

/* What is not in a link of an array itself: those of links further out lie below. */
static __always_inline _Bool see_aside(struct chain_slot *slot, __u64 addr, struct uprobe_link *to)
{
	const __u64 in_page = addr & (PAGE - 1), below = in_page < WINDOW / 2 ? in_page : WINDOW / 2;
	__u64 n = below + ASIDE, at;
	const __u64 *words;

	if (addr - slot->aside_from >= slot->aside_bytes ||
	    addr - slot->aside_from + ASIDE > slot->aside_bytes) {
		slot->aside_bytes = 0;
		SEEN_BY_VERIFIER(n);
		if (n > sizeof(slot->asides) || bpf_probe_read_user(slot->asides, n, (void *)(addr - below)))
			return 0;
		slot->aside_from = addr - below;
		slot->aside_bytes = n;
	}
	at = addr - slot->aside_from;
	SEEN_BY_VERIFIER(at);
	if (at > sizeof(slot->asides) - ASIDE)
		return 0;
	words = (const __u64 *)(slot->asides + at);
	to->where = (to->where & ADDRESS_BITS) | words[2] << 48;
	if (!to->code)
		to->code = words[0];
	return 1;
}

/*
 * The link at slot->next, as number @n; then the next one is there. 0: its memory is not there. Not static:
 * the verifier goes through it once, not for each link.
 */
__noinline int read_link(struct chain_slot *slot, __u32 n)
{
	const __u64 link = slot ? slot->next : 0, bytes = control.chain.link_bytes;
	struct uprobe_link l, *to;
	__u64 at;
	int r = 1;

	if (!slot || n >= UPROBE_LINKS || bytes > LINK_MOST || !see(slot, link, bytes))
		return 0;
	at = link - slot->from;
	/* a kind is two bytes, and the last that are looked at */
	l.where = (link & ADDRESS_BITS) | word_at(slot, at + control.chain.kind - 6) >> 48 << 48;
	l.code = word_at(slot, at + control.chain.code);
	l.at = word_at(slot, at + control.chain.at);
	if (control.chain.stride) {
		slot->next = link + control.chain.stride < slot->array_end ? link + control.chain.stride : 0;
		r = see_aside(slot, word_at(slot, at + control.chain.aside) - 16, &l);
	} else {
		slot->next = word_at(slot, at + control.chain.next);
	}
	to = &slot->chain.links[n];
	slot->differs |= (l.where ^ to->where) | (l.code ^ to->code) | (l.at ^ to->at);
	*to = l;
	return r;
}

/* What else there is of a chain. */
struct chain_facts {
	__u64 time_ns, first;
	__u32 tid, n, end;
};

/* All links from slot->next on. */
static __always_inline void read_links(struct chain_slot *slot)
{
	__u32 n = 0, end = CHAIN_WHOLE;

	slot->bytes = slot->aside_bytes = slot->differs = 0;
	for (; n < UPROBE_LINKS && slot->next; n++) {
		if (!read_link(slot, n)) {
			end = CHAIN_LOST;
			break;
		}
	}
	slot->chain.end = n == UPROBE_LINKS && slot->next ? CHAIN_CUT : end;
	slot->chain.n = n;
}

/* Where the array of @state ends that has a link at slot->next. false: it is no such array. */
static __always_inline _Bool find_end(struct chain_slot *slot, __u64 state)
{
	__u64 words[2], bytes;

	if (bpf_probe_read_user(words, sizeof(words), (void *)(state + control.chain.array)))
		return 0;
	bytes = words[1] * 8;
	slot->array_end = words[0] + bytes;
	return words[1] <= 0xffffffffu && slot->next >= words[0] && slot->next - words[0] < bytes &&
	       (slot->array_end - slot->next) % control.chain.stride == 0;
}

/* false: the thread has none. */
static __always_inline _Bool read_chain(struct chain_slot *slot)
{
	const __u64 state = state_of_thread();

	if (!state || !read_user(state + control.chain.head, &slot->chain.first))
		return 0;
	slot->next = slot->chain.first;
	if (control.chain.head_of != CHAIN_DIRECT && slot->next &&
	    !read_user(slot->next + control.chain.head_of, &slot->next))
		return 0;
	slot->chain.n = 0;
	slot->chain.end = CHAIN_LOST;
	if (!control.chain.stride || find_end(slot, state))
		read_links(slot);
	return 1;
}

/* 0: the record could not be written. */
static __always_inline __u64 send_chain(struct chain_slot *slot, __u64 n)
{
	__u64 size = slot->chain.n;

	fill_head(&slot->chain.head, n, UPROBE_CHAIN, 0);
	SEEN_BY_VERIFIER(size);
	if (size > UPROBE_LINKS)
		return 0;
	size = size * sizeof(struct uprobe_link) + offsetof(struct uprobe_chain, links);
	return bpf_ringbuf_output(&ring, &slot->chain, size, BPF_RB_NO_WAKEUP) ? 0 : slot->chain.head.time_ns;
}

/* Is what was read just now the chain of @before, the same thread's, which was sent? */
static __always_inline _Bool unchanged(const struct chain_slot *slot, const struct chain_facts *before)
{
	return before->time_ns && before->tid == (__u32)current_id() && !slot->differs &&
	       before->n == slot->chain.n && before->end == slot->chain.end &&
	       before->first == slot->chain.first;
}

/* The time of the record, by which its hit knows it; 0: there is none. Not static, likewise. */
__noinline __u64 put_chain(__u64 n)
{
	const __u32 i = (__u32)current_id() % UPROBE_CHAIN_SLOTS;
	struct chain_slot *slot = bpf_map_lookup_elem(&chain_slots, &i);
	struct chain_facts before;
	__u64 time_ns = 0;

	if (!slot || __sync_val_compare_and_swap(&slot->busy, 0ull, 1ull))
		return 0;
	before = (struct chain_facts){ slot->chain.head.time_ns, slot->chain.first, slot->chain.head.tid,
				       slot->chain.n, slot->chain.end };
	if (read_chain(slot))
		time_ns = unchanged(slot, &before) ? before.time_ns : send_chain(slot, n);
	slot->chain.head.time_ns = time_ns;
	asm volatile("" ::: "memory");
	slot->busy = 0;
	return time_ns;
}

#endif
