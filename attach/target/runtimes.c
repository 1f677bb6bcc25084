/* SPDX-License-Identifier: MIT */
#include "attach/target/runtimes.h"

#include <libelf.h>
#include <gelf.h>
#include <string.h>

/* A function that other modules call, so that even a stripped file has its symbol; or a section. */
static const struct runtime {
	const char *name, *function, *section;
} runtimes[] = {
	{ "CPython", "Py_BytesMain", NULL },
	{ "CPython", "PyObject_Malloc", NULL },
	{ "JVM", "JNI_CreateJavaVM", NULL },
	{ "V8", "_ZN2v87Isolate10GetCurrentEv", NULL },
	{ "Go", NULL, ".gopclntab" },
};

static bool has_section(const struct module *m, const char *name)
{
	Elf *elf = elfimage_elf(m->img);
	Elf_Scn *s = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((s = elf_nextscn(elf, s))) {
		GElf_Shdr sh;
		const char *its = gelf_getshdr(s, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (its && !strcmp(its, name))
			return true;
	}
	return false;
}

static bool is_in(const struct module *m, const struct runtime *r)
{
	taddr addr;

	return r->section ? has_section(m, r->section) : module_symbol(m, r->function, &addr) == 0;
}

const char *runtimes_find(const struct modules *ms)
{
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		for (size_t k = 0; k < modules_count(ms); k++) {
			const struct module *m = modules_at(ms, k);

			if (m->img && !m->gone && is_in(m, &runtimes[i]))
				return runtimes[i].name;
		}
	return NULL;
}
