/* SPDX-License-Identifier: MIT */
#include "attach/watch/member.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "attach/uprobe/uprobe.h"

#define LOOK_MS 100	/* for whether the starter is still there */

void member_prepare(void)
{
	uprobe_selftest_share();
}

static void ring(const struct member *m)
{
	const uint64_t one = 1;

	(void)!write(m->bell, &one, sizeof(one));
}

void member_set(struct member *m, enum member_state state)
{
	if (!m)
		return;
	atomic_store(&m->state, state);
	ring(m);
}

void member_spawned(struct member *m, pid_t pid)
{
	if (!m)
		return;
	atomic_store(&m->spawned, pid);
	ring(m);
}

uint64_t member_missed_ms(const struct member *m)
{
	struct timespec t;

	if (!m || !m->born_ns)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - m->born_ns) / 1000000;
}

void member_take_turn(struct member *m)
{
	struct pollfd p = { .fd = m ? m->turns[0] : -1, .events = POLLIN };
	char turn;

	while (m && getppid() == m->starter) {
		if (poll(&p, 1, LOOK_MS) <= 0 || read(m->turns[0], &turn, 1) != 1)
			continue;
		atomic_store(&m->has_turn, true);
		return;
	}
}

void member_give_turn(struct member *m)
{
	if (m && atomic_exchange(&m->has_turn, false))
		(void)!write(m->turns[1], "", 1);
}
