/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rbdata.h"

#include <gelf.h>
#include <stdlib.h>

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/scripts/script_language.h"

#define DATA_MOST (4u << 20)	/* bytes of a segment that are searched */

bool rb_data_pointer(uint64_t word)
{
	return word > UINT16_MAX && word % 8 == 0 && word >> 47 == 0;
}

/* With what the file has none of (.bss), as far as it can be read. */
static taddr search_segment(const struct module *m, int mem, const GElf_Phdr *ph,
			    const struct rb_data_wanted *wanted)
{
	const taddr from = (m->bias + ph->p_vaddr + 7) & ~7ull;
	const size_t n = (ph->p_memsz < DATA_MOST ? ph->p_memsz : DATA_MOST) & ~7ull;
	uint64_t *words = malloc(n);
	taddr at = 0;

	if (words && n && script_read(mem, from, words, n))
		for (size_t i = 0; i + wanted->n <= n / sizeof(*words) && !at; i++)
			if (wanted->is(wanted->arg, words + i))
				at = from + i * sizeof(*words);
	free(words);
	return at;
}

taddr rb_data_search(const struct module *m, int mem, const struct rb_data_wanted *wanted)
{
	Elf *elf = elfimage_elf(m->img);
	taddr at = 0;
	GElf_Phdr ph;
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n && !at; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_W)
			at = search_segment(m, mem, &ph, wanted);
	return at;
}
