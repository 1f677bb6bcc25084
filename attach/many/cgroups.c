/* SPDX-License-Identifier: MIT */
#include "attach/many/cgroups.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define MOUNTED "/sys/fs/cgroup/"
#define ID 64		/* digits, of docker, podman, containerd and CRI-O */

bool cgroup_is_wanted(const struct cgroup_wish *wish)
{
	return wish->path || wish->unit || wish->container;
}

const char *cgroup_path(const char *path)
{
	return strncmp(path, MOUNTED, strlen(MOUNTED)) ? path : path + strlen(MOUNTED) - 1;
}

/* --- one path --- */

/* Is it @wanted, or below it? */
static bool is_below(const char *path, size_t n, const char *wanted)
{
	size_t m = strlen(wanted);

	while (m && wanted[m - 1] == '/')
		m--;
	return n >= m && !memcmp(path, wanted, m) && (n == m || path[m] == '/');
}

static bool is_unit(const char *name, size_t n, const char *unit)
{
	static const char suffix[] = ".service";
	const size_t m = strlen(unit);

	if (n < m || memcmp(name, unit, m))
		return false;
	return n == m || (!strchr(unit, '.') && n - m == strlen(suffix) && !memcmp(name + m, suffix, n - m));
}

/*
 * The id stands alone (docker with cgroupfs), or behind the runtime's name: docker-ID.scope, libpod-ID.scope,
 * cri-containerd-ID.scope, crio-ID.scope. conmon is not in the container: it looks after it.
 */
static bool is_container(const char *name, size_t n, const char *id)
{
	const size_t m = strlen(id);

	if (memmem(name, n, "conmon", strlen("conmon")))
		return false;
	for (size_t i = 0, digits; i < n; i += digits + 1) {
		digits = 0;
		while (i + digits < n && isxdigit((unsigned char)name[i + digits]))
			digits++;
		if (digits == ID && !memcmp(name + i, id, m))
			return true;
	}
	return false;
}

static bool any_component(const struct cgroup_wish *w, const char *path, size_t n)
{
	for (size_t i = 0, len; i < n; i += len + 1) {
		const char *end = memchr(path + i, '/', n - i);

		len = end ? (size_t)(end - path) - i : n - i;
		if (w->unit ? is_unit(path + i, len, w->unit) : is_container(path + i, len, w->container))
			return true;
	}
	return false;
}

/* --- all of them --- */

/* What follows the second colon; the list of controllers has none, a path may. */
static const char *path_of(const char *line, size_t n)
{
	const char *first = memchr(line, ':', n);
	const char *second = first ? memchr(first + 1, ':', n - (size_t)(first + 1 - line)) : NULL;

	return second ? second + 1 : NULL;
}

bool cgroup_has(const struct cgroup_wish *wish, const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		const char *path;
		size_t len;

		n = strcspn(text, "\n");
		path = path_of(text, n);
		if (!path)
			continue;
		len = n - (size_t)(path - text);
		if (wish->path ? is_below(path, len, wish->path) : any_component(wish, path, len))
			return true;
	}
	return false;
}
