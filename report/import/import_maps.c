/* SPDX-License-Identifier: MIT */
/* import_maps: see import_maps.h. */
#include "report/import/import_maps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/grow.h"
#include "base/procmaps.h"

/* A program loaded below this was linked to that address; others are loaded at any free address. */
#define FIXED_MAX 0x10000000

/* False if it is not a line as the kernel writes it, or if no file is mapped. */
static bool parse(char *line, struct import_map *out, const char **path)
{
	struct mapping m;

	if (procmaps_parse_line(line, &m) < 0)
		return false;
	*out = (struct import_map){ .lo = m.lo, .hi = m.hi, .offset = m.offset };
	*path = m.path;
	return m.path[0] == '/' || !strcmp(m.path, "[vdso]");
}

static int add(struct import_maps *m, struct import_map *map, const char *path)
{
	if (grow_for(&m->v, m->n, &m->size, sizeof(*m->v)) < 0)
		return -ENOMEM;
	map->path = strdup(path);
	if (!map->path)
		return -ENOMEM;
	m->v[m->n++] = *map;
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct import_map *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return a->hi < b->hi ? -1 : a->hi > b->hi;
}

/* A file's first bytes are mapped first, at its lowest address. */
static void find_files(struct import_maps *m)
{
	for (size_t i = 1; i < m->n; i++) {
		bool more = m->v[i].offset && !strcmp(m->v[i].path, m->v[i - 1].path);

		m->v[i].file = more ? m->v[i - 1].file : i;
	}
}

int import_maps_read(struct textlines *t, struct import_maps *out)
{
	struct textline line;
	int r;

	*out = (struct import_maps){ 0 };
	while ((r = textlines_next(t, &line)) == 1) {
		struct import_map map = { 0 };
		const char *path;

		if (!line.too_long && !line.cut && parse(line.text, &map, &path))
			r = add(out, &map, path);
		if (r < 0)
			return r;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), compare);
	find_files(out);
	return r;
}

void import_maps_fini(struct import_maps *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].path);
	free(m->v);
	*m = (struct import_maps){ 0 };
}

const struct import_map *import_maps_find(const struct import_maps *m, taddr addr)
{
	size_t n = ADDR_SEARCH(m->v, m->n, lo, addr);

	return n && addr < m->v[n - 1].hi ? &m->v[n - 1] : NULL;
}

/* The first segment has address 0 in the ELF file, or the address to which it was linked. */
taddr import_maps_bias(const struct import_maps *m, const struct import_map *map)
{
	taddr begin = m->v[map->file].lo - m->v[map->file].offset;

	return begin < FIXED_MAX ? 0 : begin;
}

taddr import_maps_end(const struct import_maps *m, const struct import_map *map)
{
	size_t i = (size_t)(map - m->v);

	while (i + 1 < m->n && m->v[i + 1].file == map->file)
		i++;
	return m->v[i].hi;
}
