/* SPDX-License-Identifier: MIT */
#include "attach/scan/scan_python.h"

#include "base/statusline.h"
#include "heap/python/pyobjects.h"

_Static_assert(SCAN_PYTHON_HOLDERS == PYOBJECTS_HOLDERS, "as many as are counted");

static struct summary_sum sum_of(const struct census_sum *s)
{
	return (struct summary_sum){ s->blocks, s->bytes };
}

static void add_type(struct scan_report *r, const struct pyobjects_type *t)
{
	struct scan_python_type *out = scan_add_python_type(r);

	if (!out)
		return;
	*out = (struct scan_python_type){
		.name = summary_string(&r->summary, t->name), .objects = t->objects, .tracked = t->tracked,
		.bytes = t->bytes, .with = sum_of(&t->with), .largest = t->largest,
		.largest_bytes = t->largest_bytes,
	};
	for (size_t i = 0; i < SCAN_PYTHON_HOLDERS && t->holders[i].name; i++)
		out->holders[i] = (struct scan_python_holder){
			summary_string(&r->summary, t->holders[i].name), t->holders[i].pointers };
}

static void add_all(struct scan_report *r, const struct pyobjects *p)
{
	struct scan_python *out = &r->python;

	*out = (struct scan_python){
		.version = summary_string(&r->summary, p->version.text),
		.why_not = *p->why_not ? summary_string(&r->summary, p->why_not) : NULL,
		.objects = p->objects, .bytes = p->bytes, .arenas = p->arenas, .arena_bytes = p->arena_bytes,
		.small = sum_of(&p->small), .free_bytes = p->free_bytes, .empty_bytes = p->empty_bytes,
		.unseen_bytes = p->unseen_bytes, .differing = p->differing, .large = sum_of(&p->large),
		.idle = sum_of(&p->idle), .other = sum_of(&p->other),
	};
	for (size_t i = 0; i < p->ntypes; i++)
		add_type(r, &p->types[i]);
}

int scan_python_add(struct scan *sc)
{
	struct pyobjects found;
	int r;

	statusline_step("listing the objects of Python", 0);
	r = pyobjects_take(&sc->snapshot, &sc->census, &found);
	if (r == 0 && found.there)
		add_all(&sc->report, &found);
	pyobjects_fini(&found);
	return r;
}
