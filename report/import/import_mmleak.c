/* SPDX-License-Identifier: MIT */
/*
 * import_mmleak: the dumps of mmleak.so.
 *
 *	0x7fc6e8000b70 0x55a205a9e248 64	three fields: that caller allocated a block of 64 bytes
 *	0x7fc6e8000b70 0x55a205a9e265		two fields: that caller freed it
 *	(nil) 0x55a205a9e248 64			a call that got no memory
 *
 * mmleak's scripts write the same lines, either sorted by address, or those left after pairs were removed
 * (frees first). All of them preserve the order of the lines of one address, and nothing else matters.
 */
#include "report/import/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/addrmap.h"
#include "base/log.h"
#include "report/import/import_lines.h"
#include "report/import/import_maps.h"
#include "report/import/importer.h"

struct mmleak {
	struct importer im;
	struct import_maps maps;
	struct addrmap sites;	/* caller -> number of its stack */
	struct addrmap modules;	/* index in maps of a file's first mapping -> number of the module */
};

/* --- callers --- */

/* The number + 1 of the module at @pc, or FACT_NONE. */
static int module_at(struct mmleak *m, taddr pc, uint32_t *module)
{
	const struct import_map *map = import_maps_find(&m->maps, pc);
	uint32_t *known = map ? addrmap_get(&m->modules, map->file) : NULL, number;
	int r;

	*module = known ? *known + 1 : FACT_NONE;
	if (!map || known)
		return 0;
	r = importer_module(&m->im, import_maps_bias(&m->maps, map), m->maps.v[map->file].lo,
			    import_maps_end(&m->maps, map), map->path, &number);
	*module = number + 1;
	return r ? r : addrmap_put(&m->modules, map->file, &number);
}

static int site(struct mmleak *m, taddr pc, uint32_t *stack)
{
	const uint32_t *known = addrmap_get(&m->sites, pc);
	uint32_t module;
	int r;

	if (known) {
		*stack = *known;
		return 0;
	}
	r = module_at(m, pc, &module);
	if (r == 0)
		r = importer_site(&m->im, pc, module, NULL, stack);
	return r ? r : addrmap_put(&m->sites, pc, stack);
}

/* --- lines --- */

/* Take the next field; *end points after it. */
static const char *field(const char **p, const char **end)
{
	const char *begin = *p + strspn(*p, " \t\r");

	*end = *p = begin + strcspn(begin, " \t\r");
	return begin;
}

static bool take_pointer(const char **p, taddr *addr)
{
	const char *end, *begin = field(p, &end);

	*addr = 0;
	return import_lines_hex(begin, end, addr) || (end - begin == 5 && !memcmp(begin, "(nil)", 5));
}

/* Decimal. */
static bool take_size(const char **p, uint64_t *size)
{
	const char *end, *begin = field(p, &end);

	*size = 0;
	for (; begin < end; begin++) {
		if (!isdigit((unsigned char)*begin) || __builtin_mul_overflow(*size, 10, size) ||
		    __builtin_add_overflow(*size, (uint64_t)(*begin - '0'), size))
			return false;
	}
	return true;
}

static bool at_end(const char *p)
{
	return p[strspn(p, " \t\r")] == '\0';
}

static int take_line(void *ctx, char *text, size_t n)
{
	struct mmleak *m = ctx;
	const char *p = text;
	taddr addr, caller;
	uint64_t size = 0;
	uint32_t stack;
	bool alloc;
	int r;

	(void)n;
	if (!take_pointer(&p, &addr) || !take_pointer(&p, &caller))
		return -EINVAL;
	alloc = !at_end(p);
	if (alloc && (!take_size(&p, &size) || !at_end(p)))
		return -EINVAL;
	if (!addr) {
		m->im.failed += alloc;
		return 0;
	}
	m->im.events++;
	r = site(m, caller, &stack);
	if (r < 0)
		return r;
	return alloc ? importer_alloc(&m->im, addr, size, stack) : importer_release(&m->im, addr, stack);
}

/* --- files --- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/*
 * mmleak-HOST.PID.N.out, mmleak.PID.N.out, mmleak-HOST.PID.txt, mmleak-HOST.PID.pid: the last number that is
 * followed by one of these endings, since a host may be called 10.0.0.1. 0 if there is none.
 */
static int32_t pid_of(const char *path)
{
	const char *name = base_name(path);
	int32_t pid = 0;

	if (!begins_with(name, "mmleak"))
		return 0;
	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		const char *behind = dot + 1 + strspn(dot + 1, "0123456789");
		bool number = behind > dot + 1 && behind - dot <= 9 && behind[0] == '.';

		if (number && (isdigit((unsigned char)behind[1]) || begins_with(behind, ".txt") ||
			       begins_with(behind, ".pid")))
			pid = (int32_t)strtol(dot + 1, NULL, 10);
	}
	return pid;
}

/* Are the files of one process? Addresses of two processes are unrelated. */
static int same_process(const char *const *paths, size_t n, int32_t *pid)
{
	*pid = pid_of(paths[0]);
	for (size_t i = 1; i < n; i++) {
		int32_t other = pid_of(paths[i]);

		if (*pid && other && other != *pid) {
			log_error("%s and %s are of two processes", paths[0], paths[i]);
			log_hint("import the files of each process by themselves");
			return -EINVAL;
		}
	}
	return 0;
}

static int read_maps(struct mmleak *m, const char *path)
{
	struct textlines t;
	int r = textlines_open(path, &t);

	if (r == 0) {
		r = import_maps_read(&t, &m->maps);
		textlines_close(&t);
	}
	if (r == 0 && !m->maps.n) {
		log_error("%s is not a copy of /proc/PID/maps: no file is mapped there", path);
		return -EINVAL;
	}
	if (r < 0)
		log_error_errno(r, "cannot read %s", path);
	return r;
}

static int begin(struct mmleak *m, struct ledger *l)
{
	*m = (struct mmleak){ 0 };
	addrmap_init(&m->sites, sizeof(uint32_t));
	addrmap_init(&m->modules, sizeof(uint32_t));
	return importer_init(&m->im, l, "mmleak");
}

static void end(struct mmleak *m)
{
	importer_fini(&m->im);
	import_maps_fini(&m->maps);
	addrmap_fini(&m->sites);
	addrmap_fini(&m->modules);
}

/* The program itself is the first file of the maps, unless it was linked to another address. */
static const char *program(const struct mmleak *m)
{
	return m->maps.n ? m->maps.v[0].path : NULL;
}

static int read_all(struct mmleak *m, const char *const *paths, size_t n, int32_t pid)
{
	char source[64];
	int r = importer_target(&m->im, pid, program(m));

	if (r == 0)
		r = import_lines_files(&m->im, paths, n, take_line, m);
	snprintf(source, sizeof(source), "%zu files", n);
	return r ? r : importer_finish(&m->im, n == 1 ? base_name(paths[0]) : source);
}

int import_mmleak(const char *const *paths, size_t n, const char *maps, struct ledger *l)
{
	struct mmleak m;
	int32_t pid = 0;
	int r = begin(&m, l);

	if (r == 0)
		r = same_process(paths, n, &pid);
	if (r == 0 && maps)
		r = read_maps(&m, maps);
	if (r == 0)
		r = read_all(&m, paths, n, pid);
	end(&m);
	return r;
}

int import_mmleak_text(const char *text, size_t n, const char *maps, size_t nmaps, struct ledger *l)
{
	struct textlines lines, map_lines;
	struct mmleak m;
	int r = begin(&m, l);

	if (r == 0)
		r = textlines_open_memory(maps, nmaps, &map_lines);
	if (r == 0) {
		r = import_maps_read(&map_lines, &m.maps);
		textlines_close(&map_lines);
	}
	if (r == 0)
		r = importer_target(&m.im, 0, program(&m));
	if (r == 0)
		r = textlines_open_memory(text, n, &lines);
	if (r == 0) {
		r = import_lines_read(&m.im, &lines, "text", take_line, &m);
		textlines_close(&lines);
	}
	if (r == 0)
		r = importer_finish(&m.im, "text");
	end(&m);
	return r;
}
