/* SPDX-License-Identifier: MIT */
#include "attach/keeper/copies/copies.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/keeper/notify.h"
#include "attach/keeper/procfs.h"

#define CHECK_NS 500000000ull		/* most are gone before anything about them need be checked */
#define UNCLAIMED_NS 10000000000ull	/* mmattach looks every 0.1 s, if it has a processor */
#define UNADOPTED_NS 60000000000ull	/* 64 may wait for their watch to begin, on a busy machine a second each */
#define KEPT_RING (1u << 20)		/* of a slot that is free */
#define FILES_EACH 3			/* its memory, its mappings, its watch */
#define OTHER_FILES (SLOTS + 32)	/* the bells of all slots, and what is open for the first target */

/* --- memory --- */

void copies_reserve(struct keeper *first)
{
	void *p;

	if (!first->shared->slots || first->shared->budget_ppm)
		return;
	/* shared: making private memory that is locked writable would populate it */
	p = mmap(NULL, (SLOTS + 1) * sizeof(*first), PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		return;
	first->rooms = p;
	/* mlockall passes what cannot be accessed */
	if (mprotect(first->shared->slots, sizeof(struct slots), PROT_NONE) < 0)
		first->rooms = NULL;
}

/*
 * So many that a copy which is not taken can always be cleaned: for that its memory must be opened. If it
 * cannot be, it stays a tracee, and waits at each trap that cannot be emulated.
 */
static uint32_t most_copies(void)
{
	struct rlimit files;
	rlim_t most;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur < OTHER_FILES)
		return 0;
	most = (files.rlim_cur - OTHER_FILES) / FILES_EACH;
	return most < SLOTS ? (uint32_t)most : SLOTS;
}

void copies_open(struct keeper *first)
{
	const int prot = PROT_READ | PROT_WRITE;

	if (!first->rooms)
		return;
	first->most_copies = most_copies();
	if (mprotect(first->rooms, (SLOTS + 1) * sizeof(*first), prot) < 0 ||
	    mprotect(first->shared->slots, sizeof(struct slots), prot) < 0)
		first->rooms = NULL;
}

/* --- which state --- */

static bool is_thread_of(const struct keeper *k, pid_t tid)
{
	return !k->gone && k->target && syscall(SYS_tgkill, k->target, tid, 0) == 0;
}

struct keeper *copies_home(struct keeper *k, pid_t tid)
{
	const pid_t parent = procfs_parent(tid);
	uint32_t i = 0;

	if (is_thread_of(k, tid))
		return k;
	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		if (is_thread_of(s, tid) || (!s->gone && s->target == parent))
			return s;
	return NULL;
}

/* @from, a stopped thread of another state, in the table and the queue of @k. */
static struct tracee *enter(struct keeper *k, const struct tracee *from)
{
	struct tracee *t = threads_add(&k->threads, from->tid);

	if (!t) {
		k->leave_reason = LEFT_THREADS;
		return NULL;
	}
	t->status = from->status;
	t->state = TRACEE_STOPPED;
	t->seen_ns = from->seen_ns;
	k->queue[k->nqueue++] = (uint32_t)(t - k->threads.all);
	return t;
}

void copies_move(struct keeper *home, struct keeper *k, struct tracee *t)
{
	(void)enter(home, t);
	threads_remove(&k->threads, t);
}

/* --- which thread has forked it --- */

static bool is_at_its_birth(const struct tracee *t, pid_t newborn)
{
	const enum happening what = event_decode(t->status).what;
	unsigned long msg;

	return t->state == TRACEE_STOPPED &&
	       (what == HAPPENED_FORK || what == HAPPENED_CLONE || what == HAPPENED_VFORK) &&
	       tracee_event_msg(t, &msg) == 0 && (pid_t)msg == newborn;
}

int copies_forker(struct keeper *k, const struct tracee *t, struct tracee **forker)
{
	struct tracee *only = NULL;
	uint32_t threads = 0;
	bool open = false;

	if (t->forker && k->threads.all[t->forker - 1].state != TRACEE_FREE) {
		*forker = &k->threads.all[t->forker - 1];
		return 1;
	}
	for (struct tracee *p = threads_first(&k->threads); p; p = threads_next(&k->threads, p)) {
		if (p == t || p->guest || !p->known)
			continue;
		threads++;
		only = p;
		open |= p->calls != NO_CALL;
		if (!is_at_its_birth(p, t->tid))
			continue;
		*forker = p;
		return 1;
	}
	*forker = threads == 1 ? only : NULL;
	return *forker ? 1 : open ? -EAGAIN : 0;
}

/* --- a new one --- */

static struct slot *free_slot(struct slots *all, uint32_t *i)
{
	const uint32_t most = atomic_load_explicit(&all->most, memory_order_relaxed);

	for (*i = 0; *i < most; ++*i)
		if (atomic_load_explicit(&all->all[*i].state, memory_order_relaxed) == SLOT_FREE &&
		    slot_move(&all->all[*i], SLOT_FREE, SLOT_TAKEN))
			return &all->all[*i];
	return NULL;
}

static void begin_shared(struct shared *sh, const struct shared *from, int bell)
{
	sh->slice_bytes = from->slice_bytes;
	sh->max_stall_ns = from->max_stall_ns;
	sh->silence_ns = from->silence_ns;
	sh->hold_ns = from->hold_ns;
	sh->hold_end = from->hold_end;
	sh->one_of_many = from->one_of_many;
	sh->lose_sigtrap = from->lose_sigtrap;
	sh->scoped = from->scoped;
	sh->bell = bell;
	sh->slots = from->slots;
	sh->gdb = sh->gdb_mem = -1;
	sh->chain = from->chain;
	atomic_store(&sh->chained, atomic_load(&from->chained));
	atomic_store(&sh->seq, 0);
	atomic_store(&sh->done, 0);
	atomic_store(&sh->alive, 0);
	atomic_store(&sh->beat, 0);
	atomic_store(&sh->threads, 1);
	memset(&sh->counts, 0, sizeof(sh->counts));
	memset(&sh->end, 0, sizeof(sh->end));
	memset(&sh->modules, 0, sizeof(sh->modules));
	atomic_store(&sh->pause.number, 0);
	ring_init(&sh->ring, sh->ring_bytes, SHARED_RING);
}

/* The thread goes on with the stack that the forking one had, and in its calls. */
static void inherit(struct keeper *s, struct tracee *t, struct keeper *k, const struct tracee *forker,
		    uint16_t calls)
{
	const struct slice_hint *from = &k->shared->slice_hints[forker - k->threads.all];
	struct slice_hint *to = &s->shared->slice_hints[t - s->threads.all];
	const uint64_t bytes = atomic_load(&from->bytes);

	if (bytes >> 32 == (uint32_t)forker->tid) {
		atomic_store(&to->end, atomic_load(&from->end));
		atomic_store(&to->bytes, (uint64_t)t->tid << 32 | (uint32_t)bytes);
	}
	calls_copy(&s->calls, &t->calls, &k->calls, calls);
	if (forker->mask == MASK_BLOCKS || forker->mask == MASK_OPEN) {
		t->mask = forker->mask;
		t->first_mask = forker->first_mask;
	}
}

static struct keeper *begin(struct keeper *k, struct slot *slot, uint32_t i, pid_t pid)
{
	struct keeper *first = keeper_first(k), *s = &first->rooms[i];

	memset(s, 0, offsetof(struct keeper, budget));
	s->first = first;
	s->slot = slot;
	s->shared = &slot->shared;
	s->target = pid;
	s->read_mem = -1;
	s->adopter_fd = -1;
	s->watching = true;
	s->controller = first->controller;
	s->now_ns = k->now_ns;
	s->next_parent_ns = k->now_ns + CHECK_NS;
	s->reader.unread = stall_timer_begin(k->now_ns);
	s->fair = k->fair;
	calls_init(&s->calls);
	begin_shared(s->shared, k->shared, slot->bell);
	slot->pid = pid;
	slot->keeper = getpid();
	slot->born_ns = k->now_ns;
	slot->mapped_until = 0;
	return s;
}

/* What may be in its memory and in no table, or is in the table and perhaps not in its memory. */
static int begin_traps(struct keeper *s, const struct keeper *k)
{
	s->mem = procfs_open_mem(s->target);
	if (s->mem < 0)
		return s->mem;
	s->traps.maps = 0;	/* opened when a watch of it begins: most need none */
	trap_copy_table(&s->traps, &k->traps);
	return trap_begin_copy(&s->traps, s->mem);
}

static void close_files(struct keeper *s)
{
	if (s->mem >= 0)
		close(s->mem);
	if (s->traps.maps > 0)
		close(s->traps.maps);
	if (s->adopter_fd >= 0)
		close(s->adopter_fd);
}

static bool may_take(const struct keeper *k, const struct keeper *first)
{
	return first->rooms && first->ncopies < first->most_copies && k->watching && !k->leaving &&
	       !k->leave_reason && k->traps.bound;
}

bool copies_take(struct keeper *k, struct tracee *t)
{
	struct keeper *first = keeper_first(k), *s;
	struct tracee *forker, *mine;
	struct slot *slot;
	uint32_t i;

	slot = may_take(k, first) ? free_slot(k->shared->slots, &i) : NULL;
	if (!slot)
		return false;
	s = begin(k, slot, i, t->tid);
	if (begin_traps(s, k) < 0) {
		close_files(s);
		atomic_store(&slot->state, SLOT_FREE);
		return false;
	}
	mine = enter(s, t);
	mine->known = true;
	if (copies_forker(k, t, &forker) == 1)
		inherit(s, mine, k, forker, t->expected ? t->calls : forker->calls);
	first->copies[first->ncopies++] = s;
	k->others--;
	calls_drop(&k->calls, &t->calls);
	threads_remove(&k->threads, t);
	atomic_store(&slot->state, SLOT_OFFERED);
	return true;
}

/* --- of an unknown parent --- */

int copies_clean(struct keeper *k, int mem)
{
	const struct keeper *first = keeper_first(k);
	int r = trap_clean_copy(&first->traps, mem);

	/* those that are not in use have the table of the last copy that they were for */
	for (uint32_t i = 0; r == 0 && first->rooms && i < SLOTS; i++)
		r = trap_clean_copy(&first->rooms[i].traps, mem);
	return r;
}

/* --- the end --- */

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static bool has_no_reader(const struct keeper *s)
{
	return atomic_load(&s->slot->closed) || is_gone(s->shared->slots->owner);
}

void copies_check(struct keeper *s)
{
	const uint32_t state = atomic_load(&s->slot->state);
	const uint64_t age = s->now_ns - s->slot->born_ns;
	struct pollfd p = { .fd = s->adopter_fd, .events = POLLIN };

	if (s->leave_reason)
		return;
	if (s->adopter)
		s->leave_reason = has_no_reader(s) || poll(&p, 1, 0) == 1 ? LEFT_ORPHAN : LEFT_NOT;
	else if (has_no_reader(s) || age > (state == SLOT_OFFERED ? UNCLAIMED_NS : UNADOPTED_NS))
		s->leave_reason = LEFT_UNWANTED;
}

static bool may_free(struct keeper *s)
{
	if (!s->gone)
		return false;
	if (!slot_move(s->slot, SLOT_OFFERED, SLOT_TAKEN))
		return has_no_reader(s);
	if (s->leave_reason == LEFT_ENDED)
		atomic_fetch_add(&s->shared->slots->missed, 1);
	return true;
}

/* Of the ring in @sh, what is behind the first @from bytes takes no memory until it is used again. */
static void free_ring(struct shared *sh, uint32_t from)
{
	const uintptr_t page = 4096, lo = ((uintptr_t)sh->ring_bytes + from + page - 1) & ~(page - 1),
			hi = ((uintptr_t)sh->ring_bytes + SHARED_RING) & ~(page - 1);

	(void)!madvise((void *)lo, hi - lo, MADV_REMOVE);
}

void copies_fit_ring(struct keeper *s)
{
	if (!s->adopter || s->shared->ring.size == SHARED_RING_SMALL ||
	    !ring_shrink(&s->shared->ring, SHARED_RING_SMALL))
		return;
	if (atomic_load(&s->shared->ring.head) > SHARED_RING_SMALL)
		free_ring(s->shared, SHARED_RING_SMALL);
}

static void clear_slot(struct keeper *s)
{
	struct shared *sh = s->shared;

	if (s->adopter)
		memset(sh->slice_hints, 0, sizeof(sh->slice_hints));
	atomic_store(&sh->slice_hints[0].bytes, 0);
	refused_returns_forget(&sh->refused_returns);
	if (atomic_load(&sh->ring.head) > KEPT_RING)
		free_ring(sh, 0);
	atomic_store(&s->slot->closed, 0);
	atomic_store(&s->slot->crowded, 0);
}

void copies_free_gone(struct keeper *first)
{
	for (uint32_t i = first->ncopies; i-- > 0;) {
		struct keeper *s = first->copies[i];

		if (!may_free(s))
			continue;
		close_files(s);
		clear_slot(s);
		first->copies[i] = first->copies[--first->ncopies];
		atomic_store(&s->slot->state, SLOT_FREE);
	}
}
