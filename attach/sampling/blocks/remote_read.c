/* SPDX-License-Identifier: MIT */
#include "attach/sampling/blocks/remote_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES_END ((1ull << 47) / PAGE - 1)	/* of a process */

/* Bits of an entry of pagemap. */
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)

int remote_read_open(struct remote_read *g, pid_t pid)
{
	char path[64];

	*g = (struct remote_read){ .pid = pid };
	addrmap_init(&g->pages, sizeof(uint64_t));
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	g->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (g->pagemap < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return 0;
}

void remote_read_close(struct remote_read *g)
{
	if (g->pagemap >= 0)
		close(g->pagemap);
	addrmap_fini(&g->pages);
	*g = (struct remote_read)REMOTE_READ_INIT;
}

/* --- which pages are resident --- */

/* 0, -ESRCH. */
static int look_up(const struct remote_read *g, taddr page, enum remote_read_result *out)
{
	uint64_t entry;

	/* a word of the target may lead anywhere; pagemap has nothing there */
	if (page >= PAGES_END) {
		*out = REMOTE_READ_FAILED;
		return 0;
	}
	/* nothing to read: the process no longer has that memory */
	if (pread(g->pagemap, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) != sizeof(entry))
		return -ESRCH;
	*out = entry & ENTRY_PRESENT   ? REMOTE_READ_DONE
	       : entry & ENTRY_SWAPPED ? REMOTE_READ_SWAPPED
				       : REMOTE_READ_ABSENT;
	return 0;
}

/* 0, -ESRCH, -ENOMEM. */
static int page_state(struct remote_read *g, taddr page, enum remote_read_result *out)
{
	uint64_t *known = addrmap_get(&g->pages, page), state;
	int r;

	if (known) {
		*out = (enum remote_read_result)*known;
		return 0;
	}
	r = look_up(g, page, out);
	state = *out;
	return r < 0 ? r : addrmap_put(&g->pages, page, &state);
}

static int find_pages(struct remote_read *g, struct remote_read_piece *p)
{
	const taddr first = p->at / PAGE, last = (p->at + p->n - 1) / PAGE;
	int r = page_state(g, first, &p->got);

	if (r == 0 && p->got == REMOTE_READ_DONE && last != first)
		r = page_state(g, last, &p->got);
	return r;
}

/* --- reading --- */

/*
 * Put the resident pieces from *i on into iovecs, adjacent ones into one. Returns the number of these pieces;
 * *i is then the first piece after them.
 */
static size_t fill(struct remote_read_piece *pieces, size_t n, size_t *i, struct iovec *here,
		   struct iovec *there, size_t *nthere, struct remote_read_piece **read)
{
	size_t k = 0;

	*nthere = 0;
	for (; *i < n && k < REMOTE_READ_PIECES; (*i)++) {
		struct remote_read_piece *p = &pieces[*i];
		struct iovec *last = *nthere ? &there[*nthere - 1] : NULL;

		if (!remote_read_has(p))
			continue;
		here[k] = (struct iovec){ p->to, p->n };
		read[k++] = p;
		if (last && (taddr)(uintptr_t)last->iov_base + last->iov_len == p->at)
			last->iov_len += p->n;
		else
			there[(*nthere)++] = (struct iovec){ (void *)(uintptr_t)p->at, p->n };
	}
	return k;
}

/* Read one piece by itself, since the call that read many ended at it. */
static int read_one(struct remote_read *g, struct remote_read_piece *p)
{
	const struct iovec here = { p->to, p->n }, there = { (void *)(uintptr_t)p->at, p->n };

	g->calls++;
	if (process_vm_readv(g->pid, &here, 1, &there, 1, 0) == (ssize_t)p->n)
		return 0;
	p->got = REMOTE_READ_FAILED;
	return errno == ESRCH || errno == EPERM ? -errno : 0;
}

/*
 * @read: the @k pieces of the iovecs @here and @there. A page that cannot be read ends the call: from there
 * on each piece is read by itself.
 */
static int read_some(struct remote_read *g, struct remote_read_piece **read, size_t k,
		     const struct iovec *here, const struct iovec *there, size_t nthere)
{
	ssize_t got = process_vm_readv(g->pid, here, k, there, nthere, 0);
	size_t done = 0;
	int r = 0;

	g->calls++;
	if (got < 0 && (errno == ESRCH || errno == EPERM))
		return -errno;
	for (; done < k && got >= (ssize_t)read[done]->n; done++)
		got -= read[done]->n;
	for (; done < k && r == 0; done++)
		r = read_one(g, read[done]);
	return r;
}

bool remote_read_words(pid_t pid, taddr at, uint64_t *to, size_t bytes)
{
	const struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)at, bytes };

	return remote_read_is_address(at) && process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

int remote_read_now(struct remote_read *g, struct remote_read_piece *pieces, size_t n)
{
	struct iovec here[REMOTE_READ_PIECES], there[REMOTE_READ_PIECES];
	struct remote_read_piece *read[REMOTE_READ_PIECES];
	int r = 0;

	addrmap_clear(&g->pages);
	for (size_t i = 0; i < n && r == 0; i++)
		if (pieces[i].n)
			r = find_pages(g, &pieces[i]);
	for (size_t i = 0; i < n && r == 0;) {
		size_t nthere, k = fill(pieces, n, &i, here, there, &nthere, read);

		if (k)
			r = read_some(g, read, k, here, there, nthere);
	}
	return r;
}
