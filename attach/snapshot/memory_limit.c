/* SPDX-License-Identifier: MIT */
#include "attach/snapshot/memory_limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"

#define FILE_MAX (1u << 20)
#define FOLDER_MAX 1200
#define OURS (64ull << 20)	/* programs and libraries, names, the report */
#define TABLES_SHARE 8		/* of a copy: enough for 40 bytes a block, if blocks have 320 on average */
#define SPARE_SHARE 16		/* of the machine's memory: left to other processes */

bool memory_limit_find(const char *text, const char *key, uint64_t *bytes)
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

/*
 * Pages of files that were not used for a while: they count as used, but are reclaimed first. 0: not known.
 */
static uint64_t inactive_bytes(const char *folder, const char *key)
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
	idle = inactive_bytes(folder, f->idle);
	used -= idle < used ? idle : used;
	return limit > used ? limit - used : 0;
}

/*
 * The path of the group in /proc/self/cgroup: "4:memory:/a/b", or "0::/a/b" if there is none for memory
 * alone.
 */
static const char *group_path(const char *self, const struct group_files **f)
{
	const char *p = strstr(self, ":memory:");

	*f = &group_files[p != NULL];
	if (p)
		return p + strlen(":memory:");
	p = strstr(self, "0::");
	return p ? p + strlen("0::") : NULL;
}

uint64_t memory_limit_in_group(const char *root, const char *self)
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
	/*
	 * a limit of any group above applies to us as well; in a container we can see only our own and those
	 * below
	 */
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

/*
 * What our control group, or one above it, may still allocate: the process may be in the same group (a
 * container), and a group that is out of memory may be killed as a whole.
 */
static uint64_t left_in_our_group(void)
{
	cleanup_free char *text = NULL;
	size_t n;

	if (read_whole_file("/proc/self/cgroup", FILE_MAX, &text, &n) < 0)
		return UINT64_MAX;
	return memory_limit_in_group("/sys/fs/cgroup", text);
}

static uint64_t left_on_machine(void)
{
	cleanup_free char *text = NULL;
	uint64_t total, available;
	size_t n;

	if (read_whole_file("/proc/meminfo", FILE_MAX, &text, &n) < 0 ||
	    !memory_limit_find(text, "MemTotal", &total) ||
	    !memory_limit_find(text, "MemAvailable", &available))
		return UINT64_MAX;
	return available > total / SPARE_SHARE ? available - total / SPARE_SHARE : 0;
}

bool memory_limit_for_copy(uint64_t bytes, struct memory_limit *out)
{
	uint64_t group = left_in_our_group(), machine = left_on_machine();

	out->needed = bytes + bytes / TABLES_SHARE + OURS;
	out->available = group < machine ? group : machine;
	return out->needed <= out->available;
}

void memory_limit_offer_ourselves(void)
{
	cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* if this is not allowed, the check before has to be enough */
	if (fd >= 0)
		(void)!write(fd, "1000", 4);
}

const char *memory_limit_text(const struct memory_limit *room, char out[MEMORY_LIMIT_TEXT])
{
	snprintf(out, MEMORY_LIMIT_TEXT, "takes %" PRIu64 " MiB, and %" PRIu64 " MiB of memory are available",
		 (room->needed >> 20) + 1, room->available >> 20);
	return out;
}
