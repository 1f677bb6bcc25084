/* SPDX-License-Identifier: MIT */
#include "attach/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"

#define FILE_MAX (1u << 20)
#define FOLDER_MAX 1200
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
	char path[FOLDER_MAX + 64], *end;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (read_whole_file(path, FILE_MAX, &text, &n) < 0)
		return false;
	*out = strtoull(text, &end, 10);
	return end != text;	/* "max" is no number */
}

/* Pages of files that nobody has used for a while: they count as used, but are given up first. 0: not known. */
static uint64_t given_up_first(const char *folder, const char *key)
{
	cleanup_free char *text = NULL;
	char path[FOLDER_MAX + 64];
	size_t n, len = strlen(key);

	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	if (read_whole_file(path, FILE_MAX, &text, &n) < 0)
		return 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	}
	return 0;
}

/* The names of both versions. */
static const struct group_files {
	const char *root, *limit, *used, *idle;
} group_files[] = {
	{ "", "memory.max", "memory.current", "inactive_file" },
	{ "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file" },
};

static uint64_t left_in_folder(const char *folder, const struct group_files *f)
{
	uint64_t limit, used, idle;

	if (!read_number(folder, f->limit, &limit) || !read_number(folder, f->used, &used))
		return UINT64_MAX;
	idle = given_up_first(folder, f->idle);
	used -= idle < used ? idle : used;
	return limit > used ? limit - used : 0;
}

/* Which group, as /proc/self/cgroup has it: "4:memory:/a/b", or "0::/a/b" where there is none for memory alone. */
static const char *group_path(const char *self, const struct group_files **f)
{
	const char *p = strstr(self, ":memory:");

	*f = &group_files[p != NULL];
	if (p)
		return p + strlen(":memory:");
	p = strstr(self, "0::");
	return p ? p + strlen("0::") : NULL;
}

uint64_t room_in_group(const char *root, const char *self)
{
	const struct group_files *f;
	const char *path = group_path(self, &f);
	char folder[FOLDER_MAX], *top, *slash;
	uint64_t least = UINT64_MAX;
	int n;

	if (!path)
		return least;
	n = snprintf(folder, sizeof(folder), "%s%s%.*s", root, f->root, (int)strcspn(path, "\n"), path);
	if (n < 0 || (size_t)n >= sizeof(folder))
		return least;
	/* a limit of any group above is ours as well; in a container our own is the uppermost that we see */
	top = folder + strlen(root) + strlen(f->root);
	do {
		uint64_t left = left_in_folder(folder, f);

		least = left < least ? left : least;
		slash = strrchr(top, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return least;
}

uint64_t room_in_our_group(void)
{
	cleanup_free char *text = NULL;
	size_t n;

	if (read_whole_file("/proc/self/cgroup", FILE_MAX, &text, &n) < 0)
		return UINT64_MAX;
	return room_in_group("/sys/fs/cgroup", text);
}

/* The copy, and an eighth of it for the blocks' tables: 40 bytes for each are less than that where blocks have 320 bytes on average. */
bool room_for_copy(pid_t pid, struct room *out)
{
	uint64_t own, group = room_in_our_group();
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
