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
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/uprobe/uprobe_apart.h"
#include "base/grow.h"
#include "base/log.h"

/* Newer than the headers of Debian 12. */
#define ATTACH_UPROBE_MULTI 48
#define ATTACH_UPROBE_SESSION 57
#define RETURNS_SINCE 614	/* below, the return is a system call that a seccomp filter may forbid */
#define MULTI_SINCE 612		/* 6.12: the filter takes the process */

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"

extern const unsigned char uprobe_object[];	/* the compiled uprobe.bpf.c */
extern const uint64_t uprobe_object_size;

/*
 * The table of open calls is allocated when it is made, 0.3 ms for a thousand. The kernel hands its entries to the
 * processors by 128, and takes the oldest ones when there is none left.
 */
#define CALLS_LEAST 8192u
#define CALLS_PER_THREAD 8u
#define CALLS_PER_PROCESSOR 512u

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
	uint32_t threads, ring_bytes;
	bool sampled;
	enum uprobe_way way;
	struct bpf_object *object;
	int program;			/* of all probes: at_session, or at_site */
	int ring, sites;
	int tracepoints[TRACEPOINTS];
	struct uprobe_control *control;
	volatile struct uprobe_hint *hints;
	int perf_type;
};

/* --- loading --- */

static int quiet(enum libbpf_print_level level, const char *format, va_list ap)
{
	cleanup_free char *text = NULL;
	char *rest;

	if (level == LIBBPF_DEBUG || !log_debug_on(LOG_TRAP) || vasprintf(&text, format, ap) < 0)
		return 0;
	/* the verifier's answer has thousands of lines */
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_debug(TRAP, "%s", line);
	return 0;
}

static int uprobe_kernel_version(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	if (uname(&u) < 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2)
		return 0;
	return major * 100 + minor;
}

/* The program @name takes part in @way, or is left out. */
static void choose(struct bpf_object *o, const char *name, bool load, int attach_type)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o, name);

	bpf_program__set_autoload(p, load);
	bpf_program__set_expected_attach_type(p, (enum bpf_attach_type)attach_type);
}

static int program_fd(const struct bpf_object *o, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(o, name));
}

static int map_fd(const struct bpf_object *o, const char *name)
{
	return bpf_map__fd(bpf_object__find_map_by_name(o, name));
}

static void size_map(struct bpf_object *o, const char *name, uint32_t n)
{
	(void)!bpf_map__set_max_entries(bpf_object__find_map_by_name(o, name), n);
}

/* At most as many as the program says. */
static void size_calls(struct bpf_object *o, uint32_t threads)
{
	const struct bpf_map *calls = bpf_object__find_map_by_name(o, "calls");
	const uint64_t wanted = CALLS_LEAST + (uint64_t)threads * CALLS_PER_THREAD +
				(uint64_t)libbpf_num_possible_cpus() * CALLS_PER_PROCESSOR;

	if (wanted < bpf_map__max_entries(calls))
		size_map(o, "calls", (uint32_t)wanted);
}

static int load(struct uprobe_kernel *k, enum uprobe_way way)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "mmattach");
	const bool session = way == UPROBE_WAY_SESSION;
	int r;

	k->object = bpf_object__open_mem(uprobe_object, uprobe_object_size, &opts);
	if (!k->object)
		return -errno;
	choose(k->object, "at_site", !session, way == UPROBE_WAY_PERF ? 0 : ATTACH_UPROBE_MULTI);
	choose(k->object, "at_session", session, ATTACH_UPROBE_SESSION);
	bpf_program__set_autoload(bpf_object__find_program_by_name(k->object, "find_stacks"), session);
	size_calls(k->object, k->threads);
	size_map(k->object, "ring", k->ring_bytes);
	if (!k->sampled)
		size_map(k->object, "sampled", 1);	/* 16 MB otherwise */
	r = bpf_object__load(k->object);
	if (r < 0) {
		bpf_object__close(k->object);
		k->object = NULL;
		return r;
	}
	k->way = way;
	k->program = program_fd(k->object, session ? "at_session" : "at_site");
	k->ring = map_fd(k->object, "ring");
	k->sites = map_fd(k->object, "sites");
	return 0;
}

static bool kernel_has(enum uprobe_way way)
{
	const int version = uprobe_kernel_version();

	return way == UPROBE_WAY_SESSION ? version >= 613 : way == UPROBE_WAY_MULTI ? version >= MULTI_SINCE : true;
}

static int load_one_way(struct uprobe_kernel *k, enum uprobe_way way)
{
	int r = -ENOSYS;

	for (enum uprobe_way w = UPROBE_WAY_SESSION; w <= UPROBE_WAY_PERF && r < 0 && r != -EPERM; w++)
		if (way == w || (way == UPROBE_WAY_AUTO && kernel_has(w)))
			r = load(k, w);
	return r;
}

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
	k->hints = map_memory(map_fd(k->object, "hints"), page_up(UPROBE_HINTS * sizeof(struct uprobe_hint)));
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
							    program_fd(k->object, tracepoints[i].program));
		if (k->tracepoints[i] < 0)
			return -errno;
	}
	return 0;
}

/* Run find_stacks for all threads. */
static int look_at_stacks(struct uprobe_kernel *k)
{
	cleanup_close int link = bpf_link_create(program_fd(k->object, "find_stacks"), 0, BPF_TRACE_ITER, NULL);
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

static void explain(int r, char *why, size_t n)
{
	if (r == -EPERM || r == -EACCES)
		snprintf(why, n, "BPF programs may not be loaded: that needs root, or CAP_BPF and CAP_PERFMON, a kernel "
				 "that is not locked down, and no seccomp filter that forbids it");
	else if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		snprintf(why, n, "the kernel has no type information (/sys/kernel/btf/vmlinux)");
	else
		snprintf(why, n, "the kernel does not take the BPF programs: %s", strerror(-r));
}

int uprobe_kernel_open(const struct uprobe_settings *set, struct uprobe_kernel **out, char *why, size_t n)
{
	struct uprobe_kernel *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	*k = (struct uprobe_kernel){ .pid = set->pid, .threads = set->threads, .ring_bytes = set->ring_bytes,
				     .sampled = set->sampled, .program = -1, .perf_type = read_perf_type() };
	for (enum tracepoint i = 0; i < TRACEPOINTS; i++)
		k->tracepoints[i] = -1;
	libbpf_set_print(quiet);
	r = load_one_way(k, set->way);
	if (r == 0)
		r = map_control(k);
	if (r == 0)
		r = watch_process(k);
	if (r == 0) {
		k->control->tgid = (unsigned)k->pid;
		k->control->ring_bytes = k->ring_bytes;
		r = k->way == UPROBE_WAY_SESSION ? look_at_stacks(k) : 0;
	}
	if (r < 0) {
		explain(r, why, n);
		uprobe_kernel_close(k);
		return r;
	}
	*out = k;
	return 0;
}

bool uprobe_kernel_may_return(const struct uprobe_kernel *k)
{
	return k->way == UPROBE_WAY_SESSION && uprobe_kernel_version() >= RETURNS_SINCE && !k->control->stack_above;
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

const char *uprobe_way_name(enum uprobe_way way)
{
	static const char *const names[] = { "", "uprobe session", "uprobe_multi", "perf events" };

	return names[way];
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

int uprobe_kernel_set_site(struct uprobe_kernel *k, uint32_t n, const struct uprobe_site *site)
{
	return bpf_map_update_elem(k->sites, &n, site, BPF_ANY) < 0 ? -errno : 0;
}

/* --- probes --- */

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

static uint64_t cookie_of(const struct uprobe_place *p)
{
	return (uint64_t)p->generation << 32 | p->site;
}

static int attach_multi(struct uprobe_kernel *k, const char *path, const struct uprobe_place *places, size_t n,
			struct uprobe_links *links)
{
	const uint32_t type = k->way == UPROBE_WAY_SESSION ? ATTACH_UPROBE_SESSION : ATTACH_UPROBE_MULTI;
	cleanup_free uint64_t *offsets = calloc(n + 1, sizeof(*offsets)), *cookies = calloc(n + 1, sizeof(*cookies));
	struct multi_attr a = {
		.prog_fd = (uint32_t)k->program, .attach_type = type, .path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets, .cookies = (uintptr_t)cookies, .cnt = (uint32_t)n,
		.pid = (uint32_t)k->pid,
	};

	if (!offsets || !cookies)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = places[i].offset;
		cookies[i] = cookie_of(&places[i]);
	}
	return add_link(links, (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a)));
}

/* For one thread, which the kernel takes for its process: the program runs for all of its threads. */
static int attach_perf_one(struct uprobe_kernel *k, const char *path, const struct uprobe_place *place,
			   struct uprobe_links *links)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie_of(place));
	struct perf_event_attr a = {
		.size = sizeof(a), .type = (uint32_t)k->perf_type,
		.config1 = (uintptr_t)path, .config2 = place->offset, .disabled = 1,
	};
	int event = k->perf_type < 0 ? (errno = ENODEV, -1) :
				       (int)syscall(SYS_perf_event_open, &a, k->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int r = add_link(links, event);

	if (r == 0)
		r = add_link(links, bpf_link_create(k->program, event, BPF_PERF_EVENT, &opts));
	if (r == 0 && ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0)
		r = -errno;
	return r;
}

static int attach_perf(struct uprobe_kernel *k, const char *path, const struct uprobe_place *places, size_t n,
		       struct uprobe_links *links)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = attach_perf_one(k, path, &places[i], links);
	return r;
}

struct attaching {
	struct uprobe_kernel *k;
	const char *path;
	const struct uprobe_place *places;
	size_t n;
	struct uprobe_links *links;
	int result;
};

static void attach_apart(void *arg)
{
	struct attaching *a = arg;

	a->result = a->k->way == UPROBE_WAY_PERF ? attach_perf(a->k, a->path, a->places, a->n, a->links) :
						   attach_multi(a->k, a->path, a->places, a->n, a->links);
}

int uprobe_kernel_attach(struct uprobe_kernel *k, const char *path, const struct uprobe_place *places, size_t n,
			 struct uprobe_links *links)
{
	struct attaching a = { k, path, places, n, links, 0 };

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
