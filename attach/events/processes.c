/* SPDX-License-Identifier: MIT */
#include "attach/events/processes.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/events/code_copies.h"
#include "attach/events/recorder.h"
#include "attach/snapshot/memory_limit.h"
#include "base/cleanup.h"
#include "base/fdio.h"

#define EVERY_NS 1000000000ull
#define STATUS_MAX 65536u
#define LINE_MAX_BYTES 160u	/* longer lines have the name of a file */
#define ARENA_HEAP (64ull << 20)
#define ARENA_LOWEST 0x700000000000ull
#define MAPS_MAX (16u << 20)
#define THREADS_MAX 4096u	/* the threads whose children are looked for */
#define STAT_MAX 4096u

static char *read_file(pid_t pid, const char *name, size_t most)
{
	char path[96], *text = NULL;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_whole_file(path, most, &text, &n) < 0 ? NULL : text;
}

/* --- one process --- */

struct map {
	uint64_t lo, hi, inode;
	char perms[8], name[8];
};

static bool read_map(const char *at, size_t n, struct map *out)
{
	char line[LINE_MAX_BYTES];

	*out = (struct map){ 0 };
	if (n >= sizeof(line))
		return false;
	/* a copy of the line, because sscanf takes the length of the whole text that it is given */
	memcpy(line, at, n);
	line[n] = '\0';
	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64 "%*[ ]%7s", &out->lo, &out->hi,
		      out->perms, &out->inode, out->name) >= 4 &&
	       out->hi > out->lo;
}

/* The heap's mapping has no inode; a file of that name has one. */
static bool is_heap(const struct map *m)
{
	return !m->inode && !strcmp(m->name, "[heap]");
}

/*
 * A heap of one of glibc's arenas for threads: at a multiple of 64 MiB, first the part in use, behind it the
 * part that is reserved, up to the next multiple. Go's runtime has the same layout, but at lower addresses.
 */
static bool is_arena(const struct map *m, const struct map *next)
{
	const uint64_t end = (m->hi | (ARENA_HEAP - 1)) + 1;

	return m->lo >= ARENA_LOWEST && !(m->lo % ARENA_HEAP) && !m->inode && !m->name[0] &&
	       !strcmp(m->perms, "rw-p") && next->lo == m->hi && next->hi >= end &&
	       !strcmp(next->perms, "---p");
}

/* All of malloc's memory: what it got by brk, and the heaps of its other arenas. */
static uint64_t heap_size(const char *maps)
{
	struct map before = { 0 }, m;
	uint64_t sum = 0;

	for (const char *at = maps, *end; *at; at = end + !!*end, before = m) {
		end = strchrnul(at, '\n');
		if (!read_map(at, (size_t)(end - at), &m))
			continue;
		if (is_heap(&m))
			sum += m.hi - m.lo;
		if (is_arena(&before, &m))
			sum += before.hi - before.lo;
	}
	return sum;
}

/* Since Linux 6.2 the folder's size is their number; before, each entry is counted. 0: not known. */
static uint64_t count_descriptors(pid_t pid)
{
	char path[64];
	cleanup_closedir DIR *dir = NULL;
	const struct dirent *d;
	struct stat st;
	uint64_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	if (stat(path, &st) == 0 && st.st_size > 0)
		return (uint64_t)st.st_size;
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		n += d->d_name[0] != '.';
	return n;
}

uint64_t processes_busy_us(const char *stat)
{
	const char *rest = strrchr(stat, ')');
	uint64_t user, kernel;

	if (!rest || sscanf(rest, ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64, &user,
			    &kernel) != 2)
		return 0;
	return (user + kernel) * (1000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t read_busy_us(pid_t pid)
{
	cleanup_free char *stat = read_file(pid, "stat", STAT_MAX);

	return stat ? processes_busy_us(stat) : 0;
}

bool processes_parse(const char *status, const char *maps, struct memory_point *out)
{
	*out = (struct memory_point){ 0 };
	if (!memory_limit_find(status, "RssAnon", &out->anonymous))
		return false;
	(void)memory_limit_find(status, "RssFile", &out->file);
	(void)memory_limit_find(status, "RssShmem", &out->shared);
	(void)memory_limit_find(status, "VmSwap", &out->swapped);
	(void)memory_limit_find(status, "VmSize", &out->mapped);
	out->threads = processes_threads(status);
	out->heap = maps ? heap_size(maps) : 0;
	return true;
}

bool processes_is_child(const char *status, pid_t of)
{
	const char *line = strstr(status, "\nPPid:");
	int parent;

	return line && sscanf(line, "\nPPid: %d", &parent) == 1 && parent == of;
}

unsigned processes_threads(const char *status)
{
	const char *line = strstr(status, "\nThreads:");
	unsigned n = 0;

	return line && sscanf(line, "\nThreads: %u", &n) == 1 ? n : 0;
}

pid_t processes_parent(const char *stat)
{
	const char *rest = strrchr(stat, ')');
	int parent;

	return rest && sscanf(rest, ") %*c %d", &parent) == 1 ? parent : 0;
}

/*
 * The command line, because worker processes describe themselves there; if there is none, the name. Read only
 * once: the kernel locks the process's memory for it.
 */
static void read_name(pid_t pid, const char *status, char out[PROCESS_NAME])
{
	char path[64], *text = NULL;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	(void)!read_whole_file(path, STATUS_MAX, &text, &n);
	while (n && (!text[n - 1] || text[n - 1] == ' '))
		n--;
	if (n) {
		n = n < PROCESS_NAME ? n : PROCESS_NAME - 1;
		for (size_t i = 0; i < n; i++)
			out[i] = text[i] ? text[i] : ' ';
		out[n] = '\0';
	} else if (sscanf(status, "Name:\t%119[^\n]", out) != 1) {
		out[0] = '\0';
	}
	free(text);
}

/* @maps: NULL between the first time and the last, when only what is cheap is read. */
static void record(struct recorder *r, pid_t pid, const char *name, const char *status, const char *maps,
		   uint64_t now_ns)
{
	struct fact f = {
		.kind = MMT_INFO, .info = MMT_MEMORY, .time_us = recorder_time(r, now_ns),
		.memory = { .pid = pid, .name = name },
	};

	if (!processes_parse(status, maps, &f.memory.point))
		return;
	f.memory.point.at_us = f.time_us;
	f.memory.point.descriptors = maps ? count_descriptors(pid) : 0;
	f.memory.point.busy_us = maps ? read_busy_us(pid) : 0;
	recorder_put(r, &f);
}

/* What the traps have copied: the difference between the last time and the first. */
static void record_code(struct processes *p, struct recorder *r, const char *maps, uint64_t now_ns, bool first)
{
	const uint64_t bytes = code_copies(p->pid, maps);

	if (first)
		p->code_copies = bytes;
	else if (bytes > p->code_copies)
		recorder_count(r, recorder_time(r, now_ns), MMT_COUNT_CODE_COPIED, bytes - p->code_copies);
}

/* At the @first time and at the last also what is found by its mappings. */
static void record_itself(struct processes *p, struct recorder *r, uint64_t now_ns, bool ends, bool first)
{
	cleanup_free char *status = read_file(p->pid, "status", STATUS_MAX);
	cleanup_free char *maps = ends ? read_file(p->pid, "maps", MAPS_MAX) : NULL;

	if (!status)
		return;
	if (!p->name[0])
		read_name(p->pid, status, p->name);
	p->threads = processes_threads(status);
	record(r, p->pid, p->name, status, maps, now_ns);
	if (maps)
		record_code(p, r, maps, now_ns, first);
}

/* --- children --- */

/* false: it is gone, or its pid belongs to another process by now. */
static bool record_child(struct process_child *c, pid_t of, struct recorder *r, uint64_t now_ns)
{
	cleanup_free char *status = read_file(c->pid, "status", STATUS_MAX);

	if (!status || !processes_is_child(status, of))
		return false;
	if (!c->name[0])
		read_name(c->pid, status, c->name);
	record(r, c->pid, c->name, status, NULL, now_ns);
	return true;
}

static void record_children(struct processes *p, struct recorder *r, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->nchildren; i++)
		if (record_child(&p->children[i], p->pid, r, now_ns))
			p->children[kept++] = p->children[i];
	p->nchildren = kept;
}

static void add_child(struct processes *p, pid_t child)
{
	for (size_t i = 0; i < p->nchildren; i++)
		if (p->children[i].pid == child)
			return;
	if (p->nchildren < MEMORY_CHILDREN)
		p->children[p->nchildren++] = (struct process_child){ .pid = child };
}

static void find_children_of(struct processes *p, pid_t tid)
{
	char name[64], *end;
	cleanup_free char *text = NULL;

	snprintf(name, sizeof(name), "task/%d/children", (int)tid);
	text = read_file(p->pid, name, 1u << 20);
	for (char *at = text; at && *at; at = end) {
		const pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			return;
		add_child(p, child);
	}
}

static void find_children_by_threads(struct processes *p)
{
	char path[64];
	cleanup_closedir DIR *dir = NULL;
	struct dirent *d;
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	dir = opendir(path);
	while (dir && n < THREADS_MAX && (d = readdir(dir)))
		if (d->d_name[0] != '.') {
			find_children_of(p, (pid_t)strtol(d->d_name, NULL, 10));
			n++;
		}
}

static void find_children_by_parents(struct processes *p)
{
	cleanup_closedir DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		const pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
		cleanup_free char *stat = pid > 0 ? read_file(pid, "stat", STAT_MAX) : NULL;

		if (stat && processes_parent(stat) == p->pid)
			add_child(p, pid);
	}
}

/* The number of links of /proc is that of all processes, and a few more. */
static bool fewer_processes_than(unsigned n)
{
	struct stat st;

	return stat("/proc", &st) == 0 && st.st_nlink < n;
}

static void find_children(struct processes *p, bool of_all_threads)
{
	if (!of_all_threads)
		find_children_of(p, p->pid);
	else if (fewer_processes_than(p->threads))
		find_children_by_parents(p);
	else
		find_children_by_threads(p);
}

void processes_sample(struct processes *p, struct recorder *r, uint64_t now_ns, bool last)
{
	const bool first = !p->begun, ends = last || first;

	if (!ends && now_ns < p->next_ns)
		return;
	p->begun = true;
	p->next_ns = now_ns + EVERY_NS;
	record_itself(p, r, now_ns, ends, first);
	if (ends)
		find_children(p, true);
	record_children(p, r, now_ns);
	if (!ends)
		find_children(p, false);
}
