/* SPDX-License-Identifier: MIT */
/*
 * event: what happened, in two forms.
 *
 * For the keeper: what a wait status means (event_decode, pure). For the controller: the record that the
 * keeper writes into the ring.
 */
#ifndef MM_EVENT_H
#define MM_EVENT_H

#include <stdint.h>
#include <sys/user.h>

#include "attach/keeper/shared/chain.h"
#include "attach/keeper/shared/site.h"

/* What a wait status of a seized thread means. */
enum happening {
	HAPPENED_SIGNAL,	/* a signal is about to be delivered: sig (SIGTRAP: perhaps our trap) */
	HAPPENED_GROUP_STOP,	/* the process was stopped by sig; the thread must listen, not run */
	HAPPENED_STOP,		/* our own interrupt, a new thread's first stop, or the end of a group stop */
	HAPPENED_CLONE,
	HAPPENED_FORK,
	HAPPENED_VFORK,
	HAPPENED_VFORK_DONE,
	HAPPENED_EXEC,
	HAPPENED_EXIT,		/* the thread ended; code in sig */
	HAPPENED_KILLED,	/* the thread ended by a signal */
	HAPPENED_ENDING,	/* the thread is about to end, its memory is still there (if requested) */
	HAPPENED_OTHER,		/* another stop: resumed */
};

struct happening_info {
	enum happening what;
	int sig;
};

struct happening_info event_decode(int wait_status);
const char *happening_name(enum happening what);

/* Records of the ring. */
enum record_kind {
	RECORD_PAD,		/* fills the end of the ring; never seen by the consumer */
	RECORD_HIT,		/* a trap was hit: struct record_hit */
	RECORD_THREAD,		/* a new thread: tid */
	RECORD_THREAD_END,	/* tid; value = wait status; under gdb 0, as gdb reports none */
	RECORD_CHILD,		/* a child process was cleaned of traps and let go: value = its pid */
	RECORD_EXEC,		/* the target runs another program now; held until answered */
	RECORD_END,		/* the last thread of the target is gone; value = wait status of the last */
	/* the process is about to end, and held until COMMAND_LET_END: its memory can be copied */
	RECORD_ENDING,
	/*
	 * from the kernel's probes: hits were lost between the records before and after it; value: how many;
	 * site: 1 if calls were left out that end some time later, unseen
	 */
	RECORD_LOST,
	/*
	 * from the kernel's probes, which do not see other processes in the target's memory: one of these
	 * has begun or ended; value: how many there are now
	 */
	RECORD_SHARERS,
	RECORD_GAP,		/* hits were dropped, the ring was full; value = how long, in ns, until now */
	RECORD_MOVED,		/* gdb has left the process for a copy of it: value = its pid */
	RECORD_TROUBLE,		/* something failed; value = errno (0: none), site = enum trouble */
};

enum record_flags {
	RECORD_HELD = 1 << 0,	/* the thread waits for COMMAND_RELEASE */
	RECORD_OPENS = 1 << 1,	/* hit at an entry: a call begins */
	/* hit at an exit that closes a call whose entry was seen: args are from the entry */
	RECORD_CLOSES = 1 << 2,
	RECORD_STATIC = 1 << 3,	/* hit at an exit of a call that had no entry trap */
	RECORD_CUT = 1 << 4,	/* the slice is shorter than requested: the stack ended or was unreadable */
	RECORD_OUTSIDE = 1 << 5, /* the thread was in no function that makes it count (SITE_FAMILY_IN) */
	RECORD_SILENT = 1 << 6,	/* held, as a trap is to be planted; the hit is no event: a nested call */
	RECORD_NO_BLOCK = 1 << 10, /* what is allocated is not in the sample: only what is freed counts */
	RECORD_FRAMES = 1 << 9,	/* the slice has no stack but frames, unwound by gdb (shared/wire.h) */
	/* hit at an exit of a call whose beginning was lost: whatever it has allocated is there now */
	RECORD_UNOPENED = 1 << 11,
	RECORD_WITHIN = 1 << 8,	/* something is freed inside an open call of the family (SITE_RELEASE) */
	RECORD_GUEST = 1 << 7,	/* by another process in the target's memory (vfork, posix_spawn) */
};

struct record {
	uint32_t size;		/* of the whole record, a multiple of 8 */
	uint16_t kind;
	uint16_t flags;
	uint32_t tid;
	uint32_t site;		/* hit: index of the site that was hit */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	int64_t value;		/* held: the number of the hold */
};

struct record_hit {
	struct record head;
	/* at the entry: rdi rsi rdx rcx r8 r9; closing a call: as they were at its entry */
	uint64_t args[6];
	/* what was read, as outer_site asks; bytes beyond its width: 0; all 0 if its base was 0 */
	uint64_t loads[SITE_LOADS];
	/* bit per load that was read; only these, and the null ones, are filled in */
	uint32_t loads_read;
	uint32_t loads_null;		/* bit per load whose base was 0 */
	uint32_t outer_site;		/* closing: the entry's site; else the site that was hit */
	uint32_t slice_len;		/* bytes of stack from regs.rsp on */
	/* its index in the keeper's table, for slice_hints; another thread's when it has ended */
	uint32_t thread;
	/*
	 * behind the slice, at a multiple of 8: so many struct chain_link; and how it ended (enum chain_end)
	 */
	uint16_t chain_len, chain_end;
	uint64_t chain_head;		/* the word at the head of the thread's state */
	/* a load of width 0 that was read: the string, cut if it is longer, with its NUL */
	char text[SITE_TEXT];
	struct user_regs_struct regs;	/* as before the displaced instruction: rip is the site */
	uint8_t slice[];
};

/* Where the links of a record with a slice of @slice bytes begin, from the slice on. */
static inline uint32_t record_chain_at(uint32_t slice)
{
	return (slice + 7) & ~7u;
}

static inline const struct chain_link *record_chain(const struct record_hit *hit)
{
	return (const struct chain_link *)(const void *)(hit->slice + record_chain_at(hit->slice_len));
}

static inline uint32_t record_hit_size(const struct record_hit *hit)
{
	if (!hit->chain_len)
		return (uint32_t)sizeof(*hit) + hit->slice_len;
	return (uint32_t)(sizeof(*hit) + record_chain_at(hit->slice_len) +
			  hit->chain_len * sizeof(struct chain_link));
}

/* What went wrong in the keeper; record.value is the errno. */
#define TROUBLES(X) \
	X(TROUBLE_SEIZE, "a thread could not be seized") \
	X(TROUBLE_CLEAN, "a child process could not be cleaned of traps") \
	X(TROUBLE_LIFT, "a trap could not be lifted") \
	X(TROUBLE_EMULATE, "a displaced instruction was stepped in place") \
	X(TROUBLE_TABLE, "more threads than the table holds") \
	X(TROUBLE_PLANT, "a trap could not be planted again") \
	X(TROUBLE_RESUME, "a thread could not be resumed")
enum trouble {
#define X(name, text) name,
	TROUBLES(X)
#undef X
	TROUBLES_END
};
const char *trouble_text(enum trouble t);

#endif
