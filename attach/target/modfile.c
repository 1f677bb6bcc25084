/* SPDX-License-Identifier: MIT */
/* modfile: see modfile.h. Opens the file, then reads its program headers: which offset is mapped where. */
#include "attach/target/modfile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "attach/target/startname.h"
#include "base/fdio.h"

#define PAGE 4096ull
#define VDSO_LIMIT (1u << 20)
#define PROC_PATH_MAX 8192	/* "/proc/PID/root" and a path of the kernel's, at most PATH_MAX */

static bool is_vdso(const struct mapping *m)
{
	return !m->ino && !strcmp(m->path, "[vdso]");
}

bool modfile_is_for(const struct mapping *m)
{
	return m->ino || is_vdso(m);
}

/* Device and inode as /proc/PID/maps would name them: map a page of it ourselves and look. */
static bool maps_as(int fd, const struct mapping *m)
{
	struct procmaps self;
	bool same = false;
	void *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		return false;
	if (!procmaps_read("/proc/self/maps", &self)) {
		const struct mapping *own = procmaps_find(&self, (uintptr_t)p);

		same = own && own->dev == m->dev && own->ino == m->ino;
		procmaps_fini(&self);
	}
	munmap(p, PAGE);
	return same;
}

/* On btrfs and overlayfs, stat's device is not that of the mapping: there the slower maps_as decides. */
static bool same_file(int fd, const struct mapping *m)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return (st.st_dev == m->dev && st.st_ino == m->ino) || maps_as(fd, m);
}

/* -EINVAL: not a regular file. */
static int open_regular(const char *path)
{
	char self[32];
	struct stat st;
	int fd;
	cleanup_close int probe = open(path, O_PATH | O_CLOEXEC);

	if (probe < 0 || fstat(probe, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", probe);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* -ESTALE: another file has that name now. */
static int open_if_same(const char *path, const struct mapping *m)
{
	int fd = open_regular(path);

	if (fd >= 0 && !same_file(fd, m)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static int open_below_root(pid_t pid, const char *path, const struct mapping *m)
{
	char name[PROC_PATH_MAX];

	if (*path != '/' ||
	    snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	return open_if_same(name, m);
}

int modfile_open(pid_t pid, const struct mapping *m, const char *path)
{
	char name[96];
	int fd, err;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->lo, m->hi);
	fd = open_if_same(name, m);
	if (fd >= 0)
		return fd;
	err = fd = open_below_root(pid, path, m);
	if (fd >= 0)
		return fd;
	fd = *path == '/' ? open_if_same(path, m) : -ENOENT;
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	fd = open_if_same(name, m);
	return fd >= 0 ? fd : err;
}

static int copy_vdso(pid_t pid, const struct mapping *m)
{
	size_t n = m->hi - m->lo;
	char name[32];
	ssize_t got;
	int fd, err;
	cleanup_free char *buf = n <= VDSO_LIMIT ? malloc(n) : NULL;
	cleanup_close int mem = -1;

	if (!buf)
		return -ENOMEM;
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	mem = open(name, O_RDONLY | O_CLOEXEC);
	if (mem < 0)
		return -errno;
	got = pread_full(mem, buf, n, (off_t)m->lo);
	if (got < 0)
		return (int)got;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_full(fd, buf, (size_t)got);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/* Segments that do not fit in the array are left out: no linker makes that many. */
static void read_segments(struct modfile *f, int fd)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (pread_full(fd, &eh, sizeof(eh), 0) != sizeof(eh) || eh.e_phentsize != sizeof(ph))
		return;
	for (unsigned i = 0; i < eh.e_phnum && f->nsegments < MODFILE_SEGMENTS; i++) {
		off_t at = (off_t)(eh.e_phoff + i * sizeof(ph));
		uint64_t lead;

		if (at < 0 || pread_full(fd, &ph, sizeof(ph), at) != sizeof(ph))
			return;
		if (ph.p_type != PT_LOAD)
			continue;
		lead = ph.p_vaddr % PAGE;
		if (ph.p_offset < lead)
			continue;
		f->segments[f->nsegments++] = (struct segment){
			.vaddr = ph.p_vaddr - lead,
			.offset = ph.p_offset - lead,
			.filesz = ph.p_filesz + lead,
			.memsz = ph.p_memsz + lead,
			.exec = ph.p_flags & PF_X,
		};
	}
}

static void set_why_not(struct modfile *f, int err)
{
	const char *reason = strerror(-err);

	if (err == -ESTALE || (f->deleted && (err == -ENOENT || err == -EACCES)))
		reason = "deleted or replaced; only root can read the mapped file";
	else if (err == -EINVAL)
		reason = "not a 64-bit x86-64 ELF file";
	f->unread = err != -EINVAL;
	snprintf(f->why_not, sizeof(f->why_not), "%s", reason);
}

static void read_image(struct modfile *f, int fd)
{
	int err = elfimage_open(fd, f->path, &f->img);

	if (err) {
		f->img = NULL;
		set_why_not(f, err);
		return;
	}
	f->build_id_len = elfimage_build_id(f->img, f->build_id, sizeof(f->build_id));
	read_segments(f, fd);
}

/* A file may really be called "x (deleted)": that is the case if opening that name finds the file. */
static void strip_deleted(pid_t pid, struct modfile *f, const struct mapping *m)
{
	static const char suffix[] = " (deleted)";
	size_t n = strlen(f->path), k = sizeof(suffix) - 1;
	cleanup_close int fd = -1;

	if (n <= k || strcmp(f->path + n - k, suffix))
		return;
	fd = open_below_root(pid, f->path, m);
	if (fd >= 0)
		return;
	f->path[n - k] = '\0';
	f->deleted = true;
}

static void use_startname(pid_t pid, struct modfile *f, const struct mapping *m)
{
	char *path = f->deleted ? NULL : startname(pid, m, f->path);

	if (!path)
		return;
	free(f->path);
	f->path = path;
}

int modfile_new(pid_t pid, const struct mapping *m, struct modfile **out)
{
	struct modfile *f = calloc(1, sizeof(*f));
	cleanup_close int fd = -1;

	if (!f)
		return -ENOMEM;
	f->dev = m->dev;
	f->ino = m->ino;
	f->path = strdup(m->path);
	if (!f->path) {
		modfile_free(f);
		return -ENOMEM;
	}
	strip_deleted(pid, f, m);
	fd = is_vdso(m) ? copy_vdso(pid, m) : modfile_open(pid, m, f->path);
	use_startname(pid, f, m);
	if (fd < 0)
		set_why_not(f, fd);
	else
		read_image(f, fd);
	*out = f;
	return 0;
}

void modfile_free(struct modfile *f)
{
	if (!f)
		return;
	elfimage_close(f->img);
	free(f->path);
	free(f);
}

static bool holds(const struct segment *s, uint64_t offset)
{
	return offset >= s->offset && offset - s->offset < s->filesz;
}

taddr modfile_bias(const struct modfile *f, const struct mapping *m)
{
	const struct segment *fits = NULL;

	/* lld puts two segments into one page of the file: only the flags tell their mappings apart. */
	for (size_t i = 0; i < f->nsegments; i++) {
		const struct segment *s = &f->segments[i];

		if (holds(s, m->offset) && (!fits || (s->exec && !fits->exec)))
			fits = s;
	}
	if (!fits)
		return m->lo - m->offset;
	return m->lo - (fits->vaddr + (m->offset - fits->offset));
}

void modfile_span(const struct modfile *f, taddr bias, taddr *lo, taddr *hi)
{
	*lo = f->nsegments ? UINT64_MAX : 0;
	*hi = f->nsegments ? 0 : UINT64_MAX;
	for (size_t i = 0; i < f->nsegments; i++) {
		const struct segment *s = &f->segments[i];
		taddr end = (s->vaddr + s->memsz + PAGE - 1) & ~(PAGE - 1);

		if (s->vaddr + bias < *lo)
			*lo = s->vaddr + bias;
		if (end + bias > *hi)
			*hi = end + bias;
	}
}
