/* SPDX-License-Identifier: MIT */
#include "attach/target/linker.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/target/datasyms.h"
#include "base/fdio.h"

#define LINKS_MAX 4096
#define NAMESPACES_MAX 16	/* glibc's DL_NNS */

/* What we need of the auxiliary vector; 0: not in it. */
struct aux {
	taddr phdr, phnum, base, entry;
};

/* As in <link.h>, of a 64-bit target. */
struct r_debug_of_target {
	uint32_t version, pad;
	uint64_t map, brk;
	uint32_t state, pad2;	/* 0: RT_CONSISTENT */
	uint64_t ldbase, next;	/* next: of another namespace, if the version is 2 or more */
};

struct link_map_of_target {
	uint64_t addr, name, dynamic, next, prev;
};

static int read_aux(pid_t pid, struct aux *out)
{
	Elf64_auxv_t av;
	char path[32];
	char *text;
	size_t n;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	err = read_whole_file(path, 64 * 1024, &text, &n);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	*out = (struct aux){ 0 };
	for (size_t at = 0; at + sizeof(av) <= n; at += sizeof(av)) {
		memcpy(&av, text + at, sizeof(av));
		switch (av.a_type) {
		case AT_PHDR: out->phdr = av.a_un.a_val; break;
		case AT_PHNUM: out->phnum = av.a_un.a_val; break;
		case AT_BASE: out->base = av.a_un.a_val; break;
		case AT_ENTRY: out->entry = av.a_un.a_val; break;
		}
	}
	free(text);
	return 0;
}

static const struct module *program_of(const struct modules *ms, struct aux *aux)
{
	return read_aux(modules_pid(ms), aux) ? NULL : modules_find(ms, aux->entry);
}

const struct module *linker_program(const struct modules *ms)
{
	return program_of(ms, &(struct aux){ 0 });
}

static bool read_mem(int mem, taddr addr, void *buf, size_t n)
{
	return pread_full(mem, buf, n, (off_t)addr) == (ssize_t)n;
}

/* The address of the main program's PT_DYNAMIC, from its program headers in memory; 0 if it has none. */
static taddr find_dynamic(int mem, const struct aux *aux, taddr bias)
{
	Elf64_Phdr ph;

	for (taddr i = 0; i < aux->phnum && i < 64; i++) {
		if (!read_mem(mem, aux->phdr + i * sizeof(ph), &ph, sizeof(ph)))
			return 0;
		if (ph.p_type == PT_DYNAMIC)
			return ph.p_vaddr + bias;
	}
	return 0;
}

/* DT_DEBUG, which the dynamic linker points at its r_debug; 0 if it has not yet, or there is none. */
static taddr find_r_debug(int mem, taddr dynamic)
{
	Elf64_Dyn dyn;

	for (int i = 0; i < 1024; i++) {
		if (!read_mem(mem, dynamic + i * sizeof(dyn), &dyn, sizeof(dyn)) || dyn.d_tag == DT_NULL)
			return 0;
		if (dyn.d_tag == DT_DEBUG)
			return dyn.d_un.d_ptr;
	}
	return 0;
}

/*
 * The struct r_debug that the dynamic linker filled in; false if there is none yet. If the dynamic linker was
 * started as a program (ld.so PROGRAM), it is the program for the kernel: it has no DT_DEBUG, but the struct
 * itself.
 */
static bool read_r_debug(int mem, const struct aux *aux, const struct module *program,
			 struct r_debug_of_target *out)
{
	taddr dynamic = find_dynamic(mem, aux, program->bias);
	taddr at = dynamic ? find_r_debug(mem, dynamic) : 0;

	if (!at && program->img && datasyms_find(elfimage_elf(program->img), "_r_debug", &at))
		at += program->bias;
	return at && read_mem(mem, at, out, sizeof(*out));
}

int linker_break(const struct modules *ms, taddr *addr)
{
	cleanup_close int mem = modules_open_mem(ms);
	struct r_debug_of_target r_debug;
	const struct module *program;
	struct aux aux;
	int err = read_aux(modules_pid(ms), &aux);

	if (err)
		return err;
	program = modules_find(ms, aux.entry);
	*addr = program && mem >= 0 && read_r_debug(mem, &aux, program, &r_debug) ? r_debug.brk : 0;
	if (*addr && modules_find(ms, *addr))
		return 0;
	return module_symbol(aux.base ? modules_find(ms, aux.base) : program, "_dl_debug_state", addr);
}

taddr linker_entry(const struct modules *ms)
{
	struct aux aux;

	return program_of(ms, &aux) ? aux.entry : 0;
}

bool linker_is_separate(const struct modules *ms)
{
	struct aux aux;

	return program_of(ms, &aux) && aux.base;
}

bool linker_is_done(const struct modules *ms)
{
	cleanup_close int mem = modules_open_mem(ms);
	struct r_debug_of_target r_debug;
	struct aux aux;
	const struct module *program = program_of(ms, &aux);

	if (!program || mem < 0 || !read_r_debug(mem, &aux, program, &r_debug))
		return true;
	for (int i = 0; i < NAMESPACES_MAX; i++) {
		if (r_debug.state)
			return false;
		if (r_debug.version < 2 || !r_debug.next ||
		    !read_mem(mem, r_debug.next, &r_debug, sizeof(r_debug)))
			return true;
	}
	return true;
}

static bool exports(const struct module *m, const char *name)
{
	taddr addr;

	return module_symbol(m, name, &addr) == 0 && elfimage_is_global(m->img, addr - m->bias);
}

const struct module *linker_binds(const struct modules *ms, const char *name)
{
	cleanup_close int mem = modules_open_mem(ms);
	struct r_debug_of_target r_debug;
	struct link_map_of_target link;
	const struct module *program;
	struct aux aux;
	taddr at;

	program = program_of(ms, &aux);
	if (!program)
		return NULL;
	if (mem < 0 || !read_r_debug(mem, &aux, program, &r_debug))
		return exports(program, name) ? program : NULL;
	at = r_debug.map;
	for (int i = 0; i < LINKS_MAX && at && read_mem(mem, at, &link, sizeof(link)); i++, at = link.next) {
		const struct module *m = modules_find(ms, link.dynamic);

		if (m && !m->gone && exports(m, name))
			return m;
	}
	return NULL;
}
