/* SPDX-License-Identifier: MIT */
#include "attach/target/startname.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fdio.h"

#define AUXV_MAX 65536
#define PROC_NAME 32

static bool is_file_of(const char *path, const struct mapping *m)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == m->ino && st.st_dev == m->dev;
}

/* Where the name is, 0: it is not known. */
static uint64_t find_name(pid_t pid)
{
	cleanup_free char *text = NULL;
	char path[PROC_NAME];
	Elf64_auxv_t av;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	if (read_whole_file(path, AUXV_MAX, &text, &n) < 0)
		return 0;
	for (size_t at = 0; at + sizeof(av) <= n; at += sizeof(av)) {
		memcpy(&av, text + at, sizeof(av));
		if (av.a_type == AT_EXECFN)
			return av.a_un.a_val;
	}
	return 0;
}

/* The last part of it; @name has PATH_MAX bytes. NULL: it cannot be read. */
static const char *read_name(pid_t pid, char *name)
{
	const uint64_t addr = find_name(pid);
	cleanup_close int mem = -1;
	char path[PROC_NAME];
	const char *slash;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = addr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	got = mem < 0 ? -1 : pread(mem, name, PATH_MAX, (off_t)addr);
	if (got <= 0 || !memchr(name, '\0', (size_t)got))
		return NULL;
	slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

/* python3 is a link to python3.10, which says more, and is as well known. */
static bool says_less(const char *name, const char *of_file)
{
	return !strncmp(of_file, name, strlen(name));
}

char *startname(pid_t pid, const struct mapping *m, const char *path)
{
	const char *slash = strrchr(path, '/'), *name;
	char given[PATH_MAX], exe[PROC_NAME], below[2 * PATH_MAX];
	char *found = NULL;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	if (*path != '/' || !is_file_of(exe, m))
		return NULL;
	name = read_name(pid, given);
	if (!name || !*name || says_less(name, slash + 1) ||
	    asprintf(&found, "%.*s%s", (int)(slash + 1 - path), path, name) < 0)
		return NULL;
	if (snprintf(below, sizeof(below), "/proc/%d/root%s", (int)pid, found) < (int)sizeof(below) && is_file_of(below, m))
		return found;
	free(found);
	return NULL;
}
