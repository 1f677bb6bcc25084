/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/uprobe/uprobe_apart.h"
#include "attach/uprobe/uprobe_jit.h"
#include "attach/uprobe/uprobe_load.h"
#include "base/grow.h"

#define RETURNS_SINCE 614	/* below, the return is a system call that a seccomp filter may forbid */

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"

/* Where the kernel reports what becomes of processes, and the program that runs there. */
enum tracepoint { TRACEPOINT_FORK, TRACEPOINT_EXIT, TRACEPOINT_EXEC, TRACEPOINTS };

static const struct {
	const char *name, *program;
} tracepoints[TRACEPOINTS] = {
	[TRACEPOINT_FORK] = { "sched_process_fork", "on_fork" },
	[TRACEPOINT_EXIT] = { "sched_process_exit", "on_exit" },
	[TRACEPOINT_EXEC] = { "sched_process_exec", "on_exec" },
};

struct uprobe_kernel {
	pid_t pid;
	uint32_t ring_bytes;
	enum uprobe_way way;
	struct bpf_object *object;
	int program;			/* of all probes: at_session, or at_site */
	int ring, sites, counts;
	int tracepoints[TRACEPOINTS];
	struct uprobe_control *control;
	volatile struct uprobe_hint *hints;
	int perf_type;
};

/* --- opening --- */

static void *map_memory(int fd, size_t size)
{
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t page_up(size_t n)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (n + page - 1) / page * page;
}

/* The global variables are a map of their own, whose name begins with ours. */
static int map_control(struct uprobe_kernel *k)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, k->object) {
		if (strstr(bpf_map__name(m), ".bss"))
			k->control = map_memory(bpf_map__fd(m), page_up(sizeof(*k->control)));
	}
	k->hints = map_memory(uprobe_load_map(k->object, "hints"), page_up(UPROBE_HINTS * sizeof(struct uprobe_hint)));
	return k->control && k->hints ? 0 : -ENOMEM;
}

/* With perf events the kernel asks for the memory: what children in it call is seen. */
static bool needs(const struct uprobe_kernel *k, enum tracepoint t)
{
	return t != TRACEPOINT_FORK || k->way != UPROBE_WAY_PERF;
}

static int watch_process(struct uprobe_kernel *k)
{
	for (enum tracepoint i = 0; i < TRACEPOINTS; i++) {
		if (!needs(k, i))
			continue;
		k->tracepoints[i] = bpf_raw_tracepoint_open(tracepoints[i].name,
							    uprobe_load_program(k->object, tracepoints[i].program));
		if (k->tracepoints[i] < 0)
			return -errno;
	}
	return 0;
}

/* Run find_stacks for all threads of the process. */
static int look_at_stacks(struct uprobe_kernel *k)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, k->pid, 0);
	union bpf_iter_link_info which = { .task.pid_fd = (uint32_t)pidfd };
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &which, .iter_info_len = sizeof(which));
	cleanup_close int link = pidfd < 0 ? -errno : bpf_link_create(uprobe_load_program(k->object, "find_stacks"), 0,
								      BPF_TRACE_ITER, &opts);
	cleanup_close int iter = link < 0 ? link : bpf_iter_create(link);
	char nothing[64];

	if (iter < 0)
		return iter;
	return read(iter, nothing, sizeof(nothing)) < 0 ? -errno : 0;
}

static int read_perf_type(void)
{
	cleanup_fclose FILE *f = fopen(UPROBE_TYPE, "re");
	int type;

	return f && fscanf(f, "%d", &type) == 1 ? type : -1;
}

static int add_link(struct uprobe_links *links, int fd)
{
	if (fd < 0)
		return -errno;
	if (grow_for(&links->fds, links->n, &links->room, sizeof(*links->fds)) < 0) {
		close(fd);
		return -ENOMEM;
	}
	links->fds[links->n++] = fd;
	return 0;
}

/* As union bpf_attr has it for BPF_LINK_CREATE since 6.6. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, unused;
};

static int link_multi(const struct uprobe_kernel *k, pid_t pid, const char *path, const uint64_t *offsets,
		      const uint64_t *cookies, size_t n)
{
	const struct multi_attr a = {
		.prog_fd = (uint32_t)k->program,
		.attach_type = k->way == UPROBE_WAY_SESSION ? UPROBE_ATTACH_SESSION : UPROBE_ATTACH_MULTI,
		.path = (uintptr_t)path, .offsets = (uintptr_t)offsets, .cookies = (uintptr_t)cookies,
		.cnt = (uint32_t)n, .pid = (uint32_t)pid,
	};

	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));
}

/*
 * Does the kernel have the way, whatever its version is? It looks at the file last, which / is not: what it does not
 * know it refuses before.
 */
static int try_way(const struct uprobe_kernel *k, char *why, size_t n)
{
	const uint64_t nothing = 0;
	char release[80];
	cleanup_close int fd = k->way == UPROBE_WAY_PERF ? -1 : link_multi(k, getpid(), "/", &nothing, &nothing, 1);

	if (k->way == UPROBE_WAY_PERF || fd >= 0 || errno == EBADF)
		return 0;
	snprintf(why, n, "this kernel (%s) does not take the probes, by %s: %s",
		 uprobe_linux_release(release, sizeof(release)), uprobe_way_name(k->way), strerror(errno));
	return -EOPNOTSUPP;
}

static int refuse_stack(char *why, size_t n)
{
	char release[80];

	snprintf(why, n, "this kernel (%s) keeps the stacks of the programs where threads would overwrite each other's",
		 uprobe_linux_release(release, sizeof(release)));
	return -EBADE;
}

static int load(struct uprobe_kernel *k, const struct uprobe_settings *set, enum uprobe_way way, char *why, size_t n)
{
	const bool session = way == UPROBE_WAY_SESSION;
	int r = uprobe_way_check(way, uprobe_linux_version(), "", why, n);

	if (r == 0)
		r = uprobe_load(set, way, &k->object, why, n);
	if (r < 0)
		return r;
	k->way = way;
	k->program = uprobe_load_program(k->object, session ? "at_session" : "at_site");
	k->ring = uprobe_load_map(k->object, "ring");
	k->sites = uprobe_load_map(k->object, "sites");
	k->counts = uprobe_load_map(k->object, "counts");
	r = uprobe_jit_shares_stack(k->program) ? refuse_stack(why, n) : try_way(k, why, n);
	if (r < 0) {
		bpf_object__close(k->object);
		k->object = NULL;
	}
	return r;
}

/* The first way that the kernel has, or the one that is asked for. @why is of the last one that was tried. */
static int load_one_way(struct uprobe_kernel *k, const struct uprobe_settings *set, char *why, size_t n)
{
	int r = uprobe_way_check(UPROBE_WAY_AUTO, uprobe_linux_version(), "", why, n);

	if (r < 0 || set->way != UPROBE_WAY_AUTO)
		return r < 0 ? r : load(k, set, set->way, why, n);
	r = -EOPNOTSUPP;
	for (enum uprobe_way w = UPROBE_WAY_SESSION; w <= UPROBE_WAY_PERF && r < 0 && r != -EPERM; w++)
		r = load(k, set, w, why, n);
	return r;
}

int uprobe_kernel_open(const struct uprobe_settings *set, struct uprobe_kernel **out, char *why, size_t n)
{
	struct uprobe_kernel *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	*k = (struct uprobe_kernel){ .pid = set->pid, .ring_bytes = set->ring_bytes, .program = -1,
				     .perf_type = read_perf_type() };
	for (enum tracepoint i = 0; i < TRACEPOINTS; i++)
		k->tracepoints[i] = -1;
	r = load_one_way(k, set, why, n);
	if (r == 0)
		r = map_control(k);
	if (r < 0) {
		uprobe_kernel_close(k);
		return r;
	}
	k->control->ring_bytes = k->ring_bytes;
	*out = k;
	return 0;
}

void uprobe_kernel_number_in(struct uprobe_kernel *k, uint64_t device, uint64_t inode)
{
	k->control->ns_device = device;
	k->control->ns_inode = inode;
}

int uprobe_kernel_watch(struct uprobe_kernel *k)
{
	int r;

	k->control->tgid = (unsigned)k->pid;
	r = watch_process(k);
	return r == 0 && k->way == UPROBE_WAY_SESSION ? look_at_stacks(k) : r;
}

bool uprobe_kernel_may_return(const struct uprobe_kernel *k)
{
	return k->way == UPROBE_WAY_SESSION && uprobe_linux_version() >= RETURNS_SINCE && !k->control->stack_above;
}

void uprobe_kernel_close(struct uprobe_kernel *k)
{
	if (!k)
		return;
	for (int i = 0; i < TRACEPOINTS; i++)
		if (k->tracepoints[i] >= 0)
			close(k->tracepoints[i]);
	if (k->control)
		munmap(k->control, page_up(sizeof(*k->control)));
	if (k->hints)
		munmap((void *)(uintptr_t)k->hints, page_up(UPROBE_HINTS * sizeof(struct uprobe_hint)));
	bpf_object__close(k->object);
	free(k);
}

enum uprobe_way uprobe_kernel_way(const struct uprobe_kernel *k)
{
	return k->way;
}

struct uprobe_control *uprobe_kernel_control(struct uprobe_kernel *k)
{
	return k->control;
}

volatile struct uprobe_hint *uprobe_kernel_hints(struct uprobe_kernel *k)
{
	return k->hints;
}

int uprobe_kernel_ring(const struct uprobe_kernel *k)
{
	return k->ring;
}

int uprobe_kernel_counts(const struct uprobe_kernel *k, struct uprobe_counts *out)
{
	const int n = libbpf_num_possible_cpus();
	cleanup_free struct uprobe_counts *each = n > 0 ? calloc((size_t)n, sizeof(*each)) : NULL;
	const uint32_t zero = 0;

	*out = (struct uprobe_counts){ 0 };
	if (!each)
		return -ENOMEM;
	if (bpf_map_lookup_elem(k->counts, &zero, each) < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		out->runs += each[i].runs;
		out->passed += each[i].passed;
	}
	return 0;
}

int uprobe_kernel_set_site(struct uprobe_kernel *k, uint32_t n, const struct uprobe_site *site)
{
	return bpf_map_update_elem(k->sites, &n, site, BPF_ANY) < 0 ? -errno : 0;
}

/* --- probes --- */

static uint64_t cookie_of(const struct uprobe_place *p)
{
	return (uint64_t)p->generation << 32 | p->site;
}

static int attach_multi(struct uprobe_kernel *k, const struct uprobe_file *file, const struct uprobe_place *places,
			size_t n, struct uprobe_links *links)
{
	cleanup_free uint64_t *offsets = calloc(n + 1, sizeof(*offsets)), *cookies = calloc(n + 1, sizeof(*cookies));

	if (!offsets || !cookies)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = places[i].offset;
		cookies[i] = cookie_of(&places[i]);
	}
	return add_link(links, link_multi(k, file->pid, file->path, offsets, cookies, n));
}

/* For one thread, which the kernel takes for its process: the program runs for all of its threads. */
static int attach_perf_one(struct uprobe_kernel *k, const struct uprobe_file *file, const struct uprobe_place *place,
			   struct uprobe_links *links)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie_of(place));
	struct perf_event_attr a = {
		.size = sizeof(a), .type = (uint32_t)k->perf_type,
		.config1 = (uintptr_t)file->path, .config2 = place->offset, .disabled = 1,
	};
	int event = k->perf_type < 0 ? (errno = ENODEV, -1) :
				       (int)syscall(SYS_perf_event_open, &a, file->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int r = add_link(links, event);

	if (r == 0)
		r = add_link(links, bpf_link_create(k->program, event, BPF_PERF_EVENT, &opts));
	if (r == 0 && ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0)
		r = -errno;
	return r;
}

static int attach_perf(struct uprobe_kernel *k, const struct uprobe_file *file, const struct uprobe_place *places,
		       size_t n, struct uprobe_links *links)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = attach_perf_one(k, file, &places[i], links);
	return r;
}

struct attaching {
	struct uprobe_kernel *k;
	const struct uprobe_file *file;
	const struct uprobe_place *places;
	size_t n;
	struct uprobe_links *links;
	int result;
};

static void attach_apart(void *arg)
{
	struct attaching *a = arg;

	a->result = a->k->way == UPROBE_WAY_PERF ? attach_perf(a->k, a->file, a->places, a->n, a->links) :
						   attach_multi(a->k, a->file, a->places, a->n, a->links);
}

int uprobe_kernel_attach(struct uprobe_kernel *k, const struct uprobe_file *file, const struct uprobe_place *places,
			 size_t n, struct uprobe_links *links)
{
	struct attaching a = { k, file, places, n, links, 0 };

	uprobe_apart(attach_apart, &a);
	return a.result;
}

struct cutting {
	struct uprobe_links *links;
	size_t n;
};

static void cut_apart(void *arg)
{
	const struct cutting *c = arg;

	while (c->links->n > c->n)
		close(c->links->fds[--c->links->n]);
}

void uprobe_links_cut(struct uprobe_links *links, size_t n)
{
	struct cutting c = { links, n };

	if (links->n > n)
		uprobe_apart(cut_apart, &c);
}

void uprobe_links_close(struct uprobe_links *links)
{
	uprobe_links_cut(links, 0);
	free(links->fds);
	*links = (struct uprobe_links){ 0 };
}
