/* SPDX-License-Identifier: MIT */
#include "attach/results.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/groups.h"
#include "base/fdio.h"
#include "base/log.h"
#include "report/out_json.h"
#include "report/out_text.h"

#define FAMILY "libc"

/* --- the run --- */

static void add_target(struct summary *s, const struct target_info *t)
{
	summary_set_target(s, t->pid, t->comm, t->exe);
	for (size_t i = 0; i < t->argc; i++)
		summary_add_arg(s, t->argv[i]);
}

static void add_probes(struct summary *s, const struct planting *p)
{
	for (size_t i = 0; i < p->nprobes; i++) {
		const struct probe *probe = &p->probes[i];
		struct summary_probe out = { .family = FAMILY, .hits = probe->hits };
		char rule[256];

		rule_format(probe->rule, rule, sizeof(rule));
		out.rule = rule;
		out.module = probe->module->path;
		out.note = probe->why_not[0] ? probe->why_not : NULL;
		summary_add_probe(s, &out);
	}
}

static bool found(const struct planting *p, const struct rule *r)
{
	for (size_t i = 0; i < p->nprobes; i++)
		if (p->probes[i].rule == r)
			return true;
	return false;
}

static void add_missing(struct summary *s, const struct planting *p)
{
	for (size_t i = 0; i < p->nrules; i++) {
		struct summary_probe out = { .family = FAMILY, .note = "not found in the target" };
		char rule[256];

		if (p->rules[i].builtin || found(p, &p->rules[i]))
			continue;
		rule_format(&p->rules[i], rule, sizeof(rule));
		out.rule = rule;
		summary_add_probe(s, &out);
	}
}

static void add_losses(struct summary *s, const struct watch *w)
{
	struct shared *sh = w->link->shared;
	uint64_t dropped = atomic_load(&sh->dropped);

	summary_add_lost(s, "ring full", dropped);
	summary_add_lost(s, "call not followed", atomic_load(&sh->unopened));
	summary_add_lost(s, "end of a call not seen", w->planting->lost_returns);
	summary_add_lost(s, "size not read", w->tally->unread_sizes);
	summary_add_lost(s, "caller not read", w->tally->unread_callers);
	summary_add_lost(s, "went on before new modules or calls were watched", atomic_load(&sh->overdue));
	summary_add_lost(s, "news of threads and processes", atomic_load(&sh->unrecorded));
	if (atomic_load(&sh->stepped))
		summary_note(s, "%" PRIu64 " times a trap was lifted for a step: other threads may have run past it unseen",
			     atomic_load(&sh->stepped));
	if (dropped || atomic_load(&sh->stepped))
		summary_note(s, "after lost hits, blocks may be listed as held that were released, and double frees reported that are none");
	if (w->children)
		summary_note(s, "%" PRIu64 " child processes were forked meanwhile; they were not watched", w->children);
}

/* The keeper left before it was asked to: from then on, or from when it had begun to drop hits, nothing was seen. */
static bool left_early(const struct watch *w)
{
	uint32_t left = atomic_load(&w->link->shared->left);

	return left != LEFT_NOT && left != LEFT_ASKED && left != LEFT_ENDED;
}

static double since_start(const struct results_run *run, uint64_t ns)
{
	return ns > run->start_ns ? (ns - run->start_ns) / 1e9 : 0;
}

static void add_gaps(struct summary *s, const struct watch *w, const struct results_run *run)
{
	struct shared *sh = w->link->shared;
	double blind = since_start(run, atomic_load(&sh->blind_ns));

	for (size_t i = 0; i < w->ngaps; i++)
		summary_add_gap(s, since_start(run, w->gaps[i].start_ns),
				since_start(run, w->gaps[i].end_ns) - since_start(run, w->gaps[i].start_ns),
				"hits were dropped, or the keeper was stopped");
	if (left_early(w))
		summary_add_gap(s, blind, since_start(run, run->end_ns) - blind,
				leave_reason_text(atomic_load(&sh->left)));
}

static void add_end(struct summary *s, const struct watch *w)
{
	struct shared *sh = w->link->shared;

	switch (w->end) {
	case WATCH_TARGET_ENDED:
		if (WIFSIGNALED(w->target_status))
			summary_note(s, "the target was ended by signal %d", WTERMSIG(w->target_status));
		else
			summary_note(s, "the target ended with status %d", WEXITSTATUS(w->target_status));
		break;
	case WATCH_EXEC:
		summary_note(s, "the target runs another program now (exec): the watch ended there");
		break;
	case WATCH_KEEPER_KILLED:
		summary_note(s, "the keeper was killed: the watch ended there");
		break;
	case WATCH_MEMORY:
		summary_note(s, "out of memory: the watch ended early");
		break;
	default:
		break;
	}
	if (left_early(w))
		summary_note(s, "the keeper lifted all traps and left early: %s",
			     leave_reason_text(atomic_load(&sh->left)));
	if (atomic_load(&sh->unlifted))
		summary_note(s, "%u traps could not be lifted", atomic_load(&sh->unlifted));
}

/* --- stacks --- */

static void add_stacks(struct summary *s, const struct watch *w)
{
	const struct backtrace *b = w->backtrace;

	s->run.stacks_cut = b->cut;
	s->run.stacks_lost = b->lost;
	if (b->too_late)
		summary_note(s, "%" PRIu64 " stacks were walked by our own unwinder: their threads could not wait for the other one",
			     b->too_late);
	if (b->guessed)
		summary_note(s, "%" PRIu64 " stacks run through code without unwind information: the frames behind it were found by frame pointer",
			     b->guessed);
	if (b->which == UNWINDER_CHECK)
		summary_note(s, "unwinders: %" PRIu64 " stacks compared, %zu distinct ones; libdwfl and libunwind differed on %" PRIu64 "; ours differed where they agree on %" PRIu64,
			     b->check.compared, b->stacks.n, b->check.oracles_differ, b->check.ours_differs);
}

int results_summary(const struct watch *w, const struct results_run *run, struct summary *s)
{
	const struct live *l = &w->tally->live;
	const struct groups_from groups = {
		.live = l, .stacks = &w->backtrace->stacks, .modules = w->modules, .fs = run->fs, .family = FAMILY,
		.end_ns = run->end_ns, .naming = { .debuginfod = run->debuginfod, .stop = run->stop },
	};
	int r;

	summary_init(s);
	add_target(s, run->target);
	s->run.start_ns = run->wall_start_ns;
	s->run.seconds = (run->end_ns - run->start_ns) / 1e9;
	s->run.events = w->tally->events;
	s->run.stopped_seconds = atomic_load(&w->link->shared->served_ns) / 1e9;
	s->totals = (struct summary_totals){
		.allocs = l->allocs, .frees = l->frees, .unmatched_frees = l->unmatched_frees,
		.double_frees = l->double_frees, .live_blocks = l->held_blocks, .live_bytes = l->held_bytes,
	};
	add_probes(s, w->planting);
	add_missing(s, w->planting);
	add_losses(s, w);
	add_gaps(s, w, run);
	add_end(s, w);
	s->run.ring_waits = atomic_load(&w->link->shared->stalls);
	add_stacks(s, w);
	r = groups_add(&groups, s);
	return r < 0 ? r : summary_error(s);
}

int results_print(const struct summary *s, const struct options *opt, struct outfile *file)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	int r = opt->format == FORMAT_JSON ? out_json(s, &sb) : out_text(s, opt->top, &sb);

	if (r == 0)
		r = write_full(opt->report ? file->fd : STDOUT_FILENO, strbuf_str(&sb), sb.len);
	if (r == 0 && opt->report)
		r = outfile_commit(file);
	if (r < 0)
		log_error_errno(r, "cannot write the report%s%s", opt->report ? " to " : "",
				opt->report ? opt->report : "");
	return r;
}
