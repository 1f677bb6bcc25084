/* SPDX-License-Identifier: MIT */
#include "attach/many/slotted.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/snapshot/memory_limit.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define OVERDUE_MS 10
#define LEFT_S 25	/* of a keeper that lives, none is OFFERED or CLAIMED for so long (copies.c) */

/* All of it, and what a keeper has for it. */
#define SLOT_BYTES (sizeof(struct slot) + (2u << 20))

uint32_t slotted_most(uint64_t available)
{
	const uint64_t n = available / 2 / SLOT_BYTES;

	return n < SLOTS ? (uint32_t)n : SLOTS;
}

void slotted_fit(struct slots *all)
{
	struct memory_limit room;

	if (!all)
		return;
	(void)memory_limit_for_copy(0, &room);
	atomic_store(&all->most, slotted_most(room.available));
}

static bool open_bells(struct slots *all)
{
	bool opened = true;

	for (uint32_t i = 0; i < SLOTS; i++) {
		all->all[i].bell = opened ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
		opened &= all->all[i].bell >= 0;
	}
	return opened;
}

struct slots *slotted_open(int bell)
{
	/* mostly untouched: a slot takes memory when it is used for the first time */
	struct slots *all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		return NULL;
	all->owner = getpid();
	all->bell = bell;
	slotted_fit(all);
	if (open_bells(all))
		return all;
	slotted_close(all);
	return NULL;
}

void slotted_close(struct slots *all)
{
	if (!all)
		return;
	for (uint32_t i = 0; i < SLOTS; i++)
		if (all->all[i].bell >= 0)
			close(all->all[i].bell);
	munmap(all, sizeof(*all));
}

/*
 * Not if it was killed: what it had is watched by nothing now, and can be watched anew. It may stay a zombie:
 * its watch, whose child it is, may be stopped, or be occupied.
 */
static bool keeper_lives(const struct slot *s)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, s->keeper, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd < 0 ? errno != ESRCH : poll(&p, 1, 0) == 0;
}

/* The one of @pid that is in @state, or NULL. */
static struct slot *find(struct slots *all, pid_t pid, enum slot_state state)
{
	for (uint32_t i = 0; all && i < SLOTS; i++)
		if (atomic_load(&all->all[i].state) == state && all->all[i].pid == pid &&
		    keeper_lives(&all->all[i]))
			return &all->all[i];
	return NULL;
}

bool slotted_claim(struct slots *all, pid_t pid)
{
	struct slot *s = find(all, pid, SLOT_OFFERED);

	return s && slot_move(s, SLOT_OFFERED, SLOT_CLAIMED);
}

struct slot *slotted_find(struct slots *all, pid_t pid)
{
	struct slot *s = find(all, pid, SLOT_CLAIMED);

	return s && !atomic_load(&s->closed) ? s : NULL;
}

static uint64_t due_in_ns(const struct slot *s, uint64_t now_ns)
{
	const uint64_t due_ns = s->born_ns + SLOTTED_DUE_NS;

	return atomic_load(&s->crowded) || due_ns <= now_ns ? 0 : due_ns - now_ns;
}

pid_t slotted_due(struct slots *all, uint32_t *i, uint64_t now_ns)
{
	while (all && *i < SLOTS) {
		const struct slot *s = &all->all[(*i)++];

		if (atomic_load(&s->state) == SLOT_OFFERED && !due_in_ns(s, now_ns))
			return s->pid;
	}
	return 0;
}

int slotted_due_ms(struct slots *all, uint64_t now_ns, int most)
{
	for (uint32_t i = 0; all && i < SLOTS; i++) {
		uint64_t ms;

		if (atomic_load(&all->all[i].state) != SLOT_OFFERED)
			continue;
		ms = due_in_ns(&all->all[i], now_ns) / 1000000 + 1;
		/* due, and was not claimed: its keeper was killed, and it stays for long */
		ms = ms > 1 ? ms : OVERDUE_MS;
		most = ms < (uint64_t)most ? (int)ms : most;
	}
	return most;
}

/*
 * A keeper that was killed does not take it back. Not at once: the watches of what it had look through its
 * slots for copies to put right (attach/control/left_copies.h).
 */
static void take_back(struct slot *s, uint32_t state)
{
	if (keeper_lives(s) || clock_seconds() - (double)s->born_ns / 1e9 < LEFT_S)
		return;
	atomic_store(&s->closed, 0);
	atomic_store(&s->crowded, 0);
	(void)slot_move(s, state, SLOT_FREE);
}

void slotted_sweep(struct slots *all, bool (*needed)(void *ctx, pid_t pid), void *ctx)
{
	for (uint32_t i = 0; all && i < SLOTS; i++) {
		struct slot *s = &all->all[i];
		const uint32_t state = atomic_load(&s->state);
		const bool claimed = state == SLOT_CLAIMED || state == SLOT_ADOPTED;

		if (state < SLOT_OFFERED || (claimed && needed(ctx, s->pid)))
			continue;
		if (claimed)
			atomic_store(&s->closed, 1);
		take_back(s, state);
	}
}
