/* SPDX-License-Identifier: MIT */
/*
 * uprobe: opening and leaving (uprobe.h). uprobe_sites.c makes probes of sites, uprobe_pump.c reads the kernel's ring.
 */
#include "attach/uprobe/uprobe.h"
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/keeper/sched/sched_priority.h"
#include "attach/target/target.h"
#include "attach/uprobe/uprobe_hold.h"
#include "attach/uprobe/uprobe_parts.h"
#include "attach/uprobe/uprobe_ways.h"
#include "base/clock.h"
#include "attach/uprobe/uprobe_sample.h"

#define INIT_PID_NAMESPACE 0xeffffffcu	/* the inode of its file, in each kernel */
/*
 * Bytes of stack that are copied at a thread's first hits while the ring fills: the most that is allowed would fill
 * it. If that is too few, it is known after one stack.
 */
#define FIRST_GUESS 4096u

/* --- opening --- */

/*
 * BPF has the numbers of processes in the first PID namespace, or in that of the process that runs: so ours must be one
 * of these. 0; *@inode 0: it is the first one.
 */
static int find_namespace(pid_t pid, uint64_t *device, uint64_t *inode, char *why, size_t n)
{
	struct stat ours, its;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	if (stat("/proc/self/ns/pid", &ours) < 0)
		return -errno;
	*device = ours.st_dev;
	*inode = (uint32_t)ours.st_ino == INIT_PID_NAMESPACE ? 0 : ours.st_ino;
	/* its own may be seen by its tracers only */
	if (!*inode)
		return 0;
	if (stat(path, &its) < 0)
		return -errno;
	if (its.st_ino == ours.st_ino)
		return 0;
	snprintf(why, n, "it is in a PID namespace of its own below that of mmattach, which is not the first one");
	return -ENOTSUP;
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
	return shared->one_of_many ? UPROBE_RING_SMALL : UPROBE_RING;
}

/* The programs, known to be exact; then what becomes of the process is followed. */
static int open_kernel(struct uprobe *u, const struct uprobe_settings *set, char *why, size_t n)
{
	uint64_t device = 0, inode = 0;
	int r = find_namespace(u->pid, &device, &inode, why, n);

	if (r == 0)
		r = uprobe_kernel_open(set, &u->kernel, why, n);
	if (r < 0)
		return r;
	uprobe_kernel_number_in(u->kernel, device, inode);
	r = uprobe_reader_init(&u->reader, uprobe_kernel_ring(u->kernel), set->ring_bytes);
	if (r == 0)
		r = uprobe_selftest(u->kernel, &u->reader, &u->cost, why, n);
	if (r == 0)
		r = uprobe_kernel_counts(u->kernel, &u->before);
	return r == 0 ? uprobe_kernel_watch(u->kernel) : r;
}

int uprobe_open(pid_t pid, struct shared *shared, const char *way, struct uprobe **out, char *why, size_t n)
{
	struct uprobe_settings set = {
		.pid = pid, .ring_bytes = ring_of(shared), .sampled = shared->sampled, .way = uprobe_way_of(way),
	};
	struct uprobe *u = make(pid, shared);
	int r;

	*why = '\0';
	if (!u)
		return -ENOMEM;
	set.threads = target_status_number(pid, "Threads");
	atomic_store(&shared->threads, set.threads);
	u->inherits = shared->inherits && !target_status_number(pid, "TracerPid");
	r = open_kernel(u, &set, why, n);
	if (r == 0)
		r = open_fds(u);
	if (r < 0) {
		uprobe_close(u);
		return r;
	}
	uprobe_kernel_control(u->kernel)->off = 1;
	uprobe_kernel_control(u->kernel)->slice_bytes = shared->slice_bytes;
	uprobe_kernel_control(u->kernel)->slice_guess = uprobe_smaller(shared->slice_bytes, FIRST_GUESS);
	/*
	 * no thread of the target waits for us: on a busy machine we must have a processor before the ring is full. With
	 * a budget little is recorded, and what is lost is only not seen
	 */
	if (!shared->budget_ppm)
		sched_priority_ask();
	*out = u;
	return 0;
}

static bool has_right(uint64_t rights, unsigned right)
{
	return rights >> right & 1;
}

/* Sessions and multi links take CAP_BPF and CAP_PERFMON, perf events CAP_SYS_ADMIN (uprobe_ways.h). */
static bool have_rights(int version)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint64_t rights;

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	rights = data[0].effective | (uint64_t)data[1].effective << 32;
	return has_right(rights, CAP_SYS_ADMIN) ||
	       (version >= UPROBE_SINCE_MULTI && has_right(rights, CAP_BPF) && has_right(rights, CAP_PERFMON));
}

bool uprobe_expected(pid_t pid)
{
	const int version = uprobe_linux_version();
	uint64_t device, inode;
	char why[256];

	return uprobe_way_check(UPROBE_WAY_AUTO, version, "", why, sizeof(why)) == 0 && have_rights(version) &&
	       find_namespace(pid, &device, &inode, why, sizeof(why)) == 0;
}

void uprobe_sample(struct uprobe *u, uint64_t interval, const struct rule *rules)
{
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	u->rules = rules;
	u->calls.sampled = true;
	uprobe_sample_distances(c->distances);
	c->interval = interval;
}

void uprobe_record_sizes(struct uprobe *u, const struct uprobe_size *sizes, size_t n, const struct rule *rules)
{
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	u->rules = rules;
	u->calls.sampled = true;
	c->nsizes = n < UPROBE_SIZES ? (unsigned)n : UPROBE_SIZES;
	memcpy(c->sizes, sizes, c->nsizes * sizeof(*sizes));
}

bool uprobe_may_return(const struct uprobe *u)
{
	return uprobe_kernel_may_return(u->kernel);
}

int *uprobe_collect_fds(const struct uprobe *u, size_t *n)
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
	cleanup_free int *fds = uprobe_collect_fds(u, &n);

	if (fds && n > 1)
		uprobe_hold(u->pid, u->pidfd, fds, n);
}

static void *close_group(void *arg)
{
	uprobe_links_close(arg);
	return NULL;
}

/* All at once: for most of the time the kernel only waits, for what is the same for all. */
static void *close_links(void *arg)
{
	struct uprobe *u = arg;
	pthread_t threads[GROUPS];
	size_t n = 0;

	/* threads share the files of the one that creates them */
	u->own_files = u->wants_files && unshare(CLONE_FILES) == 0;
	sem_post(&u->begun);
	for (size_t i = 0; i < GROUPS; i++) {
		struct uprobe_links *links = &u->groups[i].links;

		if (links->n && !pthread_create(&threads[n], NULL, close_group, links))
			n++;
		else
			uprobe_links_close(links);
	}
	while (n)
		pthread_join(threads[--n], NULL);
	return NULL;
}

/*
 * The kernel waits, 10 to 50 ms a link: that is left to threads, while the report is made. They have file
 * descriptors of their own, and ours are closed at once. Else a process that is forked meanwhile, as for names, would
 * have copies, and where it closes them a kill would leave probes in the target (uprobe_apart.h).
 */
static void begin_closing(struct uprobe *u)
{
	size_t n = 0;
	cleanup_free int *fds = uprobe_collect_fds(u, &n);
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

const struct uprobe_hit_cost *uprobe_cost(const struct uprobe *u)
{
	return &u->cost;
}

uint64_t uprobe_unaccounted(struct uprobe *u)
{
	struct uprobe_counts c;
	uint64_t missing = 0, recorded;

	if (uprobe_kernel_counts(u->kernel, &c) == 0) {
		recorded = (c.runs - u->before.runs) - (c.passed - u->before.passed);
		missing = recorded > u->hits ? recorded - u->hits : 0;
	}
	atomic_store(&u->shared->counts.unaccounted, missing);
	return missing;
}

int uprobe_fd(const struct uprobe *u)
{
	return u->epoll;
}

void uprobe_sleeps(struct uprobe *u, bool sleeps)
{
	__atomic_store_n(&uprobe_kernel_control(u->kernel)->sleeping, sleeps, __ATOMIC_SEQ_CST);
}

void uprobe_rest(struct uprobe *u)
{
	__atomic_store_n(&uprobe_kernel_control(u->kernel)->off, 1, __ATOMIC_RELEASE);
}

/* A call that is recorded is two runs, at its entry and its return. */
uint64_t uprobe_took_ns(const struct uprobe *u)
{
	struct uprobe_counts c;
	uint64_t runs, passed;

	if (uprobe_kernel_counts(u->kernel, &c) < 0)
		return 0;
	runs = c.runs - u->before.runs;
	passed = c.passed - u->before.passed;
	passed = passed < runs ? passed : runs;
	return passed * u->cost.brief_ns + (runs - passed) * u->cost.pair_ns / 2;
}

bool uprobe_has_sharers(const struct uprobe *u)
{
	return __atomic_load_n(&uprobe_kernel_control(u->kernel)->sharers, __ATOMIC_ACQUIRE) != 0;
}

bool uprobe_lost_unsaid(const struct uprobe *u)
{
	const struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	return (uint32_t)__atomic_load_n(&c->lost, __ATOMIC_ACQUIRE) != u->lost_noted ||
	       __atomic_load_n(&c->unstored, __ATOMIC_ACQUIRE) != u->unstored;
}

void uprobe_begin(struct uprobe *u)
{
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	/* the first hit has a chain, too, however late the ring is read */
	uprobe_pass_chain(u);
	/* after a rest, calls are open of which the ends were not seen */
	uprobe_calls_forget(&u->calls);
	u->lost_noted = u->lost_seen = (uint32_t)__atomic_load_n(&c->lost, __ATOMIC_ACQUIRE);
	u->unstored = __atomic_load_n(&c->unstored, __ATOMIC_ACQUIRE);
	c->begun++;
	if (!__atomic_load_n(&c->execed, __ATOMIC_ACQUIRE))
		__atomic_store_n(&c->off, 0, __ATOMIC_RELEASE);
}
