/* SPDX-License-Identifier: MIT */
/* elfslots: the relocations that fill slots with functions, sorted by slot. */
#include "attach/probes/code/elfslots.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

/* A section of relocations and the symbols it refers to. */
struct table {
	Elf *elf;
	Elf_Data *relocations, *symbols;
	size_t strings;
	const struct elfsyms *functions;
	GElf_Shdr got;			/* of no size: there is none */
};

static const char *symbol_name(const struct table *t, size_t i)
{
	GElf_Sym sym;
	const char *name;

	if (!t->symbols || i > INT32_MAX || !gelf_getsym(t->symbols, (int)i, &sym))
		return NULL;
	name = elf_strptr(t->elf, t->strings, sym.st_name);
	return name && *name ? name : NULL;
}

static const char *relocated_to(const struct table *t, const GElf_Rela *r)
{
	const struct elfsym *resolver;

	switch (GELF_R_TYPE(r->r_info)) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		return symbol_name(t, GELF_R_SYM(r->r_info));
	case R_X86_64_IRELATIVE:
		resolver = elfsyms_at(t->functions, (taddr)r->r_addend, true);
		return resolver ? resolver->name : NULL;
	}
	return NULL;
}

/* Is it a slot for an address of this file? */
static bool is_relative(const struct table *t, const GElf_Rela *r)
{
	return GELF_R_TYPE(r->r_info) == R_X86_64_RELATIVE && r->r_addend > 0 &&
	       r->r_offset - t->got.sh_addr < t->got.sh_size;
}

static int add_table(const struct table *t, struct elfslots *out)
{
	size_t n = t->relocations->d_size / sizeof(Elf64_Rela);
	struct elfslot *more;

	if (!n || n > INT32_MAX)
		return 0;
	more = realloc(out->v, (out->n + n) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	out->v = more;
	for (size_t i = 0; i < n; i++) {
		GElf_Rela r;
		const char *name;

		if (!gelf_getrela(t->relocations, (int)i, &r))
			continue;
		name = relocated_to(t, &r);
		if (name)
			out->v[out->n++] = (struct elfslot){ r.r_offset, name, 0 };
		else if (is_relative(t, &r))
			out->v[out->n++] = (struct elfslot){ r.r_offset, "", (taddr)r.r_addend };
	}
	return 0;
}

static int add_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const struct elfsyms *syms,
		       const GElf_Shdr *got, struct elfslots *out)
{
	struct table t = { .elf = elf, .functions = syms, .got = *got,
			   .relocations = elf_getdata(scn, NULL) };
	Elf_Scn *symbols = sh->sh_link ? elf_getscn(elf, sh->sh_link) : NULL;
	GElf_Shdr linked;

	if (!t.relocations || !t.relocations->d_buf)
		return 0;
	if (symbols && gelf_getshdr(symbols, &linked) && linked.sh_type == SHT_DYNSYM) {
		t.symbols = elf_getdata(symbols, NULL);
		t.strings = linked.sh_link;
	}
	return add_table(&t, out);
}

static int compare_slots(const void *pa, const void *pb)
{
	const struct elfslot *a = pa, *b = pb;

	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* The section .got; of no size if there is none. */
static GElf_Shdr find_got(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	while (elf_getshdrstrndx(elf, &names) == 0 && (scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (name && !strcmp(name, ".got"))
			return sh;
	}
	return (GElf_Shdr){ 0 };
}

int elfslots_load(Elf *elf, const struct elfsyms *syms, struct elfslots *out)
{
	const GElf_Shdr got = find_got(elf);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int rc = 0;

	*out = (struct elfslots){ 0 };
	while (!rc && (scn = elf_nextscn(elf, scn))) {
		/* Relocations that are not loaded are the linker's leftovers (--emit-relocs). */
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC)
			rc = add_section(elf, scn, &sh, syms, &got, out);
	}
	if (rc)
		elfslots_fini(out);
	else if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), compare_slots);
	return rc;
}

void elfslots_fini(struct elfslots *slots)
{
	free(slots->v);
	*slots = (struct elfslots){ 0 };
}

const char *elfslots_name(const struct elfslots *slots, taddr slot)
{
	struct elfslot key = { .slot = slot };
	const struct elfslot *found = NULL;

	if (slots->n)
		found = bsearch(&key, slots->v, slots->n, sizeof(key), compare_slots);
	return found && *found->name ? found->name : NULL;
}
