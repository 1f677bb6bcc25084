/* SPDX-License-Identifier: MIT */
/* scan_allocator: see scan_allocator.h. */
#include "attach/scan/scan_allocator.h"

#include <stddef.h>
#include <string.h>

#include "attach/target/linker.h"
#include "heap/allocators.h"

enum { JEMALLOC, TCMALLOC, MIMALLOC, MUSL, ALLOCATORS };

/* A function that only this allocator has, whatever prefix it was built with; a part of its file's name. */
static const struct allocator_seen {
	const char *name, *functions[3], *file;
} seen[ALLOCATORS] = {
	[JEMALLOC] = { "jemalloc", { "mallctl", "je_mallctl", "_rjem_mallctl" }, "jemalloc" },
	[TCMALLOC] = { "tcmalloc", { "tc_malloc", "tc_malloc_size" }, "tcmalloc" },
	[MIMALLOC] = { "mimalloc", { "mi_malloc", "mi_version" }, "mimalloc" },
	[MUSL] = { "musl", { NULL }, "musl" },
};

#define FUNCTIONS (sizeof(seen->functions) / sizeof(*seen->functions))

static bool has_functions(const struct module *m, const struct allocator_seen *a)
{
	taddr at;

	for (size_t i = 0; i < FUNCTIONS && a->functions[i]; i++)
		if (module_symbol(m, a->functions[i], &at) == 0)
			return true;
	return false;
}

static const struct allocator_seen *by_file(const char *file)
{
	/* musl's own, where it is not called by its other name; glibc's is libc.so.6 */
	if (!strcmp(file, "libc.so"))
		return &seen[MUSL];
	for (size_t i = 0; i < ALLOCATORS; i++)
		if (strstr(file, seen[i].file))
			return &seen[i];
	return NULL;
}

static const struct allocator_seen *by_functions(const struct module *m)
{
	for (size_t i = 0; i < ALLOCATORS; i++)
		if (has_functions(m, &seen[i]))
			return &seen[i];
	return NULL;
}

/* @a: NULL: one without a name here. */
static bool put(struct strbuf *out, const struct allocator_seen *a, const char *file)
{
	strbuf_puts(out, a ? allocators_text(a->name) : "the malloc");
	strbuf_puts(out, a ? " (" : " of ");
	strbuf_text(out, file);
	strbuf_puts(out, a ? ")" : "");
	return true;
}

/* @a: NULL: one that has no name here, and cannot be listed. */
static bool is_listed(const struct census *c, const struct allocator_seen *a)
{
	return a && census_lists(c, a->name);
}

bool scan_allocator_of_process(const struct modules *ms, const struct census *c, struct strbuf *out)
{
	const struct module *m = linker_binds(ms, "malloc");
	const struct allocator_seen *a;

	if (m && !module_is_glibc(m)) {
		a = by_functions(m);
		a = a ? a : by_file(m->name);
		if (!is_listed(c, a))
			return put(out, a, m->name);
	}
	for (size_t i = 0; i < modules_count(ms); i++) {
		m = modules_at(ms, i);
		a = m->img && !m->gone ? by_functions(m) : NULL;
		if (a && !is_listed(c, a))
			return put(out, a, m->name);
	}
	return false;
}

bool scan_allocator_of_core(const struct snapshot *s, const struct census *c, struct strbuf *out)
{
	for (size_t i = 0; i < s->maps.n; i++) {
		const char *path = s->maps.maps[i].path, *slash = strrchr(path, '/');
		const char *file = slash ? slash + 1 : path;
		const struct allocator_seen *a = by_file(file);

		/* a file of that name that is only data, as a log, has no code */
		if (a && !is_listed(c, a) && (strstr(file, ".so") || strstr(file, "ld-musl")))
			return put(out, a, file);
	}
	return false;
}
