/* SPDX-License-Identifier: MIT */
/*
 * scan_places: see scan_places.h.
 *
 * For a process, the modules and their files are known. For a core, only mappings are: a module is a run of
 * mappings with one path. Zero-initialised data (.bss) is, behind its first page, in mappings without a path,
 * directly behind those of the file; how far it goes is in the file's program headers. If the file of a core
 * is not there, the first of these mappings is taken for it.
 */
#include "attach/scan/scan_places.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "attach/probes/code/elfimage.h"
#include "attach/target/datasyms.h"
#include "report/model/format_text.h"
#include "symbolize/files/safeopen.h"

/* --- modules --- */

/* A mapped file: where, and its contents. */
struct placed {
	const char *path;
	taddr bias;
	struct elfimage *img;	/* NULL: could not be opened */
	bool own;		/* @img is ours to close */
};

/* Also in its zero-initialised data, which is in no mapping of its file. */
static const struct module *module_with(const struct modules *ms, taddr at)
{
	const struct module *found = modules_find(ms, at);

	for (size_t i = 0; !found && i < modules_count(ms); i++) {
		const struct module *m = modules_at(ms, i);

		if (!m->gone && m->img && elfimage_loads_at(m->img, at - m->bias))
			found = m;
	}
	return found;
}

static bool in_process(const struct scan *sc, taddr at, struct placed *out)
{
	const struct module *m = module_with(sc->modules, at);

	if (m)
		*out = (struct placed){ .path = m->path, .bias = m->bias, .img = m->img };
	return m;
}

static bool is_file(const struct mapping *m)
{
	return m->path[0] == '/';
}

/*
 * The mapping of a file that contains @at, or the last one before it, if only mappings without a path are in
 * between.
 */
static const struct mapping *file_at(const struct procmaps *maps, taddr at)
{
	const struct mapping *m = procmaps_find(maps, at);

	while (m && !m->path[0])
		m = m > maps->maps && m[-1].hi == m->lo ? m - 1 : NULL;
	return m && is_file(m) ? m : NULL;
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

/* @m is the mapping of @p's file at or before @at: is @at in the memory of that file? */
static bool is_in(const struct procmaps *maps, const struct mapping *m, taddr at, const struct placed *p)
{
	const struct mapping *here = procmaps_find(maps, at);

	if (here == m)
		return true;
	return p->img ? elfimage_loads_at(p->img, at - p->bias) : here == m + 1;
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
	if (is_in(&sc->snapshot.maps, m, at, out))
		return true;
	elfimage_close(out->img);
	return false;
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

/* Of memory without a path: a module's zero-initialised data, or nothing that has a name. */
static void put_unnamed(struct scan *sc, const struct mapping *m, taddr addr, struct strbuf *sb)
{
	struct scan_pointer p = { 0 };

	scan_place_data(sc, addr, &p);
	if (p.module)
		strbuf_printf(sb, "data of %s+0x%" PRIx64, format_base(p.module), p.offset);
	else
		strbuf_printf(sb, "memory without a name, " PRItaddr "-" PRItaddr, m->lo, m->hi);
}

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
		put_unnamed(sc, m, addr, &sb);
	return strbuf_error(&sb) ? NULL : summary_string(&sc->report.summary, strbuf_str(&sb));
}
