/* SPDX-License-Identifier: MIT */
#include "attach/loss/loss_probes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/control/link.h"
#include "attach/control/planting.h"
#include "attach/loss/loss_windows.h"
#include "attach/stacks/backtrace.h"
#include "attach/target/linker.h"
#include "attach/uprobe/uprobe_hits.h"
#include "attach/uprobe/uprobe_lease.h"
#include "attach/uprobe/uprobe_sample.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"

#define NOTE_NS 1000000000ull		/* what a long window costs is noted so often, */
#define NOTE_LIMIT_NS 200000000ull	/* and the keeper has so long to take note */
#define UNNOTED_PART 100u		/* of the limit, when the process is about to be copied */
#define FAILED_MOST 3			/* windows in a row without a copy: then there are no more */
#define SLICE_BYTES 32768u		/* of a stack, at most: to copy them takes the thread's time, and space */
#define READ_NS 2000000u		/* records are read for so long; then what the window costs is looked at again */
#define LEASE_NS 250000000ull		/* if we do not go on for so long, the probes go by themselves */
#define WAITED_NS 25000000000ull	/* for one that the budget does not leave: it counts as one in vain */
#define NEVER_NS UINT64_MAX

struct planned {
	const struct module *module;
	struct site site;		/* file addresses */
};

enum loss_probes_state {
	PROBES_REST,
	PROBES_MADE,			/* a window */
	PROBES_OVER,			/* it is over: until the process is copied */
	PROBES_ASK,			/* they are taken out; in the copy it is searched */
};

struct loss_probes {
	struct loss_probes_of of;
	struct link link;
	struct slice_size *slices;	/* what is known of threads' stacks, by their numbers in the kernel */
	struct loss_windows windows;
	clockid_t work;			/* CPU time of the process */
	struct loss_blocks blocks;
	struct planned *planned;
	size_t nplanned, room;
	size_t searched;		/* modules */
	uint32_t nsites;		/* probed now: the numbers below that */
	uint64_t took_ns, unaccounted;	/* what the probes have cost; runs of their programs without a record; so far */
	uint64_t copy_ns;		/* what it will cost to copy the process */
	uint64_t unnoted_ns, noted_ns;	/* of their cost; when it was noted last */
	struct uprobe_lease lease;	/* of the present window */
	enum loss_probes_state state;
	unsigned failed;		/* windows in a row without a copy */
	uint64_t rested_ns;		/* since when there was none */
	bool missed;			/* an allocation in the present window: whose its address is, is not known */
	bool stopped;
};

/* --- opening --- */

/* What may have been asked for, where the block has @usable bytes. */
static struct uprobe_size size_of(uint64_t usable)
{
	return (struct uprobe_size){ loss_blocks_least_request(usable), usable };
}

static void record_sizes(struct loss_probes *p, const uint64_t *sizes, size_t n)
{
	struct uprobe_size all[UPROBE_SIZES];

	n = n < UPROBE_SIZES ? n : UPROBE_SIZES;
	for (size_t i = 0; i < n; i++)
		all[i] = size_of(sizes[i]);
	uprobe_record_sizes(p->link.uprobe, all, n, p->of.planting->rules);
}

static int open_link(struct loss_probes *p, char *why, size_t n)
{
	const struct shared *keeper = p->of.keeper->shared;
	const struct link_settings set = {
		.slice_bytes = keeper->slice_bytes < SLICE_BYTES ? keeper->slice_bytes : SLICE_BYTES,
		.budget_ppm = p->of.ppm, .gdb = -1, .gdb_mem = -1,
	};
	int r = link_open_uprobe(&p->link, &set, p->of.pid, NULL, why, n);

	if (r < 0)
		return r;
	if (uprobe_may_return(p->link.uprobe))
		return 0;
	snprintf(why, n, "returns may not be probed here (before Linux 6.14, or with an alternate stack above a "
			 "thread's own)");
	return -EPERM;
}

static struct loss_clocks clocks_at(const struct loss_probes *p, uint64_t now_ns)
{
	struct timespec ts = { 0 };

	/* it may have ended: then its time does not go on */
	(void)clock_gettime(p->work, &ts);
	return (struct loss_clocks){ now_ns, (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec };
}

int loss_probes_open(const struct loss_probes_of *of, const uint64_t *sizes, size_t n, struct loss_probes **out,
		     char *why, size_t why_size)
{
	struct loss_probes *p = calloc(1, sizeof(*p));
	struct loss_clocks now;
	int r = p ? 0 : -ENOMEM;

	*why = '\0';
	if (r < 0)
		return r;
	p->of = *of;
	if (clock_getcpuclockid(of->pid, &p->work))
		p->work = CLOCK_MONOTONIC;
	now = clocks_at(p, clock_ns());
	loss_windows_init(&p->windows, of->ppm, &now);
	loss_blocks_init(&p->blocks, sizes, n);
	p->noted_ns = p->rested_ns = now.now_ns;
	p->slices = calloc(1, sizeof(*p->slices));
	r = p->slices ? open_link(p, why, why_size) : -ENOMEM;
	if (r < 0) {
		loss_probes_close(p);
		return r;
	}
	slice_size_init(p->slices, p->link.shared);
	record_sizes(p, sizes, n);
	*out = p;
	return 0;
}

void loss_probes_close(struct loss_probes *p)
{
	if (!p)
		return;
	loss_probes_stop(p);
	link_close(&p->link);
	loss_blocks_fini(&p->blocks);
	free(p->planned);
	free(p->slices);
	free(p);
}

struct loss_blocks *loss_probes_blocks(struct loss_probes *p)
{
	return &p->blocks;
}

void loss_probes_windows(const struct loss_probes *p, unsigned *n, uint64_t *ns)
{
	*n = p->windows.n;
	*ns = p->windows.lasted_ns;
}

bool loss_probes_are_there(const struct loss_probes *p)
{
	return p->state == PROBES_MADE || p->state == PROBES_OVER;
}

bool loss_probes_are_over(const struct loss_probes *p)
{
	return p->stopped;
}

/* --- where probes go --- */

/* Is its block's address known to the reader, and is it memory? */
static bool is_wanted(const struct planting *plan, const struct rule *r)
{
	const struct rule_family *f = &plan->set->families[r->family];
	struct uprobe_choice c;

	return rule_allocates(r) && !f->refs && !f->ranges && uprobe_sample_choice(r, &c) == 0 && c.size;
}

static int add_planned(struct loss_probes *p, const struct module *m, const struct plan *its)
{
	int r = grow_for(&p->planned, p->nplanned, &p->room, sizeof(*p->planned));

	if (r < 0)
		return r;
	p->planned[p->nplanned] = (struct planned){ .module = m, .site = its->sites[0] };
	p->planned[p->nplanned++].site.rule = its->rule_index;
	return 0;
}

/* What it allocates is not seen, and may have the address of a block that was: unless nothing calls it. */
static bool is_unseen(const struct loss_probes *p, const struct plan *its)
{
	const struct planting *plan = p->of.planting;
	const struct rule_family *f = &plan->set->families[its->rule->family];

	return rule_allocates(its->rule) && !f->refs && !f->ranges && its->kind != PLAN_WRAPPER &&
	       linker_binds(plan->modules, its->rule->name);
}

/* 0; -EOPNOTSUPP: not all that allocates can be probed; -ENOMEM. */
static int plan_in(struct loss_probes *p, const struct module *m)
{
	const struct planting *plan = p->of.planting;
	struct plan_options options = plan->options;
	struct plan_set set;
	int r;

	options.exact_sizes = options.kernel = options.kernel_returns = options.sampled = true;
	r = planting_plan_module(m, plan->decoder, plan->rules, plan->nrules, &options, plan->mem, &set);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < set.n; i++) {
		const struct plan *its = &set.plans[i];

		/* whose returns may not be probed is not seen: an exit may have a trap of the keeper's */
		if (its->kind == PLAN_RETURNS && is_wanted(plan, its->rule)) {
			r = add_planned(p, m, its);
		} else if (is_unseen(p, its)) {
			log_verbose("%s in %s cannot be probed: %s", its->function, m->name, its->reason);
			r = -EOPNOTSUPP;
		}
	}
	plan_set_fini(&set);
	return r;
}

static int plan_all(struct loss_probes *p)
{
	struct modules *ms = p->of.planting->modules;
	int r = 0;

	for (; r == 0 && p->searched < modules_count(ms); p->searched++) {
		const struct module *m = modules_at(ms, p->searched);

		link_alive(p->of.keeper);
		if (m->img && !m->gone)
			r = plan_in(p, m);
	}
	return r;
}

/* 0; -ENOENT: there is nothing to probe; -errno. */
static int plant(struct loss_probes *p)
{
	uint32_t sites[SHARED_SITES], n = 0;
	int r = plan_all(p);

	for (size_t i = 0; r == 0 && i < p->nplanned && n < SHARED_SITES; i++) {
		if (p->planned[i].module->gone)
			continue;
		p->link.shared->sites[n] = p->planned[i].site;
		site_rebase(&p->link.shared->sites[n], p->planned[i].module->bias);
		sites[n] = n;
		n++;
	}
	if (r == 0 && n)
		r = uprobe_lease_begin(&p->lease, p->link.uprobe, sites, n, LEASE_NS);
	/* what is not probed is not seen */
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = p->link.shared->plant_result[i];
	p->nsites = n;
	return r < 0 ? r : n ? 0 : -ENOENT;
}

/* --- what they record --- */

/* @choice: where the function has what it is asked for, and its result. */
static bool block_of(const struct record_hit *hit, const struct uprobe_choice *choice, struct loss_block *out)
{
	const unsigned load = choice->address - UPROBE_LOAD0;

	if (choice->address == UPROBE_RESULT)
		out->addr = hit->regs.rax;
	else if (choice->address >= UPROBE_LOAD0 && load < SITE_LOADS && hit->loads_read & 1u << load)
		out->addr = hit->loads[load];
	else
		return false;
	out->size = hit->args[choice->size - 1] * (choice->times ? hit->args[choice->times - 1] : 1);
	out->at_ns = hit->head.time_ns;
	return out->addr != 0;
}

static int take(struct loss_probes *p, const struct record_hit *hit)
{
	const struct backtrace_frames frames = { 0 };
	const struct planting *plan = p->of.planting;
	const struct site *s = &p->link.shared->sites[hit->head.site % SHARED_SITES];
	const struct rule *rule = &plan->rules[s->rule];
	struct uprobe_choice choice;
	struct loss_block block;
	uint32_t number;
	int r;

	if (!(hit->head.flags & RECORD_CLOSES) || uprobe_sample_choice(rule, &choice) < 0 ||
	    !block_of(hit, &choice, &block))
		return 0;
	r = backtrace_by_others(p->of.backtrace, p->slices, hit, s, &frames, &number);
	if (r == 0)
		r = loss_blocks_add(&p->blocks, rule->family, number, &block);
	return r;
}

static int read_one(struct loss_probes *p, const struct record *rec)
{
	/*
	 * the addresses of blocks that are kept may be those of blocks that were not recorded; and a process in the
	 * target's memory allocates unseen
	 */
	p->missed |= rec->kind == RECORD_LOST || (rec->kind == RECORD_SHARERS && rec->value > 0);
	return rec->kind == RECORD_HIT ? take(p, (const struct record_hit *)rec) : 0;
}

/* Until @until_ns at most: a stack that is new may take a millisecond. */
static int read_records(struct loss_probes *p, uint64_t until_ns)
{
	struct ring *ring = &p->link.shared->ring;
	const struct record *rec;
	bool any = true;
	int r = 0;

	while (any && r == 0) {
		uprobe_pump(p->link.uprobe, UPROBE_ALL);
		for (any = false; r == 0 && (rec = ring_peek(ring)); any = true) {
			if (until_ns != NEVER_NS && clock_ns() >= until_ns)
				return 0;
			link_alive(p->of.keeper);
			r = read_one(p, rec);
			ring_consume(ring, rec);
		}
	}
	return r;
}

/* --- windows --- */

/* What the probes have cost since this was asked last: to be noted. */
static uint64_t cost_since(struct loss_probes *p)
{
	const uint64_t took_ns = uprobe_took_ns(p->link.uprobe), before_ns = p->took_ns;

	p->took_ns = took_ns > before_ns ? took_ns : before_ns;
	p->unnoted_ns += p->took_ns - before_ns;
	return p->took_ns - before_ns;
}

/* The keeper has the account of all that the watch costs. */
static void note_cost(struct loss_probes *p, uint64_t now_ns)
{
	const int64_t ns = (int64_t)p->unnoted_ns;
	const uint32_t sent = atomic_load(&p->of.keeper->shared->seq);

	p->noted_ns = now_ns;
	if (!ns)
		return;
	if (link_call(p->of.keeper, COMMAND_NOTE, ns, 0, NOTE_LIMIT_NS) < 0)
		log_verbose("the keeper did not take note in time that probes took %" PRId64 " ns", ns);
	/* one that was sent, and is not answered in time, is carried out later */
	if (atomic_load(&p->of.keeper->shared->seq) != sent)
		p->unnoted_ns = 0;
}

/* Did programs run at probes that left neither a record nor a reason why there is none? Once all is read. */
static bool is_unaccounted(struct loss_probes *p)
{
	const uint64_t before = p->unaccounted;

	p->unaccounted = uprobe_unaccounted(p->link.uprobe);
	return p->unaccounted > before;
}

static void take_out(struct loss_probes *p)
{
	if (p->state != PROBES_MADE && p->state != PROBES_OVER)
		return;
	uprobe_rest(p->link.uprobe);
	p->missed |= !uprobe_lease_end(&p->lease);
	loss_windows_close(&p->windows, clock_ns(), cost_since(p));
	note_cost(p, clock_ns());
	p->missed |= read_records(p, NEVER_NS) < 0 || is_unaccounted(p) || uprobe_lost_unsaid(p->link.uprobe) ||
		     uprobe_has_sharers(p->link.uprobe);
	uprobe_forget(p->link.uprobe, 0, p->nsites);
	p->nsites = 0;
	p->rested_ns = clock_ns();
	p->state = PROBES_REST;
}

static void give_up(struct loss_probes *p, int err)
{
	log_verbose("the code that loses blocks is not looked for any further: %s", strerror(-err));
	loss_probes_stop(p);
	loss_blocks_drop(&p->blocks);
}

void loss_probes_copy_costs(struct loss_probes *p, uint64_t ns)
{
	p->copy_ns = ns;
}

/* What the last ten seconds leave of the budget, and the copy at the window's end. */
static uint64_t room_ns(const struct loss_probes *p)
{
	const uint64_t room = atomic_load(&p->of.keeper->shared->budget.room_ns);

	return room > p->copy_ns ? room - p->copy_ns : 0;
}

static void begin_window(struct loss_probes *p)
{
	struct shared *from = p->of.keeper->shared, *to = p->link.shared;
	int r;

	/* frames of scripts are found by it */
	if (atomic_load(&from->chained) && !atomic_load(&to->chained)) {
		to->chain = from->chain;
		atomic_store(&to->chained, true);
	}
	p->missed = uprobe_has_sharers(p->link.uprobe);
	r = plant(p);
	if (r < 0) {
		give_up(p, r);
		return;
	}
	p->state = PROBES_MADE;
	loss_windows_open(&p->windows, clock_ns());
	uprobe_begin(p->link.uprobe);
}

static void look(struct loss_probes *p, uint64_t now_ns)
{
	const uint64_t cost_ns = cost_since(p);
	int r;

	/* we were stopped, or got no processor: what was allocated since is not known */
	if (!uprobe_lease_renew(&p->lease)) {
		loss_probes_not_copied(p);
		return;
	}
	if (loss_windows_spend(&p->windows, now_ns, cost_ns)) {
		/* before the pause, which may take what is left */
		note_cost(p, now_ns);
		p->state = PROBES_OVER;
		return;
	}
	if (now_ns - p->noted_ns >= NOTE_NS)
		note_cost(p, now_ns);
	r = read_records(p, now_ns + READ_NS);
	if (r < 0)
		give_up(p, r);
}

/* A window was in vain, or not. */
static void count_failed(struct loss_probes *p, bool failed)
{
	p->failed = failed ? p->failed + 1 : 0;
	p->stopped |= p->failed >= FAILED_MOST;
	if (failed)
		loss_blocks_drop(&p->blocks);
}

static bool begins(struct loss_probes *p, uint64_t now_ns)
{
	struct loss_clocks now;

	if (p->stopped || now_ns < p->windows.next_ns || shared_modules_move(p->of.keeper->shared))
		return false;
	if (now_ns - p->rested_ns >= WAITED_NS) {
		p->rested_ns = now_ns;
		count_failed(p, true);
		if (p->stopped)
			return false;
	}
	now = clocks_at(p, now_ns);
	return loss_windows_begins(&p->windows, &now, room_ns(p));
}

uint64_t loss_probes_turn(struct loss_probes *p, uint64_t now_ns)
{
	if (p->state == PROBES_MADE && now_ns >= p->windows.next_ns)
		look(p, now_ns);
	else if (p->state == PROBES_REST && begins(p, now_ns))
		begin_window(p);
	return p->stopped || p->state == PROBES_ASK ? NEVER_NS : p->windows.next_ns;
}

void loss_probes_meanwhile(struct loss_probes *p)
{
	/* the watch ends: it is the last copy */
	if (p->state == PROBES_MADE) {
		(void)cost_since(p);
		note_cost(p, clock_ns());
		p->state = PROBES_OVER;
	}
	if (p->state != PROBES_OVER)
		return;
	p->missed |= !uprobe_lease_renew(&p->lease) || read_records(p, clock_ns() + READ_NS / 4) < 0;
	if (!loss_windows_overdraws(&p->windows, clock_ns(), cost_since(p)) && !p->missed) {
		/* the pause may take all that the keeper knows to be left */
		if (p->unnoted_ns >= p->windows.limit_ns / UNNOTED_PART)
			note_cost(p, clock_ns());
		return;
	}
	take_out(p);
	p->missed = true;
}

bool loss_probes_wants_copy(const struct loss_probes *p)
{
	return p->state == PROBES_OVER;
}

void loss_probes_copied(struct loss_probes *p)
{
	take_out(p);
	count_failed(p, p->missed);
	p->state = PROBES_ASK;
}

void loss_probes_not_copied(struct loss_probes *p)
{
	take_out(p);
	count_failed(p, true);
	p->state = PROBES_REST;
}

int loss_probes_found(struct loss_probes *p, const struct loss_copied *copy)
{
	p->state = PROBES_REST;
	p->rested_ns = clock_ns();
	return loss_blocks_find(&p->blocks, copy);
}

void loss_probes_stop(struct loss_probes *p)
{
	p->stopped = true;
	take_out(p);
	if (p->missed)
		loss_blocks_drop(&p->blocks);
}
