/* SPDX-License-Identifier: MIT */
/*
 * core_memory: mappings, pieces and holes.
 *
 * Segments and the files of NT_FILE are two sorted lists of ranges. Both are walked together, from border to
 * border. Each range between two borders is one mapping: of a segment or of none, of a file or of none.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "heap/snapshot/core_parts.h"

#define PAGE ((uint64_t)SNAPSHOT_PAGE)

static int by_address(const void *a, const void *b)
{
	const struct core_load *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* A segment that overlaps the one before is removed. */
static void sort_loads(struct core *c)
{
	size_t kept = 0;

	if (c->nloads)
		qsort(c->loads, c->nloads, sizeof(*c->loads), by_address);
	for (size_t i = 0; i < c->nloads; i++) {
		if (kept && c->loads[kept - 1].hi > c->loads[i].lo)
			c->info->damaged++;
		else
			c->loads[kept++] = c->loads[i];
	}
	c->nloads = kept;
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/*
 * Is the mapping of this file shared? A core does not say it; these files are never mapped privately in
 * practice.
 */
static bool is_shared(const char *path)
{
	return begins_with(path, "/dev/shm/") || begins_with(path, "/dev/zero") || begins_with(path, "/SYSV");
}

/* Anonymous huge pages have a file of the kernel's own. */
static bool is_anonymous(const char *path)
{
	return begins_with(path, "/anon_hugepage");
}

/* Not 0, and the same for the same path (FNV-1a). */
static ino_t number_of(const char *path)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 0x100000001b3u;
	return (ino_t)(h | 1);
}

static unsigned perms_of(const struct core_load *l, const struct core_file *f)
{
	unsigned perms = l ? (l->flags & PF_R ? MAPPING_READ : 0) | (l->flags & PF_W ? MAPPING_WRITE : 0) |
			     (l->flags & PF_X ? MAPPING_EXEC : 0)
			   : MAPPING_READ;

	return f && is_shared(f->path) ? perms | MAPPING_SHARED : perms;
}

static const char *name_of(const struct core *c, taddr lo, taddr hi)
{
	if (c->info->vdso >= lo && c->info->vdso < hi)
		return "[vdso]";
	return c->stack >= lo && c->stack < hi ? "[stack]" : "";
}

/* --- contents --- */

/*
 * Copies @n bytes at @offset that are not aligned as readers need them. All copies together are no larger
 * than the file, whatever its headers say.
 */
static int add_copy(struct core *c, taddr lo, uint64_t n, uint64_t offset)
{
	char *copy;

	if (n > c->size - c->copied) {
		c->info->damaged++;
		return snapshot_add_hole(c->s, lo, lo + n);
	}
	c->copied += n;
	copy = malloc(n + 8);
	if (!copy)
		return -ENOMEM;
	if (snapshot_own(c->s, copy, 0) < 0) {
		free(copy);
		return -ENOMEM;
	}
	c->info->copied = true;
	memcpy(copy + lo % 8, c->bytes + offset, n);
	return snapshot_add_piece(c->s, lo, n, copy + lo % 8);
}

static int add_bytes(struct core *c, taddr lo, uint64_t n, uint64_t offset)
{
	if ((lo - offset) % 8)
		return add_copy(c, lo, n, offset);
	return snapshot_add_piece(c->s, lo, n, c->bytes + offset);
}

/*
 * The next bytes of the file that are no hole, from @offset to before @end; false if there are none. A file
 * system without support for holes reports all as data.
 */
static bool next_data(const struct core *c, uint64_t offset, uint64_t end, uint64_t *from, uint64_t *to)
{
	off_t data = lseek(c->fd, (off_t)offset, SEEK_DATA), hole;

	if (data < 0 && errno == ENXIO)
		return false;
	if (data < (off_t)offset)
		data = (off_t)offset;
	if ((uint64_t)data >= end)
		return false;
	hole = lseek(c->fd, data, SEEK_HOLE);
	*from = (uint64_t)data;
	*to = hole <= data || (uint64_t)hole > end ? end : (uint64_t)hole;
	return true;
}

/*
 * Private memory of no file: holes in the core file are pages that were never touched, and become no pieces.
 * Ranges are extended to whole pages of the process.
 */
static int add_sparse(struct core *c, taddr lo, uint64_t n, uint64_t offset)
{
	uint64_t at = 0, from, to;
	int err = 0;

	while (!err && at < n && next_data(c, offset + at, offset + n, &from, &to)) {
		uint64_t begin = from - offset, end = to - offset;

		begin -= (lo + begin) % PAGE < begin - at ? (lo + begin) % PAGE : begin - at;
		end += (PAGE - (lo + end) % PAGE) % PAGE;
		end = end < n ? end : n;
		err = add_bytes(c, lo + begin, end - begin, offset + begin);
		at = end;
	}
	return err;
}

/* --- one mapping --- */

struct part {
	taddr lo, hi;
	const struct core_load *load;
	const struct core_file *file;
	const struct mapping *m;
};

static taddr lower(taddr a, taddr b)
{
	return a < b ? a : b;
}

static bool is_private_writable(const struct mapping *m)
{
	return (m->perms & (MAPPING_WRITE | MAPPING_SHARED)) == MAPPING_WRITE;
}

static int add_missing(struct core *c, const struct mapping *m, taddr lo, taddr hi)
{
	if (is_private_writable(m))
		c->s->missing += hi - lo;
	return snapshot_add_hole(c->s, lo, hi);
}

/* [lo, hi) is after what the core claims to have. A mapping without permissions had no contents. */
static int add_left_out(struct core *c, const struct mapping *m, taddr lo, taddr hi)
{
	if (m->ino) {
		c->info->unwritten += is_private_writable(m) ? hi - lo : 0;
		return c->info->no_private && is_private_writable(m) ? add_missing(c, m, lo, hi) : 0;
	}
	if (!m->perms || m->perms & MAPPING_SHARED)
		return 0;
	c->info->left_out += is_private_writable(m) ? hi - lo : 0;
	return add_missing(c, m, lo, hi);
}

static int add_contents(struct core *c, const struct part *p)
{
	const struct core_load *l = p->load;
	taddr here, whole_size;
	int err = 0;

	if (!l)
		return 0;
	here = lower(p->hi, l->lo + l->here);
	whole_size = lower(p->hi, l->lo + l->whole_size);
	if (here > p->lo && p->m->ino)
		err = add_bytes(c, p->lo, here - p->lo, l->offset + (p->lo - l->lo));
	else if (here > p->lo)
		err = add_sparse(c, p->lo, here - p->lo, l->offset + (p->lo - l->lo));
	here = here > p->lo ? here : p->lo;
	if (!err && whole_size > here) {
		c->info->cut += whole_size - here;
		err = add_missing(c, p->m, here, whole_size);
	}
	whole_size = whole_size > here ? whole_size : here;
	if (!err && p->hi > whole_size)
		err = add_left_out(c, p->m, whole_size, p->hi);
	return err;
}

static int add_mapping(struct core *c, struct part *p, size_t *room)
{
	struct procmaps *maps = &c->s->maps;
	const struct core_file *f = p->file;

	if (grow_for(&maps->maps, maps->n, room, sizeof(*maps->maps)) < 0)
		return -ENOMEM;
	maps->maps[maps->n] = (struct mapping){
		.lo = p->lo, .hi = p->hi, .perms = perms_of(p->load, f),
		.offset = f ? f->offset + (p->lo - f->lo) : 0,
		.ino = f && !is_anonymous(f->path) ? number_of(f->path) : 0,
		.path = f ? f->path : name_of(c, p->lo, p->hi),
	};
	p->m = &maps->maps[maps->n++];
	return add_contents(c, p);
}

/*
 * The next range from @at on, up to the next border, and the elements of both lists that cover it. false:
 * there is none.
 */
static bool next_part(const struct core *c, taddr at, size_t *load, size_t *file, struct part *p)
{
	const struct core_load *l;
	const struct core_file *f;

	while (*load < c->nloads && c->loads[*load].hi <= at)
		++*load;
	while (*file < c->nfiles && c->files[*file].hi <= at)
		++*file;
	l = *load < c->nloads ? &c->loads[*load] : NULL;
	f = *file < c->nfiles ? &c->files[*file] : NULL;
	if (!l && !f)
		return false;
	p->lo = lower(l ? l->lo : UINT64_MAX, f ? f->lo : UINT64_MAX);
	p->lo = p->lo > at ? p->lo : at;
	p->load = l && l->lo <= p->lo ? l : NULL;
	p->file = f && f->lo <= p->lo ? f : NULL;
	p->hi = lower(l ? (p->load ? l->hi : l->lo) : UINT64_MAX, f ? (p->file ? f->hi : f->lo) : UINT64_MAX);
	return true;
}

/*
 * If the stack of the thread that died was left out, so was all private memory: missing pages of files may
 * then have been written, too.
 */
static bool lacks_private(const struct core *c)
{
	taddr sp = c->s->nthreads ? c->s->threads[0].sp : 0;

	for (size_t i = 0; i < c->nloads; i++) {
		const struct core_load *l = &c->loads[i];

		if (sp >= l->lo && sp < l->hi)
			return !l->whole_size && l->flags & PF_W;
	}
	return false;
}

static const char *find_exe(const struct core *c)
{
	const struct mapping *m = c->info->phdr ? procmaps_find(&c->s->maps, c->info->phdr) : NULL;

	return m && m->ino ? m->path : NULL;
}

int core_read_memory(struct core *c)
{
	struct part p = { .lo = 0 };
	size_t load = 0, file = 0, room = 0;
	taddr at = 0;
	int err = 0;

	sort_loads(c);
	c->info->no_private = lacks_private(c);
	while (!err && next_part(c, at, &load, &file, &p)) {
		err = add_mapping(c, &p, &room);
		at = p.hi;
	}
	if (!err)
		c->info->exe = find_exe(c);
	return err;
}
