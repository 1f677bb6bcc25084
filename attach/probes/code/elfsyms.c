/* SPDX-License-Identifier: MIT */
/*
 * elfsyms: both symbol tables in one array, sorted once.
 *
 * Several names for one address are common in a C library (malloc, __libc_malloc, __malloc): the user sees
 * the one without a version, with the fewest underscores, and the shortest. Names that are defined several
 * times are distinguished by version and binding: a program that calls memcpy gets memcpy@@GLIBC_2.14, not
 * memcpy@GLIBC_2.2.5 nor a static helper.
 */
#include "attach/probes/code/elfsyms.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "base/addr_search.h"

#define VERSION_HIDDEN 0x8000

static const char *version_of(const char *name)
{
	return strchr(name, '@');
}

static uint8_t rank_of(const GElf_Sym *sym, const char *name, bool hidden)
{
	const char *version = version_of(name);

	if (GELF_ST_BIND(sym->st_info) == STB_LOCAL)
		return RANK_LOCAL;
	return hidden || (version && version[1] != '@') ? RANK_OLD_VERSION : RANK_GLOBAL;
}

#define SYMBOLS_MAX (8u << 20)

static bool is_function(const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_shndx != SHN_UNDEF && sym->st_value;
}

/* The table of versions that goes with .dynsym, or NULL. */
static Elf_Data *find_versions(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_GNU_versym)
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static bool is_hidden(Elf_Data *versions, size_t i)
{
	GElf_Versym v;

	return versions && gelf_getversym(versions, (int)i, &v) && (v & VERSION_HIDDEN);
}

static void add_symbol(Elf *elf, size_t strings, Elf_Data *data, Elf_Data *versions, size_t i,
		       struct elfsyms *out)
{
	GElf_Sym sym;
	const char *name;

	if (!gelf_getsym(data, (int)i, &sym) || !is_function(&sym))
		return;
	name = elf_strptr(elf, strings, sym.st_name);
	if (!name || !*name)
		return;
	out->v[out->n++] = (struct elfsym){
		.addr = sym.st_value,
		.size = sym.st_size,
		.name = name,
		.ifunc = GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC,
		.rank = rank_of(&sym, name, is_hidden(versions, i)),
	};
}

static int add_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct elfsyms *out)
{
	Elf_Data *data, *versions;
	struct elfsym *more;
	size_t n = sh->sh_size / sizeof(Elf64_Sym);

	/* a sparse file can claim gigabytes of symbols, and reading them would use up our memory */
	if (!n || n > SYMBOLS_MAX)
		return 0;
	data = elf_getdata(scn, NULL);
	versions = sh->sh_type == SHT_DYNSYM ? find_versions(elf) : NULL;
	if (!data || !data->d_buf)
		return 0;
	n = data->d_size / sizeof(Elf64_Sym);
	more = realloc(out->v, (out->n + n) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	out->v = more;
	for (size_t i = 0; i < n; i++)
		add_symbol(elf, sh->sh_link, data, versions, i, out);
	return 0;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* Negative if @a is the better name for the user. */
static int compare_names(const char *a, const char *b)
{
	if (!version_of(a) != !version_of(b))
		return version_of(a) ? 1 : -1;
	if (underscores(a) != underscores(b))
		return underscores(a) < underscores(b) ? -1 : 1;
	if (strlen(a) != strlen(b))
		return strlen(a) < strlen(b) ? -1 : 1;
	return strcmp(a, b);
}

static int compare_symbols(const void *pa, const void *pb)
{
	const struct elfsym *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return compare_names(a->name, b->name);
}

taddr elfsym_end(const struct elfsym *sym)
{
	return sym->size > UINT64_MAX - sym->addr ? UINT64_MAX : sym->addr + sym->size;
}

static int sort_symbols(struct elfsyms *syms)
{
	if (!syms->n)
		return 0;
	qsort(syms->v, syms->n, sizeof(*syms->v), compare_symbols);
	syms->reach = calloc(syms->n, sizeof(*syms->reach));
	if (!syms->reach)
		return -ENOMEM;
	for (size_t i = 0; i < syms->n; i++) {
		syms->reach[i] = elfsym_end(&syms->v[i]);
		if (i && syms->reach[i - 1] > syms->reach[i])
			syms->reach[i] = syms->reach[i - 1];
	}
	return 0;
}

int elfsyms_load(Elf *elf, struct elfsyms *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int rc = 0;

	*out = (struct elfsyms){ 0 };
	while (!rc && (scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			rc = add_table(elf, scn, &sh, out);
	}
	if (!rc)
		rc = sort_symbols(out);
	if (rc)
		elfsyms_fini(out);
	return rc;
}

void elfsyms_fini(struct elfsyms *syms)
{
	free(syms->v);
	free(syms->reach);
	*syms = (struct elfsyms){ 0 };
}

static bool is_called(const struct elfsym *sym, const char *name, size_t len)
{
	return !strncmp(sym->name, name, len) && (!sym->name[len] || sym->name[len] == '@');
}

int elfsyms_find(const struct elfsyms *syms, const char *name, const struct elfsym **out)
{
	const struct elfsym *best = NULL;
	size_t len = strlen(name);
	bool several = false;

	for (size_t i = 0; i < syms->n; i++) {
		const struct elfsym *sym = &syms->v[i];

		if (!is_called(sym, name, len) || (best && best->rank < sym->rank))
			continue;
		several = best && best->rank == sym->rank && (several || best->addr != sym->addr);
		best = sym;
	}
	*out = best;
	return !best ? -ENOENT : several ? -EEXIST : 0;
}

const struct elfsym *elfsyms_at(const struct elfsyms *syms, taddr addr, bool ifunc)
{
	const struct elfsym *found = NULL;

	for (size_t i = ADDR_SEARCH(syms->v, syms->n, addr, addr); i && syms->v[i - 1].addr == addr; i--) {
		if (!ifunc || syms->v[i - 1].ifunc)
			found = &syms->v[i - 1];
	}
	return found;
}

const struct elfsym *elfsyms_over(const struct elfsyms *syms, taddr addr)
{
	const struct elfsym *found = NULL;

	for (size_t i = ADDR_SEARCH(syms->v, syms->n, addr, addr); i && syms->reach[i - 1] > addr; i--) {
		const struct elfsym *sym = &syms->v[i - 1];

		if (found && sym->addr != found->addr)
			break;
		if (elfsym_end(sym) > addr)
			found = sym;
	}
	return found;
}
