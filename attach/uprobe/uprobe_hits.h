/* SPDX-License-Identifier: MIT */
/*
 * uprobe_hits: what the BPF programs (uprobe.bpf.c) and their reader (uprobe_reader.c) share: what a site
 * wants, and the records of the ring buffer. Plain data with fixed sizes: clang compiles it for BPF, too.
 */
#ifndef MM_UPROBE_HITS_H
#define MM_UPROBE_HITS_H

#define UPROBE_SITES 4096u	/* as many as in struct shared */
#define UPROBE_RING (32u << 20)
#define UPROBE_RING_SMALL (4u << 20)	/* of each of many watches */
#define UPROBE_LOADS 5u
#define UPROBE_TEXT 64u
#define UPROBE_HINTS 32768u	/* sizes of slices, by thread id */
#define UPROBE_REGS 21u		/* struct pt_regs, which begins struct user_regs_struct */

enum uprobe_site_flags {
	UPROBE_RETURNS = 1 << 0,	/* probed at its entry and its return */
	UPROBE_OPENS = 1 << 1,		/* a hit at the entry is a record, and stores the arguments */
	UPROBE_CLOSES = 1 << 2,		/* a hit at the exit has the arguments of the entry, if they are stored */
	UPROBE_SLICE = 1 << 3,		/* a hit (of UPROBE_RETURNS, at the return) carries a slice of stack */
	UPROBE_LOADED = 1 << 4,		/* there are loads */
	UPROBE_RESULT_RDI = 1 << 6,	/* the function's result is in rdi, not rax */
	UPROBE_BRIEF = 1 << 5,		/* arguments and rsp are enough; space is reserved for it in the ring */
	UPROBE_WORD = 1 << 7,		/* a brief record has the word before its first argument, too */
};

/* As struct site_load. */
struct uprobe_load {
	unsigned char base, index, scale, width;
	int disp;
};

/* What a sample by bytes does with the calls of a function (uprobe_sample.h). */
enum uprobe_choice_kind {
	UPROBE_ALL_CALLS,		/* all are recorded */
	UPROBE_ALLOC,			/* if one of its bytes is chosen */
	UPROBE_REALLOC,			/* likewise, or if the old block is in the sample */
	UPROBE_FREE,			/* if the block is in the sample */
};

#define UPROBE_ARGS 6
#define UPROBE_RESULT 7			/* of .address: the result; 1 to UPROBE_ARGS: an argument; 8 and more: a load */
#define UPROBE_LOAD0 8

struct uprobe_choice {
	unsigned char kind;		/* enum uprobe_choice_kind */
	unsigned char size, times;	/* numbers of arguments, whose product is the size; times 0: the first alone */
	unsigned char address;		/* where that of the block is */
	unsigned char old;		/* of a realloc: the argument with the old block */
	unsigned char calls_none;	/* it calls no other function of its family: its return can be left out */
	unsigned char unused[2];
};

struct uprobe_site {
	unsigned int flags;
	unsigned short family;
	short sp_delta;
	struct uprobe_load loads[UPROBE_LOADS];
	struct uprobe_choice choice;
};

enum uprobe_kind {
	UPROBE_HIT,			/* struct uprobe_hit */
	UPROBE_HIT_BRIEF,		/* struct uprobe_brief */
	UPROBE_THREAD_END,		/* struct uprobe_head alone */
	UPROBE_CHAIN,			/* struct uprobe_chain, as long as it is: of the thread's next hits */
	/*
	 * struct uprobe_head alone: another process has begun, or no longer runs, in the target's memory;
	 * .site: how many do now
	 */
	UPROBE_SHARERS,
};

enum uprobe_hit_flags {
	UPROBE_AT_ENTRY = 1 << 0,	/* of a site with UPROBE_RETURNS */
	UPROBE_CUT = 1 << 1,		/* the stack ended, or could not be read further */
	/* in a sample: */
	UPROBE_CHOSEN = 1 << 2,		/* the block that is allocated is in it */
	UPROBE_WAS_CHOSEN = 1 << 3,	/* the block that realloc frees was in it */
	UPROBE_NO_BLOCK = 1 << 4,	/* the block that is allocated is not in it */
};

struct uprobe_head {
	unsigned long long time_ns;	/* CLOCK_MONOTONIC */
	unsigned int tid, tgid;
	unsigned int site;
	unsigned short kind, flags;
	unsigned int lost;		/* how many hits were lost until then */
	unsigned int generation;	/* of the site's number (uprobe.c) */
};

struct uprobe_brief {
	struct uprobe_head head;
	unsigned long long ip, sp;
	unsigned long long args[6];
	unsigned long long word;	/* of UPROBE_WORD; 0: not read */
};

#define UPROBE_HIDDEN 4u		/* a power of two */

/* A return address that the kernel has replaced in the stack, as the call's return is probed: by us or by others. */
struct uprobe_hidden {
	unsigned long long at;		/* where in the stack */
	unsigned long long ret;		/* what it was */
};

struct uprobe_hit {
	struct uprobe_head head;
	unsigned int loads_read, loads_null;
	unsigned int slice_len;
	unsigned int outer;		/* whose loads were read: the site of the entry, or its own */
	unsigned long long args[6];
	unsigned long long loads[UPROBE_LOADS];
	char text[UPROBE_TEXT];
	unsigned long long regs[UPROBE_REGS];
	unsigned int nhidden;
	unsigned long long chain;	/* head.time_ns of its UPROBE_CHAIN, the thread's last one; or 0 */
	unsigned long long trampoline;	/* what is there instead; if nhidden */
	struct uprobe_hidden hidden[UPROBE_HIDDEN];
	unsigned char slice[];
};

#define UPROBE_LINKS 256u		/* CHAIN_MAX */
#define UPROBE_LINK_WORDS 16u		/* CHAIN_LINK_MOST, in words */
#define UPROBE_CHAIN_SLOTS 256u		/* of threads that are at a hit at the same time */

/* As struct chain_link, struct chain_plan and enum chain_end (attach/keeper/shared/chain.h). */
struct uprobe_link {
	unsigned long long where, code, at;
};

struct uprobe_chain_plan {
	int slot;
	unsigned short owner, head, head_of, next, code, at, kind, link_bytes, stride, array, aside;
};

struct uprobe_chain {
	struct uprobe_head head;
	unsigned int n, end;
	unsigned long long first;	/* the word at the head of the thread's state */
	struct uprobe_link links[UPROBE_LINKS];
};

#define UPROBE_SIZES 8u

/* Blocks of @least to @most bytes, as they are asked for. */
struct uprobe_size {
	unsigned long long least, most;
};

#define UPROBE_STEPS 4096u		/* a power of two */
#define UPROBE_STEP_ONE 65536u

/* Of a thread's stacks; as struct slice_hint. */
struct uprobe_hint {
	unsigned long long bytes, end;
};

/* Of the programs at probes, on one processor; in sum there is a record for each run that was not passed over. */
struct uprobe_counts {
	unsigned long long runs;
	unsigned long long passed;	/* those that make no record: not in the sample, or lost, which is counted */
};

/* The programs' global data, mapped by the reader. */
struct uprobe_control {
	unsigned int tgid;		/* the target */
	unsigned long long ns_device, ns_inode;	/* of the PID namespace that numbers are of; 0: the first one */
	unsigned int ring_bytes;	/* of the ring: UPROBE_RING, or UPROBE_RING_SMALL */
	unsigned int slice_bytes;	/* the most that is copied of a stack */
	unsigned int slice_guess;	/* of a thread of which nothing is known, when the ring fills */
	unsigned int sleeping;		/* the reader waits to be woken */
	unsigned int off;		/* the watch is over: nothing is recorded */
	unsigned int execed;		/* the process runs another program; then it is off, too */
	unsigned int chained;		/* hits with a slice have a chain, too */
	unsigned int sharers;		/* processes that run in the target's memory now */
	struct uprobe_chain_plan chain;
	unsigned int stack_above;	/* a thread has an alternate stack above its own */
	unsigned long long lost;	/* records that found no space in the ring */
	unsigned long long unstored;	/* calls whose arguments could not be stored */
	unsigned long long unfollowed;	/* calls whose return may not be probed; in lost, too */
	unsigned long long shared;	/* processes that have begun in the target's memory, so far */
	unsigned long long interval;	/* one byte in so many is chosen; 0: all calls are recorded */
	/* not 0: instead, each block is chosen whose size is one of these; what is freed is not recorded */
	unsigned int nsizes;
	/*
	 * how often recording has begun: what is known of a thread's calls is from before, if it has another number, and
	 * their ends were not seen
	 */
	unsigned int begun;
	struct uprobe_size sizes[UPROBE_SIZES];
	/*
	 * from one chosen byte to the next: with the same probability each, in units of the interval and of
	 * UPROBE_STEP_ONE. Together they are an exponential distribution
	 */
	unsigned int distances[UPROBE_STEPS];
};

#endif
