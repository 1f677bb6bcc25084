/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/probes/code/body.h"
#include "base/grow.h"
#include "base/log.h"

void sampling_sites_init(struct sampling_sites *s, struct planting *planting,
			 struct sampling_targets *targets)
{
	*s = (struct sampling_sites){ .planting = planting, .targets = targets };
	memset(s->of_number, 0xff, sizeof(s->of_number));
	addrmap_init(&s->by_addr, sizeof(uint32_t));
}

void sampling_sites_fini(struct sampling_sites *s)
{
	free(s->all);
	addrmap_fini(&s->by_addr);
}

struct sampling_site *sampling_sites_at(const struct sampling_sites *s, uint32_t number)
{
	return s->of_number[number] == SAMPLING_NONE ? NULL : &s->all[s->of_number[number]];
}

uint32_t sampling_sites_find_at(const struct sampling_sites *s, taddr addr)
{
	const uint32_t *i = addrmap_get(&s->by_addr, addr);

	return i ? *i : SAMPLING_NONE;
}

/* --- meters --- */

static struct site_stats *meter_of(const struct sampling_sites *s, const struct sampling_site *site)
{
	return &s->planting->link->shared->meters[site->number];
}

void sampling_sites_meter(struct sampling_sites *s, struct sampling_site *site, uint32_t quota,
			  uint32_t period_ms)
{
	/*
	 * a thread is held until the trap of a trial is planted; and no allocation of a likely leak shall be
	 * missed
	 */
	const bool ahead = site->candidate || site->role == SAMPLING_TRIAL;

	if (site->number == SAMPLING_NONE ||
	    (site->quota == quota && site->period_ms == period_ms && site->ahead == ahead))
		return;
	site->quota = quota;
	site->period_ms = period_ms;
	site->ahead = ahead;
	atomic_store(&meter_of(s, site)->ahead, ahead);
	atomic_store(&meter_of(s, site)->quota, quota);
	atomic_store(&meter_of(s, site)->period_ms, period_ms);
}

void sampling_sites_hold(struct sampling_sites *s, const struct sampling_site *site, uint32_t hits)
{
	if (site->number != SAMPLING_NONE)
		atomic_store(&meter_of(s, site)->hold, hits);
}

void sampling_sites_sums(const struct sampling_sites *s, const struct sampling_site *site,
			 struct site_stats_sums *out)
{
	struct site_stats_sums now;

	*out = site->before;
	if (site->number == SAMPLING_NONE)
		return;
	site_stats_read(meter_of(s, site), &now);
	site_stats_sum(out, &now);
}

/* The site begins to count anew in its new role: what was counted until now is subtracted (sums wrap). */
static void count_anew(struct sampling_sites *s, struct sampling_site *site)
{
	struct site_stats_sums now;

	site_stats_read(meter_of(s, site), &now);
	site->before = (struct site_stats_sums){ 0 };
	site_stats_subtract(&site->before, &now);
	memset(site->recent, 0, sizeof(site->recent));
	site->exposed = (struct sampling_spans){ 0 };
	site->exposed_us = 0;
	site->records = 0;
}

double sampling_sites_rate(const struct site_stats_sums *before, const struct site_stats_sums *to)
{
	uint64_t exposed_us = to->exposed_us - before->exposed_us;

	return exposed_us ? (double)(to->hits - before->hits) * 1e6 / (double)exposed_us : 0;
}

/*
 * An exposure interval is added to the meter when it is over (keeper/budget/site_stats.h). So what a meter
 * has now and had not at the last look is noted for the earliest moment at which it can have been: no site
 * shall be reported as watched at a time when it was not.
 */
void sampling_sites_note_exposed(struct sampling_sites *s, uint64_t age_ns)
{
	const uint64_t from_ns = s->noted_ns > SITE_STATS_SPAN_NS ? s->noted_ns - SITE_STATS_SPAN_NS : 0;

	for (size_t i = 0; i < s->n; i++) {
		struct sampling_site *site = &s->all[i];
		struct site_stats_sums sums;

		sampling_sites_sums(s, site, &sums);
		sampling_spans_add(&site->exposed, from_ns, sums.exposed_us - site->exposed_us);
		site->exposed_us = sums.exposed_us;
	}
	s->noted_ns = age_ns;
}

/* --- traps --- */

bool sampling_sites_tracks(const struct sampling_site *site)
{
	return site->number != SAMPLING_NONE &&
	       (site->role == SAMPLING_TAKES || (site->role == SAMPLING_INNER && site->unknown));
}

void sampling_sites_begin(struct sampling_sites *s, struct sampling_site *site)
{
	static const struct { uint32_t quota, period_ms;
	} wishes[] = {
		[SAMPLING_TAKES] = { SAMPLING_QUOTA, SAMPLING_PERIOD_MS },
		[SAMPLING_INNER] = { 1, SAMPLING_INNER_MS },
		[SAMPLING_TRIAL] = { 1, SAMPLING_RESTING_MS },
	};

	site->period_ms = 0;
	if (sampling_sites_is_exit(site))
		sampling_sites_meter(s, site, SAMPLING_WINDOW, SAMPLING_WINDOW_MS);
	else
		sampling_sites_meter(s, site, wishes[site->role].quota, wishes[site->role].period_ms);
}

/* Give the site a trap. 0, or -errno: it has none. */
static int give_trap(struct sampling_sites *s, struct sampling_site *site)
{
	const struct sampling_target *target = &s->targets->all[site->target];
	struct planting *p = s->planting;
	struct site trap;
	int r;

	if (p->link->nsites + SAMPLING_SPARE >= SHARED_SITES && site->role != SAMPLING_TRIAL) {
		s->unfitting++;
		return -ENOSPC;
	}
	r = plan_behind(site->module->img, p->decoder, site->addr - site->module->bias, &p->options,
			target->delta, &trap);
	if (r < 0) {
		s->untrapped++;
		return r;
	}
	trap.rule = target->rule;
	r = planting_add(p, site->module, &trap, &site->number);
	if (r < 0) {
		site->number = SAMPLING_NONE;
		s->unfitting += r == -ENOSPC;
		return r;
	}
	s->of_number[site->number] = site - s->all;
	site->delta = target->delta;
	sampling_sites_begin(s, site);
	return 0;
}

void sampling_sites_gone(struct sampling_sites *s, uint32_t number)
{
	struct sampling_site *site = sampling_sites_at(s, number);

	if (!site)
		return;
	sampling_sites_sums(s, site, &site->before);
	/* its number will be used for another site */
	sampling_sites_hold(s, site, 0);
	site->number = SAMPLING_NONE;
	s->of_number[number] = SAMPLING_NONE;
}

/* --- sites --- */

static struct sampling_site *grow(struct sampling_sites *s)
{
	return grow_for(&s->all, s->n, &s->room, sizeof(*s->all)) < 0 ? NULL : &s->all[s->n];
}

/* The known site at this address: it had a trap before, or is part of a trial. -ENOENT: there is none. */
static int renew(struct sampling_sites *s, const struct sampling_site *wanted, uint32_t *i)
{
	struct sampling_site *site;

	*i = sampling_sites_find_at(s, wanted->addr);
	if (*i == SAMPLING_NONE)
		return -ENOENT;
	site = &s->all[*i];
	if (site->number != SAMPLING_NONE && (site->role != SAMPLING_TRIAL || wanted->role == SAMPLING_TRIAL))
		return 0;
	site->module = wanted->module;
	site->function = wanted->function;
	site->target = wanted->target;
	site->role = wanted->role;
	site->joined = wanted->joined;
	if (site->number == SAMPLING_NONE)
		return give_trap(s, site);
	count_anew(s, site);
	sampling_sites_begin(s, site);
	/* at the next round: the period of a trial's trap may have been a day */
	return link_plant(s->planting->link, &site->number, 1);
}

static int add_site(struct sampling_sites *s, const struct sampling_site *wanted, uint32_t *i)
{
	struct sampling_site *site;
	int r = renew(s, wanted, i);

	if (r != -ENOENT)
		return r;
	site = grow(s);
	if (!site)
		return -ENOMEM;
	*site = *wanted;
	site->number = SAMPLING_NONE;
	*i = s->n;
	r = addrmap_put(&s->by_addr, site->addr, i);
	if (r < 0)
		return r;
	s->n++;
	s->joined += site->joined;
	return give_trap(s, site);
}

/* Is @function a target itself? Then it is a wrapper. */
static bool is_target(const struct callsite_target *targets, size_t n, taddr function)
{
	for (size_t i = 0; function && i < n; i++)
		if (targets[i].addr == function)
			return true;
	return false;
}

static int add_found(struct sampling_sites *s, struct module *m, const struct callsite *found,
		     const struct callsite_target *targets, uint32_t first)
{
	const struct sampling_site site = {
		.addr = found->ret + m->bias,
		.function = found->function ? found->function + m->bias : 0,
		.module = m,
		.target = first + found->target,
		.joined = found->joined,
		.role = is_target(targets, s->targets->n, found->function) ? SAMPLING_INNER
										   : SAMPLING_TAKES,
	};
	uint32_t i;
	int r = add_site(s, &site, &i);

	return r == -ENOMEM ? r : 0;
}

int sampling_sites_find(struct sampling_sites *s, struct module *m, uint32_t first)
{
	cleanup_free struct callsite_target *targets = NULL;
	cleanup_free struct callsite *found = NULL;
	size_t n = 0, unsure = 0;
	int r = sampling_targets_for(s->targets, m, &targets);

	if (r == 0)
		r = callsites_find(m->img, targets + first, s->targets->n - first, &found, &n, &unsure);
	s->unsure += unsure;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_found(s, m, &found[i], targets, first);
	log_debug(PLAN, "%s: %zu calls, and %zu that may be some", m->name, n, unsure);
	return r;
}

int sampling_sites_try(struct sampling_sites *s, taddr addr, uint32_t target, uint32_t *i)
{
	struct module *m = modules_find(s->planting->modules, addr);
	const struct sampling_site site = {
		.addr = addr, .module = m, .target = target, .role = SAMPLING_TRIAL
	};

	if (!m || m->gone || !m->img)
		return -ENOENT;
	if (sampling_sites_find_at(s, addr) == SAMPLING_NONE &&
	    !body_has_return(m->img, s->planting->decoder, addr - m->bias))
		return -EILSEQ;
	return add_site(s, &site, i);
}

int sampling_sites_add_exit(struct sampling_sites *s, struct module *m, const struct site *trap,
			    uint32_t target)
{
	struct sampling_site *site = grow(s);
	struct site its = *trap;
	int r;

	plan_block_loads(&its, 0);
	r = site ? planting_add(s->planting, m, &its, &site->number) : -ENOMEM;

	if (r < 0)
		return r;
	*site = (struct sampling_site){
		.addr = trap->addr + m->bias, .module = m, .number = site->number, .target = target,
		.role = SAMPLING_INNER,
	};
	s->of_number[site->number] = s->n++;
	sampling_sites_begin(s, site);
	return 0;
}

void sampling_sites_inner(struct sampling_sites *s, taddr function)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sampling_site *site = &s->all[i];

		if (site->function != function || site->role != SAMPLING_TAKES)
			continue;
		site->role = SAMPLING_INNER;
		if (site->number == SAMPLING_NONE)
			continue;
		count_anew(s, site);
		sampling_sites_begin(s, site);
	}
}
