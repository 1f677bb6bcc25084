/* SPDX-License-Identifier: MIT */
/* pyobjects: see pyobjects.h. The order of the steps, and the sums. */
#include "heap/python/pyobjects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/python/pyobjects_parts.h"

#define MINOR_FIRST 9u
#define MINOR_LAST 13u

/* --- can they be listed? --- */

static void refuse(struct pyobjects *p, const char *why)
{
	snprintf(p->why_not, sizeof(p->why_not), "%s", why);
}

static void check_version(struct pyobjects *p, const struct census *c)
{
	const struct python_version *v = &p->version;

	if (v->minor < MINOR_FIRST || v->minor > MINOR_LAST)
		refuse(p, "objects of this version are not known");
	else if (!v->release)
		refuse(p, "it is no release");
	else if (v->freethreaded)
		refuse(p, "it is a free-threaded build");
	else if (!c->known)
		refuse(p, "its tables are in blocks of an allocator that are not listed");
}

/* --- the types of all blocks --- */

static int look(struct pyobjects_run *run, const struct pynode *node)
{
	struct pyobject o;
	int r = pytypes_look(&run->types, node->at, node->size, &o);

	if (r < 0)
		return r;
	if (o.type == PYTYPES_NONE) {
		run->hooked += pytypes_has_hooks(&run->types, node->at);
		return 0;
	}
	run->typed++;
	run->state[node->i] = o.idle ? PYNODE_IDLE : o.type;
	if (o.idle) {
		run->out->idle.blocks++;
		run->out->idle.bytes += node->size;
	}
	return 0;
}

static int look_at_all(struct pyobjects_run *run)
{
	run->nnodes = run->small.nslots + run->c->nblocks;
	run->state = calloc(run->nnodes + 1, sizeof(*run->state));
	return run->state ? pynodes_each(run, look) : -ENOMEM;
}

/* --- the sums --- */

static void add_small(struct pyobjects *p, const struct pymalloc *m)
{
	p->arenas = m->narenas;
	p->small = (struct census_sum){ m->blocks, m->bytes };
	p->free_bytes = m->free_bytes;
	p->empty_bytes = m->empty_bytes;
	p->unseen_bytes = m->unseen_bytes;
	p->differing = m->differing;
	p->arena_bytes = m->arena_bytes;
}

static int add_other(struct pyobjects_run *run, const struct pynode *node)
{
	if (node->i >= run->small.nslots || run->state[node->i] != PYNODE_PLAIN)
		return 0;
	run->out->other.blocks++;
	run->out->other.bytes += node->size;
	return 0;
}

static int add_tracked(struct pyobjects_run *run, const struct pynode *node)
{
	const uint32_t state = run->state[node->i];
	const struct pytype *type = &run->types.all[pynode_is_object(state) ? state : PYTYPES_NONE];
	uint64_t link;

	if (type->collected && snapshot_cursor_word(&run->types.cursor, node->at + type->before - 16, &link))
		run->sums[state].tracked += link != 0;
	return add_other(run, node);
}

static int order(const void *pa, const void *pb)
{
	const struct pyobjects_type *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Types without an object are left out; the names become the caller's. */
static void finish(struct pyobjects_run *run)
{
	struct pyobjects *p = run->out;

	for (size_t i = 1; i < run->types.n; i++) {
		if (!run->sums[i].objects)
			continue;
		run->sums[i].name = run->types.all[i].name;
		p->objects += run->sums[i].objects;
		p->bytes += run->sums[i].bytes;
		run->sums[p->ntypes++] = run->sums[i];
	}
	if (p->ntypes)
		qsort(run->sums, p->ntypes, sizeof(*run->sums), order);
	p->types = run->sums;
	run->sums = NULL;
	p->pool = run->types.pool;
	intern_init(&run->types.pool);
}

static int sum_up(struct pyobjects_run *run)
{
	int r;

	run->sums = calloc(run->types.n, sizeof(*run->sums));
	if (!run->sums)
		return -ENOMEM;
	r = pyowners_find(run);
	if (r == 0)
		r = pyholders_count(run);
	if (r == 0)
		r = pynodes_each(run, add_tracked);
	if (r == 0)
		finish(run);
	return r;
}

/* --- all --- */

static int list(struct pyobjects_run *run)
{
	int r = look_at_all(run);

	add_small(run->out, &run->small);
	if (r < 0)
		return r;
	if (run->hooked > run->typed) {
		refuse(run->out, "its allocators have debug hooks (a debug build, or PYTHONMALLOC)");
		return 0;
	}
	return sum_up(run);
}

static void free_run(struct pyobjects_run *run)
{
	pymalloc_fini(&run->small);
	pytypes_fini(&run->types);
	addrmap_fini(&run->pointers);
	free(run->state);
	free(run->sums);
}

int pyobjects_take(const struct snapshot *s, const struct census *c, struct pyobjects *out)
{
	struct pyobjects_run run = { .s = s, .c = c, .out = out };
	int r;

	memset(out, 0, sizeof(*out));
	intern_init(&out->pool);
	out->there = python_version_find(s, &out->version);
	if (!out->there)
		return 0;
	check_version(out, c);
	if (out->why_not[0])
		return 0;
	addrmap_init(&run.pointers, sizeof(uint64_t));
	r = pytypes_init(&run.types, s, out->version.minor);
	if (r == 0)
		r = pymalloc_take(s, c, pymalloc_sizes_of(out->version.minor), &run.small);
	if (r == 0)
		r = list(&run);
	free_run(&run);
	return r;
}

void pyobjects_fini(struct pyobjects *p)
{
	free(p->types);
	intern_fini(&p->pool);
	memset(p, 0, sizeof(*p));
}
