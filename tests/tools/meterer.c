/* SPDX-License-Identifier: MIT */
/*
 * meterer PID PPM QUOTA PERIOD_MS [RULE...]: traps that are planted as a budget allows
 * (keeper/budget/trap_rounds.h), on the libc family or by the rules, for tests.
 *
 * It seizes PID, has its traps metered, prints {"keeper": PID}, and answers each line of stdin with a line of
 * JSON:
 *
 *	told			what was spent, and the sums of the site that was hit most
 *	wish QUOTA PERIOD_MS	other quota and period; period 0: the traps are always planted
 *	hold			from now on every thread that is hit is to be held, and none gets an answer
 *	swap N			N times: every other site is forgotten, as if its module was unloaded, and the
 *				others get their numbers
 *	end			leave; end of stdin too
 */
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/control/link.h"
#include "attach/control/planting.h"
#include "attach/keeper/procfs.h"
#include "attach/options/options.h"
#include "attach/options/ruleset.h"
#include "attach/target/modules.h"
#include "base/strbuf.h"

#define SEIZE_NS 20000000000ull
#define CALL_NS 20000000000ull

struct meterer {
	pid_t pid;
	struct link link;
	struct ruleset rules;
	struct modules *modules;
	struct planting planting;
	uint32_t sites[SHARED_SITES];
	size_t nsites;
	uint64_t records;
	bool holding;
};

static void wish(struct meterer *m, uint32_t quota, uint32_t period_ms)
{
	for (size_t i = 0; i < m->nsites; i++) {
		atomic_store(&m->link.shared->meters[m->sites[i]].quota, quota);
		atomic_store(&m->link.shared->meters[m->sites[i]].period_ms, period_ms);
	}
}

static int begin(struct meterer *m, uint32_t quota, uint32_t period_ms, char **rules)
{
	const struct plan_options options = { .exact_sizes = false };
	struct options opt = { .pid = m->pid, .what.probes = STRBUF_INIT };
	int r;

	for (; *rules; rules++)
		strbuf_printf(&opt.what.probes, "%s\n", *rules);
	r = ruleset_choose(&opt, &m->rules);
	strbuf_fini(&opt.what.probes);
	if (r == 0)
		r = modules_new(m->pid, &m->modules);
	if (r == 0)
		r = modules_refresh(m->modules, false);
	if (r == 0)
		r = planting_init(&m->planting, &m->link, m->modules, procfs_open_mem(m->pid), &m->rules,
				  &options);
	if (r == 0)
		r = planting_plan(&m->planting);
	m->nsites = m->planting.nwaiting;
	memcpy(m->sites, m->planting.waiting, sizeof(m->sites));
	wish(m, quota, period_ms);
	return r == 0 ? planting_plant(&m->planting) : r;
}

/*
 * A held thread goes on at once. (The dynamic linker's call-out is not one of this tool's sites: the thread
 * is held for an exec.)
 */
static void answer(struct meterer *m, uint32_t tid, int64_t hold)
{
	link_forget_all(&m->link);
	m->nsites = 0;
	/* -ESRCH: the thread has already gone on */
	(void)!link_call(&m->link, COMMAND_RELEASE, tid, hold, CALL_NS);
}

static void drain(struct meterer *m)
{
	const struct record *rec;

	while ((rec = ring_peek(&m->link.shared->ring))) {
		const struct record had = *rec;

		ring_consume(&m->link.shared->ring, rec);
		m->records += had.kind == RECORD_HIT;
		if (had.kind == RECORD_EXEC)
			answer(m, had.tid, had.value);
	}
}

static void hold(const struct meterer *m)
{
	for (size_t i = 0; i < m->nsites; i++)
		atomic_store(&m->link.shared->meters[m->sites[i]].hold, 1);
}

/* --- orders --- */

static struct site_stats_sums busiest(const struct meterer *m)
{
	struct site_stats_sums most = { 0 };

	for (size_t i = 0; i < m->nsites; i++) {
		struct site_stats_sums s;

		site_stats_read(&m->link.shared->meters[m->sites[i]], &s);
		if (!i || s.hits > most.hits)
			most = s;
	}
	return most;
}

static void tell(struct meterer *m)
{
	const struct shared *sh = m->link.shared;
	struct site_stats_sums s = busiest(m);

	drain(m);
	printf("{\"spent_ns\": %" PRIu64 ", \"worst_ten_ppm\": %u, \"closed\": %u, \"closed_ns\": %" PRIu64
	       ", \"open\": %u, \"stops\": %" PRIu64 ", "
	       "\"dropped\": %" PRIu64 ", \"records\": %" PRIu64 ", \"sites\": %zu, \"rounds\": %" PRIu64
	       ", \"full\": %" PRIu64 ", \"hits\": %" PRIu64 ", "
	       "\"exposed_us\": %" PRIu64 ", \"hits2\": %" PRIu64 ", \"hits_exposed\": %" PRIu64
	       ", \"exposed2\": %" PRIu64 ", "
	       "\"held_ns\": %" PRIu64 ", \"unanswered\": %" PRIu64 "}\n",
	       atomic_load(&sh->budget.spent_ns), atomic_load(&sh->budget.worst_ten_ppm),
	       atomic_load(&sh->budget.closed), atomic_load(&sh->budget.closed_ns),
	       atomic_load(&sh->budget.open), atomic_load(&sh->counts.stops), atomic_load(&sh->counts.dropped),
	       m->records, m->nsites, s.rounds, s.full, s.hits, s.exposed_us, s.hits2, s.hits_exposed,
	       s.exposed2, atomic_load(&sh->budget.held_ns), atomic_load(&sh->counts.unwalked));
}

static void change(struct meterer *m, const char *line)
{
	uint32_t quota = 0, period_ms = 0;
	int r;

	sscanf(line, "wish %" SCNu32 " %" SCNu32, &quota, &period_ms);
	wish(m, quota, period_ms);
	r = link_plant(&m->link, m->sites, m->nsites);
	for (size_t i = 0; r == 0 && i < m->nsites; i++)
		r = m->link.shared->plant_result[m->sites[i]];
	printf("{\"r\": %d}\n", r);
}

/* Plant the sites in @all with an odd or an even index, under the first numbers. */
static int plant_half(struct meterer *m, const struct site *all, size_t odd)
{
	size_t n = m->nsites / 2;

	for (size_t i = 0; i < n; i++)
		m->link.shared->sites[m->sites[i]] = all[2 * i + odd];
	return link_plant(&m->link, m->sites, n);
}

static void swap(struct meterer *m, const char *line)
{
	static struct site all[SHARED_SITES];
	unsigned int n = 0;
	int r = 0;

	sscanf(line, "swap %u", &n);
	for (size_t i = 0; i < m->nsites; i++)
		all[i] = m->link.shared->sites[m->sites[i]];
	for (unsigned int k = 0; r == 0 && k < n; k++) {
		drain(m);
		/* the numbers are consecutive */
		r = (int)link_call(&m->link, COMMAND_FORGET, m->sites[0], (int64_t)m->nsites, CALL_NS);
		if (r == 0)
			r = plant_half(m, all, k % 2);
	}
	printf("{\"r\": %d}\n", r);
}

/* false: it was the last order. */
static bool obey(struct meterer *m, const char *line)
{
	if (!strncmp(line, "told", 4))
		tell(m);
	else if (!strncmp(line, "swap ", 5))
		swap(m, line);
	else if (!strncmp(line, "wish ", 5))
		change(m, line);
	else if (!strncmp(line, "hold", 4))
		m->holding = puts("{}") > 0;
	else
		return false;
	fflush(stdout);
	return true;
}

/* Read the ring between orders, as a watch does. false: the keeper has gone. */
static bool serve(struct meterer *m)
{
	struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[256];

	setvbuf(stdin, NULL, _IONBF, 0);
	while (!link_keeper_gone(&m->link)) {
		drain(m);
		link_alive(&m->link);
		if (m->holding)
			hold(m);
		if (poll(&ready, 1, 10) > 0 && (!fgets(line, sizeof(line), stdin) || !obey(m, line)))
			return true;
	}
	return false;
}

/* After the keeper was killed: do what a watch does then. */
static void repair(struct meterer *m)
{
	uint32_t left, lifted;

	if (atomic_load(&m->link.shared->end.left))
		return;
	lifted = link_emergency_lift(&m->link, m->planting.mem, &left);
	printf("{\"lifted\": %u, \"unlifted\": %u}\n", lifted, left);
}

int main(int argc, char **argv)
{
	static struct meterer m;
	struct link_settings set = { .slice_bytes = 4096, .max_stall_ns = 100000000, .gdb = -1, .gdb_mem = -1 };
	int r;

	if (argc < 5)
		return 2;
	m.pid = atoi(argv[1]);
	set.budget_ppm = atoi(argv[2]);
	r = link_open(&m.link, &set, argc, argv);
	if (r == 0)
		r = link_call(&m.link, COMMAND_SEIZE, m.pid, 0, SEIZE_NS);
	if (r == 0)
		r = begin(&m, atoi(argv[3]), atoi(argv[4]), argv + 5);
	if (r < 0) {
		fprintf(stderr, "meterer: %s (%s)\n", strerror(-r),
			m.link.shared ? leave_reason_text(atomic_load(&m.link.shared->end.left)) : "not begun");
		return 1;
	}
	printf("{\"keeper\": %d}\n", m.link.keeper);
	fflush(stdout);
	if (serve(&m))
		r = link_leave(&m.link, CALL_NS);
	else
		repair(&m);
	drain(&m);
	tell(&m);
	printf("{\"left\": %d, \"unlifted\": %u, \"uncleaned\": %u, \"r\": %d}\n",
	       (int)atomic_load(&m.link.shared->end.left), atomic_load(&m.link.shared->end.unlifted),
	       atomic_load(&m.link.shared->end.uncleaned), r);
	return r < 0;
}
