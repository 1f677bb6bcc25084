/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_heaps.h"

#include <errno.h>
#include <stdio.h>

#include "attach/sampling/blocks/glibc_heap.h"
#include "attach/sampling/blocks/jemalloc_heap.h"
#include "attach/target/linker.h"
#include "base/log.h"

#define LOOKS 20u	/* for a second malloc: each reads the data of all files */

static void refuse(const struct module *m, const char *why)
{
	if (*why)
		log_error("--budget: %s", why);
	else if (m)
		log_error("--budget works with the mallocs of glibc and jemalloc (5.2, 5.3), and here "
			  "malloc is that of %s",
			  m->name);
	else
		log_error("--budget works with the mallocs of glibc and jemalloc (5.2, 5.3), and here it is "
			  "not known where malloc is");
	log_hint("what became of a block is read from what these keep about it; without --budget every call "
		 "is seen, of any malloc");
}

/*
 * jemalloc, if one is there whose layout is known. Otherwise @why says what is not known; "": there is none.
 * @expected: malloc is not glibc's.
 */
static int open_jemalloc(pid_t pid, bool expected, struct jemalloc_map *map, struct block_heap **out, char *why,
			 size_t n)
{
	int r = expected ? jemalloc_heap_await(pid, map, out) : jemalloc_heap_new(pid, map, out);

	*why = '\0';
	if (r == 0 && map->huge) {
		block_heap_free(*out);
		*out = NULL;
		r = -ENOTSUP;
		snprintf(why, n,
			 "jemalloc's huge page allocator (opt.hpa) is on: what it keeps free cannot be read");
	} else if (r == -ENODATA) {
		snprintf(why, n,
			 "jemalloc %s is there, but no thread's cache of it was found (tcache:false, or "
			 "threads that glibc has not made)",
			 map->text);
	} else if (r < 0) {
		snprintf(why, n, "%s", map->unread);
	}
	return r;
}

static bool has(const struct module *m, taddr at)
{
	return m && m->lo <= at && at < m->hi;
}

int sampling_heaps_open(pid_t pid, const struct modules *ms, struct sampling_heaps *out)
{
	const struct module *m = linker_binds(ms, "malloc");
	const bool glibc = m && module_is_glibc(m);
	struct jemalloc_map map = { 0 };
	char why[256];
	int r;

	*out = (struct sampling_heaps){ 0 };
	r = open_jemalloc(pid, !glibc, &map, &out->jemalloc, why, sizeof(why));
	if (r == -ENOMEM)
		return r;
	if (glibc && r == -ENOTSUP)
		log_warn("blocks of a second malloc will not be seen: %s", why);
	if (glibc) {
		out->looks = out->jemalloc || r == -ENOTSUP ? 0 : LOOKS;
		return glibc_heap_new(&out->glibc);
	}
	if (out->jemalloc && has(m, map.data_lo))
		return 0;
	refuse(m, why);
	return -ENOTSUP;
}

void sampling_heaps_close(struct sampling_heaps *h)
{
	block_heap_free(h->glibc);
	block_heap_free(h->jemalloc);
	*h = (struct sampling_heaps){ 0 };
}

/*
 * The page map knows all of jemalloc's blocks; a word before a block of jemalloc's may look like glibc's
 * head.
 */
bool sampling_heaps_born(struct sampling_heaps *h, const struct block_hit *hit, struct block_birth *out)
{
	if ((h->jemalloc && h->jemalloc->born(h->jemalloc, hit, out)) ||
	    (h->glibc && h->glibc->born(h->glibc, hit, out)))
		return true;
	h->strange++;
	return false;
}

void sampling_heaps_again(struct sampling_heaps *h, pid_t pid)
{
	struct jemalloc_map map = { 0 };
	char why[256];
	int r;

	if (!h->looks || !h->strange)
		return;
	h->strange = 0;
	h->looks--;
	r = open_jemalloc(pid, false, &map, &h->jemalloc, why, sizeof(why));
	if (r == 0 || r == -ENOTSUP)
		h->looks = 0;
	/* what is only just beginning, or changes its page map, can be read a moment later */
	if (!h->looks && *why)
		log_warn("blocks of a second malloc were not seen: %s", why);
}
