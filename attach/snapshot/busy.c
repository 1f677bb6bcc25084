/* SPDX-License-Identifier: MIT */
#include "attach/snapshot/busy.h"

#include <stdio.h>
#include <stdlib.h>

#include "attach/keeper/procfs.h"
#include "attach/keeper/shared/shared.h"
#include "base/cleanup.h"
#include "base/fdio.h"

#define SLICE_NS 4000000	/* a thread's slice: 3 ms, mostly, and up to the next tick */
#define QUEUE_MOST_NS 100000000	/* if hundreds of threads run, those that wake run before them */

struct sample {
	struct busy *busy;
	pid_t pid;
};

static struct busy_thread *known(struct busy *b, pid_t tid)
{
	for (uint32_t i = 0; i < b->nknown; i++)
		if (b->known[i].tid == tid)
			return &b->known[i];
	if (b->nknown == BUSY_KNOWN)
		return NULL;
	b->known[b->nknown] = (struct busy_thread){ .tid = tid, .sleeps = procfs_sleeps(tid) };
	return &b->known[b->nknown++];
}

static int count_running(void *ctx, pid_t tid)
{
	const struct sample *l = ctx;
	struct busy_thread *t;

	if (procfs_state(l->pid, tid) != 'R')
		return 0;
	t = known(l->busy, tid);
	if (t)
		t->sample = l->busy->samples;
	l->busy->sleeps |= t && procfs_sleeps(tid) != t->sleeps;
	return 1;
}

/* Is there a thread that ran at an earlier sample, but not at this one? */
static bool has_gone_to_sleep(const struct busy *b)
{
	for (uint32_t i = 0; i < b->nknown; i++)
		if (b->known[i].sample != b->samples)
			return true;
	return false;
}

/* "0.20 0.18 0.12 3/400 11206": three of 400 threads run now, and this one is one of them. */
static uint32_t running_now(void)
{
	cleanup_free char *text = NULL;
	unsigned running = 0;
	size_t n;

	if (read_whole_file("/proc/loadavg", 256, &text, &n) < 0 ||
	    sscanf(text, "%*s %*s %*s %u/", &running) != 1)
		return 0;
	return running ? running - 1 : 0;
}

void busy_sample(struct busy *b, pid_t pid)
{
	struct sample l = { b, pid };
	uint32_t machine = running_now();
	int own;

	b->samples++;
	own = procfs_each_task(pid, count_running, &l);
	b->sleeps |= has_gone_to_sleep(b);
	if (own > 0 && (uint32_t)own > b->own)
		b->own = own;
	if (machine < b->own)
		machine = b->own;
	if (machine > b->machine)
		b->machine = machine;
}

uint64_t busy_stop_ns(const struct busy *b, unsigned processors)
{
	uint64_t queue = (uint64_t)b->machine * SLICE_NS / (processors ? processors : 1), asked = 0;

	if (b->own)
		asked = b->sleeps ? PAUSING_MET_NS : PAUSING_RUNS_NS;
	return (queue < QUEUE_MOST_NS ? queue : QUEUE_MOST_NS) + asked;
}
