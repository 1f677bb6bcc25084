/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/target/modfile.h"
#include "attach/uprobe/selftest_check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/procmaps.h"
#include "base/stall_timer.h"

#define TIME_NS 100000000ull
#define LEAST_CALLS 1500u		/* on a slow machine a tenth of a second has too few */
#define LIMIT_NS 20000000000ull		/* the child may wait for a processor */
#define READ_NS 200000			/* how often the ring is read, */
#define WAIT_NS 5000000			/* and the state of another one's test */
#define SLICE 512u			/* bytes of stack: the caller's frame is in them */
#define FAMILY 1

struct selftest {
	struct uprobe_kernel *k;
	struct uprobe_reader *r;
	struct selftest_page *page;
	struct selftest_check check;
	struct uprobe_links links;
	pid_t child;
	int pidfd;			/* its number may be another process's once it has ended */
	const char *failed;		/* what of the test itself; NULL: the probes, or nothing */
};

/* --- probes --- */

static int offset_of(const struct procmaps *maps, const void *at, uint64_t *out)
{
	const struct mapping *m = procmaps_find(maps, (taddr)(uintptr_t)at);

	if (!m || !m->ino)
		return -ENOEXEC;
	*out = (uintptr_t)at - m->lo + m->offset;
	return 0;
}

/* As sites of malloc and free are described (uprobe_sites.c). */
static int set_sites(const struct selftest *t)
{
	const unsigned exit = UPROBE_CLOSES | UPROBE_SLICE;
	const struct uprobe_site sites[] = {
		[SELFTEST_OPENS] = { .flags = UPROBE_OPENS | (t->check.returns ? UPROBE_RETURNS | exit : 0),
				     .family = FAMILY },
		[SELFTEST_EXIT] = { .flags = exit, .family = FAMILY },
		[SELFTEST_BRIEF] = { .flags = UPROBE_BRIEF, .family = FAMILY },
	};
	int r = 0;

	for (uint32_t i = 0; i < sizeof(sites) / sizeof(sites[0]) && r == 0; i++)
		r = uprobe_kernel_set_site(t->k, i, &sites[i]);
	return r;
}

/*
 * Our own file: a program that is started by the dynamic linker's name has that in /proc/self/exe. But where the
 * mapping has another device than the file, as on an overlay, and nothing else is allowed, /proc/self/exe is what there
 * is.
 */
static int open_ours(const struct procmaps *maps)
{
	const struct mapping *m = procmaps_find(maps, (taddr)(uintptr_t)selftest_opens);
	int fd = m ? modfile_open(getpid(), m, m->path) : -ENOEXEC;

	if (fd < 0)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int probe(struct selftest *t)
{
	struct uprobe_place places[] = {
		{ .site = SELFTEST_OPENS }, { .site = SELFTEST_BRIEF }, { .site = SELFTEST_EXIT },
	};
	struct procmaps maps = PROCMAPS_INIT;
	int r = procmaps_read("/proc/self/maps", &maps);
	cleanup_close int fd = r == 0 ? open_ours(&maps) : r;
	char path[32];
	const struct uprobe_file ours = { t->child, path };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0)
		r = fd;
	if (r == 0)
		r = offset_of(&maps, (const void *)selftest_opens, &places[0].offset);
	if (r == 0)
		r = offset_of(&maps, (const void *)selftest_brief, &places[1].offset);
	if (r == 0)
		r = offset_of(&maps, selftest_opens_exit, &places[2].offset);
	procmaps_fini(&maps);
	/* where returns are probed, there is no exit */
	return r < 0 ? r : uprobe_kernel_attach(t->k, &ours, places, t->check.returns ? 2 : 3, &t->links);
}

/* --- reading --- */

static bool read_records(struct selftest *t)
{
	const struct uprobe_head *h;
	size_t n;

	while ((h = uprobe_reader_peek(t->r, &n))) {
		(void)!selftest_check_record(&t->check, h, n);
		uprobe_reader_consume(t->r, n);
	}
	t->page->read = selftest_check_calls(&t->check);
	return !*t->check.wrong;
}

static void nap(long ns)
{
	const struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

static bool has_ended(const struct selftest *t)
{
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Until the time is over, which begins with the second thread, and all records are read; or one is wrong. */
static int compare(struct selftest *t)
{
	struct stall_timer timer = stall_timer_begin(clock_ns());
	struct selftest_page *p = t->page;
	uint64_t both = 0;

	p->go = 1;
	while (read_records(t) && p->ended < SELFTEST_THREADS) {
		const uint64_t now = clock_ns();

		if (has_ended(t) && p->ended < SELFTEST_THREADS) {
			t->failed = p->error ? "cannot start its thread" : "its process was ended";
			return p->error ? -(int)p->error : -ECHILD;
		}
		if (stall_timer_look(&timer, now) > LIMIT_NS) {
			t->failed = "it came to no end";
			return -ETIMEDOUT;
		}
		if (!both && p->tids[1])
			both = now;
		if (both && now - both > TIME_NS && p->read >= LEAST_CALLS)
			p->stop = 1;
		nap(READ_NS);
	}
	/* the threads make no more calls, so all records are there */
	read_records(t);
	for (unsigned i = 0; i < SELFTEST_THREADS; i++)
		(void)!selftest_check_all(&t->check, p->tids[i], p->made[i]);
	return *t->check.wrong ? -EBADE : 0;
}

/* --- the test --- */

static int begin_child(struct selftest *t)
{
	t->failed = "cannot start its process";
	t->child = selftest_fork(t->page);
	if (t->child < 0)
		return (int)t->child;
	t->pidfd = (int)syscall(SYS_pidfd_open, t->child, 0);
	if (t->pidfd < 0)
		return -errno;
	t->failed = NULL;
	return 0;
}

/* It ends by itself, too, if a filter forbids kill. Without a pidfd it was not waited for, so its number is its own. */
static void end_child(struct selftest *t)
{
	t->page->stop = 1;
	if (t->pidfd >= 0)
		(void)!syscall(SYS_pidfd_send_signal, t->pidfd, SIGKILL, NULL, 0);
	else if (t->child > 0)
		kill(t->child, SIGKILL);
	while (t->child > 0 && waitpid(t->child, NULL, 0) < 0 && errno == EINTR)
		;
	if (t->pidfd >= 0)
		close(t->pidfd);
	uprobe_links_close(&t->links);
}

static int run(struct selftest *t, struct uprobe_hit_cost *cost)
{
	struct uprobe_control *control = uprobe_kernel_control(t->k);
	int r = set_sites(t);

	if (r < 0)
		return r;
	control->slice_bytes = control->slice_guess = SLICE;
	r = begin_child(t);
	if (r == 0)
		r = probe(t);
	if (r == 0)
		r = compare(t);
	*cost = (struct uprobe_hit_cost){ t->page->brief_ns, t->page->opens_ns };
	control->off = 1;
	end_child(t);
	/* what came after a wrong one */
	read_records(t);
	control->off = 0;
	return r == 0 && control->lost ? -EBADE : r;
}

/* These only name what was found. */
static bool has_reason(int r)
{
	return r != -ECHILD && r != -ETIMEDOUT;
}

static void explain(const struct selftest *t, int r, char *why, size_t n)
{
	char release[80];
	const struct selftest_page *p = t->page;

	uprobe_linux_release(release, sizeof(release));
	if (r == -EBADE)
		snprintf(why, n, "this kernel (%s) does not record calls exactly: of %" PRIu64 " in a test, %s", release,
			 p->made[0] + p->made[1], *t->check.wrong ? t->check.wrong : "some were lost");
	else if (t->failed)
		snprintf(why, n, "the test of its records could not be made: %s%s%s", t->failed, has_reason(r) ? ": " : "",
			 has_reason(r) ? strerror(-r) : "");
	else if (r == -EPERM || r == -EACCES)
		snprintf(why, n, "a program may not be probed by %s: that needs root, or %s",
			 uprobe_way_name(uprobe_kernel_way(t->k)),
			 uprobe_kernel_way(t->k) == UPROBE_WAY_PERF ? "CAP_SYS_ADMIN" : "CAP_PERFMON");
	else
		snprintf(why, n, "the test of its records on this kernel (%s) failed: %s", release, strerror(-r));
}

/* Of each way, since it is the kernel's and not a watch's. */
struct known {
	_Atomic bool exact;
	_Atomic uint64_t tested_until_ns;	/* one of many watches makes the test, or was killed at it; 0: none does */
	struct uprobe_hit_cost cost;
};

#define KNOWN_BYTES ((UPROBE_WAY_PERF + 1) * sizeof(struct known))

static struct known *known;

void uprobe_selftest_share(void)
{
	void *p = known ? known :
			  mmap(NULL, KNOWN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	known = p == MAP_FAILED ? NULL : p;
}

/* Is it known from an earlier test, or from that which another watch makes now? Else the test is ours to make. */
static bool was_exact(enum uprobe_way way, struct uprobe_hit_cost *cost)
{
	uint64_t until;

	uprobe_selftest_share();
	if (!known)
		return false;
	while (!atomic_load(&known[way].exact)) {
		const uint64_t now = clock_ns();

		until = atomic_load(&known[way].tested_until_ns);
		if (until > now)
			nap(WAIT_NS);
		else if (atomic_compare_exchange_strong(&known[way].tested_until_ns, &until, now + 2 * LIMIT_NS))
			return false;
	}
	*cost = known[way].cost;
	return true;
}

static void remember(enum uprobe_way way, const struct uprobe_hit_cost *cost, bool exact)
{
	if (!known)
		return;
	known[way].cost = *cost;
	atomic_store(&known[way].exact, exact);
	atomic_store(&known[way].tested_until_ns, 0);
}

int uprobe_selftest(struct uprobe_kernel *k, struct uprobe_reader *r, struct uprobe_hit_cost *cost, char *why, size_t n)
{
	struct selftest t = { .k = k, .r = r, .check.returns = uprobe_kernel_may_return(k), .child = -1, .pidfd = -1 };
	const enum uprobe_way way = uprobe_kernel_way(k);
	const uint64_t begin = clock_ns();
	int result;

	*cost = (struct uprobe_hit_cost){ 0 };
	if (was_exact(way, cost))
		return 0;
	t.page = mmap(NULL, sizeof(*t.page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t.page == MAP_FAILED) {
		remember(way, cost, false);
		return -ENOMEM;
	}
	result = run(&t, cost);
	if (result < 0)
		explain(&t, result, why, n);
	log_debug(TRAP, "self-test, %s: %" PRIu64 " calls, %s; a hit costs %" PRIu64 " ns, a call with a stack %" PRIu64
		  " ns; %.0f ms", uprobe_way_name(way), t.page->made[0] + t.page->made[1],
		  result ? why : "all exact", cost->brief_ns, cost->pair_ns, (double)(clock_ns() - begin) / 1e6);
	munmap(t.page, sizeof(*t.page));
	remember(way, cost, result == 0);
	return result;
}
