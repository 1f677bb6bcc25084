/* SPDX-License-Identifier: MIT */
#include "attach/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"

#define FILE_MAX (1u << 20)
#define OURS (64ull << 20)	/* programs and libraries, names, the report */

bool room_find(const char *text, const char *key, uint64_t *bytes)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		unsigned long long kb;

		line += *line == '\n';
		if (strncmp(line, key, n) || sscanf(line + n, ": %llu kB", &kb) != 1)
			continue;
		if (kb > UINT64_MAX >> 10)
			return false;
		*bytes = (uint64_t)kb << 10;
		return true;
	}
	return false;
}

static bool read_field(const char *path, const char *key, uint64_t *bytes)
{
	cleanup_free char *text = NULL;
	size_t n;

	return read_whole_file(path, FILE_MAX, &text, &n) == 0 && room_find(text, key, bytes);
}

static bool read_number(const char *folder, const char *name, uint64_t *out)
{
	cleanup_free char *text = NULL;
	char path[1200], *end;
	size_t n;

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", folder, name);
	if (read_whole_file(path, FILE_MAX, &text, &n) < 0)
		return false;
	*out = strtoull(text, &end, 10);
	return end != text;	/* "max" is no number */
}

/* What our control group (version 2) may still take; UINT64_MAX: as much as there is. */
static uint64_t left_in_group(void)
{
	cleanup_free char *text = NULL;
	uint64_t limit, used;
	char *folder, *end;
	size_t n;

	if (read_whole_file("/proc/self/cgroup", FILE_MAX, &text, &n) < 0 || strncmp(text, "0::", 3))
		return UINT64_MAX;
	folder = text + 3;
	end = strchr(folder, '\n');
	if (end)
		*end = '\0';
	if (strlen(folder) > 1000 || !read_number(folder, "memory.max", &limit) || !read_number(folder, "memory.current", &used))
		return UINT64_MAX;
	return limit > used ? limit - used : 0;
}

/* The copy, and an eighth of it for the blocks' tables: 40 bytes for each are less than that where blocks have 320 bytes on average. */
bool room_for_copy(pid_t pid, struct room *out)
{
	uint64_t own, group = left_in_group();
	char path[64];

	*out = (struct room){ 0, 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!read_field(path, "RssAnon", &own) || !read_field("/proc/meminfo", "MemAvailable", &out->available))
		return true;
	if (group < out->available)
		out->available = group;
	out->needed = own + own / 8 + OURS;
	return out->needed <= out->available;
}
