/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_parents.h"

#include <errno.h>

#include "attach/keeper/budget/token_bucket.h"
#include "attach/sampling/sampling_calls.h"
#include "base/log.h"

#define TRIAL_NS 60000000000ull
#define CHECK_NS 30000000000ull
#define TRIAL_QUOTA 8u
#define TRIES 4u
#define HOLDS_PART 4		/* at most one part in so many of the budget is spent on holding threads */
#define HOLD_PAUSE_NS 50000000ull
/* so many threads are held in a row: the round of a hot site is over sooner than the next hold is paid for */
#define HOLDS 4u

void sampling_parents_init(struct sampling_parents *p, struct sampling_sites *sites, uint32_t budget_ppm)
{
	*p = (struct sampling_parents){ .sites = sites, .budget_ppm = budget_ppm };
	addrmap_init(&p->last, sizeof(struct sampling_last));
}

void sampling_parents_fini(struct sampling_parents *p)
{
	addrmap_fini(&p->last);
}

void sampling_parents_thread_end(struct sampling_parents *p, uint32_t tid)
{
	addrmap_del(&p->last, tid, NULL);
}

/* --- beginning and ending a trial --- */

static struct sampling_trial *find_trial(struct sampling_parents *p, taddr function)
{
	for (size_t i = 0; i < SAMPLING_TRIALS; i++)
		if (p->trials[i].function == function)
			return &p->trials[i];
	return NULL;
}

/* Does another trial, whose threads are held at its callers, need the trap of site @i? */
static bool is_needed(const struct sampling_parents *p, const struct sampling_trial *ended, uint32_t i)
{
	for (size_t k = 0; k < SAMPLING_TRIALS; k++) {
		const struct sampling_trial *t = &p->trials[k];

		for (uint32_t n = 0; t != ended && t->checking && n < t->nouter; n++)
			if (t->outer[n] == i)
				return true;
	}
	return false;
}

/* The trial needs the trap of site @i no more. */
static void rest(struct sampling_parents *p, const struct sampling_trial *t, uint32_t i)
{
	struct sampling_site *outer = &p->sites->all[i];

	sampling_sites_hold(p->sites, outer, 0);
	if (outer->role == SAMPLING_TRIAL && !is_needed(p, t, i))
		sampling_sites_meter(p->sites, outer, 1, SAMPLING_RESTING_MS);
}

static void end(struct sampling_parents *p, struct sampling_trial *t)
{
	/* a thread that is held there now would get no answer */
	sampling_sites_hold(p->sites, &p->sites->all[t->inner], 0);
	for (uint32_t i = 0; i < t->nouter; i++)
		rest(p, t, t->outer[i]);
	*t = (struct sampling_trial){ 0 };
	addrmap_clear(&p->last);
}

/* --- what is seen --- */

/*
 * A trial pays if several callers share the site; or if it is hot, and several callers of its one caller share
 * it. Of a hot site, callers that are a thousand times rarer than the one that is seen are not: so one trial
 * pays in any case.
 */
static bool pays(const struct sampling_parents *p, struct sampling_site *site, taddr caller)
{
	struct site_stats_sums sums;

	if (!site->caller)
		site->caller = caller;
	site->callers |= caller != site->caller;
	if (site->tries >= TRIES || !sampling_calls_is_direct(p->sites->planting, caller))
		return false;
	sampling_sites_sums(p->sites, site, &sums);
	return site->callers || (sums.full && (site->nstacks > 1 || !site->tries));
}

static bool is_outer(const struct sampling_parents *p, const struct sampling_trial *t, taddr caller)
{
	for (uint32_t i = 0; i < t->nouter; i++)
		if (p->sites->all[t->outer[i]].addr == caller)
			return true;
	return false;
}

/* true: @caller was not there before. */
static bool is_new_caller(struct sampling_trial *t, taddr caller)
{
	for (size_t i = 0; i < SAMPLING_CALLERS; i++) {
		if (t->callers[i] == caller)
			return false;
		if (!t->callers[i]) {
			t->callers[i] = caller;
			return true;
		}
	}
	return false;
}

/*
 * Add a site behind that call of the function. Its trap is planted when the trials are looked at next: a
 * thread that is held now would have to wait for it.
 */
static void try_caller(struct sampling_parents *p, struct sampling_trial *t, taddr caller)
{
	uint32_t i;

	if (t->nouter == SAMPLING_OUTER || is_outer(p, t, caller) ||
	    !sampling_calls_is_direct(p->sites->planting, caller) ||
	    sampling_sites_try(p->sites, caller, p->sites->all[t->inner].target, &i) < 0)
		return;
	/* a site that is watched for its own sake cannot be part of a trial */
	if (p->sites->all[i].role == SAMPLING_TRIAL && p->sites->all[i].number != SAMPLING_NONE)
		t->outer[t->nouter++] = i;
}

/* The trial of the function around site @i; one may begin now. NULL: there is none. */
static struct sampling_trial *trial_of(struct sampling_parents *p, uint32_t i, taddr caller, uint64_t now_ns)
{
	struct sampling_site *site = &p->sites->all[i];
	struct sampling_trial *t = site->function ? find_trial(p, site->function) : NULL;

	/* where a jump leads to the site, too, it also sees what was not allocated there */
	if (!site->function || !caller || site->joined || site->role != SAMPLING_TAKES ||
	    p->sites->targets->all[site->target].level >= SAMPLING_LEVELS)
		return NULL;
	if (t) {
		if (!t->checking && is_new_caller(t, caller))
			try_caller(p, t, caller);
		return t;
	}
	t = find_trial(p, 0);
	if (!t || !pays(p, site, caller))
		return NULL;
	site->tries++;
	*t = (struct sampling_trial){ .function = site->function, .inner = i, .until_ns = now_ns + TRIAL_NS };
	log_debug(PLAN, "is " PRItaddr " a wrapper?", t->function);
	return t;
}

/* --- holding a thread until there is a trap where it comes next --- */

/* Where to hold a thread: in the function, until it is known what it returns; then at its callers. */
static const struct sampling_site *to_be_held(const struct sampling_parents *p,
					      const struct sampling_trial *t)
{
	return &p->sites->all[t->checking ? t->outer[t->holds % t->nouter] : t->inner];
}

/* The next thread is held only when the budget of the time since then has paid for what holds have cost. */
static bool is_paid(struct sampling_parents *p, uint64_t now_ns)
{
	uint64_t held_ns = atomic_load(&p->sites->planting->link->shared->budget.held_ns);
	uint64_t more_ns = held_ns - p->held_ns;

	p->held_ns = held_ns;
	p->next_hold_ns = now_ns + HOLD_PAUSE_NS +
			  (uint64_t)((double)more_ns * HOLDS_PART / (TOKEN_BUCKET_FILL(p->budget_ppm) / 1e6));
	return !more_ns;
}

void sampling_parents_hold(struct sampling_parents *p, uint64_t now_ns)
{
	if (now_ns < p->next_hold_ns || !is_paid(p, now_ns))
		return;
	for (uint32_t k = 0; k < SAMPLING_TRIALS; k++) {
		struct sampling_trial *t = &p->trials[(p->next + k) % SAMPLING_TRIALS];
		const struct sampling_site *site = t->function && t->nouter ? to_be_held(p, t) : NULL;

		t->holds += site != NULL;
		if (!site || site->number == SAMPLING_NONE || (t->checking && site->role != SAMPLING_TRIAL))
			continue;
		sampling_sites_hold(p->sites, site, HOLDS);
		p->held_for = t->function;
		p->next = (p->next + k + 1) % SAMPLING_TRIALS;
		return;
	}
}

uint64_t sampling_parents_next_ns(const struct sampling_parents *p)
{
	for (uint32_t k = 0; k < SAMPLING_TRIALS; k++)
		if (p->trials[k].function && p->trials[k].nouter)
			return p->next_hold_ns;
	return UINT64_MAX;
}

/* The site behind that call of the function; NULL: it has no trap. */
static struct sampling_site *outer_at(const struct sampling_parents *p, const struct sampling_trial *t, taddr caller)
{
	for (uint32_t i = 0; i < t->nouter; i++) {
		struct sampling_site *outer = &p->sites->all[t->outer[i]];

		if (outer->addr == caller && outer->role == SAMPLING_TRIAL && outer->number != SAMPLING_NONE)
			return outer;
	}
	return NULL;
}

/*
 * Begin a round of the trap, and let it be the last until the next thread is held, unless another trial needs
 * more.
 */
static bool lead_to(struct sampling_parents *p, const struct record_hit *hit, struct sampling_site *outer)
{
	sampling_sites_meter(p->sites, outer, TRIAL_QUOTA, outer->period_ms);
	return link_lead(p->sites->planting->link, hit, outer->number);
}

static struct sampling_lifts lifts_of(const struct sampling_parents *p, const struct sampling_site *inner)
{
	struct shared *sh = p->sites->planting->link->shared;

	return (struct sampling_lifts){ inner->passes, atomic_load(&sh->budget.closed),
					atomic_load(&sh->counts.dropped) };
}

/* The thread, which is held at @caller, must run into the inner site before it returns there again. */
static int lead_back(struct sampling_parents *p, const struct sampling_trial *t, const struct record_hit *hit,
		     taddr caller)
{
	struct sampling_site *inner = &p->sites->all[t->inner];
	const struct sampling_last last = { .function = t->function, .led_from = caller,
					    .rsp = hit->regs.rsp, .lifts = lifts_of(p, inner) };

	/* other threads' hits must not lift it at once */
	sampling_sites_meter(p->sites, inner, TRIAL_QUOTA, inner->period_ms);
	return inner->number != SAMPLING_NONE && link_lead(p->sites->planting->link, hit, inner->number)
		       ? addrmap_put(&p->last, hit->head.tid, &last)
		       : 0;
}

/* What is known of the thread; function 0: nothing. */
static struct sampling_last last_of(const struct sampling_parents *p, uint32_t tid)
{
	const struct sampling_last *last = addrmap_get(&p->last, tid);

	return last ? *last : (struct sampling_last){ 0 };
}

/* It was led, and was not seen to allocate since for the caller where it was held. */
static bool is_under_way(const struct sampling_last *last)
{
	return last->led_from && !last->block;
}

/* Does what the thread does next show something of the function? If so, it may be led to its caller now. */
static bool is_of_use(struct sampling_parents *p, const struct sampling_trial *t, const struct record_hit *hit,
		      taddr caller, bool led_from_there)
{
	struct sampling_site *outer = t ? outer_at(p, t, caller) : NULL;

	if (!outer || t->checking)
		return outer && led_from_there;
	return hit->head.flags & RECORD_HELD && lead_to(p, hit, outer);
}

int sampling_parents_site_hit(struct sampling_parents *p, uint32_t i, const struct record_hit *hit,
			      const struct block_birth *block, taddr caller)
{
	const struct sampling_trial *t = trial_of(p, i, caller, hit->head.time_ns);
	const taddr function = p->sites->all[i].function;
	struct sampling_last last = last_of(p, hit->head.tid);
	const bool under_way = is_under_way(&last);
	const bool led = under_way && last.function == function && last.led_from == caller;

	if (!is_of_use(p, t, hit, caller, led)) {
		/* if it had a block, it has left that function unseen, or allocates in it once more */
		if (led || !under_way)
			addrmap_del(&p->last, hit->head.tid, NULL);
		return 0;
	}
	last = (struct sampling_last){ .function = function, .led_from = led ? caller : 0, .block = block->addr,
				       .size = block->bytes, .time_ns = hit->head.time_ns,
				       .has_start = block->has_start };
	return addrmap_put(&p->last, hit->head.tid, &last);
}

/* --- a thread returns to a caller --- */

static bool has_one_site(const struct sampling_parents *p, taddr function)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->sites->n; i++)
		n += p->sites->all[i].function == function;
	return n == 1;
}

static void check(struct sampling_parents *p, struct sampling_trial *t, const struct sampling_last *last,
		  const struct record_hit *hit, taddr caller)
{
	const struct sampling_lifts lifts = lifts_of(p, &p->sites->all[t->inner]);

	sampling_trial_check(t, last, hit, caller, has_one_site(p, t->function) ? &lifts : NULL);
}

/*
 * The trial for which threads are held at @caller; NULL: there is none. Several functions that another one
 * ends with a jump to have its callers in common.
 */
static const struct sampling_trial *held_for(struct sampling_parents *p, taddr caller)
{
	const struct sampling_trial *t = p->held_for ? find_trial(p, p->held_for) : NULL;

	if (t && t->checking && is_outer(p, t, caller))
		return t;
	for (size_t k = 0; k < SAMPLING_TRIALS; k++)
		if (p->trials[k].checking && is_outer(p, &p->trials[k], caller))
			return &p->trials[k];
	return NULL;
}

int sampling_parents_trial_hit(struct sampling_parents *p, uint32_t i, const struct record_hit *hit)
{
	const taddr addr = p->sites->all[i].addr;
	const struct sampling_last last = last_of(p, hit->head.tid);
	const bool back = !is_under_way(&last) || last.led_from == addr;
	const struct sampling_trial *next = hit->head.flags & RECORD_HELD ? held_for(p, addr) : NULL;

	if (back)
		addrmap_del(&p->last, hit->head.tid, NULL);
	for (size_t k = 0; k < SAMPLING_TRIALS; k++) {
		struct sampling_trial *t = &p->trials[k];

		if (!t->function || !is_outer(p, t, addr))
			continue;
		if (back && last.function == t->function && t->checking)
			check(p, t, &last, hit, addr);
		else if (back && last.function == t->function)
			sampling_trial_weigh(t, &last, hit);
	}
	return next ? lead_back(p, next, hit, addr) : 0;
}

/* --- deciding --- */

/*
 * Some callers may call another function, which may end with a jump to the one on trial, or return without
 * it: a check at these would show nothing.
 */
static void drop_callers_of_others(struct sampling_parents *p, struct sampling_trial *t)
{
	const uint32_t n = t->nouter;

	t->nouter = 0;
	for (uint32_t i = 0; i < n; i++) {
		const taddr caller = p->sites->all[t->outer[i]].addr;

		if (sampling_calls_goes_to(p->sites->planting, caller, t->function))
			t->outer[t->nouter++] = t->outer[i];
		else
			rest(p, t, t->outer[i]);
	}
}

/*
 * Until now, rounds at the callers began when a thread was about to return there. From now on they begin at
 * any time.
 */
static void begin_check(struct sampling_parents *p, struct sampling_trial *t, uint64_t now_ns)
{
	t->checking = true;
	sampling_sites_hold(p->sites, &p->sites->all[t->inner], 0);
	t->until_ns = now_ns + CHECK_NS;
	for (uint32_t i = 0; i < t->nouter; i++) {
		struct sampling_site *outer = &p->sites->all[t->outer[i]];

		if (outer->role != SAMPLING_TRIAL || outer->number == SAMPLING_NONE)
			continue;
		sampling_sites_meter(p->sites, outer, TRIAL_QUOTA, SAMPLING_PERIOD_MS);
		/* plant it at the next round; its period until now was a day */
		(void)!link_plant(p->sites->planting->link, &outer->number, 1);
	}
}

static enum sampling_answer answer(struct sampling_parents *p, struct sampling_trial *t, uint64_t now_ns)
{
	const enum sampling_answer a =
		sampling_trial_answer(t, p->sites->planting, p->sites->all[t->inner].addr, now_ns);

	if (a != SAMPLING_CHECK)
		return a;
	drop_callers_of_others(p, t);
	if (!t->nouter)
		return SAMPLING_NOT_KNOWN;
	begin_check(p, t, now_ns);
	return SAMPLING_NOT_YET;
}

/*
 * Make the function of @t a target. false: there can be no more targets, it is one already, or the site in it
 * has no trap any more.
 */
static bool make_target(struct sampling_parents *p, const struct sampling_trial *t, uint32_t *target)
{
	struct sampling_site *inner = &p->sites->all[t->inner];
	int r;

	if (inner->number == SAMPLING_NONE)
		return false;
	r = sampling_targets_add_wrapper(p->sites->targets, inner->target, inner->module,
				  t->function - inner->module->bias, t->delta, target);
	p->no_room += r == -ENOSPC;
	p->nwrappers += r == 0;
	if (r == 0)
		sampling_sites_inner(p->sites, t->function);
	return r == 0;
}

bool sampling_parents_decide(struct sampling_parents *p, uint64_t now_ns, taddr *function, uint32_t *target)
{
	static const char *const words[] = {
		[SAMPLING_WRAPPER] = "a wrapper", [SAMPLING_NO_WRAPPER] = "no wrapper",
		[SAMPLING_NOT_KNOWN] = "not known"
	};

	for (size_t i = 0; i < SAMPLING_TRIALS; i++) {
		struct sampling_trial t = p->trials[i];
		enum sampling_answer a = t.function ? answer(p, &p->trials[i], now_ns) : SAMPLING_NOT_YET;

		if (a == SAMPLING_NOT_YET)
			continue;
		log_debug(PLAN,
			  PRItaddr ": its block came out %u times, %u bytes inside, something else %u times; "
				   "new %u times, old %u, unclear %u: %s",
			  t.function, t.same, t.delta, t.other, t.fresh, t.stale, t.unclear, words[a]);
		end(p, &p->trials[i]);
		/* another trial is worth it only if this one saw too little */
		if (a == SAMPLING_NO_WRAPPER)
			p->sites->all[t.inner].tries = TRIES;
		*function = t.function;
		if (a == SAMPLING_WRAPPER && make_target(p, &t, target))
			return true;
	}
	return false;
}
