/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rbsymbols.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/ruby/rbobjects.h"
#include "attach/stacks/scripts/script_language.h"

#define DATA_MOST (4u << 20)	/* bytes of a file that are looked through */
#define LAST_OPERATOR 169u	/* greater ids have four bits of kind below the number */
#define KIND_BITS 4
#define IN_AN_ARRAY 512u	/* symbols, of two elements each: the string, the symbol */
#define SYMBOLS_MOST (1u << 28)

struct table {
	uint64_t last;
	taddr by_name, arrays;
};

static bool name_of_number(int mem, const struct rb_layout *l, const struct table *t, uint64_t number,
			   char *buf, size_t n)
{
	uint64_t array, string;

	return number <= t->last && rb_read_element(mem, t->arrays, number / IN_AN_ARRAY, &array) &&
	       rb_read_element(mem, array, number % IN_AN_ARRAY * 2, &string) &&
	       rb_read_string(mem, l, string, buf, n);
}

static bool is_pointer(taddr addr)
{
	return addr > UINT16_MAX && addr % 8 == 0 && addr >> 47 == 0;
}

static bool is_table(int mem, const struct rb_layout *l, const struct table *t)
{
	static const char letters[] = "+*<";
	char name[4];

	if (t->last <= LAST_OPERATOR || t->last > SYMBOLS_MOST || !is_pointer(t->by_name) ||
	    !is_pointer(t->arrays))
		return false;
	for (const char *c = letters; *c; c++)
		if (!name_of_number(mem, l, t, (uint8_t)*c, name, sizeof(name)) || name[0] != *c || name[1])
			return false;
	return true;
}

/* In @n words of initialized data from @from on. */
static taddr search(int mem, const struct rb_layout *l, taddr from, const uint64_t *words, size_t n)
{
	const size_t size = sizeof(struct table) / sizeof(*words);
	struct table t;

	for (size_t i = 0; i + size <= n; i++) {
		memcpy(&t, words + i, sizeof(t));
		if (is_table(mem, l, &t))
			return from + i * sizeof(*words);
	}
	return 0;
}

static taddr search_segment(const struct module *m, int mem, const struct rb_layout *l, const GElf_Phdr *ph)
{
	const taddr from = (m->bias + ph->p_vaddr + 7) & ~7ull;
	const size_t n = (ph->p_filesz < DATA_MOST ? ph->p_filesz : DATA_MOST) & ~7ull;
	uint64_t *words = malloc(n);
	taddr at = 0;

	if (words && n && script_read(mem, from, words, n))
		at = search(mem, l, from, words, n / sizeof(*words));
	free(words);
	return at;
}

taddr rb_symbols_locate(const struct module *m, int mem, const struct rb_layout *l)
{
	Elf *elf = elfimage_elf(m->img);
	taddr at = 0;
	GElf_Phdr ph;
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n && !at; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_W)
			at = search_segment(m, mem, l, &ph);
	return at;
}

bool rb_symbols_name(int mem, const struct rb_layout *l, taddr table, uint64_t id, char *buf, size_t n)
{
	struct table t;

	if (!table || !script_read(mem, table, &t, sizeof(t)))
		return false;
	return name_of_number(mem, l, &t, id > LAST_OPERATOR ? id >> KIND_BITS : id, buf, n);
}
