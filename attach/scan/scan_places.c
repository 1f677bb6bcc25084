/* SPDX-License-Identifier: MIT */
/*
 * scan_places: see scan_places.h.
 *
 * For a process, the modules and their files are known. For a core, only mappings are: a module is a run of
 * mappings with one path, and its zero-initialised data is the mapping without a path directly behind it.
 */
#include "attach/scan/scan_places.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "attach/probes/code/elfimage.h"
#include "attach/target/datasyms.h"
#include "symbolize/files/safeopen.h"

/* --- modules --- */

/* A mapped file: where, and its contents. */
struct placed {
	const char *path;
	taddr bias;
	struct elfimage *img;	/* NULL: could not be opened */
	bool own;		/* @img is ours to close */
};

static bool in_process(const struct scan *sc, taddr at, struct placed *out)
{
	const struct module *m = modules_find(sc->modules, at);

	if (!m || at < m->lo || at >= m->hi)
		return false;
	*out = (struct placed){ .path = m->path, .bias = m->bias, .img = m->img };
	return true;
}

static bool is_file(const struct mapping *m)
{
	return m->path[0] == '/';
}

/* The mapping of a file that contains @at, or that is directly before the zero-initialised data with @at. */
static const struct mapping *file_at(const struct procmaps *maps, taddr at)
{
	const struct mapping *m = procmaps_find(maps, at);

	if (!m || is_file(m))
		return m;
	if (m->path[0] || m == maps->maps || m[-1].hi != m->lo || !is_file(&m[-1]))
		return NULL;
	return &m[-1];
}

/* The first mapping of the file: that of its beginning. */
static const struct mapping *first_of(const struct procmaps *maps, const struct mapping *m)
{
	const struct mapping *first = m;

	while (m > maps->maps && (!is_file(&m[-1]) || !strcmp(m[-1].path, first->path))) {
		m--;
		if (is_file(m))
			first = m;
	}
	return first;
}

static struct elfimage *open_image(const struct scan *sc, const char *path)
{
	const char *exe = sc->core.exe;
	struct elfimage *img = NULL;
	int fd;

	if (exe && sc->opt->exe && !strcmp(exe, path))
		path = sc->opt->exe;
	fd = safeopen(-1, path);
	if (fd < 0)
		return NULL;
	if (elfimage_open(fd, path, &img) < 0)
		img = NULL;
	close(fd);
	return img;
}

static bool in_core(const struct scan *sc, taddr at, struct placed *out)
{
	const struct mapping *m = file_at(&sc->snapshot.maps, at), *first;
	taddr vaddr;

	if (!m)
		return false;
	first = first_of(&sc->snapshot.maps, m);
	*out = (struct placed){ .path = m->path, .bias = first->lo - first->offset, .own = true };
	out->img = open_image(sc, m->path);
	if (out->img && elfimage_load_for_offset(out->img, first->offset, &vaddr))
		out->bias = first->lo - vaddr;
	return true;
}

void scan_place_data(struct scan *sc, taddr at, struct scan_pointer *out)
{
	struct placed p;
	const char *name;
	taddr begin;

	if (!(sc->modules ? in_process(sc, at, &p) : in_core(sc, at, &p)))
		return;
	out->module = summary_string(&sc->report.summary, p.path);
	out->offset = at - p.bias;
	if (p.img && datasyms_over(elfimage_elf(p.img), at - p.bias, &name, &begin)) {
		out->symbol = summary_string(&sc->report.summary, name);
		out->symbol_offset = at - p.bias - begin;
	}
	if (p.own)
		elfimage_close(p.img);
}

/* --- as text --- */

const char *scan_place_text(struct scan *sc, taddr addr)
{
	const struct mapping *m = procmaps_find(&sc->snapshot.maps, addr);
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	if (census_area_at(&sc->census, addr))
		strbuf_puts(&sb, "a part of the heap that is free, or the allocator's own");
	else if (!m)
		strbuf_puts(&sb, "no mapping of the process");
	else if (*m->path)
		strbuf_printf(&sb, "the mapping of %s", m->path);
	else
		strbuf_printf(&sb, "memory without a name, " PRItaddr "-" PRItaddr, m->lo, m->hi);
	return strbuf_error(&sb) ? NULL : summary_string(&sc->report.summary, strbuf_str(&sb));
}
