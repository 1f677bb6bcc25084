/* SPDX-License-Identifier: MIT */
#include "attach/watch/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "attach/control/planting.h"
#include "attach/events/recorder.h"
#include "attach/events/tally.h"
#include "attach/keeper/shared/shared.h"
#include "attach/options/options.h"
#include "attach/rules/ruletext.h"
#include "attach/stacks/backtrace.h"
#include "attach/target/linker.h"
#include "attach/target/target.h"
#include "attach/target/unread.h"
#include "attach/watch/runtimes.h"
#include "attach/watch/watch.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/version.h"
#include "trace/endnote.h"

#define RULE_TEXT 640
#define ARGS_BYTES (512u << 10)	/* of a command line; a record has a megabyte at most */

/* --- the beginning --- */

/* How many arguments can be recorded. */
static uint32_t count_args(const struct target_info *t)
{
	size_t bytes = 0;
	uint32_t n = 0;

	while (n < t->argc && (bytes += strlen(t->argv[n]) + 4) <= ARGS_BYTES)
		n++;
	return n;
}

static void target_fact(const struct target_info *t, struct fact *f)
{
	*f = (struct fact){
		.kind = MMT_INFO, .info = MMT_TARGET,
		.target = { .pid = t->pid, .comm = t->comm, .exe = t->exe,
			    .argv = (const char *const *)t->argv, .argc = count_args(t) },
	};
}

static void note_args(struct recorder *r, const struct target_info *t)
{
	if (count_args(t) < t->argc)
		recorder_note(r, r->ledger.now_us,
			      "the command line has %zu arguments; only the first %u are kept",
			      (size_t)t->argc, count_args(t));
}

/* What is watched, and what is not to be shown. The number of a family is its index. */
static void put_rules(struct recorder *r, const struct ruleset *set)
{
	for (uint32_t i = 0; i < set->nfamilies; i++) {
		const struct rule_family *family = &set->families[i];
		const struct fact f = {
			.kind = MMT_INFO, .info = MMT_FAMILY_NAME, .time_us = r->ledger.now_us,
			.family_name = {
				.number = i, .name = family->name, .refs = family->refs,
				.ranges = family->ranges, .noun = family->noun,
			},
		};

		recorder_put(r, &f);
		if (*family->note)
			recorder_note(r, r->ledger.now_us, "family %s: %s", family->name, family->note);
	}
	for (size_t i = 0; i < set->nskips; i++) {
		const struct fact f = {
			.kind = MMT_INFO, .info = MMT_SKIP, .time_us = r->ledger.now_us,
			.skip = set->skips[i].name,
		};

		if (set->skips[i].where == WHERE_NAME)
			recorder_put(r, &f);
	}
}

/*
 * If only the growth of memory is trapped, most allocations are not seen, and the report must not claim that
 * they are.
 */
static const char *mode_of(const struct ruleset *set)
{
	for (size_t i = 0; i < set->nfamilies; i++)
		if (!set->families[i].ranges)
			return "exact";
	return set->nfamilies ? "growth" : "exact";
}

void facts_begin(struct recorder *r, const struct target_info *target, const struct ruleset *set,
		 const struct facts_start *start)
{
	struct utsname machine;
	const bool has_name = uname(&machine) == 0;
	const struct fact run = {
		.kind = MMT_INFO, .info = MMT_RUN,
		.run = {
			.start_ns = start->wall_ns, .frontend = start->frontend,
			.mode = start->budget ? "sampled" : start->sample_bytes ? "sampled-bytes" : mode_of(set),
			.sample_bytes = start->sample_bytes, .engine = start->engine, .other = start->other,
			.writer = "mmattach " MM_VERSION, .host = has_name ? machine.nodename : NULL,
		},
	};
	struct fact its;

	target_fact(target, &its);
	recorder_begin(r, start->start_ns, &run, &its);
	put_rules(r, set);
	note_args(r, target);
}

static void note_scope(struct recorder *r, const char *whose, const struct option_list *names)
{
	cleanup_strbuf struct strbuf list = STRBUF_INIT;

	for (size_t i = 0; i < names->n; i++)
		strbuf_printf(&list, "%s%s", i ? ", " : "", names->all[i]);
	if (names->n)
		recorder_note(r, r->ledger.now_us, "only what %s took was counted: %s", whose,
			      strbuf_str(&list));
}

void facts_scope(struct recorder *r, const struct scope *scope)
{
	note_scope(r, "these threads", scope->threads);
	note_scope(r, "the code of these modules", scope->modules);
}

/* --- probes --- */

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static const struct ledger_probe *known_probe(const struct ledger *l, uint32_t number)
{
	for (size_t i = 0; i < l->nprobes; i++)
		if (l->probes[i].number == number)
			return &l->probes[i];
	return NULL;
}

static void put_probe(struct recorder *r, uint64_t time_us, uint32_t number, const struct rule *its,
		      const char *module, const char *note)
{
	const struct ledger_probe *known = known_probe(&r->ledger, number);
	char rule[RULE_TEXT];
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_PROBE, .time_us = time_us,
		.probe = {
			.number = number, .family = its->family, .rule = rule, .module = module, .note = note,
		},
	};

	rule_format(its, rule, sizeof(rule));
	if (!known || !same(known->rule, rule) || !same(known->module, module) || !same(known->note, note))
		recorder_put(r, &f);
}

static void put_hits(struct recorder *r, uint64_t time_us, uint32_t number, uint64_t hits)
{
	const struct ledger_probe *known = known_probe(&r->ledger, number);
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_HITS, .time_us = time_us, .hits = { number, hits },
	};

	if (known && known->hits != hits)
		recorder_put(r, &f);
}

static void put_probes(struct recorder *r, const struct planting *p, uint64_t time_us)
{
	for (uint32_t i = 0; i < p->nprobes; i++) {
		const struct probe *probe = &p->probes[i];

		put_probe(r, time_us, i, probe->rule, probe->module->path,
			  probe->why_not[0] ? probe->why_not : NULL);
		put_hits(r, time_us, i, probe->hits);
	}
}

static bool is_missing(const struct planting *p, const struct rule *rule)
{
	if (rule->builtin)
		return false;
	for (size_t i = 0; i < p->nprobes; i++)
		if (p->probes[i].rule == rule)
			return false;
	return true;
}

/* Rules of the user that found nothing have the numbers after the probes. */
static void put_missing(struct recorder *r, const struct planting *p, uint64_t time_us)
{
	uint32_t number = p->nprobes;

	for (size_t i = 0; i < p->nrules; i++) {
		if (is_missing(p, &p->rules[i]))
			put_probe(r, time_us, number++, &p->rules[i], NULL, "not found in the target");
	}
}

void facts_log_missing(const struct watch *w)
{
	const struct planting *p = w->planting;

	for (size_t i = 0; i < p->nrules; i++) {
		char rule[256];

		if (!is_missing(p, &p->rules[i]))
			continue;
		rule_format(&p->rules[i], rule, sizeof(rule));
		log_warn("not found in the target: %s", rule);
	}
}

/* --- families without a hit --- */

struct family_use {
	size_t found, watched;	/* functions */
	uint64_t hits;
};

static struct family_use use_of_family(const struct planting *p, uint32_t family)
{
	struct family_use use = { 0 };

	for (size_t i = 0; i < p->nprobes; i++) {
		const struct probe *probe = &p->probes[i];

		if (rule_is_scope(probe->rule) || probe->rule->family != family)
			continue;
		use.found++;
		use.watched += probe->kind != PLAN_NONE;
		use.hits += probe->hits;
	}
	return use;
}

static bool any_hits(const struct planting *p)
{
	for (uint32_t i = 0; i < p->set->nfamilies; i++)
		if (use_of_family(p, i).hits)
			return true;
	return false;
}

/* If nothing at all was called, that is what the report begins with. */
static void note_unused(struct recorder *r, const struct planting *p, uint64_t t)
{
	const bool others = any_hits(p);

	for (uint32_t i = 0; i < p->set->nfamilies; i++) {
		struct family_use use = use_of_family(p, i);
		const char *name = p->set->families[i].name;

		if (use.hits)
			continue;
		if (!use.found)
			recorder_note(r, t, "family %s: none of its functions is in the target", name);
		else if (use.watched && others)
			recorder_note(r, t,
				      "family %s: nothing was counted at its %zu functions: they were not "
				      "called meanwhile, or the calls failed, or they are inlined in this "
				      "build, or the code goes another way", name, use.watched);
	}
}

void facts_allocator(struct recorder *r, const struct modules *ms, uint64_t now_ns)
{
	const struct module *m = linker_binds(ms, "malloc");

	if (m && !module_is_glibc(m))
		recorder_note(r, recorder_time(r, now_ns), "malloc is that of %s", m->name);
}

bool facts_runtime(struct recorder *r, const struct modules *ms, const struct target_info *target, bool last,
		   uint64_t now_ns)
{
	const struct runtime_found found = runtimes_find(ms, target);
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_RUNTIME, .time_us = recorder_time(r, now_ns),
		.runtime = found.name,
	};

	if (found.state == RUNTIME_RUNS)
		recorder_put(r, &f);
	else if (found.state == RUNTIME_LINKED && last)
		recorder_note(r, f.time_us, "%s is linked (%s); it is not known whether it runs, with a heap of its own",
			      found.name, found.module);
	return found.state == RUNTIME_RUNS;
}

/* --- numbers --- */

static void put_losses(struct recorder *r, const struct watch *w, uint64_t t)
{
	struct shared *sh = w->link->shared;

	recorder_lost(r, t, "ring full", atomic_load(&sh->counts.dropped));
	recorder_lost(r, t, "call not followed", atomic_load(&sh->counts.unopened));
	recorder_lost(r, t, "hits of which the kernel has no record", atomic_load(&sh->counts.unaccounted));
	recorder_lost(r, t, "end of a call not seen", w->planting->lost_returns + atomic_load(&sh->counts.unreturned));
	recorder_lost(r, t, "size not read", w->tally->unread_sizes);
	recorder_lost(r, t, "caller not read", w->tally->unread_callers);
	recorder_lost(r, t, "expression not read", w->tally->unread_values);
	recorder_lost(r, t, "tag not read", w->tally->unread_tags);
	recorder_lost(r, t, "name of a thread not read", w->tally->unread_threads);
	recorder_lost(r, t, "went on before new modules or calls were watched",
		      atomic_load(&sh->counts.overdue));
	recorder_lost(r, t, "news of threads and processes", atomic_load(&sh->counts.unrecorded));
}

static void put_gap(struct recorder *r, uint64_t t, uint64_t start_ns, uint64_t end_ns, const char *why)
{
	uint64_t start = recorder_time(r, start_ns), end = recorder_time(r, end_ns);
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_GAP, .time_us = t,
		.gap = { .start_us = start, .length_us = end > start ? end - start : 0, .why = why },
	};

	recorder_put(r, &f);
}

/* Put those that were not put yet. */
static void put_gaps(struct recorder *r, const struct watch *w, uint64_t t, size_t n)
{
	for (size_t i = r->ledger.ngaps; i < n; i++)
		put_gap(r, t, w->gaps[i].start_ns, w->gaps[i].end_ns, w->gaps[i].why);
}

/* Of which thread it is, the trace does not say: the report is of the process. */
static void put_worst(struct recorder *r, const struct watch *w, uint64_t t, uint64_t now_ns)
{
	const struct shared_counts *c = &w->link->shared->counts;
	const uint64_t since_ns = atomic_load(&c->worst.since_ns), until_ns = watch_cost_until(w, now_ns);

	recorder_count(r, t, MMT_COUNT_PROBED_US, atomic_load(&c->probed_ns) / 1000);
	if (!since_ns || until_ns <= since_ns)
		return;
	recorder_count(r, t, MMT_COUNT_WORST_STOPPED_US, atomic_load(&c->worst.ns) / 1000);
	recorder_count(r, t, MMT_COUNT_WORST_US, (until_ns - since_ns) / 1000);
}

void facts_progress(struct recorder *r, const struct watch *w, uint64_t now_ns)
{
	struct shared *sh = w->link->shared;
	uint64_t t = recorder_time(r, now_ns);

	put_probes(r, w->planting, t);
	recorder_count(r, t, MMT_COUNT_EVENTS, w->tally->events);
	recorder_count(r, t, MMT_COUNT_STACKS_CUT, w->backtrace->cut);
	recorder_count(r, t, MMT_COUNT_STACKS_LOST, w->backtrace->lost);
	recorder_count(r, t, MMT_COUNT_RING_WAITS, atomic_load(&sh->counts.stalls));
	recorder_count(r, t, MMT_COUNT_LEFT_OUT, w->tally->left_out);
	recorder_count(r, t, MMT_COUNT_STOPPED_US, atomic_load(&sh->counts.served_ns) / 1000);
	recorder_count(r, t, MMT_COUNT_THREAD_US, w->thread_ns / 1000);
	recorder_count(r, t, MMT_COUNT_HITTING_US, w->hitting_ns / 1000);
	recorder_count(r, t, MMT_COUNT_HITTING_STOPPED_US, atomic_load(&sh->counts.hit_served_ns) / 1000);
	recorder_count(r, t, MMT_COUNT_HITTING, atomic_load(&sh->counts.have_hit));
	put_worst(r, w, t, now_ns);
	put_losses(r, w, t);
	/* the last of a full list may still grow */
	put_gaps(r, w, t, w->ngaps < WATCH_GAPS ? w->ngaps : WATCH_GAPS - 1);
}

/* --- the end --- */

static void note_losses(struct recorder *r, const struct watch *w, uint64_t t)
{
	struct shared *sh = w->link->shared;
	uint64_t stepped = atomic_load(&sh->counts.stepped), sharers = atomic_load(&sh->counts.sharers),
		 forgotten = released_forgotten(w->tally->released);

	if (stepped)
		recorder_note(r, t,
			      "%" PRIu64 " times a trap was lifted for a step: other threads may have run "
			      "past it unseen", stepped);
	if (atomic_load(&sh->counts.dropped) || stepped)
		recorder_note(r, t, "after lost hits, blocks may be listed as held that were released%s",
			      stepped ? ", and double frees reported that are none" : "");
	if (sharers)
		recorder_note(r, t,
			      "%" PRIu64 " child process%s ran in the memory of this one until %s executed another "
			      "program or ended (vfork): what %s allocated and released there was not seen; "
			      "--engine ptrace sees it", sharers, sharers == 1 ? "" : "es",
			      sharers == 1 ? "it" : "they", sharers == 1 ? "it" : "they");
	if (w->tally->from_freed)
		recorder_note(r, t,
			      "%" PRIu64 " blocks were taken from pools whose release had begun before: they "
			      "do not count, since they go when it ends", w->tally->from_freed);
	if (forgotten)
		recorder_note(r, t,
			      "%" PRIu64 " releases were forgotten: if one of these blocks was released "
			      "again, that counts as an older block's", forgotten);
	if (!w->followed && w->children)
		recorder_note(r, t,
			      w->children == 1 ? "%" PRIu64 " child process was forked meanwhile; it was not watched"
					       : "%" PRIu64 " child processes were forked meanwhile; they were not watched",
			      w->children);
}

/*
 * The keeper left before it was asked to: from then on, or from when it had begun to drop hits, nothing was
 * seen.
 */
static bool left_early(const struct watch *w)
{
	uint32_t left = atomic_load(&w->link->shared->end.left);

	return left != LEFT_NOT && left != LEFT_ASKED && left != LEFT_ENDED;
}

static void note_end(struct recorder *r, const struct watch *w, uint64_t t)
{
	struct shared *sh = w->link->shared;

	switch (w->end) {
	case WATCH_TARGET_ENDED:
		if (w->link->uprobe && !w->started)
			recorder_note(r, t, MMT_NOTE_ENDED);
		else if (WIFSIGNALED(w->target_status))
			recorder_note(r, t, MMT_NOTE_KILLED "%d", WTERMSIG(w->target_status));
		else
			recorder_note(r, t, MMT_NOTE_EXITED "%d", WEXITSTATUS(w->target_status));
		break;
	case WATCH_EXEC:
		recorder_note(r, t, "the target runs another program now (exec): the watch ended there");
		break;
	case WATCH_KEEPER_KILLED:
		recorder_note(r, t, "the keeper was killed: the watch ended there");
		break;
	case WATCH_MEMORY:
		recorder_note(r, t, "out of memory: the watch ended early");
		break;
	case WATCH_TRACE:
		recorder_note(r, t, "the trace could not be written: the watch ended there");
		break;
	default:
		break;
	}
	if (left_early(w))
		recorder_note(r, t, "the keeper lifted all traps and left early: %s",
			      leave_reason_text(atomic_load(&sh->end.left)));
	if (atomic_load(&sh->end.unlifted))
		recorder_note(r, t, "%u traps could not be lifted", atomic_load(&sh->end.unlifted));
	if (atomic_load(&sh->end.uncleaned))
		recorder_note(r, t, UNCLEANED_TEXT, atomic_load(&sh->end.uncleaned));
}

/* What the stacks of an interpreter lack. */
static void note_scripts(struct recorder *r, const struct scripts *s, const struct scripts_of *of, uint64_t t)
{
	const char *language = of->language->name;
	const bool waits = of == s->found && s->state == SCRIPTS_WAITS;

	if (of == s->found && s->state == SCRIPTS_REFUSED)
		recorder_note(r, t, "stacks have no frames of %s scripts: %s", language, s->why);
	if (waits && of->runtime->unfound)
		recorder_note(r, t, "stacks have no frames of %s scripts: %s %s: %s was not found", language,
			      of->language->interpreter, of->runtime->version, of->runtime->unfound);
	else if (waits)
		recorder_note(r, t, "stacks have no frames of %s scripts: %s %s had no thread whose "
			      "frames could be found", language, of->language->interpreter,
			      of->runtime->version);
	if (of->without && !waits)
		recorder_note(r, t, "%" PRIu64 " stacks of the %s interpreter have no frames of scripts: "
			      "those of the thread were not found at that moment", of->without, language);
	if (of->misfits)
		recorder_note(r, t, "%" PRIu64 " stacks of the %s interpreter have no frames of scripts: "
			      "these did not fit the stack", of->misfits, language);
	if (of->lost)
		recorder_note(r, t, "%" PRIu64 " stacks have not all frames of the %s script: they led "
			      "to memory that was not there", of->lost, language);
	if (of->gone)
		recorder_note(r, t, "%" PRIu64 " frames of %s scripts have no name: their code was gone "
			      "before it was read, freed or with the process", of->gone, language);
}

static void note_stacks(struct recorder *r, const struct watch *w, uint64_t t)
{
	const struct backtrace *b = w->backtrace;

	if (b->too_late)
		recorder_note(r, t,
			      "%" PRIu64 " stacks were walked by our own unwinder: their threads could not "
			      "wait for the other one", b->too_late);
	if (b->guessed)
		recorder_note(r, t,
			      "%" PRIu64 " stacks run through code without unwind information: the frames "
			      "behind it were found by frame pointer", b->guessed);
	for (uint32_t i = 0; i < b->scripts.n; i++)
		note_scripts(r, &b->scripts, &b->scripts.all[i], t);
	if (b->which == UNWINDER_CHECK)
		recorder_note(r, t,
			      "unwinders: %" PRIu64 " stacks compared, %zu distinct ones; libdwfl and "
			      "libunwind differed on %" PRIu64 "; ours differed where they agree on %" PRIu64,
			      b->check.compared, r->ledger.defs.nstacks, b->check.oracles_differ,
			      b->check.ours_differs);
}

struct noting {
	struct recorder *recorder;
	uint64_t time_us;
};

static void put_note(void *ctx, const char *sentence)
{
	const struct noting *n = ctx;

	recorder_note(n->recorder, n->time_us, "%s", sentence);
}

static void note_unread(struct recorder *r, const struct watch *w, uint64_t t)
{
	struct noting n = { r, t };

	r->out_of_memory |= unread_tell(w->modules, put_note, &n) < 0;
	if (w->late_modules)
		recorder_note(r, t, "functions of modules that were loaded in the watch (%" PRIu64
			      " of them) were seen only from some moment after, %.1f ms at most",
			      w->late_modules, (double)w->late_ns / 1e6);
	if (w->unfollowed)
		recorder_note(r, t,
			      "%" PRIu64 " %s the list of modules could not be read (%s): what was loaded "
			      "then was not watched from its beginning",
			      w->unfollowed, w->unfollowed == 1 ? "time" : "times",
			      strerror(-w->unfollowed_error));
}

void facts_end(struct recorder *r, const struct watch *w, uint64_t end_ns)
{
	uint64_t t = recorder_time(r, end_ns);

	facts_progress(r, w, end_ns);
	put_missing(r, w->planting, t);
	note_unused(r, w->planting, t);
	note_unread(r, w, t);
	note_losses(r, w, t);
	put_gaps(r, w, t, w->ngaps);
	if (left_early(w))
		put_gap(r, t, atomic_load(&w->link->shared->end.blind_ns), end_ns,
			leave_reason_text(atomic_load(&w->link->shared->end.left)));
	note_end(r, w, t);
	note_stacks(r, w, t);
}

void facts_close(struct recorder *r, uint64_t end_ns)
{
	const struct fact end = { .kind = MMT_INFO, .info = MMT_END, .time_us = recorder_time(r, end_ns) };

	recorder_put(r, &end);
}
