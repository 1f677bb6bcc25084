/* SPDX-License-Identifier: MIT */
#include "attach/control/link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/control/left_copies.h"
#include "attach/keeper/keeper.h"
#include "attach/keeper/procfs.h"
#include "attach/keeper/traps/trap.h"
#include "attach/target/target.h"
#include "base/log.h"
#include "base/stall_timer.h"

#define SILENCE_NS 1500000000ull	/* with max_stall and leaving itself, the target is free within 2 s */
#define HOLD_NS 1000000000ull
#define START_NS 10000000000ull
#define CALL_NS 2000000000ull
#define ADOPT_TRIES 1000

uint64_t link_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* The ring is the end of it. @touched: at once, since the keeper may not wait for memory while it serves a thread. */
static int map_shared(size_t bytes, bool touched, struct shared **out)
{
	cleanup_close int fd = memfd_create("mmattach", MFD_CLOEXEC);
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (touched ? MAP_POPULATE : 0), fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

static uint32_t ring_of(const struct link_settings *set)
{
	return set->one_of_many ? SHARED_RING_SMALL : SHARED_RING;
}

static void set_up(struct link *l, const struct link_settings *set)
{
	l->shared->slice_bytes = set->slice_bytes;
	l->shared->max_stall_ns = set->max_stall_ns;
	l->shared->budget_ppm = set->budget_ppm;
	l->shared->silence_ns = SILENCE_NS;
	l->shared->hold_ns = HOLD_NS;
	l->shared->one_of_many = set->one_of_many;
	l->shared->sampled = set->sampled;
	l->shared->inherits = set->inherits;
	l->shared->bell = l->bell;
	l->shared->slots = set->slots;
	l->shared->gdb = set->gdb;
	l->shared->gdb_mem = set->gdb_mem;
	ring_init(&l->shared->ring, l->shared->ring_bytes, ring_of(set));
}

static int map_traps(struct link *l)
{
	memset(l, 0, sizeof(*l));
	l->keeper_fd = -1;
	l->traps = mmap(NULL, sizeof(*l->traps), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (l->traps == MAP_FAILED)
		return -ENOMEM;
	/* otherwise the keeper would lock it, too */
	(void)!madvise(l->traps, sizeof(*l->traps), MADV_DONTFORK);
	return 0;
}

/* What the controller itself needs: a table for link_emergency_lift, the shared mapping, the doorbell. */
static int make_ready(struct link *l, const struct link_settings *set, bool keeper)
{
	int r = map_traps(l);

	if (r < 0)
		return r;
	l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->shared_bytes = offsetof(struct shared, ring_bytes) + ring_of(set);
	r = l->bell < 0 ? -errno : map_shared(l->shared_bytes, keeper, &l->shared);
	if (r == 0) {
		set_up(l, set);
		return 0;
	}
	if (l->bell >= 0)
		close(l->bell);
	munmap(l->traps, sizeof(*l->traps));
	return r;
}

int link_open(struct link *l, const struct link_settings *set, int argc, char **argv)
{
	int r = make_ready(l, set, true);

	if (r < 0)
		return r;
	r = keeper_start(l->shared, argc, argv, &l->keeper, &l->keeper_fd);
	if (r < 0)
		link_close(l);
	return r;
}

int link_open_uprobe(struct link *l, const struct link_settings *set, pid_t pid, const char *way, char *why, size_t n)
{
	int r = make_ready(l, set, false);

	*why = '\0';
	if (r < 0)
		return r;
	r = uprobe_open(pid, l->shared, way, &l->uprobe, why, n);
	if (r < 0)
		link_close(l);
	return r;
}

int link_prepare_uprobe(struct link *l, pid_t pid, const char *way, char *why, size_t n)
{
	const int r = uprobe_open(pid, l->shared, way, &l->prepared, why, n);

	/* a program that starts serves nothing yet, and on a busy machine the kernel takes seconds for the probes */
	if (r == 0)
		l->shared->silence_ns = l->shared->hold_ns = START_NS;
	return r;
}

int link_open_slot(struct link *l, struct slot *slot)
{
	int r = map_traps(l);

	if (r < 0)
		return r;
	l->keeper = slot->keeper;
	l->keeper_fd = (int)syscall(SYS_pidfd_open, l->keeper, 0);
	if (l->keeper_fd < 0) {
		r = -errno;
		munmap(l->traps, sizeof(*l->traps));
		return r;
	}
	/* the number may be another process's by now: a keeper that lives traces the copy */
	if (target_status_number(slot->pid, "TracerPid") != (uint32_t)slot->keeper) {
		close(l->keeper_fd);
		munmap(l->traps, sizeof(*l->traps));
		return -ESRCH;
	}
	l->slot = slot;
	l->bell = slot->bell;
	l->shared = &slot->shared;
	return 0;
}

/* What is not read any more is not watched any more; the slot is the keeper's again. */
static void close_slot(struct link *l)
{
	atomic_store(&l->slot->closed, 1);
	link_signal(l, KEEPER_MAIL);
	close(l->keeper_fd);
	munmap(l->traps, sizeof(*l->traps));
	l->shared = NULL;
}

void link_close(struct link *l)
{
	if (!l->shared)
		return;
	if (l->slot) {
		close_slot(l);
		return;
	}
	uprobe_close(l->uprobe);
	uprobe_close(l->prepared);
	munmap(l->shared, l->shared_bytes);
	close(l->bell);
	if (l->keeper_fd >= 0)
		close(l->keeper_fd);
	munmap(l->traps, sizeof(*l->traps));
	l->shared = NULL;
}

void link_signal(struct link *l, int sig)
{
	/* ESRCH: the keeper is gone, which the pidfd reports as well */
	(void)!syscall(SYS_pidfd_send_signal, l->keeper_fd, sig, NULL, 0);
}

bool link_left_alone(const struct link *l)
{
	return atomic_load(&l->shared->end.stays) && atomic_load(&l->shared->end.left);
}

bool link_keeper_gone(const struct link *l)
{
	struct pollfd p = { .fd = l->keeper_fd, .events = POLLIN };

	return link_left_alone(l) || poll(&p, 1, 0) == 1;
}

bool link_keeper_died(const struct link *l)
{
	struct pollfd p = { .fd = l->keeper_fd, .events = POLLIN };

	return l->shared && l->keeper_fd >= 0 && poll(&p, 1, 0) == 1 && atomic_load(&l->shared->end.left) == LEFT_NOT;
}

bool link_may_kill(const struct link *l)
{
	return !l->shared->slots && !link_any_planted(l);
}

static void send_command(struct link *l, enum command_op op, int64_t arg, int64_t arg2)
{
	struct shared *sh = l->shared;

	sh->op = op;
	sh->arg = arg;
	sh->arg2 = arg2;
	atomic_fetch_add(&sh->seq, 1);
	link_signal(l, KEEPER_MAIL);
}

/* Wait a short time for the doorbell or the keeper's end. */
static void wait_for_keeper(struct link *l)
{
	struct pollfd p[2] = { { .fd = l->bell, .events = POLLIN }, { .fd = l->keeper_fd,
								     .events = POLLIN } };
	uint64_t rings;

	if (poll(p, 2, 10) > 0 && (p[0].revents & POLLIN))
		(void)!read(l->bell, &rings, sizeof(rings));
}

static int await_done(struct link *l, struct stall_timer *p, uint64_t limit_ns)
{
	struct shared *sh = l->shared;

	while (atomic_load(&sh->done) != atomic_load(&sh->seq)) {
		if (link_keeper_gone(l) && atomic_load(&sh->done) != atomic_load(&sh->seq))
			return -EPIPE;
		if (stall_timer_look(p, link_clock_ns()) > limit_ns)
			return -ETIMEDOUT;
		link_alive(l);
		if (l->events)
			link_pump(l->events, UPROBE_ALL);
		wait_for_keeper(l);
	}
	return 0;
}

static const char *command_name(enum command_op op)
{
	static const char *const names[] = {
		[COMMAND_NONE] = "none",
		[COMMAND_SEIZE] = "seize",
		[COMMAND_PLANT] = "plant",
		[COMMAND_FORGET] = "forget",
		[COMMAND_LIFT] = "lift",
		[COMMAND_RELEASE] = "release",
		[COMMAND_LEAD] = "lead",
		[COMMAND_TAKE_OVER] = "take over",
		[COMMAND_STOP_ALL] = "stop all",
		[COMMAND_NEXT_STOPPED] = "next stopped",
		[COMMAND_RESUME_ALL] = "resume all",
		[COMMAND_LET_END] = "let end",
		[COMMAND_SHARE] = "share",
		[COMMAND_NOTE] = "note",
		[COMMAND_ADOPT] = "adopt",
		[COMMAND_LEAVE] = "leave",
	};

	return names[op];
}

int64_t link_call(struct link *l, enum command_op op, int64_t arg, int64_t arg2, uint64_t limit_ns)
{
	struct shared *sh = l->shared;
	struct stall_timer p = stall_timer_begin(link_clock_ns());
	int r = await_done(l, &p, limit_ns);

	/* an earlier command that took too long must not be overwritten while it is carried out */
	if (r < 0)
		return r;
	send_command(l, op, arg, arg2);
	r = await_done(l, &p, limit_ns);
	if (r < 0)
		return r;
	log_debug(KEEPER, "%s %" PRId64 " %" PRId64 ": %" PRId64, command_name(op), arg, arg2, sh->result);
	return sh->result;
}

int link_new_site(struct link *l, uint32_t *i)
{
	for (*i = 0; *i < SHARED_SITES; ++*i) {
		if (l->used[*i])
			continue;
		l->used[*i] = true;
		if (*i >= l->nsites)
			l->nsites = *i + 1;
		return 0;
	}
	return -ENOSPC;
}

static int plant_run(struct link *l, uint32_t first, uint32_t n)
{
	int64_t r;

	/* from here on they may be planted, whatever the answer is */
	for (uint32_t i = first; i < first + n; i++)
		l->planted[i] = true;
	r = link_call(l, COMMAND_PLANT, first, n, CALL_NS);
	for (uint32_t i = first; r >= 0 && i < first + n; i++)
		l->planted[i] = l->shared->plant_result[i] == 0;
	return r < 0 ? r : 0;
}

int link_adopt(struct link *l)
{
	const struct timespec ms = { 0, 1000000 };
	int64_t r;

	/* a thread steps for microseconds; but there may be many */
	for (int tries = 0; tries < ADOPT_TRIES; tries++) {
		r = link_call(l, COMMAND_ADOPT, getpid(), l->nsites, CALL_NS);
		if (r != -EAGAIN)
			break;
		nanosleep(&ms, NULL);
	}
	for (uint32_t i = 0; r == 0 && i < l->nsites; i++)
		l->planted[i] = l->used[i] && l->shared->plant_result[i] == 0;
	return (int)r;
}

bool link_map(struct link *l, const struct record_hit *hit)
{
	/* it is ours until it is consumed, in memory that is ours as well */
	struct record_hit *ours = (struct record_hit *)(uintptr_t)hit;
	const uint16_t *map;

	if (!l->slot || atomic_load(&l->shared->ring.tail) >= l->slot->mapped_until)
		return true;
	map = l->slot->map;
	ours->head.site = map[hit->head.site % SHARED_SITES];
	ours->outer_site = map[hit->outer_site % SHARED_SITES];
	return hit->head.site != SLOT_NO_SITE && hit->outer_site != SLOT_NO_SITE;
}

static int plant_uprobes(struct link *l, const uint32_t *sites, size_t n)
{
	const int r = uprobe_plant(l->uprobe, sites, n);

	for (size_t i = 0; i < n && r == 0; i++)
		l->planted[sites[i]] = l->shared->plant_result[sites[i]] == 0;
	return r;
}

int link_plant(struct link *l, const uint32_t *sites, size_t n)
{
	if (l->uprobe)
		return plant_uprobes(l, sites, n);
	for (size_t i = 0; i < n;) {
		size_t run = 1;
		int r;

		while (i + run < n && sites[i + run] == sites[i] + run)
			run++;
		r = plant_run(l, sites[i], run);
		if (r < 0)
			return r;
		i += run;
	}
	return 0;
}

bool link_lead(struct link *l, const struct record_hit *hit, uint32_t site)
{
	const int64_t where = (int64_t)((uint64_t)site << 32 | (uint32_t)hit->head.value);

	return shared_is_held(l->shared, hit) && link_call(l, COMMAND_LEAD, hit->head.tid, where,
							   CALL_NS) == 1;
}

bool link_any_planted(const struct link *l)
{
	return link_count_planted(l);
}

uint32_t link_count_planted(const struct link *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->nsites; i++)
		n += l->planted[i];
	return n;
}

int link_forget(struct link *l, uint32_t first, uint32_t n)
{
	int64_t r = 0;

	if (l->uprobe)
		uprobe_forget(l->uprobe, first, n);
	else
		r = link_call(l, COMMAND_FORGET, first, n, CALL_NS);
	/* no answer: the trap may still be planted, and its number must not go to another site */
	if (r < 0)
		return r;
	memset(&l->used[first], 0, n * sizeof(l->used[0]));
	memset(&l->planted[first], 0, n * sizeof(l->planted[0]));
	return 0;
}

void link_forget_all(struct link *l)
{
	memset(l->used, 0, sizeof(l->used));
	memset(l->planted, 0, sizeof(l->planted));
	l->nsites = 0;
}

int link_take_over(struct link *l)
{
	int64_t r = link_call(l, COMMAND_TAKE_OVER, 0, 0, CALL_NS);

	if (r < 0)
		return r;
	l->shared->gdb = -1;
	memset(l->planted, 0, sizeof(l->planted));
	return 0;
}

static int keeper_leave(struct link *l, uint64_t limit_ns)
{
	struct stall_timer p = stall_timer_begin(link_clock_ns());

	send_command(l, COMMAND_LEAVE, 0, 0);
	while (!link_keeper_gone(l)) {
		if (stall_timer_look(&p, link_clock_ns()) > limit_ns)
			return -ETIMEDOUT;
		wait_for_keeper(l);
	}
	/* our child: leave no zombie */
	waitpid(l->keeper, NULL, WNOHANG);
	return 0;
}

int link_leave(struct link *l, uint64_t limit_ns)
{
	if (l->uprobe)
		uprobe_leave(l->uprobe);
	return l->keeper_fd >= 0 ? keeper_leave(l, limit_ns) : 0;
}

int link_lift(struct link *l)
{
	int64_t r = link_call(l, COMMAND_LIFT, 0, l->nsites, CALL_NS);

	if (r != 0)
		return r < 0 ? (int)r : -EIO;
	memset(l->planted, 0, sizeof(l->planted));
	l->uprobe = l->prepared;
	l->prepared = NULL;
	return 0;
}

int link_hand_over(struct link *l, const struct record *rec, uint64_t limit_ns)
{
	struct shared_end *end = &l->shared->end;
	int r = keeper_leave(l, limit_ns);

	if (r < 0)
		return r;
	close(l->keeper_fd);
	l->keeper_fd = -1;
	/* a program may end within the time that the keeper needs to leave: that record would come before its hits */
	ring_take_over(&l->shared->ring, rec);
	atomic_store(&end->left, LEFT_NOT);
	atomic_store(&end->at_ns, 0);
	atomic_store(&end->blind_ns, 0);
	return 0;
}

void link_pump(struct link *l, uint64_t until)
{
	if (l->uprobe)
		uprobe_pump(l->uprobe, until);
}

bool link_settle(struct link *l)
{
	if (!l->uprobe || !uprobe_unaccounted(l->uprobe))
		return false;
	uprobe_wait_left(l->uprobe);
	return true;
}

void link_sleeps(struct link *l, bool sleeps)
{
	atomic_store(&l->shared->ring.sleeping, sleeps);
	if (l->uprobe)
		uprobe_sleeps(l->uprobe, sleeps);
}

bool link_is_crowded(const struct link *l)
{
	return l->uprobe ? uprobe_is_crowded(l->uprobe) : ring_is_crowded(&l->shared->ring);
}

uint64_t link_position(const struct link *l)
{
	const struct link *from = l->events ? l->events : l;

	return from->uprobe ? uprobe_position(from->uprobe) : atomic_load(&from->shared->ring.head);
}

void link_alive(struct link *l)
{
	atomic_fetch_add_explicit(&l->shared->alive, 1, memory_order_relaxed);
}

uint32_t link_emergency_lift(struct link *l, int mem, uint32_t *left)
{
	uint32_t lifted = 0;

	*left = 0;
	if (l->shared->gdb >= 0)
		return 0; /* the planted traps are gdb's */
	for (uint32_t i = 0; i < l->nsites; i++)
		if (l->planted[i]) /* what cannot be adopted was not planted either */
			(void)!trap_adopt(l->traps, i, &l->shared->sites[i]);
	for (uint32_t i = 0; i < l->nsites; i++) {
		int r = trap_lift_left(l->traps, mem, i);

		lifted += r > 0;
		*left += r < 0;
	}
	return lifted;
}

static void lift_in_copy(void *ctx, int mem)
{
	struct link *l = ctx;

	for (uint32_t i = 0; i < l->nsites; i++)
		(void)!trap_lift_left(l->traps, mem, i);
}

void link_lift_copies(struct link *l, pid_t pid)
{
	if (l->shared->gdb < 0)
		left_copies_each(l->shared->slots, l->keeper, pid, lift_in_copy, l);
}
