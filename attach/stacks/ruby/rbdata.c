/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rbdata.h"

#include <gelf.h>
#include <stdlib.h>

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/scripts/script_language.h"

#define DATA_MOST ((size_t)4 << 20)	/* bytes that are searched, and how often pointers are followed */
#define FOLLOWED_MOST 16384u	/* in libruby some 1,700 are */

bool rb_data_pointer(uint64_t word)
{
	return word > UINT16_MAX && word % 8 == 0 && word >> 47 == 0;
}

struct search {
	const struct rb_data_wanted *wanted;
	int mem;
	size_t bytes;		/* that may still be searched */
	uint32_t followed;
};

/* In @n words from @from on. */
static taddr search_words(struct search *s, taddr from, const uint64_t *words, size_t n)
{
	const struct rb_data_wanted *w = s->wanted;

	for (size_t i = 0; i + w->n <= n && s->followed < FOLLOWED_MOST; i++) {
		if (!w->may_be(w->arg, words + i))
			continue;
		s->followed++;
		if (w->is(w->arg, words + i))
			return from + i * sizeof(*words);
	}
	return 0;
}

/* With what the file has none of (.bss), if it can be read. */
static taddr search_segment(struct search *s, taddr from, size_t size)
{
	const size_t n = (size < s->bytes ? size : s->bytes) / 8;
	uint64_t *words = n ? malloc(n * sizeof(*words)) : NULL;
	taddr at = 0;

	s->bytes -= 8 * n;
	if (words && script_read(s->mem, from, words, n * sizeof(*words)))
		at = search_words(s, from, words, n);
	free(words);
	return at;
}

taddr rb_data_search(const struct module *m, int mem, const struct rb_data_wanted *wanted)
{
	struct search s = { .wanted = wanted, .mem = mem, .bytes = DATA_MOST };
	Elf *elf = elfimage_elf(m->img);
	taddr at = 0;
	GElf_Phdr ph;
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n && !at; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_W)
			at = search_segment(&s, (m->bias + ph.p_vaddr + 7) & ~7ull, ph.p_memsz);
	return at;
}
