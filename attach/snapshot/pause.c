/* SPDX-License-Identifier: MIT */
#include "attach/snapshot/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/control/link.h"
#include "attach/keeper/procfs.h"
#include "attach/snapshot/busy.h"
#include "attach/snapshot/copy_buffer.h"
#include "attach/snapshot/copy_plan.h"
#include "attach/snapshot/copy_run.h"
#include "attach/snapshot/resident.h"
#include "base/fdio.h"
#include "base/log.h"

#define TRIES 4
#define EXTRA_LEAST (4u << 20)
#define RESERVE_LEAST (64u << 20)
/* this much shared memory is copied if there is little private memory, */
#define SHARED_LEAST (64u << 20)
#define SHARED_PART 4		/* and private memory divided by this, if that is more */
#define SAMPLES 4		/* of what runs */
#define SAMPLE_EVERY_NS 700000
#define SPEED_MOST 2e10		/* bytes a second, of any machine */
#define SPEED_USUAL 4e9
#define BASE_NS 300000		/* a pause of one thread and no memory */
/* for each thread: look up what it sleeps in, interrupt, wake, read registers, continue */
#define THREAD_NS 45000
#define LIMIT_LEAST_NS 1000000000ull
#define LIMIT_ANY_NS 10000000000ull	/* if any pause will do */
#define SLACK_NS 2000000000ull	/* the keeper's answer may come this long after its own limit */
#define RESUME_TRIES 5
#define STATUS_MAX 65536

/* One try. */
struct pause {
	struct link *link;
	pid_t pid, tid;			/* tid: a thread that lives: its /proc files show the memory */
	uint32_t number;		/* the number of the pause while it lasts */
	struct copy_plan plan;
	struct resident resident;
	struct copy_size size;
	uint64_t left_out;		/* bytes of shared memory */
	struct copy_run copy;
	bool copy_open;
	int mem;
	struct busy busy;
	uint64_t maps_ns;		/* how long it took to read the list */
	uint64_t limit_ns;
	/*
	 * vector registers, with space for the threads that there were; when it is full, the snapshot owns
	 * it, and another is allocated
	 */
	uint8_t *vectors;
	size_t nvectors, vectors_room;
	struct snapshot *out;
	struct pause_had *had;
};

/* --- prepare --- */

static bool keeper_still_pauses(void *ctx)
{
	const struct pause *p = ctx;

	return atomic_load_explicit(&p->link->shared->pause.number, memory_order_acquire) == p->number;
}

static int open_files(struct pause *p)
{
	char path[64];
	int r;

	p->tid = procfs_living_thread(p->pid);
	if (!p->tid)
		return -ESRCH;
	r = copy_plan_open(&p->plan, p->tid);
	if (r == 0)
		r = resident_open(&p->resident, p->tid);
	if (r < 0)
		return r;
	/* only pages without rights need it; if it may not be opened, those are missing */
	snprintf(path, sizeof(path), "/proc/%d/mem", p->tid);
	p->mem = open(path, O_RDONLY | O_CLOEXEC);
	return 0;
}

/*
 * Has the process so much memory that no machine copies it in that time? Then its page map is not even read, which
 * would take as long as its memory is large.
 */
static bool is_far_too_large(struct pause *p, const struct pause_wish *wish)
{
	cleanup_free char *text = NULL;
	uint64_t bytes;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", p->pid);
	if (!wish->max_pause_ns || read_whole_file(path, STATUS_MAX, &text, &n) < 0 ||
	    !memory_limit_find(text, "RssAnon", &bytes) || bytes * 1e9 / SPEED_MOST <= wish->max_pause_ns)
		return false;
	p->had->expected_ns = bytes * 1e9 / SPEED_USUAL;
	return true;
}

static void read_comm(pid_t pid, char comm[16])
{
	cleanup_free char *text = NULL;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (read_whole_file(path, 4096, &text, &n) == 0)
		snprintf(comm, 16, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Reserve space for the present threads, and a quarter more. */
static int reserve_threads(struct pause *p)
{
	size_t n = atomic_load(&p->link->shared->threads);
	struct snapshot *s = p->out;

	n += n / 4 + 64;
	s->threads = malloc(n * sizeof(*s->threads));
	p->vectors_room = n * PAUSE_VECTORS;
	p->vectors = malloc(p->vectors_room);
	if (!s->threads || !p->vectors)
		return -ENOMEM;
	s->thread_room = n;
	memset(s->threads, 0, n * sizeof(*s->threads));
	memset(p->vectors, 0, p->vectors_room);
	return 0;
}

static uint64_t expect(const struct pause *p, const struct pause_wish *wish, double bytes_per_s)
{
	const uint64_t busy_ns = wish->limit_ns ? 0 : busy_stop_ns(&p->busy, sysconf(_SC_NPROCESSORS_ONLN));

	/*
	 * The trial was faster because its memory was written just before, while the target's is scattered; a
	 * second thread that copies makes up for that. What runs is not the target's alone, and goes on while
	 * the target is stopped.
	 */
	uint64_t work = p->size.bytes * 1e9 / bytes_per_s + p->size.scan_ns;

	return BASE_NS + p->maps_ns + work + busy_ns + atomic_load(&p->link->shared->threads) * (uint64_t)THREAD_NS;
}

static void set_limit(struct pause *p, const struct pause_wish *wish)
{
	p->limit_ns = wish->limit_ns;
	if (p->limit_ns)
		return;
	p->limit_ns = wish->max_pause_ns ? 4 * wish->max_pause_ns : LIMIT_ANY_NS;
	if (p->limit_ns < 4 * p->had->expected_ns)
		p->limit_ns = 4 * p->had->expected_ns;
	if (p->limit_ns < LIMIT_LEAST_NS)
		p->limit_ns = LIMIT_LEAST_NS;
}

static void limit_shared(struct pause *p, uint64_t budget)
{
	uint64_t before = p->left_out;

	p->left_out = copy_plan_limit_shared(&p->plan, budget);
	p->size.bytes -= p->left_out - before;
	p->size.shared -= p->left_out - before;
}

static int measure(struct pause *p)
{
	uint64_t start, private;
	int r = copy_plan_prepare(&p->plan);

	busy_sample(&p->busy, p->pid);
	start = link_clock_ns();
	if (r == 0)
		r = copy_plan_read(&p->plan);
	p->maps_ns = link_clock_ns() - start;
	if (r == 0)
		r = copy_run_measure(&p->plan, &p->resident, &p->size);
	if (r < 0)
		return r;
	private = p->size.bytes - p->size.shared;
	limit_shared(p, private / SHARED_PART > SHARED_LEAST ? private / SHARED_PART : SHARED_LEAST);
	return 0;
}

/* To measure it takes most of the preparation. With a limit it is the machine's that was measured the first time. */
static double speed_of(struct pause *p, const struct pause_wish *wish)
{
	static double measured;

	if (!wish->limit_ns || !(measured > 0))
		measured = copy_buffer_speed(p->copy.room, p->copy.ready_bytes);
	return measured;
}

/* How long it will be stopped. If that is too long, leave out shared memory: better than to copy nothing. */
static void expect_and_choose(struct pause *p, const struct pause_wish *wish)
{
	double bytes_per_s = speed_of(p, wish);

	/* with a limit, which threads wait for a processor does not matter */
	for (int i = 0; i < SAMPLES && !wish->limit_ns; i++) {
		busy_sample(&p->busy, p->pid);
		nanosleep(&(struct timespec){ 0, SAMPLE_EVERY_NS }, NULL);
	}
	p->had->expected_ns = expect(p, wish, bytes_per_s);
	if (wish->max_pause_ns && p->had->expected_ns > wish->max_pause_ns && p->size.shared) {
		limit_shared(p, 0);
		p->had->expected_ns = expect(p, wish, bytes_per_s);
	}
	set_limit(p, wish);
}

static int prepare_all(struct pause *p, const struct pause_wish *wish)
{
	uint64_t private, extra, reserve;
	struct memory_limit spare;
	int r = is_far_too_large(p, wish) ? -ETIME : open_files(p);

	if (r == 0)
		r = measure(p);
	if (r < 0)
		return r;
	/* do not even allocate memory for what no machine copies in that time */
	private = p->size.bytes - p->size.shared;
	p->had->expected_ns = private * 1e9 / SPEED_USUAL;
	if (wish->max_pause_ns && private * 1e9 / SPEED_MOST > wish->max_pause_ns)
		return -ETIME;
	/* how much it may grow until it is stopped: a sixteenth, and twice as much at each try */
	extra = (p->size.bytes / 16 + EXTRA_LEAST) << p->had->tries;
	if (!memory_limit_for_copy(p->size.bytes + extra, &p->had->room))
		return -ENOMEM;
	/*
	 * how much it may grow beyond that, if the machine can spare it. With a limit the copy is to be made soon: to
	 * prepare that memory takes most of the time
	 */
	reserve = (p->size.bytes + RESERVE_LEAST) & ~(uint64_t)(COPY_BUFFER_PAGE - 1);
	if (wish->limit_ns || !memory_limit_for_copy(p->size.bytes + extra + reserve, &spare))
		reserve = 0;
	r = copy_run_open(&p->copy, &p->plan, &p->resident, p->tid, &p->size, extra, reserve);
	if (r < 0)
		return r;
	p->copy_open = true;
	expect_and_choose(p, wish);
	if ((wish->max_pause_ns && p->had->expected_ns > wish->max_pause_ns) ||
	    p->had->expected_ns > p->limit_ns)
		return -ETIME;
	r = reserve_threads(p);
	return r < 0 ? r : copy_run_reserve(&p->copy, p->out);
}

struct preparing {
	struct pause *pause;
	const struct pause_wish *wish;
	int result;
	atomic_bool done;
};

static void *prepare_thread(void *arg)
{
	struct preparing *g = arg;

	g->result = prepare_all(g->pause, g->wish);
	atomic_store(&g->done, true);
	return NULL;
}

/*
 * Prepare in a thread of its own. It takes seconds if memory is large, or if the target forks all the time
 * (which locks its mappings), and meanwhile this thread must read events: otherwise the keeper assumes that
 * we hang, and leaves.
 */
static int prepare(struct pause *p, const struct pause_wish *wish)
{
	struct preparing g = { .pause = p, .wish = wish };
	const struct timespec ms = { 0, 1000000 };
	sigset_t all, before;
	pthread_t thread;
	bool there = true;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&thread, NULL, prepare_thread, &g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		/* EAGAIN: no memory for its stack; for our caller EAGAIN has another meaning */
		return r == -EAGAIN ? -ENOMEM : r;
	while (!atomic_load(&g.done)) {
		link_alive(p->link);
		if (wish->meanwhile && !wish->meanwhile(wish->ctx))
			there = false;
		nanosleep(&ms, NULL);
	}
	pthread_join(thread, NULL);
	return there ? g.result : -ESRCH;
}

/* --- while it is stopped --- */

/*
 * The stack pointer of a sleeping thread that could not be stopped: /proc/.../syscall ends in its stack and
 * instruction pointers.
 */
static taddr sleeping_at(pid_t pid, pid_t tid)
{
	char path[64], buf[256], *sp;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	sp = strrchr(buf, ' ');
	if (!sp)
		return 0;
	*sp = '\0';
	sp = strrchr(buf, ' ');
	return sp ? strtoull(sp, NULL, 16) : 0;
}

/*
 * There may be more threads than there is space for: allocate more, instead of stopping them all once more.
 */
static int reserve_vectors(struct pause *p)
{
	const size_t room = PAUSE_BATCH * PAUSE_VECTORS;
	uint8_t *more;
	int r;

	if (p->vectors_room - p->nvectors >= PAUSE_VECTORS)
		return 0;
	more = malloc(room);
	r = more ? snapshot_own(p->out, p->vectors, 0) : -ENOMEM;
	if (r < 0) {
		free(more);
		return r;
	}
	p->vectors = more;
	p->vectors_room = room;
	p->nvectors = 0;
	return 0;
}

static int add_thread(struct pause *p, const struct paused_thread *from)
{
	struct snapshot_thread t = { .tid = from->tid, .known = from->flags & PAUSED_KNOWN };

	int r = reserve_vectors(p);

	if (r < 0)
		return r;
	t.running = !(from->flags & (PAUSED_KNOWN | PAUSED_ASLEEP));
	if (t.known) {
		t.regs = from->regs;
		t.sp = from->regs.rsp;
	} else {
		t.sp = sleeping_at(p->pid, t.tid);
		p->had->not_stopped++;
	}
	if (t.known && from->nvectors && from->nvectors <= PAUSE_VECTORS) {
		memcpy(p->vectors + p->nvectors, from->vectors, from->nvectors);
		t.vectors = p->vectors + p->nvectors;
		t.nvectors = from->nvectors;
		p->nvectors += (from->nvectors + 63) & ~63u;
	}
	p->had->threads++;
	return snapshot_add_thread(p->out, &t);
}

static int add_threads(struct pause *p)
{
	struct shared *sh = p->link->shared;
	int64_t n = sh->pause.count;

	p->had->threads = 0;
	p->had->not_stopped = 0;
	for (;;) {
		for (int64_t i = 0; i < n && i < PAUSE_BATCH; i++) {
			int r = add_thread(p, &sh->pause.batch[i]);

			if (r < 0)
				return r;
		}
		if (n < 0 || !sh->pause.next)
			return n < 0 ? n : 0;
		n = link_call(p->link, COMMAND_NEXT_STOPPED, sh->pause.next, 0, SLACK_NS);
	}
}

/* The mappings as they are now; then memory, by the waiting threads, and meanwhile registers. */
static int copy_all(struct pause *p)
{
	int r = copy_plan_read(&p->plan), copied;

	if (r < 0)
		return r;
	copy_run_begin(&p->copy, p->mem, keeper_still_pauses, p);
	r = add_threads(p);
	copied = copy_run_end(&p->copy);
	return copied < 0 ? copied : r;
}

/*
 * Whatever has happened, the keeper must have resumed all threads before we do anything else. If it does not
 * answer, it was stopped (SIGSTOP): continued, it answers; and it has its own limit.
 */
static int64_t resume_all(struct link *l)
{
	int64_t r = -ETIMEDOUT;

	for (int i = 0; i < RESUME_TRIES; i++) {
		r = link_call(l, COMMAND_RESUME_ALL, 0, 0, SLACK_NS);
		if (r != -ETIMEDOUT || atomic_load(&l->shared->seq) == atomic_load(&l->shared->done))
			break;
		link_signal(l, SIGCONT);
	}
	return r;
}

static int end_error(const struct link *l, int64_t r)
{
	return r == -EPIPE && atomic_load(&l->shared->end.left) == LEFT_ENDED ? -ESRCH : r;
}

/* How long the last pause lasted; 0 if none has begun since @before, when the one before began. */
static uint64_t stopped_ns(const struct shared *sh, uint64_t before)
{
	uint64_t began = atomic_load(&sh->pause.began_ns), ended = atomic_load(&sh->pause.ended_ns);

	return began != before && ended > began ? ended - began : 0;
}

static int stop_and_copy(struct pause *p)
{
	struct shared *sh = p->link->shared;
	const uint64_t before = atomic_load(&sh->pause.began_ns);
	int64_t r = link_call(p->link, COMMAND_STOP_ALL, p->limit_ns, 0, p->limit_ns + SLACK_NS), resumed;

	if (r >= 0) {
		p->number = atomic_load(&sh->pause.number);
		p->had->at_ns = link_clock_ns();
		p->had->ring_head = link_position(p->link);
		r = p->number ? copy_all(p) : -ETIMEDOUT;
		resumed = resume_all(p->link);
		r = r < 0 && r != -ETIMEDOUT ? r : resumed < 0 ? resumed : r;
	} else if (r == -ETIMEDOUT) {
		/* not answered, but perhaps carried out later */
		(void)!resume_all(p->link);
	}
	p->had->had_ns += stopped_ns(sh, before);
	return end_error(p->link, r);
}

/* --- the whole --- */

static int fill_snapshot(struct pause *p)
{
	struct snapshot *s = p->out;

	s->pid = p->pid;
	s->live = true;
	s->left_out = p->left_out;
	read_comm(p->pid, s->comm);
	copy_plan_move_maps(&p->plan, &s->maps);
	copy_run_move(&p->copy, s);
	p->had->bytes = s->bytes;
	/* space was reserved */
	(void)!snapshot_own(s, p->vectors, 0);
	p->vectors = NULL;
	return snapshot_seal(s);
}

static void end_try(struct pause *p)
{
	if (p->copy_open)
		copy_run_close(&p->copy);
	if (p->mem >= 0)
		close(p->mem);
	free(p->vectors);
	resident_close(&p->resident);
	copy_plan_close(&p->plan);
}

static int try(struct link *l, pid_t pid, const struct pause_wish *wish, struct snapshot *out,
	       struct pause_had *had)
{
	struct pause p = {
		.link = l, .pid = pid, .plan = COPY_INIT, .resident = RESIDENT_INIT, .mem = -1, .out = out,
		.had = had,
	};
	int r;

	snapshot_init(out);
	r = prepare(&p, wish);
	if (r == 0) {
		had->tries++;
		r = stop_and_copy(&p);
		log_debug(KEEPER, "pause: %d; expected %.3f ms, had %.3f, %" PRIu64 " bytes, %u threads", r,
			  had->expected_ns / 1e6, had->had_ns / 1e6, p.copy.used, had->threads);
	}
	if (r == 0)
		r = fill_snapshot(&p);
	end_try(&p);
	if (r < 0)
		snapshot_fini(out);
	return r;
}

int pause_and_copy(struct link *l, pid_t pid, const struct pause_wish *wish, struct snapshot *out,
		   struct pause_had *had)
{
	int r;

	*had = (struct pause_had){ 0 };
	snapshot_init(out);
	if (l->shared->gdb >= 0)
		return -EOPNOTSUPP;
	/* if the time is limited, there is one stop or none */
	do
		r = try(l, pid, wish, out, had);
	while (r == -ENOBUFS && had->tries < TRIES && !wish->max_pause_ns);
	return r == -ENOBUFS ? -EAGAIN : r;
}
