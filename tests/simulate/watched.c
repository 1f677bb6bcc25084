/* SPDX-License-Identifier: MIT */
#include "tests/simulate/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/keeper/state.h"
#include "attach/sampling/sampling_facts.h"
#include "attach/sampling/sampling_parts.h"
#include "attach/events/tally.h"
#include "report/account.h"
#include "tests/simulate/clock.h"
#include "tests/simulate/heap.h"

#define BEGIN (1000 * SECOND)
#define CODE_EACH 32u			/* bytes of code of a spot, and where malloc returns */
#define NOP 0x90
#define THREADS 64u
#define NEVER UINT64_MAX
#define IDLE_NS (100 * MS)		/* the keeper wakes at least so often */
#define STACK_PC 0x400000ull
/* a stop: until the keeper is awake, its work, until the thread runs again; CPU time of the target in it */
#define WAKE_NS (12 * US)
#define SERVE_NS (8 * US)
#define RESTART_NS (10 * US)
#define STOP_CPU_NS (6 * US)
#define TOGETHER_NS (4 * US)	/* of threads that run together, on few processors, one comes so long after the other */
#define LATE_NS MS			/* on average, where the keeper gets no processor at once */

static struct keeper *keeper;
static struct shared *shared;
static uint8_t *code;

static struct link link_of;
static struct planting *planting;
static struct recorder recorder;
static struct tally *tally;
static struct sampling *sampling;
static struct rule rule;

static struct simulation *run;
static uint64_t waited_ns;			/* the keeper, for a processor (its schedstat) */
static uint64_t next_ns[SHARED_SITES];		/* of each spot: its next allocation, while its trap is planted */
static uint32_t allocating;			/* the spot of the hit that the sampler is told of */
static bool standing[THREADS];
static uint64_t ran_ns[THREADS];		/* when each thread has resumed last */
static struct ten_seconds stood;
/* threads in lockstep that are still to reach a spot */
static struct {
	unsigned n;
	uint32_t spot;
} following;

taddr watched_pc(size_t i)
{
	return STACK_PC + CODE_EACH * i;
}

static uint64_t since_begin(uint64_t ns)
{
	return ns - BEGIN;
}

/* --- time --- */

/* Time passes until @to_ns; of the threads that are not stopped, each uses its part of the processors. */
static void pass(uint64_t to_ns)
{
	const struct scenario *s = run->scenario;
	unsigned stopped = 0;

	if (to_ns <= clock_now_ns)
		return;
	for (unsigned t = 0; t < s->threads; t++)
		stopped += standing[t];
	clock_cpu_ns += (uint64_t)((double)(to_ns - clock_now_ns) * s->busy * (s->threads - stopped) / s->threads);
	clock_now_ns = to_ns;
}

/* --- the traps, as in the keeper --- */

/* @n bytes at @at, or anywhere (0). */
static void *room(size_t n, taddr at)
{
	void *p = mmap((void *)(uintptr_t)at, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

/* The number of the site where malloc itself returns: behind those of the spots. */
static uint32_t malloc_site(void)
{
	return (uint32_t)run->scenario->nspots;
}

static size_t code_bytes(void)
{
	return ((malloc_site() + 1) * CODE_EACH + 4095) / 4096 * 4096;
}

static void begin_cost(uint64_t seed)
{
	struct cost *c = &keeper->budget.cost;
	const struct stop_cost latency = {
		.wake_ns = (uint64_t)(WAKE_NS * run->slow), .restart_ns = (uint64_t)(RESTART_NS * run->slow),
		.cpu_ns = STOP_CPU_NS,
	};

	c->latency = latency;
	stop_cost_learn_begin(&c->learned, &latency);
	c->schedstat = memfd_create("schedstat", MFD_CLOEXEC);
	c->delay_ns = waited_ns;
	token_bucket_init(&c->bucket, run->budget_ppm, clock_now_ns);
	c->trap_stop_ns = latency.wake_ns + latency.restart_ns;
	c->hold_ns = COST_HOLD_NS;
	c->most_burst_ns = 8 * c->trap_stop_ns;
	c->open = true;
	atomic_store(&shared->budget.open, 1);
	c->quiet.stop_cpu_ns = STOP_CPU_NS;
	quiet_clock_begin(&c->quiet, 0, (struct quiet_time){ clock_now_ns, clock_cpu_ns });
	keeper->budget.rounds.random = seed | 1;
	keeper->paid = keeper->watching = true;
	keeper->began.asked_ns = clock_now_ns;
}

static void begin_keeper(uint64_t seed)
{
	keeper = room(sizeof(*keeper), 0);
	shared = room(sizeof(*shared), 0);
	code = room(code_bytes(), STACK_PC);
	memset(code, NOP, code_bytes());
	keeper->shared = shared;
	keeper->target = getpid();
	keeper->mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	keeper->now_ns = clock_now_ns;
	shared->budget_ppm = run->budget_ppm;
	begin_cost(seed);
}

static void end_keeper(void)
{
	close(keeper->mem);
	close(keeper->budget.cost.schedstat);
	munmap(code, code_bytes());
	munmap(shared, sizeof(*shared));
	munmap(keeper, sizeof(*keeper));
}

static bool is_planted(uint32_t i)
{
	return keeper->traps.all[i].state == TRAP_PLANTED;
}

/* Traps were planted or lifted: when is each hit next? */
static void look_at_traps(void)
{
	const struct scenario *s = run->scenario;

	for (uint32_t i = 0; i < s->nspots; i++) {
		const bool sees = is_planted(i) || is_planted(malloc_site());

		heap_see(i, sees);
		if (!sees) {
			next_ns[i] = NEVER;
			following.n = following.spot == i ? 0 : following.n;
		} else if (next_ns[i] == NEVER)
			next_ns[i] = spot_next_ns(&s->spots[i], &run->states[i], since_begin(clock_now_ns) + 1);
	}
}

/* --- the sampler --- */

static int stack_of(void *ctx, const struct record_hit *hit, const struct site *s, const struct tally_frames *which,
		    const char *tag, uint32_t *number)
{
	(void)ctx;
	(void)s;
	(void)which;
	(void)tag;
	*number = hit->head.site == malloc_site() ? allocating : hit->head.site;
	return 0;
}

static void put(struct fact f)
{
	f.kind = MMT_INFO;
	recorder_put(&recorder, &f);
}

/* Each spot is a stack of one frame. */
static void put_stacks(void)
{
	put((struct fact){ .info = MMT_FAMILY_NAME, .family_name = { .number = 0, .name = "libc" } });
	for (uint32_t i = 0; i < run->scenario->nspots; i++) {
		put((struct fact){ .info = MMT_FRAME,
				   .frame = { .number = i, .module = FACT_NONE, .pc = watched_pc(i) } });
		put((struct fact){ .info = MMT_NODE, .node = { .number = i + 1, .caller = 0, .frame = i } });
		put((struct fact){ .info = MMT_STACK,
				   .stack = { .number = i, .node = i + 1, .end = MMT_END_WHOLE,
					      .tag = FACT_NONE } });
	}
}

static int begin_recorder(void)
{
	static const struct fact of_run = { .kind = MMT_INFO, .info = MMT_RUN, .run = { .mode = "sampled" } };
	static const struct fact target = { .kind = MMT_INFO, .info = MMT_TARGET, .target = { .pid = 1 } };
	const int r = recorder_init(&recorder);

	if (r < 0)
		return r;
	recorder_begin(&recorder, BEGIN, &of_run, &target);
	put_stacks();
	return 0;
}

static void over(void *ctx, const struct tracked *b, enum fate fate, uint64_t now_ns)
{
	const struct sampling_stack *stack = &sampling->stacks.all[b->stack];
	struct fact f = { .kind = MMT_FREE, .block = { .addr = b->addr } };

	(void)ctx;
	if (fate == FATE_GONE)
		sampling_facts_block(&recorder, &sampling->sites, stack, &f, now_ns);
	else if (fate == FATE_UNKNOWN)
		sampling_facts_forget(&recorder, &sampling->sites, stack, b->addr, now_ns);
	sampling_stacks_over(&sampling->stacks, b, fate, now_ns);
}

/* A spot has a site of its own, in a function of its own; the last site is where malloc returns. */
static int add_site(uint32_t i)
{
	struct sampling_sites *sites = &sampling->sites;
	struct site *trap = &shared->sites[i];
	const taddr addr = (taddr)(uintptr_t)code + CODE_EACH * i;

	*trap = (struct site){ .addr = addr, .nbytes = SITE_BYTES, .emu = { .op = EMU_NOP, .len = 1 } };
	memset(trap->bytes, NOP, SITE_BYTES);
	sites->all[i] = (struct sampling_site){ .addr = addr, .number = i, .role = SAMPLING_INNER };
	if (i != malloc_site()) {
		sites->all[i].role = SAMPLING_TAKES;
		sites->all[i].function = addr - 1;
		if (addrmap_put(&sites->by_addr, addr, &i) < 0)
			return -ENOMEM;
		next_ns[i] = NEVER;
	}
	sites->of_number[i] = i;
	sampling_sites_begin(sites, &sites->all[i]);
	return trap_rounds_plant(keeper, i);
}

static int add_sites(void)
{
	struct sampling_sites *sites = &sampling->sites;
	int r = 0;

	sites->n = sites->room = malloc_site() + 1;
	sites->all = calloc(sites->n, sizeof(*sites->all));
	for (uint32_t i = 0; sites->all && r == 0 && i < sites->n; i++)
		r = add_site(i);
	return sites->all ? r : -ENOMEM;
}

/* As sampling_new does, but for a process that has no modules. */
static int begin_sampling(uint64_t seed)
{
	struct sampling *s = sampling = calloc(1, sizeof(*s));
	int r;

	planting = calloc(1, sizeof(*planting));
	tally = calloc(1, sizeof(*tally));
	if (!s || !planting || !tally)
		return -ENOMEM;
	link_of.shared = shared;
	rule.op = RULE_ALLOC;
	rule.ptr = (struct expr){ .n = 1, .nodes = { { .op = EXPR_RET } } };
	planting->link = &link_of;
	planting->rules = &rule;
	planting->nrules = 1;
	tally->planting = planting;
	tally->recorder = &recorder;
	tally->stack_of = stack_of;
	*s = (struct sampling){ .pid = getpid(), .planting = planting, .tally = tally, .recorder = &recorder };
	s->targets.n = 1;
	sampling_sites_init(&s->sites, planting, &s->targets);
	sampling_parents_init(&s->parents, &s->sites, run->budget_ppm);
	sampling_rounds_init(&s->rounds, run->budget_ppm);
	s->probes = calloc(1, sizeof(*s->probes));
	if (!s->probes || sampling_heaps_open(s->pid, NULL, &s->heaps) < 0)
		return -ENOMEM;
	s->probes[0] = NO_PROBE;
	r = block_poll_new(s->pid, over, NULL, &s->poll);
	sampling_stacks_init(&s->stacks, s->poll, seed);
	sampling_again_init(&s->again);
	if (r == 0)
		r = add_sites();
	sampling_begin(s, BEGIN);
	return r;
}

static void end_sampling(void)
{
	block_poll_free(sampling->poll);
	sampling_parents_fini(&sampling->parents);
	sampling_stacks_fini(&sampling->stacks);
	sampling_again_fini(&sampling->again);
	sampling_sites_fini(&sampling->sites);
	free(sampling->probes);
	free(sampling);
	free(planting);
	free(tally);
}

/* --- stops --- */

/* Threads that have run into traps, in the order in which they are served. */
static struct stopped {
	uint32_t spot, site;
	unsigned thread;
	taddr block;			/* 0: not allocated yet */
	uint64_t at_ns;			/* when it has stopped, */
	uint64_t found_ns;		/* and when, for all that the keeper knows; 0: it has not looked since */
} queue[THREADS];
static uint32_t nqueue;

static unsigned running_thread(void)
{
	const unsigned n = run->scenario->threads, first = spots_below(n);

	for (unsigned i = 0; i < n; i++)
		if (!standing[(first + i) % n])
			return (first + i) % n;
	return n;
}

/* At @s->at_ns; or, if its thread was still to resume from another stop then, once it has. */
static void stop(const struct stopped *s)
{
	standing[s->thread] = true;
	queue[nqueue] = *s;
	if (ran_ns[s->thread] > s->at_ns)
		queue[nqueue].at_ns = ran_ns[s->thread];
	pass(queue[nqueue++].at_ns);
}

static void stop_at(uint32_t spot, uint64_t at_ns)
{
	const unsigned thread = running_thread();
	const struct stopped its = { .spot = spot, .site = is_planted(malloc_site()) ? malloc_site() : spot,
				     .thread = thread, .at_ns = at_ns };

	if (thread != run->scenario->threads)
		stop(&its);
}

/*
 * Spot @i allocates at @at_ns, and its trap is planted: one thread stops. If it is in lockstep with others, these
 * come next; if the trap is lifted before, they run on.
 */
static void hit(uint32_t i, uint64_t at_ns)
{
	stop_at(i, at_ns);
	next_ns[i] = NEVER;
	if (run->states[i].together == 1)
		return;
	if (!following.n)
		following.n = run->states[i].together;
	following.spot = i;
	if (--following.n)
		next_ns[i] = at_ns - BEGIN + TOGETHER_NS;
}

/* Which spot allocates next, at a trap. */
static uint32_t first_hit(uint64_t *at_ns)
{
	uint32_t first = 0;

	*at_ns = NEVER;
	for (uint32_t i = 0; i < run->scenario->nspots; i++)
		if (next_ns[i] < *at_ns) {
			*at_ns = next_ns[i];
			first = i;
		}
	*at_ns = *at_ns == NEVER ? NEVER : *at_ns + BEGIN;
	return first;
}

/* While a thread stands, others run on, and may run into traps, too; unless all of them stand. */
static void others_go_on(uint64_t until_ns)
{
	uint64_t at_ns;

	for (;;) {
		const uint32_t i = first_hit(&at_ns);

		if (at_ns > until_ns || nqueue >= run->scenario->threads)
			break;
		pass(at_ns);
		hit(i, at_ns);
	}
	pass(until_ns);
}

static uint64_t takes(uint64_t ns)
{
	const double times = run->slow * (0.7 + 0.6 * spots_uniform());

	return (uint64_t)((double)ns * times);
}

static void tell_sampler(const struct stopped *s)
{
	static struct record_hit record;

	record.head = (struct record){ .kind = RECORD_HIT, .tid = 1 + s->thread, .site = s->site,
				       .time_ns = clock_now_ns };
	record.regs.rax = s->block;
	allocating = s->spot;
	sampling_hit(sampling, &record);
}

/* What the loop of the keeper does with one stopped thread. */
static void serve(struct stopped *s)
{
	const struct tracee t = { .tid = (pid_t)(1 + s->thread), .stepping = NO_TRAP, .redo = NO_TRAP };

	keeper->nqueue = nqueue;
	budget_serve(keeper, &t);
	if (is_planted(s->site)) {
		s->block = s->block ? s->block : heap_alloc(s->spot);
		tell_sampler(s);
	}
	(void)budget_hit(keeper, &t, s->site);
	others_go_on(clock_now_ns + takes(SERVE_NS));
	budget_served(keeper, &t, s->found_ns);
}

static void resume(const struct stopped *s)
{
	const uint64_t now_ns = clock_now_ns + takes(RESTART_NS), ns = now_ns - s->at_ns;

	ten_seconds_add(&stood, ns, now_ns);
	ran_ns[s->thread] = now_ns;
	run->stood_s += (double)ns / 1e9;
	run->stops++;
	standing[s->thread] = false;
	clock_cpu_ns += STOP_CPU_NS;
	/* of a thread that never waits, all that it does comes so much later */
	if (run->scenario->loops && run->scenario->threads == 1)
		clock_now_ns = now_ns;
	/* from where malloc returns it comes to where its caller goes on, at once */
	if (s->site == malloc_site() && is_planted(s->spot))
		stop(&(struct stopped){ .spot = s->spot, .site = s->spot, .thread = s->thread, .block = s->block,
					.at_ns = now_ns });
}

/* As /proc/PID/schedstat has it. */
static void tell_waited(uint64_t ns)
{
	char text[64];
	const int n = snprintf(text, sizeof(text), "0 %lu 1\n", waited_ns += ns);

	if (pwrite(keeper->budget.cost.schedstat, text, (size_t)n, 0) != n)
		perror("schedstat");
}

/* It asks which threads have stopped: those that it has not known of have since it asked last, at the earliest. */
static void find_stopped(void)
{
	for (uint32_t i = 0; i < nqueue; i++)
		if (!queue[i].found_ns)
			queue[i].found_ns = keeper->began.found_ns;
	keeper->began.asked_ns = clock_now_ns;
}

/* A thread has stopped: the keeper wakes, and serves all that are. */
static void serve_all(uint64_t slept_ns)
{
	const bool late = run->late && !spots_below(run->late);
	const uint64_t late_ns = late ? (uint64_t)spots_exponential((double)LATE_NS) : 0;
	uint32_t served = 0;

	others_go_on(clock_now_ns + takes(WAKE_NS) + late_ns);
	keeper->now_ns = clock_now_ns;
	tell_waited(late_ns);
	budget_woken(keeper, (pid_t)(1 + queue[0].thread), slept_ns);
	find_stopped();
	while (nqueue) {
		struct stopped s = queue[0];

		serve(&s);
		memmove(queue, queue + 1, --nqueue * sizeof(*queue));
		resume(&s);
		served = (uint32_t)s.thread + 1;
		look_at_traps();
		if (nqueue && !queue[0].found_ns) {
			slept_ns = keeper->now_ns = clock_now_ns;
			budget_woken(keeper, (pid_t)(1 + queue[0].thread), slept_ns);
			find_stopped();
		}
	}
	budget_quiet(keeper, (pid_t)served);
}

/* --- all of it --- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void go_on(uint64_t end_ns)
{
	uint64_t polled_ns = sampling_poll(sampling, clock_now_ns), slept_ns = clock_now_ns;

	while (clock_now_ns < end_ns) {
		uint64_t at_ns, wake_ns;
		uint32_t i;

		keeper->now_ns = clock_now_ns;
		budget_round(keeper);
		look_at_traps();
		i = first_hit(&at_ns);
		wake_ns = clock_now_ns + budget_sleep_ns(keeper, IDLE_NS) + US;
		pass(sooner(sooner(at_ns, wake_ns), sooner(polled_ns, end_ns)));
		if (clock_now_ns >= at_ns) {
			hit(i, at_ns);
			serve_all(slept_ns);
		} else {
			keeper->now_ns = clock_now_ns;
			budget_idle(keeper);
		}
		slept_ns = clock_now_ns;
		if (clock_now_ns >= polled_ns)
			polled_ns = sampling_poll(sampling, clock_now_ns);
	}
}

static int begin(void)
{
	const struct scenario *s = run->scenario;
	int r;

	clock_now_ns = BEGIN;
	clock_cpu_ns = SECOND;
	spots_seed(run->seed);
	memset(standing, 0, sizeof(standing));
	memset(ran_ns, 0, sizeof(ran_ns));
	memset(&stood, 0, sizeof(stood));
	nqueue = 0;
	waited_ns = 0;
	following.n = 0;
	run->states = calloc(s->nspots, sizeof(*run->states));
	if (!run->states)
		return -ENOMEM;
	for (size_t i = 0; i < s->nspots; i++)
		spot_begin(s, &s->spots[i], &run->states[i]);
	heap_begin(s->spots, run->states, s->nspots, BEGIN);
	begin_keeper(run->seed * 77 + 1);
	r = begin_recorder();
	return r < 0 ? r : begin_sampling(run->seed * 1234567 + 1);
}

/* As session_verdicts_of_sample does; the pause is not charged. */
static void judge(void)
{
	struct tracked b;
	bool lost;

	for (size_t i = 0; i < block_poll_count(sampling->poll); i++) {
		block_poll_get(sampling->poll, i, &b);
		if (heap_is_live(b.addr, &lost))
			sampling_judge(sampling, b.addr,
				       &(struct block_judged){ lost ? VERDICT_DEFINITE : VERDICT_REACHABLE,
							       UINT64_MAX, true });
	}
}

int watched_run(struct simulation *s)
{
	static const struct groups_options all = { .freed = true };
	int r;

	run = s;
	r = begin();
	if (r == 0) {
		go_on(BEGIN + (uint64_t)(s->seconds * 1e9));
		if (s->verdicts)
			judge();
		sampling_end(sampling, clock_now_ns);
		s->worst_ppm = (double)stood.worst_ns / (TEN_SECONDS_NS / 1000000);
		summary_init(&s->summary);
		r = account_summary(&recorder.ledger, &all, &s->summary);
	}
	end_sampling();
	recorder_fini(&recorder);
	end_keeper();
	heap_end();
	return r;
}

void watched_fini(struct simulation *s)
{
	summary_fini(&s->summary);
	free(s->states);
}
