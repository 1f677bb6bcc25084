/* SPDX-License-Identifier: MIT */
/* signatures: see signatures.h. */
#include "report/refs/signatures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void signatures_init(struct signatures *sg)
{
	*sg = (struct signatures){ 0 };
	addrmap_init(&sg->by_hash, sizeof(uint32_t));
	addrmap_init(&sg->kin_by_hash, sizeof(uint32_t));
}

void signatures_fini(struct signatures *sg)
{
	for (size_t i = 0; i < sg->n; i++)
		free(sg->groups[i].uses);
	free(sg->groups);
	addrmap_fini(&sg->by_hash);
	addrmap_fini(&sg->kin_by_hash);
	*sg = (struct signatures){ 0 };
}

/* --- equality --- */

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

/* Whether the call site acquired, and whether it released; not how often. */
static uint64_t what_it_did(const struct sig_use *u)
{
	return (uint64_t)u->place << 2 | (uint64_t)(u->acquired != 0) << 1 | (u->released != 0);
}

/*
 * The hash of all but the net count. Objects with too many references and objects with too few are of
 * different kin.
 */
static uint64_t hash_of_kin(const struct sig_object *o)
{
	uint64_t h = mix(o->nuses, (uint64_t)o->older << 2 | (uint64_t)o->counted << 1 | (o->net > 0));

	for (uint32_t i = 0; i < o->nuses; i++)
		h = mix(h, what_it_did(&o->uses[i]));
	return h;
}

static bool is_kin(const struct sig_group *g, const struct sig_object *o)
{
	if (g->older != o->older || g->counted != o->counted || (g->net > 0) != (o->net > 0) ||
	    g->nuses != o->nuses)
		return false;
	for (uint32_t i = 0; i < o->nuses; i++)
		if (what_it_did(&g->uses[i]) != what_it_did(&o->uses[i]))
			return false;
	return true;
}

static bool is_of(const struct sig_group *g, const struct sig_object *o)
{
	return g->net == o->net && is_kin(g, o);
}

/* --- a new group --- */
/* The number of @o's kin; a new one if @o is the first of its kind. */
/* The number of the kin that @o is of, a new one if it is the first. */
static int find_kin(struct signatures *sg, const struct sig_object *o, uint64_t h, uint32_t *kin)
{
	uint32_t index = (uint32_t)sg->n;
	const uint32_t *known;

	for (; (known = addrmap_get(&sg->kin_by_hash, h)); h++) {
		if (!is_kin(&sg->groups[*known], o))
			continue;
		*kin = sg->groups[*known].kin;
		return 0;
	}
	*kin = sg->nkin + 1;
	if (addrmap_put(&sg->kin_by_hash, h, &index) < 0)
		return -ENOMEM;
	sg->nkin++;
	return 0;
}

static int new_group(struct signatures *sg, const struct sig_object *o, uint64_t kin_hash, uint64_t h)
{
	struct sig_group *g = grow_by_one(&sg->groups, sg->n, sizeof(*g));
	uint32_t index = (uint32_t)sg->n;

	if (!g)
		return -ENOMEM;
	*g = (struct sig_group){ .net = o->net, .older = o->older, .counted = o->counted, .nuses = o->nuses };
	g->uses = calloc(o->nuses + 1, sizeof(*g->uses));
	if (!g->uses || find_kin(sg, o, kin_hash, &g->kin) < 0 || addrmap_put(&sg->by_hash, h, &index) < 0) {
		free(g->uses);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < o->nuses; i++)
		g->uses[i].place = o->uses[i].place;
	sg->n++;
	return 0;
}

/* --- one more object --- */

static bool is_older_sample(const struct sig_sample *a, const struct sig_sample *b)
{
	return a->birth_us != b->birth_us ? a->birth_us < b->birth_us : a->addr < b->addr;
}

static void add_sample(struct sig_group *g, const struct sig_object *o)
{
	struct sig_sample one = { o->birth_us, o->addr };
	uint32_t at = g->nsamples;

	while (at > 0 && is_older_sample(&one, &g->samples[at - 1]))
		at--;
	if (at == SIGNATURE_SAMPLES)
		return;
	g->nsamples += g->nsamples < SIGNATURE_SAMPLES;
	memmove(&g->samples[at + 1], &g->samples[at], (g->nsamples - at - 1) * sizeof(one));
	g->samples[at] = one;
}

static void add_object(struct sig_group *g, const struct sig_object *o)
{
	if (!g->objects || o->birth_us < g->oldest_us)
		g->oldest_us = o->birth_us;
	if (!g->objects || o->birth_us > g->youngest_us)
		g->youngest_us = o->birth_us;
	g->objects++;
	for (uint32_t i = 0; i < o->nuses; i++) {
		g->uses[i].acquired += o->uses[i].acquired;
		g->uses[i].released += o->uses[i].released;
	}
	add_sample(g, o);
}

int signatures_add(struct signatures *sg, const struct sig_object *o, uint32_t *index)
{
	uint64_t kin_hash = hash_of_kin(o), h = mix(kin_hash, (uint64_t)o->net);
	const uint32_t *known;
	int r = 0;

	while ((known = addrmap_get(&sg->by_hash, h)) && !is_of(&sg->groups[*known], o))
		h++;
	*index = known ? *known : (uint32_t)sg->n;
	if (!known)
		r = new_group(sg, o, kin_hash, h);
	if (r == 0)
		add_object(&sg->groups[*index], o);
	return r;
}
