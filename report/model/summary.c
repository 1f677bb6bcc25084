/* SPDX-License-Identifier: MIT */
/*
 * summary: see summary.h. Lists that grow by doubling, and a pool of strings. The order is in
 * summary_order.c, references are in summary_refs.c.
 */
#include "report/model/summary.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/model/summary_parts.h"

void summary_init(struct summary *s)
{
	*s = (struct summary){
		.run = { .frontend = "ptrace", .mode = "exact", .duty = 1 },
	};
	intern_init(&s->strings);
}

static void refs_fini(struct summary_refs *r)
{
	for (size_t i = 0; i < r->nall; i++)
		free(r->all[i].counts);
	free(r->series);
	free(r->samples);
	free(r->acquired);
	free(r->released);
	free(r->all);
}

void summary_fini(struct summary *s)
{
	for (size_t i = 0; i < s->ngroups; i++) {
		free(s->groups[i].stack.frames);
		free(s->groups[i].series);
		free(s->groups[i].samples);
		free(s->groups[i].sampled);
		free(s->groups[i].hangs);
		free(s->groups[i].freed);
		free(s->groups[i].shares);
	}
	for (size_t i = 0; i < s->nrefs; i++)
		refs_fini(&s->refs[i]);
	for (size_t i = 0; i < s->ntwice; i++) {
		free(s->twice[i].second.frames);
		free(s->twice[i].first.frames);
		free(s->twice[i].alloc.frames);
	}
	for (size_t i = 0; i < s->nstacks; i++)
		free(s->stacks[i]);
	free(s->stacks);
	free(s->families);
	free(s->groups);
	free(s->index_of);
	free(s->refs);
	free(s->twice);
	free(s->suppressions);
	free(s->notes);
	free(s->memories);
	free(s->processes);
	free(s->target.cmdline);
	free(s->run.lost);
	free(s->run.probes);
	free(s->run.gaps);
	free(s->run.verdicts.doubts);
	intern_fini(&s->strings);
	memset(s, 0, sizeof(*s));
}

int summary_error(const struct summary *s)
{
	return s->err;
}

void *summary_push(struct summary *s, void *array, size_t *n, size_t size)
{
	void *room = s->err ? NULL : grow_by_one(array, *n, size);

	if (room)
		++*n;
	else
		s->err = -ENOMEM;
	return room;
}

const char *summary_string(struct summary *s, const char *text)
{
	const char *kept = intern_text(&s->strings, text);

	if (text && !kept)
		s->err = -ENOMEM;
	return kept;
}

void summary_set_target(struct summary *s, pid_t pid, const char *comm, const char *exe)
{
	s->target.pid = pid;
	s->target.comm = summary_string(s, comm);
	s->target.exe = summary_string(s, exe);
}

void summary_add_arg(struct summary *s, const char *arg)
{
	const char **slot = summary_push(s, &s->target.cmdline, &s->target.nargs, sizeof(*slot));

	if (slot)
		*slot = summary_string(s, arg);
}

void summary_add_lost(struct summary *s, const char *reason, uint64_t count)
{
	if (!count)
		return;
	for (size_t i = 0; i < s->run.nlost; i++) {
		if (!strcmp(s->run.lost[i].reason, reason)) {
			s->run.lost[i].count += count;
			return;
		}
	}
	const char *kept = summary_string(s, reason);
	struct summary_lost *slot = summary_push(s, &s->run.lost, &s->run.nlost, sizeof(*slot));
	if (slot)
		*slot = (struct summary_lost){ kept, count };
}

void summary_add_probe(struct summary *s, const struct summary_probe *probe)
{
	struct summary_probe *slot = summary_push(s, &s->run.probes, &s->run.nprobes, sizeof(*slot));

	if (!slot)
		return;
	*slot = *probe;
	slot->family = summary_string(s, probe->family);
	slot->rule = summary_string(s, probe->rule);
	slot->module = summary_string(s, probe->module);
	slot->note = summary_string(s, probe->note);
}

void summary_add_gap(struct summary *s, double start_s, double seconds, const char *why)
{
	struct summary_gap *slot = summary_push(s, &s->run.gaps, &s->run.ngaps, sizeof(*slot));

	if (slot)
		*slot = (struct summary_gap){ start_s, seconds, summary_string(s, why) };
}

void summary_add_doubt(struct summary *s, const char *text)
{
	struct summary_verdicts *v = &s->run.verdicts;
	const char **slot = summary_push(s, &v->doubts, &v->ndoubts, sizeof(*slot));

	if (slot)
		*slot = summary_string(s, text);
}

void summary_note(struct summary *s, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	int len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0) {
		s->err = -ENOMEM;
		return;
	}
	const char **slot = summary_push(s, &s->notes, &s->nnotes, sizeof(*slot));
	if (slot)
		*slot = summary_string(s, text);
	free(text);
}

void *summary_copy(struct summary *s, const void *array, size_t n, size_t size)
{
	void *p = n ? reallocarray(NULL, n, size) : NULL;

	if (p)
		memcpy(p, array, n * size);
	else if (n)
		s->err = -ENOMEM;
	return p;
}

static void keep_frame_strings(struct summary *s, struct summary_frame *f)
{
	f->module = summary_string(s, f->module);
	f->build_id = summary_string(s, f->build_id);
	f->function = summary_string(s, f->function);
	f->linkage = summary_string(s, f->linkage);
	f->file = summary_string(s, f->file);
}

struct stack_view summary_copy_stack(struct summary *s, const struct stack_view *stack)
{
	struct stack_view own = *stack;

	own.frames = summary_copy(s, stack->frames, stack->depth, sizeof(*own.frames));
	if (!own.frames)
		own.depth = own.wrappers = 0;
	for (size_t i = 0; i < own.depth; i++)
		keep_frame_strings(s, &own.frames[i]);
	return own;
}

struct stack_view summary_keep_stack(struct summary *s, const struct stack_view *stack)
{
	struct summary_frame **slot = summary_push(s, &s->stacks, &s->nstacks, sizeof(*slot));
	struct stack_view own = { .end = stack->end };

	if (!slot)
		return own;
	own = summary_copy_stack(s, stack);
	*slot = own.frames;
	return own;
}

void summary_add_family(struct summary *s, const struct summary_family *family)
{
	struct summary_family *slot = summary_push(s, &s->families, &s->nfamilies, sizeof(*slot));

	if (!slot)
		return;
	*slot = *family;
	slot->name = summary_string(s, family->name);
	slot->noun = summary_string(s, family->noun ? family->noun : family->refs ? "object" : "block");
}

bool summary_stops_known(const struct summary_run *run)
{
	return strcmp(run->frontend, "gdb") != 0 && strcmp(run->frontend, "uprobe") != 0;
}

const struct summary_family *summary_family(const struct summary *s, const char *name)
{
	static const struct summary_family none = { .name = "", .noun = "block" };

	for (size_t i = 0; name && i < s->nfamilies; i++)
		if (s->families[i].name && !strcmp(s->families[i].name, name))
			return &s->families[i];
	return &none;
}

int summary_set_freed(struct summary *s, struct summary_group *g, const struct summary_freed *list, size_t n)
{
	free(g->freed);
	g->freed = summary_copy(s, list, n, sizeof(*list));
	g->nfreed = g->freed ? n : 0;
	return summary_error(s);
}

void summary_add_group(struct summary *s, const struct summary_group *group)
{
	struct summary_group *g = summary_push(s, &s->groups, &s->ngroups, sizeof(*g));

	if (!g)
		return;
	*g = *group;
	g->serial = s->ngroups - 1;
	g->family = summary_string(s, group->family);
	g->tag = summary_string(s, group->tag);
	g->kind.label = summary_string(s, group->kind.label);
	g->kind.class_name = summary_string(s, group->kind.class_name);
	g->kind.module = summary_string(s, group->kind.module);
	g->kind.content = summary_string(s, group->kind.content);
	g->stack = summary_copy_stack(s, &group->stack);
	g->series = summary_copy(s, group->series, group->npoints, sizeof(*g->series));
	g->hangs = summary_copy(s, group->hangs, group->nhangs, sizeof(*g->hangs));
	g->nhangs = g->hangs ? group->nhangs : 0;
	g->freed = summary_copy(s, group->freed, group->nfreed, sizeof(*g->freed));
	g->nfreed = g->freed ? group->nfreed : 0;
	g->sampled = summary_copy(s, group->sampled, group->sampled != NULL, sizeof(*g->sampled));
	g->shares = summary_copy(s, group->shares, group->nshares, sizeof(*g->shares));
	g->nshares = g->shares ? group->nshares : 0;
	g->samples = summary_copy(s, group->samples, group->nsamples, sizeof(*g->samples));
	g->npoints = g->series ? group->npoints : 0;
	g->nsamples = g->samples ? group->nsamples : 0;
}

void summary_add_hang(struct summary *s, struct summary_group *g, const struct summary_hang *hang)
{
	struct summary_hang *slot = summary_push(s, &g->hangs, &g->nhangs, sizeof(*slot));

	if (slot)
		*slot = *hang;
}

void summary_add_twice(struct summary *s, const struct summary_twice *twice)
{
	struct summary_twice *t = summary_push(s, &s->twice, &s->ntwice, sizeof(*t));

	if (!t)
		return;
	*t = *twice;
	t->family = summary_string(s, twice->family);
	t->second = summary_copy_stack(s, &twice->second);
	t->first = summary_copy_stack(s, &twice->first);
	t->alloc = summary_copy_stack(s, &twice->alloc);
}

void summary_add_suppression(struct summary *s, const struct summary_suppression *used)
{
	struct summary_suppression *slot =
		summary_push(s, &s->suppressions, &s->nsuppressions, sizeof(*slot));

	if (!slot)
		return;
	*slot = *used;
	slot->name = summary_string(s, used->name);
	slot->where = summary_string(s, used->where);
}

uint64_t summary_lost_total(const struct summary *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->run.nlost; i++)
		sum += s->run.lost[i].count;
	return sum;
}
