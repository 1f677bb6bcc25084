/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_ways.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define LEAST 515

/* What a way is called, as an option and in messages, and since when there is one. */
static const struct {
	const char *option, *name, *many;
	int since;
} ways[] = {
	[UPROBE_WAY_AUTO] = { NULL, "", "uprobes with cookies, which distinguish their hits", LEAST },
	[UPROBE_WAY_SESSION] = { "session", "uprobe session", "uprobe sessions", 613 },
	[UPROBE_WAY_MULTI] = { "multi", "uprobe_multi", "uprobe_multi links for a process", UPROBE_SINCE_MULTI },
	[UPROBE_WAY_PERF] = { "perf", "perf events", "uprobes as perf events", LEAST },
};

/* Files without which there is no program, or no perf event, and what the kernel lacks then. */
static const struct {
	enum uprobe_way way;
	const char *path, *lacks;
} files_needed[] = {
	{ UPROBE_WAY_AUTO, "/sys/kernel/btf/vmlinux", "type information (CONFIG_DEBUG_INFO_BTF)" },
	{ UPROBE_WAY_PERF, "/sys/bus/event_source/devices/uprobe/type", "uprobes as perf events (CONFIG_UPROBE_EVENTS)" },
};

const char *uprobe_way_name(enum uprobe_way way)
{
	return ways[way].name;
}

enum uprobe_way uprobe_way_of(const char *name)
{
	for (enum uprobe_way w = UPROBE_WAY_SESSION; name && w <= UPROBE_WAY_PERF; w++)
		if (!strcmp(name, ways[w].option))
			return w;
	return UPROBE_WAY_AUTO;
}

int uprobe_linux_version(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	if (uname(&u) < 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2)
		return 0;
	return major * 100 + minor;
}

const char *uprobe_linux_release(char *out, size_t n)
{
	struct utsname u;

	snprintf(out, n, "%s", uname(&u) < 0 ? "of an unknown version" : u.release);
	return out;
}

static int not_there(enum uprobe_way way)
{
	return way == UPROBE_WAY_AUTO ? -ENOSYS : -EOPNOTSUPP;
}

static int lacks_file(enum uprobe_way way, const char *files, char *why, size_t n)
{
	char path[PATH_MAX], release[80];

	for (size_t i = 0; i < sizeof(files_needed) / sizeof(files_needed[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", files, files_needed[i].path);
		if (files_needed[i].way != way || access(path, F_OK) == 0)
			continue;
		snprintf(why, n, "this kernel (%s) has no %s", uprobe_linux_release(release, sizeof(release)),
			 files_needed[i].lacks);
		return not_there(way);
	}
	return 0;
}

int uprobe_way_check(enum uprobe_way way, int version, const char *files, char *why, size_t n)
{
	const int since = ways[way].since;
	char release[80];

	if (version >= since)
		return lacks_file(way, files, why, n);
	snprintf(why, n, "this kernel (%s) has no %s: they came with Linux %d.%d",
		 uprobe_linux_release(release, sizeof(release)), ways[way].many, since / 100, since % 100);
	return not_there(way);
}
