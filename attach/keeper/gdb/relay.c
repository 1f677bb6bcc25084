/* SPDX-License-Identifier: MIT */
#include "attach/keeper/gdb/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/keeper/hold.h"
#include "attach/keeper/loop.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/shared/wire.h"
#include "attach/keeper/traps/hit_record.h"

#define IDLE_MS 500
#define ROOM_MS 1		/* a hit waits for space in the ring: try again this often */
#define ENDING_MS 100		/* gdb ends soon after it has closed its files, or not at all */
#define PROCESS_EXITING 4	/* PF_EXITING of the kernel, in /proc/PID/stat */
#define PENDING INT64_MIN	/* gdb was asked to do it */

struct relay {
	struct keeper *k;
	int gdb;
	int signals;
	uint32_t seq;			/* of the newest hit */
	struct tracee *waiting;		/* the thread of that hit, until it may go on */
	uint32_t trap;			/* the trap that it hit */
	struct user_regs_struct regs;
	uint64_t frames[WIRE_FRAMES];
	bool no_room;			/* the hit could not be recorded yet */
	bool asked;			/* gdb has a command to carry out: */
	uint32_t asked_seq;		/* the command's number in the mailbox */
	bool take_over;
	uint64_t next_look_ns;
};

/* A message from gdb, or one to it. */
static _Alignas(8) uint8_t message[WIRE_MAX];

static void send_to_gdb(struct relay *r, const void *what, size_t n)
{
	/*
	 * EAGAIN: gdb reads nothing, though hundreds of messages are queued; it will not read this one either
	 */
	if (wire_send(r->gdb, what, n) < 0 && !r->k->leave_reason)
		r->k->leave_reason = LEFT_DEBUGGER;
}

static void send_head(struct relay *r, enum wire_kind kind, uint32_t seq, uint32_t value)
{
	const struct wire_head h = { .kind = kind, .seq = seq, .value = value };

	send_to_gdb(r, &h, sizeof(h));
}

/* --- hits --- */

static void answer_hit(struct relay *r)
{
	r->waiting = NULL;
	send_head(r, WIRE_GO, r->seq, r->k->leave_reason != 0);
}

static void record(struct relay *r)
{
	struct record_hit *rec;
	enum hit_record_result result = hit_record(r->k, r->waiting, r->trap, &r->regs, &rec);

	r->no_room = result == HIT_RECORD_NO_ROOM;
	notify_bell(r->k);
	if (result == HIT_RECORD_GO)
		answer_hit(r);
}

/* gdb's messages are checked like any input: a hit of a breakpoint that is not ours any more is no hit. */
static bool is_hit(const struct relay *r, const struct wire_hit *hit)
{
	const struct traps *ts = &r->k->traps;
	uint32_t i = hit->head.value;

	return i < SHARED_SITES && ts->all[i].state == TRAP_PLANTED && ts->all[i].site.addr == hit->regs.rip;
}

/* Copy the frames: the hit may have to wait for space in the ring, while other messages arrive. */
static void take_frames(struct relay *r, const struct wire_hit *hit, size_t bytes)
{
	if (bytes > sizeof(r->frames))
		bytes = sizeof(r->frames);
	memcpy(r->frames, hit + 1, bytes);
	r->k->walked.frames = r->frames;
	r->k->walked.n = bytes / sizeof(r->frames[0]);
}

/* gdb does not wait for the answer to this hit any more: it has sent the next one, or has detached. */
static void end_wait(struct relay *r)
{
	if (r->waiting->state == TRACEE_HELD) {
		hold_end(r->k, r->waiting);
		r->waiting->state = TRACEE_RUNNING;
	}
	if (r->no_room)
		atomic_fetch_add_explicit(&r->k->shared->counts.dropped, 1, memory_order_relaxed);
	r->no_room = false;
	r->waiting = NULL;
}

static void on_hit(struct relay *r, const struct wire_hit *hit, size_t n)
{
	struct keeper *k = r->k;

	if (n < sizeof(*hit))
		return;
	if (r->waiting)
		end_wait(r);
	r->seq = hit->head.seq;
	r->trap = hit->head.value;
	r->regs = hit->regs;
	r->waiting = is_hit(r, hit) ? threads_add(&k->threads, hit->head.tid) : NULL;
	if (!r->waiting) {
		answer_hit(r);
		return;
	}
	atomic_fetch_add_explicit(&k->shared->counts.stops, 1, memory_order_relaxed);
	take_frames(r, hit, n - sizeof(*hit));
	record(r);
}

/* The controller has released the thread, or has taken too long. */
static void release_waiting(struct relay *r)
{
	hold_end(r->k, r->waiting);
	r->waiting->state = TRACEE_RUNNING;
	answer_hit(r);
}

static bool is_held(const struct relay *r)
{
	return r->waiting && r->waiting->state == TRACEE_HELD;
}

static void release_overdue(struct relay *r)
{
	struct shared *sh = r->k->shared;

	/* no timeout while gdb carries out a command */
	if (!is_held(r) || r->asked || r->k->now_ns - r->waiting->seen_ns < sh->hold_ns)
		return;
	atomic_fetch_add_explicit(r->waiting->for_stack ? &sh->counts.unwalked : &sh->counts.overdue, 1,
				  memory_order_relaxed);
	release_waiting(r);
}

/* --- threads --- */

static void forget_thread(struct relay *r, struct tracee *t)
{
	pid_t tid = t->tid;

	if (t == r->waiting)
		return;
	calls_drop(&r->k->calls, &t->calls);
	threads_remove(&r->k->threads, t);
	notify_record(r->k, RECORD_THREAD_END, 0, tid, 0, 0);
}

static void forget_threads(struct relay *r)
{
	struct threads *ts = &r->k->threads;

	for (struct tracee *t = threads_first(ts); t; t = threads_next(ts, t))
		forget_thread(r, t);
}

/* Older gdbs do not report that a thread has ended. */
static void find_ended(struct relay *r)
{
	struct threads *ts = &r->k->threads;
	char path[64];

	for (struct tracee *t = threads_first(ts); t; t = threads_next(ts, t)) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", r->k->target, t->tid);
		if (access(path, F_OK) < 0 && errno == ENOENT)
			forget_thread(r, t);
	}
}

static void on_thread_end(struct relay *r, pid_t tid)
{
	struct tracee *t = threads_find(&r->k->threads, tid);

	if (t)
		forget_thread(r, t);
}

/* gdb follows a copy of the process: the same code, the same blocks; one thread. */
static void on_moved(struct relay *r, pid_t pid, int mem)
{
	struct keeper *k = r->k;

	if (mem >= 0) {
		if (k->read_mem >= 0)
			close(k->read_mem);
		k->read_mem = mem;
	}
	forget_threads(r);
	k->target = pid;
	notify_record(k, RECORD_MOVED, 0, pid, 0, pid);
}

/* --- commands of the controller --- */

static void answer(struct relay *r, int64_t result)
{
	struct shared *sh = r->k->shared;

	r->asked = false;
	sh->result = result;
	atomic_store(&sh->done, r->asked_seq);
	notify_ring(r->k);
}

static bool is_range(int64_t first, int64_t n)
{
	return first >= 0 && first <= SHARED_SITES && n >= 0 && n <= SHARED_SITES - first;
}

static int64_t plant(struct relay *r, uint32_t first, uint32_t n)
{
	struct wire_head *h = (struct wire_head *)message;
	struct wire_place *p = (struct wire_place *)(h + 1);

	*h = (struct wire_head){ .kind = WIRE_PLANT, .seq = r->asked_seq, .value = n };
	for (uint32_t i = 0; i < n; i++) {
		const struct site *s = &r->k->shared->sites[first + i];

		p[i] = (struct wire_place){ .site = first + i, .nbytes = s->nbytes, .addr = s->addr };
		memcpy(p[i].bytes, s->bytes, sizeof(p[i].bytes));
		r->k->shared->plant_result[first + i] = -EIO;
	}
	send_to_gdb(r, message, sizeof(*h) + n * sizeof(*p));
	return PENDING;
}

static int64_t forget(struct relay *r, uint32_t first, uint32_t n)
{
	struct wire_head *h = (struct wire_head *)message;
	uint32_t *sites = (uint32_t *)(h + 1);

	*h = (struct wire_head){ .kind = WIRE_FORGET, .seq = r->asked_seq, .value = n };
	for (uint32_t i = 0; i < n; i++)
		sites[i] = first + i;
	trap_disown(&r->k->traps, first, n);
	send_to_gdb(r, message, sizeof(*h) + n * sizeof(*sites));
	return PENDING;
}

static int64_t release(struct relay *r, pid_t tid, uint32_t hold)
{
	if (!is_held(r) || r->waiting->tid != tid || r->waiting->hold != hold)
		return -ESRCH;
	hit_record_answered(r->k, r->waiting, r->trap, &r->regs);
	release_waiting(r);
	return 0;
}

static int64_t carry_out(struct relay *r)
{
	struct shared *sh = r->k->shared;

	switch (sh->op) {
	case COMMAND_SEIZE:
		r->k->target = sh->arg;
		return 0;
	case COMMAND_PLANT:
		return is_range(sh->arg, sh->arg2) ? plant(r, sh->arg, sh->arg2) : -EINVAL;
	case COMMAND_FORGET:
		return is_range(sh->arg, sh->arg2) ? forget(r, sh->arg, sh->arg2) : -EINVAL;
	case COMMAND_RELEASE:
		return release(r, sh->arg, sh->arg2);
	case COMMAND_TAKE_OVER:
		r->take_over = true;
		return 0;
	case COMMAND_LEAVE:
		r->k->leave_reason = LEFT_ASKED;
		return 0;
	default:
		return -EINVAL;
	}
}

static void read_mail(struct relay *r)
{
	struct shared *sh = r->k->shared;
	uint32_t seq = atomic_load(&sh->seq);
	int64_t result;

	if (r->asked || seq == atomic_load(&sh->done))
		return;
	r->asked = true;
	r->asked_seq = seq;
	result = carry_out(r);
	if (result != PENDING)
		answer(r, result);
}

static void on_planted(struct relay *r, const struct wire_head *h, size_t n)
{
	const struct wire_result *results = (const struct wire_result *)(h + 1);
	struct shared *sh = r->k->shared;
	int64_t planted = 0;

	if (!r->asked || h->seq != r->asked_seq || h->value > (n - sizeof(*h)) / sizeof(*results))
		return;
	for (uint32_t i = 0; i < h->value; i++) {
		uint32_t site = results[i].site;

		if (site >= SHARED_SITES)
			continue;
		sh->plant_result[site] = results[i].result;
		if (results[i].result == 0)
			sh->plant_result[site] = trap_adopt(&r->k->traps, site, &sh->sites[site]);
		planted += sh->plant_result[site] == 0;
	}
	answer(r, planted);
}

/* --- messages of gdb --- */

static void on_message(struct relay *r, size_t n, int fd)
{
	const struct wire_head *h = (const struct wire_head *)message;

	switch (h->kind) {
	case WIRE_HIT:
		on_hit(r, (const struct wire_hit *)message, n);
		break;
	case WIRE_PLANTED:
		on_planted(r, h, n);
		break;
	case WIRE_FORGOTTEN:
		if (r->asked && h->seq == r->asked_seq)
			answer(r, 0);
		break;
	case WIRE_END:
		notify_record(r->k, RECORD_END, 0, r->k->target, 0, h->value);
		r->k->leave_reason = LEFT_ENDED;
		break;
	case WIRE_EXEC:
		notify_record(r->k, RECORD_EXEC, 0, r->k->target, 0, 0);
		break;
	case WIRE_MOVED:
		on_moved(r, h->value, fd);
		return;
	case WIRE_THREAD_END:
		on_thread_end(r, h->tid);
		break;
	}
	if (fd >= 0)
		close(fd);
}

static void receive(struct relay *r)
{
	int fd, n = wire_receive(r->gdb, message, sizeof(message), &fd);

	if (n > 0)
		on_message(r, n, fd);
	else if (n != -EAGAIN && n != -EPROTO)
		r->k->leave_reason = LEFT_DEBUGGER;
}

/* --- life --- */

static void on_signal(struct relay *r)
{
	struct signalfd_siginfo si;

	while (read(r->signals, &si, sizeof(si)) == sizeof(si))
		if (si.ssi_signo == SIGTERM)
			r->k->leave_reason = LEFT_TERM;
		else if (si.ssi_signo == KEEPER_ORPHAN)
			r->next_look_ns = 0;
}

static void check_now_and_then(struct relay *r)
{
	struct keeper *k = r->k;

	if (k->now_ns < r->next_look_ns)
		return;
	r->next_look_ns = k->now_ns + IDLE_MS * 1000000ull;
	if (getppid() != k->controller)
		k->leave_reason = LEFT_ORPHAN;
	find_ended(r);
}

static void one_iteration(struct relay *r)
{
	struct pollfd p[2] = { { .fd = r->gdb, .events = POLLIN }, { .fd = r->signals, .events = POLLIN } };
	struct keeper *k = r->k;
	int ready = poll(p, 2, r->no_room ? ROOM_MS : IDLE_MS);

	k->now_ns = keeper_clock_ns();
	if (r->no_room)
		record(r);
	if (ready > 0 && p[1].revents)
		on_signal(r);
	if (ready > 0 && p[0].revents)
		receive(r);
	if (!k->leave_reason)
		read_mail(r);
	release_overdue(r);
	check_now_and_then(r);
	loop_watch_reader(k);
	atomic_fetch_add_explicit(&k->shared->beat, 1, memory_order_relaxed);
	atomic_store_explicit(&k->shared->threads, k->threads.used, memory_order_relaxed);
}

/*
 * 1 if process @pid is about to end or has ended; 0; -errno. The kernel closes a tracer's files before it
 * detaches its tracees.
 */
static int is_ending(pid_t pid)
{
	char path[64], text[512], *rest;
	unsigned int flags;
	char state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 1 : -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 1;
	text[n] = '\0';
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
		return -EPROTO;
	return state == 'Z' || state == 'X' || flags & PROCESS_EXITING;
}

/* The process that made the socket. */
static pid_t gdbs_pid(int gdb)
{
	struct ucred peer = { 0 };
	socklen_t n = sizeof(peer);

	return getsockopt(gdb, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 ? peer.pid : 0;
}

/*
 * gdb's end of the socket is closed. If gdb ends without having lifted its breakpoints (SIGKILL), the target
 * would die at one of them in its next call: lift ours, if there is still time. A gdb that lives lifts its
 * breakpoints itself.
 */
static void lift_for_gdb(struct relay *r)
{
	pid_t pid = gdbs_pid(r->gdb);
	int ending = 0;

	for (int ms = 0; pid && ms < ENDING_MS && ending == 0; ms++) {
		ending = is_ending(pid);
		if (ending == 0)
			poll(NULL, 0, 1);
	}
	if (ending == 1)
		(void)trap_lift_all(&r->k->traps, r->k->read_mem);
}

_Noreturn static void end(struct relay *r)
{
	struct keeper *k = r->k;
	struct shared *sh = k->shared;

	if (k->leave_reason == LEFT_DEBUGGER)
		lift_for_gdb(r);
	if (r->waiting)
		answer_hit(r);
	send_head(r, WIRE_BYE, 0, 0);
	atomic_store(&sh->end.at_ns, k->now_ns);
	atomic_store(&sh->end.blind_ns, k->reader.drop_since_ns ? k->reader.drop_since_ns : k->now_ns);
	atomic_store(&sh->end.left, k->leave_reason);
	_exit(0);
}

/* What gdb planted is lifted, and its threads are not traced: start from the beginning. */
static void become_keeper(struct relay *r)
{
	struct keeper *k = r->k;

	if (r->waiting)
		end_wait(r);
	forget_threads(r);
	memset(&k->traps, 0, sizeof(k->traps));
	close(r->gdb);
	close(r->signals);
	if (k->read_mem >= 0)
		close(k->read_mem);
	k->read_mem = -1;
	k->target = 0;
	k->walked.frames = NULL;
	k->walked.n = 0;
}

void relay_run(struct keeper *k)
{
	struct relay r = {
		.k = k, .gdb = k->shared->gdb,
		.signals = signalfd(-1, &k->signals, SFD_NONBLOCK | SFD_CLOEXEC),
	};

	k->read_mem = k->shared->gdb_mem;
	if (r.signals < 0)
		_exit(1);
	while (!k->leave_reason && !r.take_over)
		one_iteration(&r);
	if (k->leave_reason)
		end(&r);
	become_keeper(&r);
}
