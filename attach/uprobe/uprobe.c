/* SPDX-License-Identifier: MIT */
/*
 * uprobe: see uprobe.h. Here: sites become probes, and the kernel's records become those of struct shared's ring.
 */
#include "attach/uprobe/uprobe.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/keeper/sched/sched_priority.h"
#include "attach/keeper/shared/ring.h"
#include "attach/target/modfile.h"
#include "attach/target/target.h"
#include "attach/uprobe/uprobe_calls.h"
#include "attach/uprobe/uprobe_files.h"
#include "attach/uprobe/uprobe_hold.h"
#include "attach/uprobe/uprobe_kernel.h"
#include "attach/uprobe/uprobe_reader.h"
#include "attach/uprobe/uprobe_sample.h"
#include "base/log.h"

#define INIT_PID_NAMESPACE 0xeffffffcu	/* the inode of its file, in each kernel */
#define COUNT_NS 1000000000ull		/* how often the threads are counted */
#define LOST_NS 10000000u		/* between records of a loss that goes on */
/*
 * Bytes of stack that are copied at a thread's first hits while the ring fills: the most that is allowed would fill
 * it. If that is too few, it is known after one stack.
 */
#define FIRST_GUESS 4096u

_Static_assert(UPROBE_SITES == SHARED_SITES && UPROBE_LOADS == SITE_LOADS && UPROBE_TEXT == SITE_TEXT &&
		       UPROBE_HINTS == SHARED_THREADS,
	       "what BPF knows of a site is what the plan has");
_Static_assert(UPROBE_REGS * 8 == offsetof(struct user_regs_struct, fs_base), "pt_regs begins user_regs_struct");

/* The probes that were made together. */
struct group {
	struct uprobe_links links;
	uint32_t sites;			/* how many of its sites are still mapped */
};

#define GROUPS 256u
#define NO_GROUP 0xffffu

struct uprobe {
	pid_t pid;
	struct shared *shared;
	struct uprobe_kernel *kernel;
	struct uprobe_reader reader;
	struct uprobe_calls calls;
	struct group groups[GROUPS];
	uint16_t group_of[SHARED_SITES];
	/* how often a site's number was given up: a record of an earlier one is not the present one's */
	uint32_t generation[SHARED_SITES];
	int epoll, pidfd;
	uint64_t lost;			/* as it was when the ring was read last */
	uint32_t lost_seen;
	uint32_t lost_noted;		/* as far as it is in a record */
	uint64_t lost_next_ns;
	uint64_t losing_since_ns, read_ns;
	uint64_t counted_ns;
	int nice;			/* ours before */
	const struct rule *rules;	/* of a sample; NULL: all calls are recorded */
	uint64_t stale, unfollowed;
	bool left, execed, ended;
	pthread_t closer;		/* if closing: after uprobe_leave the links are its own */
	bool closing;
	bool wants_files, own_files;	/* of the closer: file descriptors of its own */
	sem_t begun;
	bool inherits;		/* uprobe_files.h */
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- opening --- */

/* The ids that BPF sees are those of the first namespace: from within another one they are not known. */
static bool is_inside_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 || (uint32_t)st.st_ino != INIT_PID_NAMESPACE;
}

static int add_to_epoll(const struct uprobe *u, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(u->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int open_fds(struct uprobe *u)
{
	int r;

	u->pidfd = (int)syscall(SYS_pidfd_open, u->pid, 0);
	u->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (u->pidfd < 0 || u->epoll < 0)
		return -errno;
	r = add_to_epoll(u, u->pidfd);
	return r < 0 ? r : add_to_epoll(u, uprobe_kernel_ring(u->kernel));
}

static enum uprobe_way way_of(const char *name)
{
	return !name ? UPROBE_WAY_AUTO : !strcmp(name, "session") ? UPROBE_WAY_SESSION :
	       !strcmp(name, "multi") ? UPROBE_WAY_MULTI : UPROBE_WAY_PERF;
}

static struct uprobe *make(pid_t pid, struct shared *shared)
{
	struct uprobe *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->pid = pid;
	u->shared = shared;
	u->epoll = u->pidfd = -1;
	u->read_ns = clock_ns();
	u->nice = getpriority(PRIO_PROCESS, 0);
	memset(u->group_of, 0xff, sizeof(u->group_of));
	uprobe_calls_init(&u->calls);
	return u;
}

/* Many watches have small rings, here as there. */
static uint32_t ring_of(const struct shared *shared)
{
	return shared->ring.size < SHARED_RING ? UPROBE_RING_SMALL : UPROBE_RING;
}

int uprobe_open(pid_t pid, struct shared *shared, const char *way, struct uprobe **out, char *why, size_t n)
{
	struct uprobe_settings set = { .pid = pid, .ring_bytes = ring_of(shared), .way = way_of(way) };
	struct uprobe *u;
	int r;

	*why = '\0';
	if (is_inside_namespace()) {
		snprintf(why, n, "mmattach runs in a PID namespace, and BPF reports the ids of the first one");
		return -ENOTSUP;
	}
	u = make(pid, shared);
	if (!u)
		return -ENOMEM;
	set.threads = target_status_number(pid, "Threads");
	atomic_store(&shared->threads, set.threads);
	u->inherits = shared->inherits && !target_status_number(pid, "TracerPid");
	r = uprobe_kernel_open(&set, &u->kernel, why, n);
	if (r == 0)
		r = uprobe_reader_init(&u->reader, uprobe_kernel_ring(u->kernel), set.ring_bytes);
	if (r == 0)
		r = open_fds(u);
	if (r < 0) {
		uprobe_close(u);
		return r;
	}
	uprobe_kernel_control(u->kernel)->off = 1;
	uprobe_kernel_control(u->kernel)->slice_bytes = shared->slice_bytes;
	uprobe_kernel_control(u->kernel)->slice_guess = smaller(shared->slice_bytes, FIRST_GUESS);
	/* no thread of the target waits for us: on a busy machine we must have a processor before the ring is full */
	sched_priority_ask();
	*out = u;
	return 0;
}

void uprobe_sample(struct uprobe *u, uint64_t interval, const struct rule *rules)
{
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	u->rules = rules;
	u->calls.sampled = true;
	uprobe_sample_distances(c->distances);
	c->interval = interval;
}

bool uprobe_may_return(const struct uprobe *u)
{
	return uprobe_kernel_may_return(u->kernel);
}

/* The file descriptors of all probes, behind that of the process; NULL: no memory. *@n: how many. */
static int *collect_fds(const struct uprobe *u, size_t *n)
{
	size_t all = 1;
	int *fds;

	for (size_t i = 0; i < GROUPS; i++)
		all += u->groups[i].links.n;
	fds = calloc(all, sizeof(*fds));
	if (!fds)
		return NULL;
	fds[0] = u->pidfd;
	*n = 1;
	for (size_t i = 0; i < GROUPS; i++) {
		if (u->groups[i].links.n)
			memcpy(fds + *n, u->groups[i].links.fds, u->groups[i].links.n * sizeof(*fds));
		*n += u->groups[i].links.n;
	}
	return fds;
}

/* If a tracer has the target, which may have breakpoints where the probes are. */
static void hold_links(const struct uprobe *u)
{
	size_t n;
	cleanup_free int *fds = collect_fds(u, &n);

	if (fds && n > 1)
		uprobe_hold(u->pid, u->pidfd, fds, n);
}

static void *close_links(void *arg)
{
	struct uprobe *u = arg;

	u->own_files = u->wants_files && unshare(CLONE_FILES) == 0;
	sem_post(&u->begun);
	for (size_t i = 0; i < GROUPS; i++)
		uprobe_links_close(&u->groups[i].links);
	return NULL;
}

/*
 * The kernel waits, 10 to 50 ms a link: that is left to a thread, while the report is made. The thread has file
 * descriptors of its own, and ours are closed at once. Else a process that is forked meanwhile, as for names, would
 * have copies, and where it closes them a kill would leave probes in the target (uprobe_apart.h).
 */
static void begin_closing(struct uprobe *u)
{
	size_t n = 0;
	cleanup_free int *fds = collect_fds(u, &n);
	sigset_t all, before;

	u->wants_files = fds;
	sem_init(&u->begun, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	u->closing = !pthread_create(&u->closer, NULL, close_links, u);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!u->closing) {
		u->wants_files = false;
		close_links(u);
		return;
	}
	while (sem_wait(&u->begun) < 0)
		;
	for (size_t i = 1; u->own_files && i < n; i++)
		close(fds[i]);
}

void uprobe_begin_program(struct uprobe *u)
{
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	__atomic_store_n(&c->execed, 0, __ATOMIC_RELEASE);
}

void uprobe_leave(struct uprobe *u)
{
	if (!u->kernel || u->left)
		return;
	/* taking the probes out takes longer than the ring lasts */
	__atomic_store_n(&uprobe_kernel_control(u->kernel)->off, 1, __ATOMIC_RELEASE);
	u->left = true;
	hold_links(u);
	setpriority(PRIO_PROCESS, 0, u->nice);
	begin_closing(u);
}

void uprobe_wait_left(struct uprobe *u)
{
	if (u->closing)
		pthread_join(u->closer, NULL);
	u->closing = false;
}

void uprobe_close(struct uprobe *u)
{
	if (!u)
		return;
	uprobe_leave(u);
	uprobe_wait_left(u);
	uprobe_reader_fini(&u->reader);
	uprobe_kernel_close(u->kernel);
	uprobe_calls_fini(&u->calls);
	if (u->epoll >= 0)
		close(u->epoll);
	if (u->pidfd >= 0)
		close(u->pidfd);
	free(u);
}

const char *uprobe_way(const struct uprobe *u)
{
	return uprobe_way_name(uprobe_kernel_way(u->kernel));
}

int uprobe_fd(const struct uprobe *u)
{
	return u->epoll;
}

void uprobe_sleeps(struct uprobe *u, bool sleeps)
{
	__atomic_store_n(&uprobe_kernel_control(u->kernel)->sleeping, sleeps, __ATOMIC_SEQ_CST);
}

/* --- sites become probes --- */

static bool has_loads(const struct site *s)
{
	for (unsigned i = 0; i < SITE_LOADS; i++)
		if (s->loads[i].base != SITE_BASE_NONE)
			return true;
	return false;
}

/* Does a function of its family store arguments at its entry, so that this exit may find them? */
static bool finds_arguments(const struct shared *sh, const struct site *s)
{
	if (!(s->flags & SITE_EXIT))
		return false;
	if (s->flags & SITE_RETURNS)
		return s->flags & SITE_ENTRY;
	for (uint32_t i = 0; i < SHARED_SITES; i++)
		if (sh->sites[i].flags & SITE_ENTRY && sh->sites[i].family == s->family &&
		    sh->sites[i].rule == s->rule)
			return true;
	return false;
}

/* What the rules of a sample allow, which were checked. */
static void describe_choice(const struct uprobe *u, const struct site *s, struct uprobe_choice *out)
{
	if (!u->rules || s->family == SITE_FAMILY_NONE ||
	    uprobe_sample_choice(&u->rules[s->rule], out) < 0)
		*out = (struct uprobe_choice){ .kind = UPROBE_ALL_CALLS };
	out->calls_none = s->calls_none;
}

static void describe(const struct uprobe *u, const struct site *s, struct uprobe_site *out)
{
	const struct shared *sh = u->shared;
	const bool returns = s->flags & SITE_RETURNS, slice = s->flags & SITE_SLICE, loads = has_loads(s);

	*out = (struct uprobe_site){ .family = s->family, .sp_delta = s->sp_delta };
	out->flags = (returns ? UPROBE_RETURNS : 0) | (s->flags & SITE_ENTRY ? UPROBE_OPENS : 0) |
		     (finds_arguments(sh, s) ? UPROBE_CLOSES : 0) | (slice ? UPROBE_SLICE : 0) |
		     (s->result == EMU_RDI && !returns ? UPROBE_RESULT_RDI : 0) |
		     (loads ? UPROBE_LOADED : 0) |
		     (!returns && !slice && !loads && !(s->flags & SITE_EXIT) ? UPROBE_BRIEF : 0);
	for (unsigned i = 0; i < SITE_LOADS; i++) {
		const struct site_load *l = &s->loads[i];

		out->loads[i] = (struct uprobe_load){ l->base, l->index, l->scale, l->width, l->disp };
	}
	describe_choice(u, s, &out->choice);
}

static uint16_t free_group(const struct uprobe *u)
{
	for (uint16_t i = 0; i < GROUPS; i++)
		if (!u->groups[i].links.n && !u->groups[i].sites)
			return i;
	return NO_GROUP;
}

/* The sites of one file with the same kind of probe, those from @sites[@first] on that are not done yet. */
struct batch {
	struct uprobe_place *places;
	size_t n;
	const struct mapping *mapping;
	bool returns;
};

static bool same_file(const struct mapping *a, const struct mapping *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

static void collect(struct uprobe *u, const struct uprobe_files *f, const uint32_t *sites, size_t n, bool *done,
		    struct batch *b)
{
	struct shared *sh = u->shared;

	b->n = 0;
	b->mapping = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct site *s = &sh->sites[sites[i]];
		const bool returns = s->flags & SITE_RETURNS;
		const struct mapping *m;
		uint64_t offset;
		int r;

		if (done[i])
			continue;
		r = uprobe_files_find(f, s, &m, &offset);
		if (r < 0) {
			sh->plant_result[sites[i]] = r;
			done[i] = true;
			continue;
		}
		if (b->mapping && (!same_file(b->mapping, m) || returns != b->returns))
			continue;
		b->mapping = m;
		b->returns = returns;
		b->places[b->n++] = (struct uprobe_place){ .offset = offset, .site = sites[i] };
		done[i] = true;
	}
}

/* Describe the sites of @b, leave out those whose code is not in the file, or not in memory. */
static int prepare(struct uprobe *u, const struct uprobe_files *f, int fd, struct batch *b)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < b->n && r == 0; i++) {
		const uint32_t number = b->places[i].site;
		const struct site *s = &u->shared->sites[number];
		struct uprobe_site site;

		if (!uprobe_files_same(f, fd, s, b->places[i].offset)) {
			u->shared->plant_result[number] = -EILSEQ;
			continue;
		}
		describe(u, s, &site);
		r = uprobe_kernel_set_site(u->kernel, number, &site);
		b->places[n] = b->places[i];
		b->places[n++].generation = u->generation[number];
	}
	b->n = n;
	return r;
}

static int attach_some(struct uprobe *u, const char *path, const struct batch *b, size_t first, size_t n,
		       uint16_t number)
{
	struct group *g = &u->groups[number];
	const size_t links = g->links.n;
	int r = uprobe_kernel_attach(u->kernel, path, b->places + first, n, b->returns, &g->links);

	/* of several perf events, some may have been made */
	if (r < 0)
		uprobe_links_cut(&g->links, links);

	for (size_t i = first; i < first + n; i++) {
		u->shared->plant_result[b->places[i].site] = r;
		if (r == 0)
			u->group_of[b->places[i].site] = number;
	}
	g->sites += r == 0 ? (uint32_t)n : 0;
	return r;
}

/* All at once; one site that the kernel refuses must not take the others of its file with it. */
static void attach(struct uprobe *u, const struct uprobe_files *f, struct batch *b)
{
	const uint16_t number = free_group(u);
	cleanup_close int fd = number == NO_GROUP ? -ENOSPC : modfile_open(f->pid, b->mapping, b->mapping->path);
	char path[64];
	int r = fd < 0 ? fd : prepare(u, f, fd, b);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0 && b->n)
		r = attach_some(u, path, b, 0, b->n, number);
	log_debug(TRAP, "%zu probes in %s: %s", b->n, b->mapping->path, r ? strerror(-r) : "made");
	if (r == 0)
		return;
	for (size_t i = 0; i < b->n; i++)
		u->shared->plant_result[b->places[i].site] = r;
	for (size_t i = 0; fd >= 0 && i < b->n; i++)
		(void)!attach_some(u, path, b, i, 1, number);
}

int uprobe_plant(struct uprobe *u, const uint32_t *sites, size_t n)
{
	cleanup_free struct uprobe_place *places = calloc(n + 1, sizeof(*places));
	cleanup_free bool *done = calloc(n + 1, sizeof(*done));
	struct batch b = { .places = places };
	struct uprobe_files files;
	int r;

	if (!places || !done)
		return -ENOMEM;
	/* a module that was loaded at the end: of it nothing will be recorded */
	if (u->left)
		return 0;
	r = uprobe_files_init(&files, u->pid, u->inherits);
	for (collect(u, &files, sites, r == 0 ? n : 0, done, &b); r == 0 && b.n;
	     collect(u, &files, sites, n, done, &b))
		attach(u, &files, &b);
	uprobe_files_fini(&files);
	return r;
}

void uprobe_forget(struct uprobe *u, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		const uint16_t number = u->group_of[i];

		u->group_of[i] = NO_GROUP;
		u->generation[i]++;
		if (number != NO_GROUP && --u->groups[number].sites == 0 && !u->left)
			uprobe_links_close(&u->groups[number].links);
	}
}

static uint64_t lost_now(const struct uprobe *u)
{
	return __atomic_load_n(&uprobe_kernel_control(u->kernel)->lost, __ATOMIC_RELAXED);
}

/* --- records --- */

static struct record_hit *reserve(struct uprobe *u, uint32_t slice)
{
	return (struct record_hit *)ring_reserve(&u->shared->ring, (uint32_t)sizeof(struct record_hit) + slice);
}

/* false: there is no space in the ring now. */
static bool note(struct uprobe *u, enum record_kind kind, const struct uprobe_head *h, int64_t value)
{
	struct record *rec = ring_reserve(&u->shared->ring, sizeof(*rec));

	if (!rec)
		return false;
	*rec = (struct record){ .kind = kind, .tid = h ? h->tid : 0, .time_ns = h ? h->time_ns : clock_ns(),
				.value = value };
	ring_commit(&u->shared->ring, rec, sizeof(*rec));
	return true;
}

static void fill_head(struct uprobe *u, const struct uprobe_head *h, const struct uprobe_meaning *m,
		      struct record_hit *rec)
{
	rec->head = (struct record){
		.kind = RECORD_HIT, .tid = h->tid, .site = h->site, .time_ns = h->time_ns,
		.flags = (uint16_t)(m->flags | (h->flags & UPROBE_CUT ? RECORD_CUT : 0) |
				    (h->flags & UPROBE_NO_BLOCK ? RECORD_NO_BLOCK : 0) |
				    (h->tgid == (uint32_t)u->pid ? 0 : RECORD_GUEST)),
	};
	rec->outer_site = m->has_call ? m->call.trap : h->site;
	rec->thread = h->tid % SHARED_THREADS;
	rec->loads_read = rec->loads_null = rec->slice_len = 0;
}

static void fill_brief(const struct uprobe_brief *b, struct record_hit *rec)
{
	rec->regs = (struct user_regs_struct){
		.rip = b->ip, .rsp = b->sp, .rdi = b->args[0], .rsi = b->args[1], .rdx = b->args[2],
		.rcx = b->args[3], .r8 = b->args[4], .r9 = b->args[5],
	};
	memcpy(rec->args, b->args, sizeof(rec->args));
}

static void fill_hit(const struct shared *sh, const struct uprobe_hit *h, const struct uprobe_meaning *m,
		     struct record_hit *rec)
{
	const struct site *asked = &sh->sites[h->outer % SHARED_SITES], *asks = &sh->sites[rec->outer_site];

	rec->regs = (struct user_regs_struct){ 0 };
	memcpy(&rec->regs, h->regs, sizeof(h->regs));
	memcpy(rec->args, m->has_call ? m->call.args : (const uint64_t *)h->args, sizeof(rec->args));
	memcpy(rec->loads, h->loads, sizeof(rec->loads));
	/* if it was not known there which call ends, they may be those of another rule */
	if (!memcmp(asked->loads, asks->loads, sizeof(asks->loads))) {
		rec->loads_read = h->loads_read;
		rec->loads_null = h->loads_null;
	}
	memcpy(rec->text, h->text, sizeof(rec->text));
	rec->slice_len = h->slice_len;
	memcpy(rec->slice, h->slice, h->slice_len);
}

/* What the controller has learned of the thread's stack: known to BPF at its next hit. */
static void pass_hint(struct uprobe *u, uint32_t tid)
{
	const uint32_t i = tid % SHARED_THREADS;
	const struct slice_hint *from = &u->shared->slice_hints[i];
	const uint64_t bytes = atomic_load_explicit(&from->bytes, memory_order_relaxed);
	const uint64_t end = atomic_load_explicit(&from->end, memory_order_relaxed);
	volatile struct uprobe_hint *to = &uprobe_kernel_hints(u->kernel)[i];
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	if (to->bytes == bytes && to->end == end)
		return;
	to->end = end;
	to->bytes = bytes;
	if ((uint32_t)bytes > c->slice_guess)
		c->slice_guess = smaller((uint32_t)bytes, u->shared->slice_bytes);
}

static uint32_t slice_of(const struct uprobe_head *h)
{
	return h->kind == UPROBE_HIT ? ((const struct uprobe_hit *)h)->slice_len : 0;
}

static const uint64_t *args_of(const struct uprobe_head *h)
{
	return (const uint64_t *)(h->kind == UPROBE_HIT ? ((const struct uprobe_hit *)h)->args :
							  ((const struct uprobe_brief *)h)->args);
}

static taddr sp_of(const struct uprobe_head *h)
{
	return h->kind == UPROBE_HIT ? ((const struct uprobe_hit *)h)->regs[19] : ((const struct uprobe_brief *)h)->sp;
}

/* false: there is no space in the ring. */
static bool take_hit(struct uprobe *u, const struct uprobe_head *h)
{
	struct record_hit *rec = reserve(u, slice_of(h));
	struct uprobe_meaning m;

	if (!rec)
		return false;
	if (u->group_of[h->site % SHARED_SITES] == NO_GROUP || h->generation != u->generation[h->site % SHARED_SITES]) {
		u->stale++; /* of a module that is unmapped by now */
		return true;
	}
	if (uprobe_calls_hit(&u->calls, h, &u->shared->sites[h->site % SHARED_SITES], sp_of(h), args_of(h), &m) < 0) {
		u->unfollowed++;
		return true;
	}
	if (!m.emit)
		return true;
	fill_head(u, h, &m, rec);
	if (h->kind == UPROBE_HIT)
		fill_hit(u->shared, (const struct uprobe_hit *)h, &m, rec);
	else
		fill_brief((const struct uprobe_brief *)h, rec);
	ring_commit(&u->shared->ring, &rec->head, (uint32_t)sizeof(*rec) + rec->slice_len);
	pass_hint(u, h->tid);
	return true;
}

/* Before the records that came after a loss. */
static bool note_lost(struct uprobe *u, const struct uprobe_head *h)
{
	if (h->lost != u->lost_seen)
		uprobe_calls_forget(&u->calls);
	u->lost_seen = h->lost;
	/* while it goes on, not for each one */
	if (h->lost == u->lost_noted || h->time_ns < u->lost_next_ns)
		return true;
	if (!note(u, RECORD_LOST, h, h->lost - u->lost_noted))
		return false;
	u->lost_noted = h->lost;
	u->lost_next_ns = h->time_ns + LOST_NS;
	return true;
}

static bool take(struct uprobe *u, const struct uprobe_head *h)
{
	if (!note_lost(u, h))
		return false;
	switch (h->kind) {
	case UPROBE_HIT:
	case UPROBE_HIT_BRIEF:
		return take_hit(u, h);
	case UPROBE_THREAD_END:
		if (!note(u, RECORD_THREAD_END, h, 0))
			return false;
		uprobe_calls_end(&u->calls, h->tid);
		return true;
	}
	return true;
}

/* --- gaps, threads, the end --- */

/* Once nothing more is lost, the gap is a record: from when the ring was last known to be whole, until now. */
static void note_gap(struct uprobe *u, uint64_t now)
{
	const struct uprobe_control *control = uprobe_kernel_control(u->kernel);
	const uint64_t unfollowed = __atomic_load_n(&control->unfollowed, __ATOMIC_ACQUIRE), lost = lost_now(u);

	atomic_store(&u->shared->counts.dropped, lost - unfollowed + u->stale);
	atomic_store(&u->shared->counts.unopened, u->unfollowed + u->calls.dropped + unfollowed +
		     __atomic_load_n(&control->unstored, __ATOMIC_RELAXED));
	if (lost != u->lost && !u->losing_since_ns)
		u->losing_since_ns = u->read_ns;
	else if (u->losing_since_ns && (lost == u->lost || u->left) &&
		 note(u, RECORD_GAP, NULL, (int64_t)(now - u->losing_since_ns)))
		u->losing_since_ns = 0;
	u->lost = lost;
	u->read_ns = now;
}

static void count(struct uprobe *u, uint64_t now)
{
	if (now - u->counted_ns < COUNT_NS)
		return;
	u->counted_ns = now;
	atomic_store(&u->shared->threads, target_status_number(u->pid, "Threads"));
	atomic_store(&u->shared->counts.hitting, uprobe_calls_threads(&u->calls));
	atomic_store(&u->shared->counts.have_hit, uprobe_calls_threads(&u->calls));
}

static bool target_is_gone(const struct uprobe *u)
{
	struct pollfd p = { .fd = u->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

void uprobe_pump(struct uprobe *u, uint64_t until)
{
	const uint64_t now = clock_ns();
	const void *rec = NULL;
	size_t n;

	atomic_fetch_add(&u->shared->beat, 1);
	note_gap(u, now);
	count(u, now);
	while (uprobe_reader_read(&u->reader) < until && (rec = uprobe_reader_peek(&u->reader, &n)) && take(u, rec))
		uprobe_reader_consume(&u->reader, n);
	if (u->ended || rec || until != UPROBE_ALL)
		return;
	if (__atomic_load_n(&uprobe_kernel_control(u->kernel)->execed, __ATOMIC_ACQUIRE) && !u->execed) {
		u->execed = note(u, RECORD_EXEC, NULL, 0);
		return;
	}
	if (!target_is_gone(u))
		return;
	/* what its last thread did may have come meanwhile */
	if (uprobe_reader_peek(&u->reader, &n))
		return;
	u->ended = note(u, RECORD_END, NULL, 0);
}

void uprobe_begin(struct uprobe *u)
{
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	if (!__atomic_load_n(&c->execed, __ATOMIC_ACQUIRE))
		__atomic_store_n(&c->off, 0, __ATOMIC_RELEASE);
}

uint64_t uprobe_position(const struct uprobe *u)
{
	return uprobe_reader_written(&u->reader);
}
