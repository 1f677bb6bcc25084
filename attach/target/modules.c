/* SPDX-License-Identifier: MIT */
/*
 * modules: see modules.h.
 *
 *	struct modules ── entries, one per (file, bias) ──▶ files, one per (device, inode)
 *
 * A refresh walks the executable mappings: for each it finds or makes the entry, and widens it over the
 * neighbouring mappings of the same file. An entry that was not seen in this pass is gone.
 */
#include "attach/target/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/keeper/procfs.h"
#include "attach/target/modfile.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/procmaps.h"

struct entry {
	struct module m;
	const struct modfile *file;
	unsigned seen;		/* the last pass that saw it */
};

struct modules {
	pid_t process;
	pid_t pid;		/* a living thread of it */
	int mem;		/* owned by the caller, or -1 */
	unsigned pass;
	struct entry **entries;
	size_t nentries;
	struct modfile **files;
	size_t nfiles;
};

static int add_file(struct modules *ms, const struct mapping *map, struct modfile **out)
{
	struct modfile **file = grow_by_one(&ms->files, ms->nfiles, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	err = modfile_new(ms->pid, map, out);
	if (err)
		return err;
	*file = *out;
	ms->nfiles++;
	return 0;
}

static int file_of(struct modules *ms, const struct mapping *map, struct modfile **out)
{
	for (size_t i = 0; i < ms->nfiles; i++) {
		if (ms->files[i]->dev == map->dev && ms->files[i]->ino == map->ino) {
			*out = ms->files[i];
			return 0;
		}
	}
	return add_file(ms, map, out);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void describe(struct module *m, const struct modfile *f)
{
	m->path = f->path;
	m->name = base_name(f->path);
	m->dev = f->dev;
	m->ino = f->ino;
	m->img = f->img;
	m->unread = f->unread;
	memcpy(m->why_not, f->why_not, sizeof(m->why_not));
	memcpy(m->build_id, f->build_id, sizeof(m->build_id));
	m->build_id_len = f->build_id_len;
	m->deleted = f->deleted;
}

static int add_entry(struct modules *ms, const struct modfile *f, taddr bias, struct entry **out)
{
	struct entry **entry = grow_by_one(&ms->entries, ms->nentries, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	describe(&(*out)->m, f);
	(*out)->m.bias = bias;
	(*out)->file = f;
	*entry = *out;
	ms->nentries++;
	log_debug(MODULE, "%s: bias " PRItaddr "%s%s", f->path, bias, f->img ? "" : ", not used: ",
		  f->why_not);
	return 0;
}

static int entry_of(struct modules *ms, const struct modfile *f, taddr bias, struct entry **out)
{
	for (size_t i = 0; i < ms->nentries; i++) {
		if (ms->entries[i]->file == f && ms->entries[i]->m.bias == bias) {
			*out = ms->entries[i];
			return 0;
		}
	}
	return add_entry(ms, f, bias, out);
}

static bool neighbour(const struct mapping *m, const struct modfile *f, taddr lo, taddr hi)
{
	return m->dev == f->dev && m->ino == f->ino && m->lo >= lo && m->hi <= hi;
}

/* Widen @e over mapping @i and the file's other mappings next to it. */
static void widen(struct entry *e, const struct procmaps *pm, size_t i)
{
	size_t first = i, last = i;
	taddr lo, hi;

	modfile_span(e->file, e->m.bias, &lo, &hi);
	while (first > 0 && neighbour(&pm->maps[first - 1], e->file, lo, hi))
		first--;
	while (last + 1 < pm->n && neighbour(&pm->maps[last + 1], e->file, lo, hi))
		last++;
	if (pm->maps[first].lo < e->m.lo)
		e->m.lo = pm->maps[first].lo;
	if (pm->maps[last].hi > e->m.hi)
		e->m.hi = pm->maps[last].hi;
}

static int add_mapping(struct modules *ms, const struct procmaps *pm, size_t i)
{
	const struct mapping *map = &pm->maps[i];
	struct modfile *f;
	struct entry *e;
	int err = file_of(ms, map, &f);

	if (!err)
		err = entry_of(ms, f, modfile_bias(f, map), &e);
	if (err)
		return err;
	if (e->seen != ms->pass) {
		if (e->m.gone)
			e->m.planned = false;
		e->m.gone = false;
		e->m.lo = map->lo;
		e->m.hi = map->hi;
		e->seen = ms->pass;
	}
	widen(e, pm, i);
	return 0;
}

static void mark_gone(struct modules *ms)
{
	for (size_t i = 0; i < ms->nentries; i++) {
		struct entry *e = ms->entries[i];

		if (e->seen != ms->pass && !e->m.gone) {
			e->m.gone = true;
			log_debug(MODULE, "%s: gone from " PRItaddr, e->m.path, e->m.lo);
		}
	}
}

static int add_mappings(struct modules *ms, const struct procmaps *pm)
{
	ms->pass++;
	for (size_t i = 0; i < pm->n; i++) {
		int err;

		if (!(pm->maps[i].perms & MAPPING_EXEC) || !modfile_is_for(&pm->maps[i]))
			continue;
		err = add_mapping(ms, pm, i);
		if (err)
			return err;
	}
	mark_gone(ms);
	return 0;
}

static void forget(struct modules *ms)
{
	for (size_t i = 0; i < ms->nentries; i++)
		free(ms->entries[i]);
	for (size_t i = 0; i < ms->nfiles; i++)
		modfile_free(ms->files[i]);
	free(ms->entries);
	free(ms->files);
	*ms = (struct modules){ .process = ms->process, .pid = ms->pid, .mem = ms->mem };
}

int modules_refresh(struct modules *ms, bool fresh)
{
	struct procmaps pm;
	char path[32];
	int err;

	/* any living thread of the process has /proc/TID/maps, but not a first one that has ended */
	ms->pid = procfs_living_thread(ms->process);
	if (!ms->pid)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)ms->pid);
	err = procmaps_read(path, &pm);
	if (err)
		return err;
	if (fresh)
		forget(ms);
	err = pm.n ? add_mappings(ms, &pm) : -ESRCH;
	procmaps_fini(&pm);
	return err;
}

int modules_new(pid_t pid, struct modules **out)
{
	struct modules *ms = calloc(1, sizeof(*ms));
	int err;

	if (!ms)
		return -ENOMEM;
	ms->process = pid;
	ms->mem = -1;
	err = modules_refresh(ms, false);
	if (err) {
		modules_free(ms);
		return err;
	}
	*out = ms;
	return 0;
}

void modules_free(struct modules *ms)
{
	if (!ms)
		return;
	forget(ms);
	free(ms);
}

size_t modules_count(const struct modules *ms)
{
	return ms->nentries;
}

struct module *modules_at(const struct modules *ms, size_t i)
{
	return &ms->entries[i]->m;
}

/* If all modules there are gone, the one that was seen last. */
struct module *modules_find(const struct modules *ms, taddr addr)
{
	struct entry *best = NULL;

	for (size_t i = 0; i < ms->nentries; i++) {
		struct entry *e = ms->entries[i];

		if (addr >= e->m.lo && addr < e->m.hi && (!best || e->seen >= best->seen))
			best = e;
	}
	return best ? &best->m : NULL;
}

const char *module_build_id(const struct module *m, char buf[MODULE_BUILD_ID_TEXT])
{
	buf[0] = '\0';
	for (size_t i = 0; i < m->build_id_len; i++)
		sprintf(buf + 2 * i, "%02x", m->build_id[i]);
	return buf;
}

int module_symbol(const struct module *m, const char *name, taddr *addr)
{
	uint64_t size;
	bool ifunc;
	int err = m && m->img ? elfimage_find(m->img, name, addr, &size, &ifunc) : -ENOENT;

	if (!err)
		*addr += m->bias;
	return err;
}

int modules_move(struct modules *ms, pid_t pid, int mem)
{
	ms->process = pid;
	ms->mem = mem;
	return modules_refresh(ms, false);
}

int modules_open_mem(const struct modules *ms)
{
	char path[32];

	if (ms->mem >= 0)
		return fcntl(ms->mem, F_DUPFD_CLOEXEC, 3);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)ms->pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int modules_open_file(void *modules, const struct mapping *m, bool *certain)
{
	const struct modules *ms = modules;

	for (size_t i = 0; i < modules_count(ms); i++) {
		const struct module *mod = modules_at(ms, i);
		int fd;

		if (!mod->img || mod->dev != m->dev || mod->ino != m->ino)
			continue;
		fd = fcntl(elfimage_fd(mod->img), F_DUPFD_CLOEXEC, 3);
		*certain = fd >= 0;
		return fd < 0 ? -errno : fd;
	}
	return -ENOENT;
}

pid_t modules_pid(const struct modules *ms)
{
	return ms->pid;
}

static bool has(const struct module *m, const char *symbol, taddr *addr)
{
	return module_symbol(m, symbol, addr) == 0;
}

/*
 * jemalloc and tcmalloc define __libc_malloc too, and in a static program with one of them
 * gnu_get_libc_version may be there as well: only glibc has all three in a file of that name, or its malloc's
 * own inner function.
 */
bool module_is_glibc(const struct module *m)
{
	taddr malloc_at, libc_malloc_at, ignored;

	if (!has(m, "malloc", &malloc_at) || !has(m, "__libc_malloc", &libc_malloc_at) ||
	    malloc_at != libc_malloc_at)
		return false;
	if (has(m, "_int_malloc", &ignored))
		return true;
	return (!strncmp(m->name, "libc.", 5) || !strncmp(m->name, "libc-", 5)) &&
	       has(m, "gnu_get_libc_version", &ignored);
}
