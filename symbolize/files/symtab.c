/* SPDX-License-Identifier: MIT */
/*
 * symtab: see symtab.h. One array, sorted by address. Each entry has the highest end of all entries so far: a
 * search goes back from the address until no earlier symbol can reach it.
 */
#include "symbolize/files/symtab.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/grow.h"
#include "symbolize/files/elffile.h"
#include "symbolize/files/fdetable.h"
#include "symbolize/files/minidebug.h"

#define SYMBOLS_MAX (16u << 20)

/* By rising preference. */
enum binding { BOUND_OTHER, BOUND_LOCAL, BOUND_WEAK, BOUND_GLOBAL };

struct symbol {
	taddr value;
	uint64_t size;
	taddr reach;		/* the highest end of this one and of all before it */
	const char *name;
	uint32_t order;		/* in the table */
	uint8_t binding;
};

struct code_section {
	taddr lo, hi;
};

struct symtab {
	struct symbol *v;
	size_t n, room;
	struct code_section *sections;
	size_t nsections;
	struct minidebug mini;
	struct fdetable fdes;
};

static int load_sections(struct symtab *t, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t n;

	if (elf_getshdrnum(elf, &n))
		return 0;
	t->sections = calloc(n + 1, sizeof(*t->sections));
	if (!t->sections)
		return -ENOMEM;
	while (t->nsections < n && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    sh.sh_addr + sh.sh_size < sh.sh_addr)
			continue;
		t->sections[t->nsections++] = (struct code_section){ sh.sh_addr, sh.sh_addr + sh.sh_size };
	}
	return 0;
}

static const struct code_section *section_over(const struct symtab *t, taddr addr)
{
	for (size_t i = 0; i < t->nsections; i++) {
		if (t->sections[i].lo <= addr && addr < t->sections[i].hi)
			return &t->sections[i];
	}
	return NULL;
}

static enum binding binding_of(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
		return BOUND_GLOBAL;
	case STB_WEAK:
		return BOUND_WEAK;
	case STB_LOCAL:
		return BOUND_LOCAL;
	}
	return BOUND_OTHER;
}

/*
 * Absolute symbols are numbers, not addresses, even if there is code at that address. A label in assembly
 * (local, without type and size) is not a function.
 */
static bool is_code(const struct symtab *t, const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	if (type == STT_NOTYPE && !sym->st_size && binding_of(sym) == BOUND_LOCAL)
		return false;
	return section_over(t, sym->st_value);
}

static int add_symbol(struct symtab *t, const GElf_Sym *sym, const char *name)
{
	if (grow_for(&t->v, t->n, &t->room, sizeof(*t->v)) < 0)
		return -ENOMEM;
	t->v[t->n] = (struct symbol){
		.value = sym->st_value, .size = sym->st_size, .name = name, .order = (uint32_t)t->n,
		.binding = (uint8_t)binding_of(sym),
	};
	t->n++;
	return 0;
}

static int load_table(struct symtab *t, Elf *elf, Elf_Scn *scn, size_t strings)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;

	if (n > SYMBOLS_MAX)
		n = SYMBOLS_MAX;
	for (size_t i = 1; i < n; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym) || !is_code(t, &sym))
			continue;
		name = elf_strptr(elf, strings, sym.st_name);
		if (!name || !*name)
			continue;
		if (add_symbol(t, &sym, name))
			return -ENOMEM;
	}
	return 0;
}

/* Load the first table of @type in @elf; 1 if it has one, 0, or -ENOMEM. */
static int load_tables(struct symtab *t, Elf *elf, uint32_t type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int rc;

	while (elf && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		rc = load_table(t, elf, scn, sh.sh_link);
		return rc ? rc : 1;
	}
	return 0;
}

static int load_stripped(struct symtab *t, Elf *elf)
{
	int rc = load_tables(t, elf, SHT_DYNSYM);

	if (rc >= 0)
		rc = minidebug_open(elf, &t->mini);
	if (!rc)
		rc = load_tables(t, t->mini.elf, SHT_SYMTAB);
	return rc < 0 ? rc : 0;
}

static int compare_symbols(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static taddr end_of(const struct symbol *s)
{
	return s->value + s->size < s->value ? UINT64_MAX : s->value + s->size;
}

static void sort(struct symtab *t)
{
	taddr reach = 0;

	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), compare_symbols);
	for (size_t i = 0; i < t->n; i++) {
		if (end_of(&t->v[i]) > reach)
			reach = end_of(&t->v[i]);
		t->v[i].reach = reach;
	}
}

static int load(struct symtab *t, Elf *elf, Elf *debug)
{
	int rc = load_sections(t, elf);

	if (!rc)
		rc = load_tables(t, elf, SHT_SYMTAB);
	if (!rc)
		rc = load_tables(t, debug, SHT_SYMTAB);
	if (!rc)
		rc = load_stripped(t, elf);
	return rc < 0 ? rc : 0;
}

int symtab_new(Elf *elf, Elf *debug, struct symtab **out)
{
	struct symtab *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return -ENOMEM;
	rc = load(t, elf, debug);
	if (rc) {
		symtab_free(t);
		return rc;
	}
	sort(t);
	fdetable_init(&t->fdes, elf);
	*out = t;
	return 0;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	minidebug_close(&t->mini);
	free(t->sections);
	free(t->v);
	free(t);
}

static bool is_better(const struct symbol *s, const struct symbol *than)
{
	bool global = s->binding >= BOUND_WEAK;

	if (!than)
		return true;
	if (global != (than->binding >= BOUND_WEAK))
		return global;
	if (s->value != than->value)
		return s->value > than->value;
	if (s->binding != than->binding)
		return s->binding > than->binding;
	if (s->size != than->size)
		return s->size < than->size;
	return s->order < than->order;
}

static const struct symbol *find_sized(const struct symtab *t, size_t n, taddr addr)
{
	const struct symbol *best = NULL;

	for (size_t i = n; i > 0 && t->v[i - 1].reach > addr; i--) {
		const struct symbol *s = &t->v[i - 1];

		if (s->size && addr < end_of(s) && is_better(s, best))
			best = s;
	}
	return best;
}

/*
 * Of the symbols without a size, those nearest before @addr share one address. They cover @addr only if no
 * symbol with a size ends after that address.
 */
static const struct symbol *find_sizeless(const struct symtab *t, size_t n, taddr addr)
{
	const struct symbol *best = NULL, *last = n ? &t->v[n - 1] : NULL;
	const struct code_section *section = last ? section_over(t, last->value) : NULL;

	if (!last || last->reach > last->value || !section || addr >= section->hi ||
	    !fdetable_same(&t->fdes, last->value, addr))
		return NULL;
	for (size_t i = n; i > 0 && t->v[i - 1].value == last->value; i--) {
		if (is_better(&t->v[i - 1], best))
			best = &t->v[i - 1];
	}
	return best;
}

const char *symtab_find(const struct symtab *t, taddr addr)
{
	size_t n = ADDR_SEARCH(t->v, t->n, value, addr);
	const struct symbol *s = find_sized(t, n, addr);

	if (!s)
		s = find_sizeless(t, n, addr);
	return s ? s->name : NULL;
}
