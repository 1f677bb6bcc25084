/* SPDX-License-Identifier: MIT */
#include "attach/snapshot/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PAGE 4096u
#define BLOCK 65536u		/* entries read at once */
#define SCAN_MAX 1024u		/* runs asked for at once */

/* linux/fs.h of 6.7; the headers here may be older. */
struct scan_region {
	uint64_t lo, hi, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted, mask, anyof, returned;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_arg)
#define IS_FILE (1u << 2)
#define IS_PRESENT (1u << 3)
#define IS_SWAPPED (1u << 4)
#define IS_ZERO (1u << 5)
#define IS_GUARD (1u << 8)	/* 6.15 */

/* Bits of an entry of pagemap. */
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_FILE (1ull << 61)
#define ENTRY_GUARD (1ull << 58)

/* --- the ioctl --- */

static int scan(struct resident *r, taddr at, taddr end, bool written, uint64_t max_pages,
		struct scan_region *out, size_t room)
{
	struct scan_arg arg = {
		.size = sizeof(arg), .start = at, .end = end, .vec = (uintptr_t)out, .vec_len = room,
		.max_pages = max_pages,
		.inverted = (written ? IS_FILE : 0) | r->guard, .mask = (written ? IS_FILE : 0) | r->guard,
		.anyof = IS_PRESENT | IS_SWAPPED, .returned = IS_SWAPPED | IS_ZERO,
	};
	int n = ioctl(r->pagemap, SCAN_IOCTL, &arg);

	return n < 0 ? -errno : n;
}

/*
 * walk_end should be how far the scan went, but is where it began if the runs filled the buffer (6.18): so
 * the end of the last run is used.
 */
static int next_by_scan(struct resident *r, taddr *at, taddr end, bool written, uint64_t max_pages,
			struct resident_run *runs, size_t room)
{
	struct scan_region found[SCAN_MAX];
	uint64_t pages = 0;
	int n, kept = 0;

	room = room < SCAN_MAX ? room : SCAN_MAX;
	n = scan(r, *at, end, written, max_pages, found, room);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		pages += (found[i].hi - found[i].lo) / PAGE;
		if (!(found[i].categories & IS_ZERO))
			runs[kept++] = (struct resident_run){ found[i].lo, found[i].hi,
							      found[i].categories & IS_SWAPPED };
	}
	*at = n && ((size_t)n == room || pages >= max_pages) ? found[n - 1].hi : end;
	return kept;
}

/* A scan of an empty range shows whether the kernel knows the call, and which categories. */
static void try_scan(struct resident *r)
{
	struct scan_region none;
	int n;

	r->guard = IS_GUARD;
	n = scan(r, 0, PAGE, false, 1, &none, 1);
	if (n == -EINVAL) {
		r->guard = 0;
		n = scan(r, 0, PAGE, false, 1, &none, 1);
	}
	r->scan = n >= 0;
}

/* --- the file --- */

static bool is_wanted(uint64_t entry, bool written)
{
	return entry & (ENTRY_PRESENT | ENTRY_SWAPPED) && !(entry & ENTRY_GUARD) &&
	       !(written && entry & ENTRY_FILE);
}

static int next_by_reading(struct resident *r, taddr *at, taddr end, bool written, uint64_t max_pages,
			   struct resident_run *runs, size_t room)
{
	uint64_t want = (end - *at) / PAGE < BLOCK ? (end - *at) / PAGE : BLOCK, i;
	ssize_t got = pread(r->pagemap, r->entries, want * sizeof(*r->entries),
			    (off_t)(*at / PAGE * sizeof(*r->entries)));
	uint64_t have = got < 0 ? 0 : got / sizeof(*r->entries), pages = 0;
	size_t n = 0;

	if (got < 0)
		return -errno;
	for (i = 0; i < have && pages < max_pages; i++) {
		taddr lo = *at + i * PAGE;
		bool swapped = !(r->entries[i] & ENTRY_PRESENT);

		if (!is_wanted(r->entries[i], written))
			continue;
		pages++;
		if (n && runs[n - 1].hi == lo && runs[n - 1].swapped == swapped)
			runs[n - 1].hi += PAGE;
		else if (n == room)
			break;
		else
			runs[n++] = (struct resident_run){ lo, lo + PAGE, swapped };
	}
	/* the file ends where addresses end */
	*at = have ? *at + i * PAGE : end;
	return n;
}

/* --- either --- */

int resident_open(struct resident *r, pid_t tid)
{
	char path[64];

	*r = (struct resident)RESIDENT_INIT;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	r->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (r->pagemap < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	r->entries = malloc(BLOCK * sizeof(*r->entries));
	if (!r->entries) {
		resident_close(r);
		return -ENOMEM;
	}
	/*
	 * its pages are there from now on: no page fault, and no lack of memory, while the target is stopped
	 */
	memset(r->entries, 0, BLOCK * sizeof(*r->entries));
	try_scan(r);
	return 0;
}

void resident_close(struct resident *r)
{
	if (r->pagemap >= 0)
		close(r->pagemap);
	free(r->entries);
	*r = (struct resident)RESIDENT_INIT;
}

int resident_next(struct resident *r, taddr *at, taddr end, bool written, uint64_t max_pages,
		  struct resident_run *runs, size_t room)
{
	if (*at >= end || !room)
		return 0;
	return r->scan ? next_by_scan(r, at, end, written, max_pages, runs, room)
		       : next_by_reading(r, at, end, written, max_pages, runs, room);
}
