/* SPDX-License-Identifier: MIT */
/*
 * repair: see repair.h.
 *
 *	mapping ─▶ page (its own copy?) ─▶ differing bytes ─▶ ranges ─▶ lone int3: put back
 *	                                                             └▶ else: list
 *
 * A range has differing bytes, until REPAIR_APART equal ones follow; then it is repaired or listed as a
 * whole.
 */
#include "attach/control/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attach/target/diagnose.h"
#include "attach/target/modules.h"
#include "attach/target/openfiles.h"
#include "attach/target/target.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/procmaps.h"
#include "base/strbuf.h"

#define PAGE 4096u
#define INT3 0xcc
#define RANGE_TRAPS 64

/* Bits of a /proc/PID/pagemap entry. */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_OF_FILE (1ull << 61)

struct trap_byte {
	taddr addr;
	uint8_t original;
};

/* Differing bytes that are close together. */
struct range {
	taddr lo, hi;		/* empty: lo == hi */
	/*
	 * between functions, where a keeper runs displaced code: that does not make a trap next to it a hook
	 */
	bool padding;
	size_t differ;
	size_t ntraps;		/* those that are int3; the first RANGE_TRAPS are stored */
	struct trap_byte traps[RANGE_TRAPS];
};

struct repairer {
	pid_t pid;
	FILE *out;
	int mem, pagemap;
	struct modules *modules;
	struct range range;
	size_t repaired, failed, left;
};

static void print_location(const struct repairer *r, const struct module *m, taddr addr)
{
	struct code_range over;
	const char *symbol = elfimage_symbol_over(m->img, addr - m->bias, &over);

	strbuf_print_text(r->out, m->name);
	fprintf(r->out, "+" PRItaddr, addr - m->bias);
	if (!symbol)
		return;
	fputs(" (", r->out);
	strbuf_print_text(r->out, symbol);
	fprintf(r->out, "+" PRItaddr ")", addr - m->bias - over.lo);
}

static int write_byte(int mem, taddr addr, uint8_t byte)
{
	ssize_t n = pwrite(mem, &byte, 1, (off_t)addr);

	return n == 1 ? 0 : n < 0 ? -errno : -EIO;
}

/* In a child: never returns. The target is neither stopped by PTRACE_SEIZE nor by our exit. */
static void seize_and_write(pid_t pid, int mem, taddr addr, uint8_t byte)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		_exit(errno);
	_exit(-write_byte(mem, addr, byte));
}

/* A tracer cannot detach from a running thread, but it can exit: hence a process of its own. */
int repair_write_as_tracer(pid_t pid, int mem, taddr addr, uint8_t byte)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0)
		seize_and_write(pid, mem, addr, byte);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

static int put_back(const struct repairer *r, const struct trap_byte *t)
{
	uint8_t now;
	int err = write_byte(r->mem, t->addr, t->original);

	if (err)
		err = repair_write_as_tracer(r->pid, r->mem, t->addr, t->original);
	if (err)
		return err;
	if (pread_full(r->mem, &now, 1, (off_t)t->addr) != 1)
		return -EIO;
	return now == t->original ? 0 : -EIO;
}

static void repair_trap(struct repairer *r, const struct module *m, const struct trap_byte *t)
{
	int err = put_back(r, t);

	if (err) {
		r->failed++;
		log_error_errno(err, "cannot put back %s+" PRItaddr, m->name, t->addr - m->bias);
		return;
	}
	r->repaired++;
	fputs("repaired ", r->out);
	print_location(r, m, t->addr);
	fprintf(r->out, ": int3, now %02x as in the file\n", t->original);
}

static void leave_alone(struct repairer *r, const struct module *m)
{
	const struct range *range = &r->range;

	r->left++;
	fputs("left alone ", r->out);
	print_location(r, m, range->lo);
	fprintf(r->out, ": %zu of %" PRIu64 " bytes differ from the file%s\n", range->differ,
		range->hi - range->lo, range->ntraps ? ", int3 among them" : "");
}

/* The range is complete: repair or list it. */
static void end_range(struct repairer *r, const struct module *m)
{
	struct range *range = &r->range;

	if (range->lo == range->hi)
		return;
	if (range->ntraps == range->differ && range->ntraps <= RANGE_TRAPS) {
		for (size_t i = 0; i < range->ntraps; i++)
			repair_trap(r, m, &range->traps[i]);
	} else {
		leave_alone(r, m);
	}
	range->lo = range->hi = 0;
}

/* No function contains @addr. */
static bool is_padding(const struct module *m, taddr addr)
{
	struct code_range over;

	return !elfimage_extent(m->img, addr - m->bias, &over);
}

static void add_difference(struct repairer *r, const struct module *m, taddr addr, uint8_t memory,
			   uint8_t file)
{
	struct range *range = &r->range;

	bool padding = is_padding(m, addr);

	if (range->lo != range->hi && (addr - range->hi >= REPAIR_APART || range->padding != padding))
		end_range(r, m);
	if (range->lo == range->hi) {
		range->lo = addr;
		range->padding = padding;
		range->differ = range->ntraps = 0;
	}
	range->hi = addr + 1;
	range->differ++;
	if (memory != INT3)
		return;
	if (range->ntraps < RANGE_TRAPS)
		range->traps[range->ntraps] = (struct trap_byte){ addr, file };
	range->ntraps++;
}

static void compare(struct repairer *r, const struct module *m, taddr addr, const uint8_t *memory,
		    const uint8_t *file, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (memory[i] != file[i])
			add_difference(r, m, addr + i, memory[i], file[i]);
	}
}

/* Bytes of the page that are in no code segment (before its start, behind its end) are skipped. */
static int compare_page(struct repairer *r, const struct module *m, taddr page)
{
	uint8_t memory[PAGE], file[PAGE];
	ssize_t got = pread_full(r->mem, memory, PAGE, (off_t)page);

	if (got < 0)
		return (int)got;
	for (size_t at = 0; at < (size_t)got; ) {
		size_t n = elfimage_code(m->img, page + at - m->bias, file, (size_t)got - at);

		compare(r, m, page + at, memory + at, file, n);
		at += n ? n : 1;
	}
	return 0;
}

/* Without a pagemap, any page may be the process's own copy. */
static bool may_differ(const struct repairer *r, taddr page)
{
	uint64_t entry;

	if (pread(r->pagemap, &entry, sizeof(entry), (off_t)(page / PAGE * sizeof(entry))) != sizeof(entry))
		return true;
	return entry & PAGE_SWAPPED || (entry & PAGE_PRESENT && !(entry & PAGE_OF_FILE));
}

static int compare_mapping(struct repairer *r, const struct module *m, const struct mapping *map)
{
	for (taddr page = map->lo; page < map->hi; page += PAGE) {
		int err = may_differ(r, page) ? compare_page(r, m, page) : 0;

		if (err)
			return err;
	}
	end_range(r, m);
	return 0;
}

/* Files that cannot be compared are named: there may be traps in them. */
static bool can_compare(const struct repairer *r, const struct module *m)
{
	const char *why_not = m->why_not;

	if (m->img && !elfimage_textrel(m->img))
		return true;
	if (m->img)
		why_not = "its code is changed when it is loaded (text relocations)";
	fputs("not compared: ", r->out);
	strbuf_print_text(r->out, m->path);
	fprintf(r->out, ": %s\n", why_not);
	return false;
}

static int compare_all(struct repairer *r, const struct procmaps *pm)
{
	for (size_t i = 0; i < pm->n; i++) {
		const struct mapping *map = &pm->maps[i];
		const struct module *m = modules_find(r->modules, map->lo);
		int err;

		if (!(map->perms & MAPPING_EXEC) || !m || m->gone || !can_compare(r, m))
			continue;
		err = compare_mapping(r, m, map);
		if (err)
			return err;
	}
	return 0;
}

static int open_proc(pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int repair_mappings(struct repairer *r)
{
	struct procmaps pm;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)r->pid);
	err = procmaps_read(path, &pm);
	if (err)
		return err;
	err = modules_new(r->pid, &r->modules);
	if (!err)
		err = compare_all(r, &pm);
	modules_free(r->modules);
	procmaps_fini(&pm);
	return err;
}

static int repair_process(struct repairer *r)
{
	cleanup_close int mem = open_proc(r->pid, "mem", O_RDWR);
	cleanup_close int pagemap = open_proc(r->pid, "pagemap", O_RDONLY);

	if (mem < 0)
		return mem;
	r->mem = mem;
	r->pagemap = pagemap;
	return repair_mappings(r);
}

/* false: it must not be touched, and the reason is logged. */
static bool may_repair(const struct target_info *t)
{
	struct diagnose_self self;
	struct diagnosis why;

	if (t->tracer_pid && !strcmp(t->tracer_comm, TARGET_KEEPER_COMM)) {
		log_error("not repaired: %d (%s) is being watched by process %d (%s)", (int)t->pid, t->comm,
			  (int)t->tracer_pid, t->tracer_comm);
		log_hint("its traps are in use; end that mmattach, and they are taken out");
		return false;
	}
	diagnose_read_self(&self);
	if (!diagnose_before(t, &self, &why))
		return true;
	diagnose_log(&why);
	return false;
}

static int summarize(const struct repairer *r, const struct target_info *t)
{
	fprintf(r->out, "%d (", (int)t->pid);
	strbuf_print_text(r->out, t->comm);
	fprintf(r->out, "): %zu trap%s taken out, %zu could not be, %zu other difference%s left alone\n",
		r->repaired, r->repaired == 1 ? "" : "s", r->failed, r->left, r->left == 1 ? "" : "s");
	return r->failed ? 1 : 0;
}

static int repair_target(const struct target_info *t, FILE *out)
{
	struct repairer r = { .pid = t->pid, .out = out };
	struct diagnose_self self;
	struct diagnosis why;
	int err;

	if (!may_repair(t))
		return 1;
	err = repair_process(&r);
	if (!err)
		return summarize(&r, t);
	diagnose_read_self(&self);
	diagnose_attach(t, &self, err, &why);
	diagnose_log(&why);
	return 1;
}

int repair(pid_t pid, FILE *out)
{
	struct target_info t;
	struct diagnosis why;
	int err;

	openfiles_raise(NULL);
	err = target_read(pid, &t);
	if (err) {
		diagnose_lookup(pid, NULL, err, NULL, &why);
		diagnose_log(&why);
		return 1;
	}
	err = repair_target(&t, out);
	target_fini(&t);
	return err;
}
