/* SPDX-License-Identifier: MIT */
#include "attach/keeper/sched/placement.h"

#include <unistd.h>

#include "attach/keeper/procfs.h"

#define LOOK_NS 20000000
/* fewer since the last check: where threads run is not read, it would cost too much */
#define LOOK_STOPS 64
#define LOOK_THREADS 4
#define GAP_NS 5000000		/* a longer round was one without stops */
#define STEP_NS 30000000	/* of time with stops; */
#define STEP_MAX_NS 500000000	/* a longer step finds too few stops: no trial then */
#define STEP_STOPS 200
#define TRIAL_FIRST_NS 200000000
#define TRIAL_MIN_NS 1000000000
#define TRIAL_MAX_NS 16000000000

void placement_init(struct placement *p, uint64_t now_ns)
{
	*p = (struct placement){
		.near = -1, .threads_cpu = -1, .last_ns = now_ns,
		.look_ns = now_ns + LOOK_NS, .trial_ns = now_ns + TRIAL_FIRST_NS, .every_ns = TRIAL_MIN_NS,
	};
	p->off = sysconf(_SC_NPROCESSORS_ONLN) <= 1;
}

bool placement_may_spin(const struct placement *p)
{
	return !p->off && p->near < 0 && sched_getcpu() != p->threads_cpu;
}

/* --- where it runs --- */

static void go_free(struct placement *p)
{
	if (p->near < 0)
		return;
	(void)sched_setaffinity(0, sizeof(p->own), &p->own);
	p->near = -1;
}

static void go_near(struct placement *p, int cpu)
{
	cpu_set_t one;

	if (p->near == cpu)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) == 0)
		p->near = cpu;
}

/* --- a trial --- */

bool placement_counts(uint64_t since_ns)
{
	return since_ns < GAP_NS;
}

/* A difference of less than an eighth is noise: then the keeper stays where it is. */
bool placement_prefers_near(const struct placement_rate *free, const struct placement_rate *near,
			    bool is_near)
{
	double n = (double)near->stops * (double)free->busy_ns;
	double f = (double)free->stops * (double)near->busy_ns;

	return is_near ? f <= n * 1.125 : n > f * 1.125;
}

static void begin_step(struct placement *p, unsigned int step, uint64_t now_ns)
{
	p->step = step;
	p->step_began_ns = now_ns;
	p->now = (struct placement_rate){ 0, 0 };
	/* as it was, the other way twice, as it was: a change of load meanwhile counts for both */
	if ((step == 1 || step == PLACEMENT_STEPS) == p->was_near)
		go_near(p, p->trial_cpu);
	else
		go_free(p);
}

/* The result holds until the next trial; the more often it was the same, the later that is. */
static void end_trial(struct placement *p, bool near, uint64_t now_ns)
{
	p->step = 0;
	if (near)
		go_near(p, p->trial_cpu);
	else
		go_free(p);
	p->every_ns = near == p->was_near ? 2 * p->every_ns : TRIAL_MIN_NS;
	if (p->every_ns > TRIAL_MAX_NS)
		p->every_ns = TRIAL_MAX_NS;
	p->trial_ns = now_ns + p->every_ns;
}

static void begin_trial(struct placement *p, uint64_t now_ns)
{
	p->trial_ns = now_ns + p->every_ns;
	p->was_near = p->near >= 0;
	/* read each time: it may have been changed from outside, or with the cpuset */
	if (!p->was_near && sched_getaffinity(0, sizeof(p->own), &p->own) < 0)
		return;
	if (p->threads_cpu < 0 || CPU_COUNT(&p->own) < 2 || !CPU_ISSET(p->threads_cpu, &p->own))
		return;
	p->trial_cpu = p->threads_cpu;
	p->rate[0] = p->rate[1] = (struct placement_rate){ 0, 0 };
	begin_step(p, 1, now_ns);
}

static void end_step(struct placement *p, uint64_t now_ns)
{
	struct placement_rate *rate = &p->rate[p->near >= 0];

	rate->stops += p->now.stops;
	rate->busy_ns += p->now.busy_ns;
	if (p->now.stops < STEP_STOPS)
		end_trial(p, p->was_near, now_ns);
	else if (p->step == PLACEMENT_STEPS)
		end_trial(p, placement_prefers_near(&p->rate[0], &p->rate[1], p->was_near), now_ns);
	else
		begin_step(p, p->step + 1, now_ns);
}

/* --- where the threads run --- */

static int cpu_of_threads(struct threads *ts, uint64_t now_ns)
{
	struct tracee *t;
	uint32_t i = 0;
	int all = -1;

	for (int n = 0; n < LOOK_THREADS && (t = threads_active(ts, &i, now_ns)); n++) {
		int cpu = procfs_processor(t->tid);

		if (cpu < 0 || (all >= 0 && cpu != all))
			return -1;
		all = cpu;
	}
	return all;
}

static void check_threads_cpu(struct placement *p, struct threads *ts, uint64_t now_ns, uint64_t stops)
{
	bool enough = stops - p->look_stops >= LOOK_STOPS;

	p->look_ns = now_ns + LOOK_NS;
	p->look_stops = stops;
	p->threads_cpu = enough ? cpu_of_threads(ts, now_ns) : -1;
	/* no thread runs here any more: leave; outside of a trial, the next one may begin soon */
	if (!enough || p->near < 0 || p->threads_cpu == p->near)
		return;
	if (p->step) {
		end_trial(p, false, now_ns);
	} else {
		go_free(p);
		p->every_ns = TRIAL_MIN_NS;
		p->trial_ns = now_ns + p->every_ns;
	}
}

void placement_round(struct placement *p, struct threads *ts, uint64_t now_ns, uint64_t stops)
{
	uint64_t since_ns = now_ns - p->last_ns;

	if (p->off)
		return;
	if (placement_counts(since_ns)) {
		p->now.stops += stops - p->last_stops;
		p->now.busy_ns += since_ns;
	}
	p->last_ns = now_ns;
	p->last_stops = stops;
	if (now_ns >= p->look_ns)
		check_threads_cpu(p, ts, now_ns, stops);
	if (p->step && (p->now.busy_ns >= STEP_NS || now_ns - p->step_began_ns >= STEP_MAX_NS))
		end_step(p, now_ns);
	else if (!p->step && now_ns >= p->trial_ns && p->threads_cpu >= 0)
		begin_trial(p, now_ns);
}
