/* SPDX-License-Identifier: MIT */
#include "attach/snapshot/awake.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attach/keeper/procfs.h"
#include "base/grow.h"

#define APART_NS 300000000ull	/* looks: less says little of a thread */

void awake_init(struct awake *a)
{
	*a = (struct awake){ 0 };
}

void awake_fini(struct awake *a)
{
	free(a->last);
	free(a->rates);
	awake_init(a);
}

static int by_tid(const void *pa, const void *pb)
{
	const struct awake_thread *a = pa, *b = pb;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* Since @before, or if that is NULL or another thread's of that number, since it has begun, which was later. */
static struct awake_rate rate_of(const struct awake_thread *now, const struct awake_thread *before, double seconds)
{
	const struct awake_thread none = { 0 };

	if (!before || before->ran_ns > now->ran_ns || before->times > now->times)
		before = &none;
	return (struct awake_rate){ (double)(now->ran_ns - before->ran_ns) / 1e9 / seconds,
				    (double)(now->times - before->times) / seconds };
}

int awake_see(struct awake *a, struct awake_thread *threads, size_t n, uint64_t now_ns)
{
	struct awake_rate *rates = NULL;

	if (n)
		qsort(threads, n, sizeof(*threads), by_tid);
	if (a->at_ns && now_ns > a->at_ns) {
		rates = calloc(n + 1, sizeof(*rates));
		if (!rates) {
			free(threads);
			return -ENOMEM;
		}
		for (size_t i = 0; i < n; i++)
			rates[i] = rate_of(&threads[i],
					   a->n ? bsearch(&threads[i], a->last, a->n, sizeof(*a->last), by_tid) : NULL,
					   (double)(now_ns - a->at_ns) / 1e9);
	}
	free(a->last);
	free(a->rates);
	*a = (struct awake){ .last = threads, .n = n, .at_ns = now_ns, .rates = rates };
	return 0;
}

struct looking {
	pid_t pid;
	struct awake_thread *threads;
	size_t n, room;
};

static int look_at(void *ctx, pid_t tid)
{
	struct looking *l = ctx;
	struct procfs_slices its;
	int r = 0;

	if (!procfs_slices(l->pid, tid, &its))
		return 0;
	r = grow_for(&l->threads, l->n, &l->room, sizeof(*l->threads));
	if (r == 0)
		l->threads[l->n++] = (struct awake_thread){ tid, its.ran_ns, its.n };
	return r;
}

int awake_look(struct awake *a, pid_t pid, uint64_t now_ns)
{
	struct looking l = { .pid = pid };
	int r;

	if (a->at_ns && now_ns - a->at_ns < APART_NS)
		return 0;
	r = procfs_each_task(pid, look_at, &l);
	if (r < 0) {
		free(l.threads);
		return r;
	}
	return awake_see(a, l.threads, l.n, now_ns);
}

uint32_t awake_part(const struct awake *a, uint64_t pause_ns)
{
	double sum = 0;

	if (!a->rates || !a->n)
		return AWAKE_ALL;
	for (size_t i = 0; i < a->n; i++)
		sum += fmin(a->rates[i].works + a->rates[i].wakes * (double)pause_ns / 1e9 / 2, 1);
	return (uint32_t)(fmax(sum, 1) / (double)a->n * AWAKE_ALL);
}
