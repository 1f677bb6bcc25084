/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/live_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/procmaps.h"
#include "heap/datamaps.h"

#define PART 512u		/* pages whose entries are read together */
#define PRESENT (1ull << 63)

static bool any_present(const uint64_t *entries)
{
	for (unsigned i = 0; i < PART; i++)
		if (entries[i] & PRESENT)
			return true;
	return false;
}

/* The entries of pagemap of part number @part; NULL: none could be read, or none is present. */
static uint64_t *entries_of(struct live_pages *p, uint64_t part)
{
	uint64_t **known = addrmap_get(&p->parts, part), *entries;

	if (known)
		return *known;
	entries = calloc(PART, sizeof(*entries));
	if (entries && (pread(p->pagemap, entries, PART * sizeof(*entries),
			      (off_t)(part * PART * sizeof(*entries))) < 0 || !any_present(entries))) {
		free(entries);
		entries = NULL;
	}
	if (addrmap_put(&p->parts, part, &entries) == 0)
		return entries;
	free(entries);
	return NULL;
}

static bool is_present(struct live_pages *p, uint64_t page)
{
	const uint64_t *entries = entries_of(p, page / PART);

	return entries && entries[page % PART] & PRESENT;
}

static uint8_t *read_page(struct live_pages *p, taddr at)
{
	uint8_t *bytes = p->read < LIVE_PAGES_MOST ? malloc(SNAPSHOT_PAGE) : NULL;
	const struct iovec here = { bytes, SNAPSHOT_PAGE }, there = { (void *)(uintptr_t)at, SNAPSHOT_PAGE };

	if (bytes && process_vm_readv(p->pid, &here, 1, &there, 1, 0) == SNAPSHOT_PAGE) {
		p->read++;
		return bytes;
	}
	free(bytes);
	return NULL;
}

static const uint8_t *page(struct snapshot_source *source, taddr at)
{
	struct live_pages *p = (struct live_pages *)source;
	uint8_t **known = addrmap_get(&p->pages, at), *bytes;

	if (known || !is_present(p, at / SNAPSHOT_PAGE))
		return known ? *known : NULL;
	bytes = read_page(p, at);
	if (addrmap_put(&p->pages, at, &bytes) == 0)
		return bytes;
	free(bytes);
	return NULL;
}

int live_pages_open(struct live_pages *p, pid_t pid)
{
	char path[64];

	*p = (struct live_pages){ .source.page = page, .pid = pid };
	addrmap_init(&p->pages, sizeof(uint8_t *));
	addrmap_init(&p->parts, sizeof(uint64_t *));
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	p->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	return p->pagemap < 0 ? -errno : 0;
}

static void free_all(struct addrmap *m)
{
	uint64_t key;
	void *value;

	for (size_t i = 0; addrmap_next(m, &i, &key, &value);)
		free(*(void **)value);
	addrmap_fini(m);
}

void live_pages_close(struct live_pages *p)
{
	free_all(&p->pages);
	free_all(&p->parts);
	if (p->pagemap >= 0)
		close(p->pagemap);
	p->pagemap = -1;
}

/* --- what is looked for there --- */

/* [lo, hi), whose pages are in memory, becomes a piece. What cannot be read is left out. */
static int add_piece(struct live_pages *p, struct snapshot *s, taddr lo, taddr hi)
{
	const size_t size = hi - lo;
	void *bytes = p->read + size / SNAPSHOT_PAGE <= LIVE_PAGES_MOST ? malloc(size) : NULL;
	const struct iovec here = { bytes, size }, there = { (void *)(uintptr_t)lo, size };

	if (!bytes)
		return 0;
	if (process_vm_readv(p->pid, &here, 1, &there, 1, 0) != (ssize_t)size) {
		free(bytes);
		return 0;
	}
	p->read += size / SNAPSHOT_PAGE;
	if (snapshot_own(s, bytes, 0) < 0) {
		free(bytes);
		return -ENOMEM;
	}
	return snapshot_add_piece(s, lo, size, bytes);
}

static int add_mapping(struct live_pages *p, struct snapshot *s, const struct mapping *m)
{
	taddr lo = m->lo;
	int r = 0;

	for (taddr at = m->lo; at < m->hi && r == 0; at += SNAPSHOT_PAGE) {
		if (is_present(p, at / SNAPSHOT_PAGE))
			continue;
		r = lo < at ? add_piece(p, s, lo, at) : 0;
		lo = at + SNAPSHOT_PAGE;
	}
	return r == 0 && lo < m->hi ? add_piece(p, s, lo, m->hi) : r;
}

static int add_data(struct live_pages *p, struct snapshot *s)
{
	struct datamaps data = datamaps_of(&s->maps);
	const struct mapping *m, *file;
	int r = 0;

	while (r == 0 && (m = datamaps_next(&data, &file)))
		r = add_mapping(p, s, m);
	return r < 0 ? r : snapshot_seal(s);
}

int live_pages_find(pid_t pid, int (*find)(const struct snapshot *s, void *out), void *out)
{
	struct live_pages pages;
	struct snapshot s;
	char path[64];
	int r = live_pages_open(&pages, pid);

	if (r < 0)
		return r;
	snapshot_init(&s);
	s.pid = pid;
	s.source = &pages.source;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	r = procmaps_read(path, &s.maps);
	if (r == 0)
		r = add_data(&pages, &s);
	if (r == 0)
		r = find(&s, out);
	snapshot_fini(&s);
	live_pages_close(&pages);
	return r;
}
