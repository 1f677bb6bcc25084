/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_heaps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "attach/sampling/heaps/glibc_heap.h"
#include "attach/sampling/heaps/jemalloc_heap.h"
#include "attach/sampling/heaps/mimalloc_heap.h"
#include "attach/sampling/heaps/musl_heap.h"
#include "attach/sampling/heaps/tcmalloc_heap.h"
#include "attach/target/linker.h"
#include "base/log.h"

#define MALLOCS                                                                                              \
	"the mallocs of glibc, musl (1.2.1 and later), jemalloc (5.2, 5.3), tcmalloc (gperftools 2.8 and "  \
	"later) and mimalloc (2.0.9 to 2.1.2)"

/* Those that are looked for if malloc is not glibc's. */
static block_heap_open *const others[] = { jemalloc_heap_open, tcmalloc_heap_open, mimalloc_heap_open,
					 musl_heap_open };
#define OTHERS (sizeof(others) / sizeof(*others))
#define LOOKS 20u	/* also for a second malloc: each reads the data of all files */
#define LOOK_AGAIN_NS 10000000

static void refuse(const struct module *m, const char *why)
{
	if (*why)
		log_error("--budget: %s", why);
	else if (m)
		log_error("--budget works with " MALLOCS ", and here malloc is that of %s", m->name);
	else
		log_error("--budget works with " MALLOCS ", and here it is not known where malloc is");
	log_hint("what became of a block is read from what these keep about it; without --budget every call "
		 "is seen, of any malloc");
}

/*
 * A jemalloc of its own that a program may have beside glibc's malloc: in Rust, say. If there is none yet, it is
 * looked for again. 0 or -ENOMEM.
 */
static int open_second(pid_t pid, struct sampling_heaps *h)
{
	struct block_heap_found found;
	const int r = jemalloc_heap_open(pid, &found);

	h->other = found.heap;
	h->looks = r == 0 || r == -ENOTSUP ? 0 : LOOKS;
	if (r == -ENOTSUP)
		log_warn("blocks of a second malloc will not be seen: %s", found.why);
	return r == -ENOMEM ? r : 0;
}

/* tcmalloc with heads of its own in its blocks. */
static bool is_debugging(const struct module *m)
{
	return m && strstr(m->name, "tcmalloc") && strstr(m->name, "debug");
}

static bool is_of(const struct block_heap_found *f, const struct module *m)
{
	return f->heap && m && m->lo <= f->data_lo && f->data_lo < m->hi;
}

/*
 * That of malloc, which is in @m. 0; -ENOENT: none is found that can answer, @why: what is not known of it;
 * -ENOTSUP: it cannot answer, @why: why not; -ENOMEM.
 */
static int open_other(pid_t pid, const struct module *m, struct block_heap **out, char *why, size_t n)
{
	struct block_heap_found found;

	for (size_t i = 0; i < OTHERS; i++) {
		const int r = others[i](pid, &found);

		if (is_of(&found, m)) {
			*out = found.heap;
			return 0;
		}
		block_heap_free(found.heap);
		if (*found.why)
			snprintf(why, n, "%s", found.why);
		if (r == -ENOMEM || r == -ENOTSUP)
			return r;
	}
	return -ENOENT;
}

struct block_heap *sampling_heaps_of_malloc(pid_t pid, const struct modules *ms)
{
	const struct module *m = linker_binds(ms, "malloc");
	struct block_heap *heap = NULL;
	char why[256];

	if (!m || module_is_glibc(m) || is_debugging(m) || open_other(pid, m, &heap, why, sizeof(why)) < 0)
		return NULL;
	return heap;
}

/* It may have begun a moment ago, or be changing what is looked for. */
static int await_other(pid_t pid, const struct module *m, struct block_heap **out, char *why, size_t n)
{
	const struct timespec pause = { 0, LOOK_AGAIN_NS };
	int r = -ENOENT;

	for (unsigned i = 0; i < LOOKS && r == -ENOENT; i++) {
		if (i)
			nanosleep(&pause, NULL);
		*why = '\0';
		r = open_other(pid, m, out, why, n);
	}
	return r;
}

int sampling_heaps_open(pid_t pid, const struct modules *ms, struct sampling_heaps *out)
{
	const struct module *m = linker_binds(ms, "malloc");
	char why[256] = "";
	int r;

	*out = (struct sampling_heaps){ 0 };
	if (m && module_is_glibc(m)) {
		r = open_second(pid, out);
		return r < 0 ? r : glibc_heap_new(&out->glibc);
	}
	r = is_debugging(m) ? -ENOTSUP : await_other(pid, m, &out->other, why, sizeof(why));
	if (r != -ENOENT && r != -ENOTSUP)
		return r;
	refuse(m, why);
	return -ENOTSUP;
}

void sampling_heaps_close(struct sampling_heaps *h)
{
	block_heap_free(h->glibc);
	block_heap_free(h->other);
	*h = (struct sampling_heaps){ 0 };
}

/* The other heap knows all of its blocks; a word before one may look like glibc's head. */
bool sampling_heaps_born(struct sampling_heaps *h, const struct block_hit *hit, struct block_birth *out)
{
	if ((h->other && h->other->born(h->other, hit, out)) || (h->glibc && h->glibc->born(h->glibc, hit, out)))
		return true;
	h->strange++;
	return false;
}

void sampling_heaps_again(struct sampling_heaps *h, pid_t pid)
{
	struct block_heap_found found;
	int r;

	if (!h->looks || !h->strange)
		return;
	h->strange = 0;
	h->looks--;
	r = jemalloc_heap_open(pid, &found);
	h->other = found.heap;
	if (r == 0 || r == -ENOTSUP)
		h->looks = 0;
	/* what is only just beginning, or changes its page map, can be read a moment later */
	if (!h->looks && *found.why)
		log_warn("blocks of a second malloc were not seen: %s", found.why);
}
