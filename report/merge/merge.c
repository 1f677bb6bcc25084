/* SPDX-License-Identifier: MIT */
/* merge: see merge.h. */
#include "report/merge/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addrmap.h"
#include "base/log.h"
#include "report/merge/merge_defs.h"
#include "report/merge/merge_inputs.h"
#include "report/merge/merge_ledger.h"
#include "report/merge/merge_one.h"
#include "report/tracefiles/replay.h"

#define MERGED_ID 0x6d		/* each byte of the id of a merged run: it is not that of its only process */

struct merge {
	struct ledger all;
	struct merge_defs defs;
	const struct merge_options *opt;
	struct addrmap seen;		/* run id and pid of each process */
	bool sampled;			/* they are of runs with a budget */
	const char *first;		/* path of the first input that has numbers; NULL: none yet */
};

static int no_memory(void)
{
	log_error_errno(ENOMEM, "cannot merge the traces");
	return -ENOMEM;
}

/* --- processes without a trace --- */

static int add_absent(struct ledger *l, const struct merge_absent *absent)
{
	const struct fact_process p = {
		.pid = absent->pid, .comm = absent->comm, .exe = absent->exe, .host = absent->host,
		.labels = absent->label, .how = absent->why, .absent = true,
	};

	return ledger_add_process(l, &p);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* What could be read is in @l. */
static int leave_out(struct merge *m, const struct merge_run *run, const struct ledger *l, const char *why)
{
	char text[256];
	struct merge_absent absent = {
		.pid = l->target.pid, .comm = l->target.comm, .exe = l->target.exe, .host = l->run.host,
		.label = run->label, .why = text,
	};

	snprintf(text, sizeof(text), "%s: %s", last_part(run->paths[0]), why);
	if (run->process) {
		absent.pid = run->process->pid;
		absent.comm = run->process->comm;
		absent.why = run->process->why ? run->process->why : text;
	}
	log_warn("%s is left out: it is a line of the report", run->paths[0]);
	return add_absent(&m->all, &absent);
}

/* --- what cannot be merged --- */

static bool is_damaged(const struct ledger *l)
{
	for (size_t i = 0; i < l->nlost; i++)
		if (!strcmp(l->lost[i].reason, LEDGER_DAMAGED))
			return true;
	return false;
}

static int refuse_sampling(const struct merge *m, const struct merge_run *run, const struct ledger *l)
{
	const char *path = run->paths[0];

	if (!m->first || (m->sampled == ledger_is_sampled(l) && m->all.run.sample_bytes == l->run.sample_bytes))
		return 0;
	if (m->sampled != ledger_is_sampled(l))
		log_error("cannot merge %s and %s: one has estimates (--budget), the other has not", m->first, path);
	else if (m->all.run.sample_bytes && l->run.sample_bytes)
		log_error("cannot merge %s and %s: they are samples with different intervals (--sample)",
			  m->first, path);
	else
		log_error("cannot merge %s and %s: one is a sample (--sample), the other has all calls",
			  m->first, path);
	log_hint("merge each kind by itself");
	return -EINVAL;
}

static uint64_t identity(const struct fact_process *p)
{
	uint64_t half[2];

	memcpy(half, p->run_id, sizeof(half));
	return (half[0] ^ half[1] << 1 ^ half[1] >> 63) + (uint64_t)(uint32_t)p->pid * 0x9e3779b97f4a7c15u;
}

static int refuse_again(struct merge *m, const struct merge_run *run, const struct ledger *l)
{
	static const uint8_t none[sizeof(l->run.id)];

	for (size_t i = 0; i < l->merged.nprocesses; i++) {
		const struct fact_process *p = &l->merged.processes[i].its;
		bool fresh;

		if (!memcmp(p->run_id, none, sizeof(none)))
			continue;
		if (!addrmap_slot(&m->seen, identity(p), &fresh))
			return no_memory();
		if (fresh)
			continue;
		log_error("cannot merge %s: its run of process %d is among the traces before it",
			  run->paths[0], p->pid);
		log_hint("give each trace once, and none that is part of a merged one");
		return -EINVAL;
	}
	return 0;
}

/* --- one input --- */

/* A trace that was cut off may have no more of its process than that there was one. */
static int name_process(struct ledger *l, const struct merge_absent *known)
{
	if (!known || l->target.pid)
		return 0;
	l->target.pid = known->pid;
	l->target.comm = known->comm ? defs_string(&l->defs, known->comm) : NULL;
	return known->comm && !l->target.comm ? -ENOMEM : 0;
}

static int make_one(struct ledger *l, const struct merge_run *run)
{
	int r = name_process(l, run->process);

	if (r == 0)
		r = merge_one(l, run->label);
	if (r == 0 && run->process && run->process->why && !l->merged.processes[0].its.how)
		l->merged.processes[0].its.how = defs_string(&l->defs, run->process->why);
	return r;
}

static bool is_same(const char *one, const char *other)
{
	return one && other && !strcmp(one, other);
}

/* What was asked for, if it is the same for all; and one reason that an engine could not be had. */
static int keep_engine(struct merge *m, const struct ledger *l)
{
	struct fact_run *all = &m->all.run;

	if (m->first && !is_same(all->engine, l->run.engine))
		all->engine = NULL;
	else if (!m->first && l->run.engine && !(all->engine = defs_string(&m->all.defs, l->run.engine)))
		return -ENOMEM;
	if (!all->other && l->run.other && !(all->other = defs_string(&m->all.defs, l->run.other)))
		return -ENOMEM;
	return 0;
}

static int add_ledger(struct merge *m, const struct merge_run *run, struct ledger *l)
{
	int r = refuse_sampling(m, run, l);

	if (r < 0)
		return r;
	r = ledger_is_merged(l) ? merge_label(l, run->label) : make_one(l, run);
	if (r < 0)
		return no_memory();
	r = refuse_again(m, run, l);
	if (r < 0)
		return r;
	r = keep_engine(m, l);
	if (r < 0)
		return no_memory();
	m->first = m->first ? m->first : run->paths[0];
	m->all.run.sample_bytes = l->run.sample_bytes;
	m->sampled = ledger_is_sampled(l);
	r = merge_ledger(&m->defs, l);
	if (r == -EINVAL) {
		log_error("cannot merge %s: there are more than %d families", run->paths[0],
			  LEDGER_FAMILIES_MAX);
		log_hint("merge traces in which the same families were watched");
	}
	return r == -ENOMEM ? no_memory() : r;
}

static int refuse_damaged(struct merge *m, const struct merge_run *run, const struct ledger *l)
{
	if (m->opt->skip_damaged)
		return leave_out(m, run, l, "its trace is damaged");
	log_error("cannot merge %s: it is damaged", run->paths[0]);
	log_hint("--skip-damaged leaves it out, and says so in the report");
	return -EINVAL;
}

static const char *why_unreadable(int err)
{
	return err == -EINVAL ? "not a trace" : err == -EPROTO ? "of a newer version" : strerror(-err);
}

static int refuse_unreadable(struct merge *m, const struct merge_run *run, const struct ledger *l, int err)
{
	if (err == -ENOMEM)
		return err;
	if (m->opt->skip_damaged)
		return leave_out(m, run, l, why_unreadable(err));
	log_hint("--skip-damaged leaves it out, and says so in the report");
	return err;
}

static int add_run(struct merge *m, const struct merge_run *run)
{
	const struct replay_options replay = { .keep_orphans = false };
	struct ledger l;
	int r = replay_files(run->paths, run->n, &replay, &l);

	if (r < 0)
		r = refuse_unreadable(m, run, &l, r);
	else if (is_damaged(&l))
		r = refuse_damaged(m, run, &l);
	else
		r = add_ledger(m, run, &l);
	ledger_fini(&l);
	return r;
}

/* --- the run as a whole --- */

/* A text that all processes have; @several if they differ. */
static const char *common(const struct ledger *l, size_t at, const char *several)
{
	const char *text = NULL;
	bool any = false;

	for (size_t i = 0; i < l->merged.nprocesses; i++) {
		const struct fact_process *p = &l->merged.processes[i].its;
		const char *its = *(const char *const *)((const char *)p + at);

		if (p->absent)
			continue;
		if (any && its != text)
			return several;
		text = its;
		any = true;
	}
	return text;
}

#define COMMON(l, field, several) common(l, offsetof(struct fact_process, field), several)

static int keep(struct ledger *l, const char *text, const char **out)
{
	*out = defs_string(&l->defs, text);
	return text && !*out ? -ENOMEM : 0;
}

static void see_processes(struct ledger *l)
{
	memset(l->run.id, MERGED_ID, sizeof(l->run.id));
	for (size_t i = 0; i < l->merged.nprocesses; i++) {
		const struct fact_process *p = &l->merged.processes[i].its;

		for (size_t k = 0; k < sizeof(l->run.id); k++)
			l->run.id[k] ^= p->run_id[k];
		if (p->start_ns && (!l->run.start_ns || p->start_ns < l->run.start_ns))
			l->run.start_ns = p->start_ns;
	}
}

/* That a process was cut off is a part of its own line; the merged trace has an end. */
static int describe(struct ledger *l, uint64_t sample_bytes)
{
	int r = keep(l, COMMON(l, frontend, "several"), &l->run.frontend);

	if (r == 0)
		r = keep(l, COMMON(l, mode, "several"), &l->run.mode);
	if (r == 0)
		r = keep(l, COMMON(l, host, NULL), &l->run.host);
	if (r == 0)
		r = keep(l, COMMON(l, comm, NULL), &l->target.comm);
	if (r == 0)
		r = keep(l, COMMON(l, exe, NULL), &l->target.exe);
	see_processes(l);
	l->run.sample_bytes = sample_bytes;
	l->has_run = l->has_facts = l->ended = true;
	return r;
}

static int add_all(struct merge *m, const struct merge_inputs *inputs)
{
	int r = 0;

	for (size_t i = 0; i < inputs->n && r == 0; i++)
		r = add_run(m, &inputs->runs[i]);
	for (size_t i = 0; i < m->opt->nabsent && r == 0; i++)
		r = add_absent(&m->all, &m->opt->absent[i]);
	return r;
}

static int finish(struct merge *m, struct ledger *out)
{
	int r;

	ledger_fini(out);
	r = merge_sorted(&m->all, out);
	return r < 0 ? r : describe(out, m->all.run.sample_bytes);
}

int merge_files(const struct merge_input *in, size_t n, const struct merge_options *opt, struct ledger *out)
{
	static const struct merge_options none;
	struct merge m = { .opt = opt ? opt : &none };
	struct merge_inputs inputs = { 0 };
	int r = ledger_init(out);

	addrmap_init(&m.seen, 0);
	merge_defs_init(&m.defs, &m.all);
	if (r == 0)
		r = ledger_init(&m.all);
	if (r == 0)
		r = merge_inputs_make(in, n, &inputs);
	if (r == -ENOMEM)
		no_memory();
	if (r == 0)
		r = add_all(&m, &inputs);
	if (r == 0 && finish(&m, out) < 0)
		r = no_memory();
	merge_inputs_fini(&inputs);
	merge_defs_fini(&m.defs);
	ledger_fini(&m.all);
	addrmap_fini(&m.seen);
	return r;
}
