/* SPDX-License-Identifier: MIT */
#include "attach/many/slotted.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* The one of @pid that is in @state, or NULL. */
static struct slot *find(struct slots *all, pid_t pid, enum slot_state state)
{
	for (uint32_t i = 0; all && i < SLOTS; i++)
		if (atomic_load(&all->all[i].state) == state && all->all[i].pid == pid)
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

pid_t slotted_crowded(struct slots *all, uint32_t *i)
{
	while (all && *i < SLOTS) {
		const struct slot *s = &all->all[(*i)++];

		if (atomic_load(&s->state) == SLOT_OFFERED && atomic_load(&s->crowded))
			return s->pid;
	}
	return 0;
}

static bool is_claimed(const struct slot *s)
{
	const uint32_t state = atomic_load(&s->state);

	return (state == SLOT_CLAIMED || state == SLOT_ADOPTED) && !atomic_load(&s->closed);
}

void slotted_sweep(struct slots *all, bool (*needed)(void *ctx, pid_t pid), void *ctx)
{
	for (uint32_t i = 0; all && i < SLOTS; i++) {
		struct slot *s = &all->all[i];

		if (!is_claimed(s) || needed(ctx, s->pid))
			continue;
		/* a keeper that was killed does not take it back */
		if (kill(s->keeper, 0) < 0)
			atomic_store(&s->state, SLOT_FREE);
		else
			atomic_store(&s->closed, 1);
	}
}
