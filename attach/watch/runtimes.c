/* SPDX-License-Identifier: MIT */
#include "attach/watch/runtimes.h"

#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"
#include "attach/stacks/python/runtime.h"
#include "base/fdio.h"
#include "base/procmaps.h"

/* The process, and the module that has a runtime. */
struct place {
	const struct target_info *target;
	const struct module *m;
};

/* Is it the program itself, which starts its runtime at once? */
static bool is_program(const struct place *p)
{
	return p->target->exe && !strcmp(p->target->exe, p->m->path);
}

static enum runtime_state python_state(const struct place *p)
{
	const int mem = procfs_open_mem(p->target->pid);
	const int r = mem < 0 ? mem : python_runtime_started(p->m, mem);

	if (mem >= 0)
		close(mem);
	if (r < 0)
		return is_program(p) ? RUNTIME_RUNS : RUNTIME_LINKED;
	return r ? RUNTIME_RUNS : RUNTIME_NONE;
}

static int is_vm_thread(void *ctx, pid_t tid)
{
	const struct place *p = ctx;
	char path[64], name[32] = "";
	size_t n;
	char *text;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)p->target->pid, (int)tid);
	if (read_whole_file(path, sizeof(name), &text, &n) < 0)
		return 0;
	snprintf(name, sizeof(name), "%s", text);
	free(text);
	return !strcmp(name, "VM Thread\n");
}

static enum runtime_state java_state(const struct place *p)
{
	struct place at = *p;

	return procfs_each_task(p->target->pid, is_vm_thread, &at) > 0 ? RUNTIME_RUNS : RUNTIME_LINKED;
}

static bool has_made_code(pid_t pid)
{
	struct procmaps maps = PROCMAPS_INIT;
	bool found = false;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (procmaps_read(path, &maps) < 0)
		return false;
	for (size_t i = 0; i < maps.n && !found; i++)
		found = maps.maps[i].perms & MAPPING_EXEC && !maps.maps[i].ino && !*maps.maps[i].path;
	procmaps_fini(&maps);
	return found;
}

static enum runtime_state v8_state(const struct place *p)
{
	return is_program(p) || has_made_code(p->target->pid) ? RUNTIME_RUNS : RUNTIME_LINKED;
}

static enum runtime_state go_state(const struct place *p)
{
	(void)p;
	return RUNTIME_RUNS;
}

/* A function that other modules call, so that even a stripped file has its symbol; or a section. */
static const struct runtime {
	const char *name, *function, *section;
	enum runtime_state (*state)(const struct place *p);
} runtimes[] = {
	{ "CPython", "Py_BytesMain", NULL, python_state },
	{ "CPython", "PyObject_Malloc", NULL, python_state },
	{ "JVM", "JNI_CreateJavaVM", NULL, java_state },
	{ "V8", "_ZN2v87Isolate10GetCurrentEv", NULL, v8_state },
	{ "Go", NULL, ".gopclntab", go_state },
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

struct runtime_found runtimes_find(const struct modules *ms, const struct target_info *target)
{
	struct runtime_found best = { RUNTIME_NONE, NULL, NULL };

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		for (size_t k = 0; k < modules_count(ms) && best.state != RUNTIME_RUNS; k++) {
			const struct place p = { target, modules_at(ms, k) };
			enum runtime_state state;

			if (!p.m->img || p.m->gone || !is_in(p.m, &runtimes[i]))
				continue;
			state = runtimes[i].state(&p);
			if (state > best.state)
				best = (struct runtime_found){ state, runtimes[i].name, p.m->name };
		}
	return best;
}
