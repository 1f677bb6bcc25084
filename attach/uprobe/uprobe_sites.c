/* SPDX-License-Identifier: MIT */
/* uprobe_sites: sites become probes of the files that are mapped there (uprobe.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/target/modfile.h"
#include "attach/uprobe/uprobe_files.h"
#include "attach/uprobe/uprobe_parts.h"
#include "attach/uprobe/uprobe_sample.h"
#include "base/log.h"

/* Others than load @but. */
static bool has_loads(const struct site *s, unsigned but)
{
	for (unsigned i = 0; i < SITE_LOADS; i++)
		if (i != but && s->loads[i].base != SITE_BASE_NONE)
			return true;
	return false;
}

/* Does a function of its family store arguments at its entry, so that this exit may find them? */
static bool finds_arguments(const struct shared *sh, const struct site *s)
{
	if (!(s->flags & SITE_EXIT))
		return false;
	if (s->flags & SITE_RETURNS)
		return s->flags & SITE_ENTRY;
	for (uint32_t i = 0; i < SHARED_SITES; i++)
		if (sh->sites[i].flags & SITE_ENTRY && sh->sites[i].family == s->family &&
		    sh->sites[i].rule == s->rule)
			return true;
	return false;
}

/* What the rules of a sample allow, which were checked. */
static void describe_choice(const struct uprobe *u, const struct site *s, struct uprobe_choice *out)
{
	if (!u->rules || s->family == SITE_FAMILY_NONE ||
	    uprobe_sample_choice(&u->rules[s->rule], out) < 0)
		*out = (struct uprobe_choice){ .kind = UPROBE_ALL_CALLS };
	out->calls_none = s->calls_none;
}

static void describe(const struct uprobe *u, const struct site *s, struct uprobe_site *out)
{
	const struct shared *sh = u->shared;
	const unsigned word = uprobe_word_load(s);
	const bool returns = s->flags & SITE_RETURNS, slice = s->flags & SITE_SLICE, opens = s->flags & SITE_ENTRY,
		   brief = !returns && !slice && !has_loads(s, word) && !(s->flags & SITE_EXIT);
	const bool by_word = word < SITE_LOADS && (opens || brief), loads = has_loads(s, by_word ? word : SITE_LOADS);

	*out = (struct uprobe_site){ .family = s->family, .sp_delta = s->sp_delta };
	out->flags = (returns ? UPROBE_RETURNS : 0) | (opens ? UPROBE_OPENS : 0) |
		     (finds_arguments(sh, s) ? UPROBE_CLOSES : 0) | (slice ? UPROBE_SLICE : 0) |
		     (s->result == EMU_RDI && !returns ? UPROBE_RESULT_RDI : 0) |
		     (loads ? UPROBE_LOADED : 0) | (brief ? UPROBE_BRIEF : 0) | (by_word ? UPROBE_WORD : 0);
	for (unsigned i = 0; i < SITE_LOADS; i++) {
		const struct site_load *l = &s->loads[i];

		if (i != word || !by_word)
			out->loads[i] = (struct uprobe_load){ l->base, l->index, l->scale, l->width, l->disp };
	}
	describe_choice(u, s, &out->choice);
}

static uint16_t free_group(const struct uprobe *u)
{
	for (uint16_t i = 0; i < GROUPS; i++)
		if (!u->groups[i].links.n && !u->groups[i].sites)
			return i;
	return NO_GROUP;
}

/* The sites of one file, those of @sites that are not done yet. */
struct batch {
	struct uprobe_place *places;
	size_t n;
	const struct mapping *mapping;
};

static bool same_file(const struct mapping *a, const struct mapping *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

static void collect(struct uprobe *u, const struct uprobe_files *f, const uint32_t *sites, size_t n, bool *done,
		    struct batch *b)
{
	struct shared *sh = u->shared;

	b->n = 0;
	b->mapping = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct site *s = &sh->sites[sites[i]];
		const struct mapping *m;
		uint64_t offset;
		int r;

		if (done[i])
			continue;
		r = uprobe_files_find(f, s, &m, &offset);
		if (r < 0) {
			sh->plant_result[sites[i]] = r;
			done[i] = true;
			continue;
		}
		if (b->mapping && !same_file(b->mapping, m))
			continue;
		b->mapping = m;
		b->places[b->n++] = (struct uprobe_place){ .offset = offset, .site = sites[i] };
		done[i] = true;
	}
}

/* 0; -EILSEQ: its code is not in the file, or not in memory; -errno: the programs cannot know of it. */
static int prepare_one(struct uprobe *u, const struct uprobe_files *f, int fd, const struct uprobe_place *p)
{
	const struct site *s = &u->shared->sites[p->site];
	struct uprobe_site site;

	if (!uprobe_files_same(f, fd, s, p->offset))
		return -EILSEQ;
	describe(u, s, &site);
	return uprobe_kernel_set_site(u->kernel, p->site, &site);
}

/* Describe the sites of @b, and leave out those that cannot be probed. */
static void prepare(struct uprobe *u, const struct uprobe_files *f, int fd, struct batch *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct uprobe_place p = b->places[i];
		const int r = prepare_one(u, f, fd, &p);

		u->shared->plant_result[p.site] = r;
		if (r < 0)
			continue;
		b->places[n] = p;
		b->places[n++].generation = u->generation[p.site];
	}
	b->n = n;
}

static int attach_some(struct uprobe *u, const char *path, const struct batch *b, size_t first, size_t n,
		       uint16_t number)
{
	struct group *g = &u->groups[number];
	const struct uprobe_file file = { u->pid, path };
	const size_t links = g->links.n;
	int r = uprobe_kernel_attach(u->kernel, &file, b->places + first, n, &g->links);

	/* of several perf events, some may have been made */
	if (r < 0)
		uprobe_links_cut(&g->links, links);

	for (size_t i = first; i < first + n; i++) {
		u->shared->plant_result[b->places[i].site] = r;
		if (r == 0)
			u->group_of[b->places[i].site] = number;
	}
	g->sites += r == 0 ? (uint32_t)n : 0;
	return r;
}

/* All at once; one site that the kernel refuses must not take the others of its file with it. */
static void attach(struct uprobe *u, const struct uprobe_files *f, struct batch *b)
{
	const uint16_t number = free_group(u);
	cleanup_close int fd = number == NO_GROUP ? -ENOSPC : modfile_open(f->pid, b->mapping, b->mapping->path);
	char path[64];
	int r = fd < 0 ? fd : 0;

	if (r == 0)
		prepare(u, f, fd, b);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0 && b->n)
		r = attach_some(u, path, b, 0, b->n, number);
	log_debug(TRAP, "%zu probes in %s: %s", b->n, b->mapping->path, r ? strerror(-r) : "made");
	if (r == 0)
		return;
	for (size_t i = 0; i < b->n; i++)
		u->shared->plant_result[b->places[i].site] = r;
	for (size_t i = 0; fd >= 0 && i < b->n; i++)
		(void)!attach_some(u, path, b, i, 1, number);
}

/*
 * In a process that has any probe, the kernel takes each int3 for its own that is where another process has a probe in
 * the same file, and removes it. So beside other watches a process with an int3 of its own gets no probe at all.
 */
static int refuse_own_traps(const struct uprobe *u, const struct uprobe_files *f, const uint32_t *sites, size_t n)
{
	if (!u->shared->one_of_many || u->groups[0].sites)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!uprobe_files_has_trap(f, &u->shared->sites[sites[i]]))
			continue;
		log_error("it has a breakpoint of its own in a function that is watched: beside the probes of other "
			  "watches the kernel would remove it (--engine ptrace can watch it)");
		return -EBUSY;
	}
	return 0;
}

int uprobe_plant(struct uprobe *u, const uint32_t *sites, size_t n)
{
	cleanup_free struct uprobe_place *places = calloc(n + 1, sizeof(*places));
	cleanup_free bool *done = calloc(n + 1, sizeof(*done));
	struct batch b = { .places = places };
	struct uprobe_files files;
	int r;

	if (!places || !done)
		return -ENOMEM;
	/* a module that was loaded at the end: of it nothing will be recorded */
	if (u->left)
		return 0;
	r = uprobe_files_init(&files, u->pid, u->inherits);
	if (r == 0)
		r = refuse_own_traps(u, &files, sites, n);
	for (collect(u, &files, sites, r == 0 ? n : 0, done, &b); r == 0 && b.n;
	     collect(u, &files, sites, n, done, &b))
		attach(u, &files, &b);
	uprobe_files_fini(&files);
	return r;
}

void uprobe_note_lent(struct uprobe *u, const uint32_t *sites, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (u->shared->plant_result[sites[i]] < 0)
			continue;
		u->group_of[sites[i]] = 0;
		u->groups[0].sites++;
	}
}

void uprobe_forget(struct uprobe *u, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		const uint16_t number = u->group_of[i];

		u->group_of[i] = NO_GROUP;
		u->generation[i]++;
		if (number != NO_GROUP && --u->groups[number].sites == 0 && !u->left)
			uprobe_links_close(&u->groups[number].links);
	}
}
