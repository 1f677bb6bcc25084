/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/thread_tls.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/sampling/blocks/remote_read.h"
#include "base/grow.h"

#define ROBUST_HEAD 0x2e0u	/* in struct pthread */
#define SELF 0x10u

/* Is there a struct pthread at @at? It is aligned, and begins with its own address, which it has once more. */
static bool is_thread(pid_t pid, taddr at)
{
	uint64_t words[SELF / 8 + 1];

	return remote_read_words(pid, at, words, sizeof(words)) && words[0] == at && words[SELF / 8] == at;
}

static taddr tls_of(pid_t pid, pid_t tid)
{
	void *head = NULL;
	size_t size;

	if (syscall(SYS_get_robust_list, tid, &head, &size) < 0 || (uintptr_t)head <= ROBUST_HEAD)
		return 0;
	return is_thread(pid, (uintptr_t)head - ROBUST_HEAD) ? (uintptr_t)head - ROBUST_HEAD : 0;
}

int thread_tls_list(pid_t pid, taddr **out, size_t *n)
{
	size_t room = 0;
	char path[64];
	DIR *tasks;
	int r = 0;

	*out = NULL;
	*n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *d; r == 0 && (d = readdir(tasks));) {
		const pid_t tid = atoi(d->d_name);
		const taddr at = tid > 0 ? tls_of(pid, tid) : 0;

		if (at)
			r = grow_for(out, *n, &room, sizeof(**out));
		if (at && r == 0)
			(*out)[(*n)++] = at;
	}
	closedir(tasks);
	return r;
}
