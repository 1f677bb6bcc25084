/* SPDX-License-Identifier: MIT */
/*
 * uprobe_chain.bpf: the chain of a thread (attach/keeper/shared/chain.h) as a record of its own, before that
 * of the hit.
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

	if (!read_user(self + (__s64)control.chain.slot, &state) || !state ||
	    !read_user(state + control.chain.owner, &owner) || owner != self)
		return 0;
	return state;
}

static __always_inline __u64 word_at(const __u64 words[UPROBE_LINK_WORDS], __u32 offset)
{
	__u32 i = offset / 8;

	SEEN_BY_VERIFIER(i);
	return i < UPROBE_LINK_WORDS ? words[i] : 0;
}

/* Not static: the verifier goes through it once. Fills n, end and links from @link on. */
__noinline int read_links(struct uprobe_chain *c, __u64 link)
{
	__u64 words[UPROBE_LINK_WORDS] = { 0 };
	__u32 bytes = control.chain.link_bytes, n = 0;

	if (!c)
		return 0;
	c->end = CHAIN_WHOLE;
	for (; n < UPROBE_LINKS && link; n++) {
		const __u32 kind = control.chain.kind;

		if (bytes > sizeof(words) || bpf_probe_read_user(words, bytes, (void *)link)) {
			c->end = CHAIN_LOST;
			break;
		}
		c->links[n].where = (link & ADDRESS_BITS) | (word_at(words, kind) >> kind % 8 * 8) << 48;
		c->links[n].code = word_at(words, control.chain.code);
		c->links[n].at = word_at(words, control.chain.at);
		link = word_at(words, control.chain.next);
	}
	if (n == UPROBE_LINKS && link)
		c->end = CHAIN_CUT;
	c->n = n;
	return 0;
}

/* false: the thread has none. */
static __always_inline _Bool read_chain(struct uprobe_chain *c)
{
	const __u64 state = state_of_thread();
	__u64 link;

	if (!state || !read_user(state + control.chain.head, &c->first))
		return 0;
	link = c->first;
	if (control.chain.head_of != CHAIN_DIRECT && link && !read_user(link + control.chain.head_of, &link))
		return 0;
	read_links(c, link);
	return 1;
}

/* The time of the record, by which its hit knows it; 0: there is none. */
static __always_inline __u64 put_chain(__u64 n)
{
	const __u32 i = (__u32)bpf_get_current_pid_tgid() % UPROBE_CHAIN_SLOTS;
	struct chain_slot *slot = bpf_map_lookup_elem(&chain_slots, &i);
	__u64 size, time_ns = 0;

	if (!slot || __sync_val_compare_and_swap(&slot->busy, 0ull, 1ull))
		return 0;
	if (read_chain(&slot->chain)) {
		fill_head(&slot->chain.head, n, UPROBE_CHAIN, 0);
		size = slot->chain.n;
		SEEN_BY_VERIFIER(size);
		if (size <= UPROBE_LINKS) {
			size = size * sizeof(struct uprobe_link) + offsetof(struct uprobe_chain, links);
			if (!bpf_ringbuf_output(&ring, &slot->chain, size, BPF_RB_NO_WAKEUP))
				time_ns = slot->chain.head.time_ns;
		}
	}
	asm volatile("" ::: "memory");
	slot->busy = 0;
	return time_ns;
}

#endif
