/* SPDX-License-Identifier: MIT */
/* backing: see backing.h. */
#include "heap/snapshot/backing.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fdio.h"
#include "base/grow.h"
#include "heap/snapshot/filemap.h"
#include "symbolize/files/buildid.h"
#include "symbolize/files/safeopen.h"

static bool is_backed(const struct mapping *m)
{
	return m->ino && !(m->perms & MAPPING_SHARED);
}

static uint64_t key_of(const struct mapping *m)
{
	return (uint64_t)m->ino ^ (uint64_t)m->dev * 0x9e3779b97f4a7c15u;
}

const struct backing_file *backing_find(const struct backing *b, const struct mapping *m)
{
	const size_t *at = is_backed(m) ? addrmap_get(&b->index, key_of(m)) : NULL;

	return at ? &b->files[*at] : NULL;
}

#define NO_MORE SIZE_MAX

/*
 * State while files are added. The mappings of a file form a chain, because there may be very many of both.
 */
struct adding {
	struct snapshot *s;
	struct backing *b;
	backing_open *open;
	void *ctx;
	size_t *next;		/* mapping -> the next one of its file */
	size_t *last;		/* file -> its last mapping so far */
	size_t last_room;
};

static int add_file(struct adding *a, size_t map)
{
	const struct mapping *m = &a->s->maps.maps[map];
	struct backing *b = a->b;
	size_t *at;

	if (grow_for(&b->files, b->n, &b->room, sizeof(*b->files)) < 0 ||
	    grow_for(&a->last, b->n, &a->last_room, sizeof(*a->last)) < 0)
		return -ENOMEM;
	at = addrmap_slot(&b->index, key_of(m), NULL);
	if (!at)
		return -ENOMEM;
	*at = b->n;
	a->last[b->n] = map;
	b->files[b->n++] = (struct backing_file){ .path = m->path, .first = map };
	return 0;
}

static int chain(struct adding *a)
{
	const struct procmaps *maps = &a->s->maps;
	int err = 0;

	a->next = calloc(maps->n + 1, sizeof(*a->next));
	if (!a->next)
		return -ENOMEM;
	for (size_t i = 0; !err && i < maps->n; i++) {
		const struct mapping *m = &maps->maps[i];
		const size_t *file = is_backed(m) ? addrmap_get(&a->b->index, key_of(m)) : NULL;

		a->next[i] = NO_MORE;
		if (file) {
			a->next[a->last[*file]] = i;
			a->last[*file] = i;
		} else if (is_backed(m)) {
			err = add_file(a, i);
		}
	}
	return err;
}

/* --- is it the file that was mapped? --- */

struct look {
	const struct snapshot *s;
	const struct mapping *first;	/* the mapping of its beginning, or NULL */
	bool fits;			/* no mapping begins beyond its end */
};

static struct look look_at(const struct adding *a, const struct backing_file *f)
{
	struct look l = { a->s, NULL, true };

	for (size_t i = f->first; i != NO_MORE; i = a->next[i]) {
		const struct mapping *m = &a->s->maps.maps[i];

		if (!m->offset && !l.first)
			l.first = m;
		l.fits = l.fits && m->offset < f->size;
	}
	return l;
}

/* buildid_reader: what lies in the mapping of its beginning is as in the file. */
static int read_mapped(void *ctx, void *buf, size_t n, uint64_t offset)
{
	const struct look *l = ctx;
	uint64_t size = l->first->hi - l->first->lo;

	if (offset > size || n > size - offset)
		return -EINVAL;
	return snapshot_read(l->s, l->first->lo + offset, buf, n) < 0 ? -EINVAL : 0;
}

/* The ELF header and build id that are in memory; false: no ELF header is there. */
static bool read_memory(struct look *l, Elf64_Ehdr *eh, char id[BUILDID_TEXT])
{
	id[0] = '\0';
	if (!l->first || snapshot_read(l->s, l->first->lo, eh, sizeof(*eh)) < 0 ||
	    memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return false;
	if (buildid_by(read_mapped, l, eh, id) < 0)
		id[0] = '\0';
	return true;
}

static enum backing_proof reject(struct backing_file *f, const char *why)
{
	snprintf(f->why, sizeof(f->why), "%s", why);
	return BACKING_NONE;
}

static bool is_deleted(const char *path)
{
	static const char suffix[] = " (deleted)";
	size_t n = strlen(path), k = sizeof(suffix) - 1;

	return n > k && !strcmp(path + n - k, suffix);
}

static enum backing_proof prove(struct backing_file *f, int fd, struct look *l)
{
	char here[BUILDID_TEXT], there[BUILDID_TEXT];
	Elf64_Ehdr memory, file;

	if (!l->fits)
		return reject(f, "is another file than the one that was mapped: it is too short");
	if (!read_memory(l, &memory, there))
		return is_deleted(f->path) ? reject(f, "was deleted, and nothing tells whether this is it")
					   : BACKING_NAME;
	if (buildid_read(fd, here) < 0)
		here[0] = '\0';
	if (here[0] && there[0])
		return strcmp(here, there) ? reject(f, "is another build than the one that ran")
					   : BACKING_BUILD_ID;
	if (pread_full(fd, &file, sizeof(file), 0) != sizeof(file) || memcmp(&file, &memory, sizeof(file)))
		return reject(f, "is another file than the one that was mapped: its ELF header differs");
	return BACKING_HEADER;
}

/* --- opening files, and adding them as backing --- */

static int map_file(struct adding *a, struct backing_file *f, int fd)
{
	void *bytes;
	int err = filemap_open(fd, f->size, &bytes);

	if (err) {
		f->proof = reject(f, strerror(-err));
		return 0;
	}
	if (snapshot_own_file(a->s, bytes, f->size) < 0) {
		filemap_close(bytes, f->size);
		return -ENOMEM;
	}
	f->bytes = bytes;
	return 0;
}

/* Adds no backing yet, because that unseals the snapshot, and the check of the next file reads from it. */
static int open_file(struct adding *a, struct backing_file *f)
{
	bool certain = false;
	cleanup_close int fd = a->open(a->ctx, &a->s->maps.maps[f->first], &certain);
	struct look l;
	struct stat st;

	if (fd < 0) {
		f->proof = reject(f, strerror(-fd));
		return 0;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		f->proof = reject(f, "is empty, or no regular file");
		return 0;
	}
	f->size = (uint64_t)st.st_size;
	l = look_at(a, f);
	f->proof = certain ? BACKING_CERTAIN : prove(f, fd, &l);
	return f->proof == BACKING_NONE ? 0 : map_file(a, f, fd);
}

static int put_behind(const struct adding *a, const struct backing_file *f)
{
	/* the last page is mapped whole, with zeros after the end of the file */
	const uint64_t end = (f->size + SNAPSHOT_PAGE - 1) & ~(uint64_t)(SNAPSHOT_PAGE - 1);
	int err = 0;

	for (size_t i = f->first; !err && f->bytes && i != NO_MORE; i = a->next[i]) {
		const struct mapping *m = &a->s->maps.maps[i];
		uint64_t n = m->hi - m->lo;

		if (m->offset < end)
			err = snapshot_back(a->s, m->lo, n < end - m->offset ? n : end - m->offset,
					    (const uint8_t *)f->bytes + m->offset);
	}
	return err;
}

int backing_add(struct snapshot *s, backing_open *open, void *ctx, struct backing *out)
{
	struct adding a = { .s = s, .b = out, .open = open, .ctx = ctx };
	int err;

	memset(out, 0, sizeof(*out));
	addrmap_init(&out->index, sizeof(size_t));
	err = chain(&a);
	for (size_t i = 0; !err && i < out->n; i++)
		err = open_file(&a, &out->files[i]);
	for (size_t i = 0; !err && i < out->n; i++)
		err = put_behind(&a, &out->files[i]);
	if (!err)
		err = snapshot_seal(s);
	if (err)
		backing_fini(out);
	free(a.next);
	free(a.last);
	return err;
}

void backing_fini(struct backing *b)
{
	free(b->files);
	addrmap_fini(&b->index);
	*b = (struct backing){ .files = NULL };
}

static bool segment_at(const struct backing_file *f, uint64_t offset, taddr *vaddr)
{
	const uint8_t *bytes = f->bytes;
	Elf64_Ehdr eh;

	if (!bytes || f->size < sizeof(eh))
		return false;
	memcpy(&eh, bytes, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phoff > f->size)
		return false;
	for (unsigned i = 0; i < eh.e_phnum && (f->size - eh.e_phoff) / sizeof(Elf64_Phdr) > i; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, bytes + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type != PT_LOAD || offset < ph.p_offset || offset - ph.p_offset >= ph.p_filesz)
			continue;
		*vaddr = ph.p_vaddr + (offset - ph.p_offset);
		return true;
	}
	return false;
}

bool backing_vaddr(const struct backing_file *f, const struct mapping *m, taddr at, taddr *vaddr)
{
	return segment_at(f, m->offset + (at - m->lo), vaddr);
}

int backing_open_name(void *ctx, const struct mapping *m, bool *certain)
{
	const struct backing_names *names = ctx;
	char path[4096];
	int fd;

	(void)certain;
	if (names->exe && names->exe_path && !strcmp(m->path, names->exe_path))
		return safeopen(-1, names->exe);
	if (*m->path != '/')
		return -ENOENT;
	fd = safeopen(-1, m->path);
	if (fd >= 0 || !is_deleted(m->path) || strlen(m->path) >= sizeof(path))
		return fd;
	snprintf(path, sizeof(path), "%.*s", (int)(strlen(m->path) - strlen(" (deleted)")), m->path);
	return safeopen(-1, path);
}
