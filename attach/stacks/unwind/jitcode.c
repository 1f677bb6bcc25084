/* SPDX-License-Identifier: MIT */
/* jitcode: see jitcode.h. */
#include "attach/stacks/unwind/jitcode.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/addr_search.h"
#include "base/procmaps.h"

#define REST 100	/* the wait between two readings, as a multiple of how long the last one took */

void jitcode_init(struct jitcode *j)
{
	*j = (struct jitcode){ .pid = 0 };
}

void jitcode_fini(struct jitcode *j)
{
	free(j->v);
	jitcode_init(j);
}

void jitcode_follow(struct jitcode *j, pid_t pid)
{
	jitcode_fini(j);
	j->pid = pid;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_made(const struct mapping *m)
{
	return m->perms & MAPPING_EXEC && !m->ino && m->path[0] != '[';
}

/* If memory is short, or the process is gone, the known ranges stay. */
static void read_maps(struct jitcode *j)
{
	struct procmaps pm;
	struct jit_range *v;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)j->pid);
	if (procmaps_read(path, &pm))
		return;
	v = calloc(pm.n + 1, sizeof(*v));
	if (v) {
		free(j->v);
		j->v = v;
		j->n = 0;
		for (size_t i = 0; i < pm.n; i++) {
			if (is_made(&pm.maps[i]))
				v[j->n++] = (struct jit_range){ pm.maps[i].lo, pm.maps[i].hi };
		}
	}
	procmaps_fini(&pm);
}

static bool find(const struct jitcode *j, taddr addr)
{
	size_t i = ADDR_SEARCH(j->v, j->n, hi, addr);

	return i < j->n && j->v[i].lo <= addr;
}

bool jitcode_holds(struct jitcode *j, taddr addr)
{
	uint64_t start;

	if (!j->pid)
		return false;
	if (find(j, addr))
		return true;
	start = now_ns();
	if (start < j->next_ns)
		return false;
	read_maps(j);
	j->next_ns = now_ns() + REST * (now_ns() - start);
	return find(j, addr);
}
