/* SPDX-License-Identifier: MIT */
#include "attach/processes.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/room.h"
#include "base/cleanup.h"
#include "base/fdio.h"

#define EVERY_NS 1000000000ull
#define STATUS_MAX 65536u
#define MAPS_MAX (16u << 20)
#define NAME_MAX_BYTES 120u
#define THREADS_MAX 4096u	/* whose children are looked for */

static char *read_file(pid_t pid, const char *name, size_t most)
{
	char path[96], *text = NULL;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_whole_file(path, most, &text, &n) < 0 ? NULL : text;
}

/* --- one process --- */

static uint64_t heap_size(const char *maps)
{
	const char *name = strstr(maps, "[heap]");
	uint64_t lo, hi;

	while (name && name > maps && name[-1] != '\n')
		name--;
	return name && sscanf(name, "%" SCNx64 "-%" SCNx64, &lo, &hi) == 2 && hi > lo ? hi - lo : 0;
}

bool processes_parse(const char *status, const char *maps, struct memory_point *out)
{
	*out = (struct memory_point){ 0 };
	if (!room_find(status, "RssAnon", &out->anonymous))
		return false;
	(void)room_find(status, "RssFile", &out->file);
	(void)room_find(status, "RssShmem", &out->shared);
	(void)room_find(status, "VmSwap", &out->swapped);
	out->heap = maps ? heap_size(maps) : 0;
	return true;
}

/* Its command line, for workers say there what they are; else its name. */
static void name_of(pid_t pid, const char *status, char out[NAME_MAX_BYTES])
{
	char path[64], *text = NULL;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	(void)!read_whole_file(path, STATUS_MAX, &text, &n);
	while (n && (!text[n - 1] || text[n - 1] == ' '))
		n--;
	if (n) {
		n = n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES - 1;
		for (size_t i = 0; i < n; i++)
			out[i] = text[i] ? text[i] : ' ';
		out[n] = '\0';
	} else if (sscanf(status, "Name:\t%119[^\n]", out) != 1) {
		out[0] = '\0';
	}
	free(text);
}

static void look_at(struct recorder *r, pid_t pid, uint64_t now_ns, bool heap)
{
	cleanup_free char *status = read_file(pid, "status", STATUS_MAX);
	cleanup_free char *maps = heap ? read_file(pid, "maps", MAPS_MAX) : NULL;
	char name[NAME_MAX_BYTES];
	struct fact f = { .kind = MMT_INFO, .info = MMT_MEMORY, .time_us = recorder_time(r, now_ns), .memory = { .pid = pid, .name = name } };

	if (!status || !processes_parse(status, maps, &f.memory.point))
		return;
	name_of(pid, status, name);
	f.memory.point.at_us = f.time_us;
	recorder_put(r, &f);
}

/* --- children --- */

static void add_child(struct processes *p, pid_t child)
{
	for (size_t i = 0; i < p->nchildren; i++)
		if (p->children[i] == child)
			return;
	if (p->nchildren < PROCESSES_MAX)
		p->children[p->nchildren++] = child;
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

static void find_children(struct processes *p, bool of_all_threads)
{
	char path[64];
	cleanup_closedir DIR *dir = NULL;
	struct dirent *d;
	unsigned n = 0;

	if (!of_all_threads) {
		find_children_of(p, p->pid);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	dir = opendir(path);
	while (dir && n < THREADS_MAX && (d = readdir(dir)))
		if (d->d_name[0] != '.') {
			find_children_of(p, (pid_t)strtol(d->d_name, NULL, 10));
			n++;
		}
}

void processes_look(struct processes *p, struct recorder *r, uint64_t now_ns, bool last)
{
	const bool ends = last || !p->begun;

	if (!ends && now_ns < p->next_ns)
		return;
	p->begun = true;
	p->next_ns = now_ns + EVERY_NS;
	find_children(p, ends);
	look_at(r, p->pid, now_ns, ends);
	for (size_t i = 0; i < p->nchildren; i++)
		look_at(r, p->children[i], now_ns, false);
}
