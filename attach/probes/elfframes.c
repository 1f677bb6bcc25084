/* SPDX-License-Identifier: MIT */
/*
 * elfframes: read the address ranges of .eh_frame, nothing else of it.
 *
 * libdw walks the entries; what it leaves to us is the encoding of an FDE's two
 * addresses, which its CIE names ('R' in the augmentation; 0x1b in practice:
 * four bytes, signed, relative to themselves). An encoding that no compiler
 * uses there makes the FDE one that we do not know.
 */
#include "attach/probes/elfframes.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

/* The walk over the section. */
struct walk {
	Elf_Data *data;
	taddr addr;		/* where the section is loaded */
	Dwarf_Off cie;		/* the CIE read last... */
	int encoding;		/* ...and its FDEs' encoding, -1 if we cannot read it */
	const unsigned char *ident;
	size_t room;
};

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, sh) || sh->sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh->sh_name);
		if (name && !strcmp(name, wanted))
			return scn;
	}
	return NULL;
}

/* The size of a pointer in @encoding, 0 if it has no fixed one. */
static unsigned encoded_size(int encoding)
{
	switch (encoding & 0x07) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
		return 8;
	case DW_EH_PE_udata4:
		return 4;
	case DW_EH_PE_udata2:
		return 2;
	}
	return 0;
}

static uint64_t read_encoded(const uint8_t *p, int encoding)
{
	unsigned size = encoded_size(encoding), shift = 64 - 8 * size;
	uint64_t v = 0;

	memcpy(&v, p, size);
	return encoding & 0x08 ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

/* Step over what belongs to letter @letter of an augmentation; the encoding if it is 'R'. */
static int augmentation_item(char letter, const uint8_t **p, const uint8_t *end)
{
	int encoding;

	if (*p >= end)
		return -1;
	encoding = *(*p)++;
	if (letter == 'P')
		*p += encoded_size(encoding) ? encoded_size(encoding) : (size_t)(end - *p);
	return letter == 'R' ? encoding : 0;
}

static int encoding_of(const Dwarf_CIE *cie)
{
	const char *letters = cie->augmentation;
	const uint8_t *p = cie->augmentation_data, *end = p + cie->augmentation_data_size;
	int encoding = DW_EH_PE_absptr;

	if (*letters != 'z')
		return *letters ? -1 : DW_EH_PE_absptr;
	for (letters++; *letters; letters++) {
		int item;

		if (*letters == 'S' || *letters == 'B')
			continue;	/* signal frame, pointer authentication: without data */
		if (!strchr("RPL", *letters))
			return -1;
		item = augmentation_item(*letters, &p, end);
		if (item < 0)
			return -1;
		if (*letters == 'R')
			encoding = item;
	}
	return encoding;
}

static int encoding_for(struct walk *w, Dwarf_Off cie)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (w->cie == cie)
		return w->encoding;
	w->cie = cie;
	w->encoding = -1;
	if (!dwarf_next_cfi(w->ident, w->data, true, cie, &next, &entry) && dwarf_cfi_cie_p(&entry))
		w->encoding = encoding_of(&entry.cie);
	return w->encoding;
}

/* false if the range cannot be read or is none. */
static bool range_of(struct walk *w, const Dwarf_FDE *fde, struct code_range *out)
{
	int encoding = encoding_for(w, fde->CIE_pointer), base = encoding & 0x70;
	unsigned size = encoding < 0 ? 0 : encoded_size(encoding);
	uint64_t start, length;

	if (!size || encoding & DW_EH_PE_indirect || (base != DW_EH_PE_absptr && base != DW_EH_PE_pcrel) ||
	    (size_t)(fde->end - fde->start) < 2 * size)
		return false;
	start = read_encoded(fde->start, encoding);
	if (base == DW_EH_PE_pcrel)
		start += w->addr + (uint64_t)(fde->start - (const uint8_t *)w->data->d_buf);
	length = read_encoded(fde->start + size, encoding & 0x07);
	*out = (struct code_range){ start, start + length };
	return out->hi > out->lo;
}

static int add_range(struct walk *w, struct elfframes *out, struct code_range range)
{
	if (out->n == w->room) {
		size_t room = w->room ? 2 * w->room : 256;
		struct code_range *more = realloc(out->v, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		out->v = more;
		w->room = room;
	}
	out->v[out->n++] = range;
	return 0;
}

static int walk_section(struct walk *w, struct elfframes *out)
{
	Dwarf_Off at = 0, next;
	Dwarf_CFI_Entry entry;
	struct code_range range;
	int rc = 0;

	/* -1 is an entry that libdw cannot read but can step over, if it says where the next is. */
	for (; !rc && at < w->data->d_size; at = next) {
		int got;

		next = at;
		got = dwarf_next_cfi(w->ident, w->data, true, at, &next, &entry);
		if (got > 0 || next <= at)
			break;
		if (got == 0 && !dwarf_cfi_cie_p(&entry) && range_of(w, &entry.fde, &range))
			rc = add_range(w, out, range);
	}
	return rc;
}

static int compare_ranges(const void *pa, const void *pb)
{
	const struct code_range *a = pa, *b = pb;

	return a->lo < b->lo ? -1 : a->lo > b->lo;
}

int elfframes_load(Elf *elf, struct elfframes *out)
{
	GElf_Shdr sh;
	Elf_Scn *scn = find_section(elf, ".eh_frame", &sh);
	struct walk w = { .cie = (Dwarf_Off)-1 };
	int rc;

	*out = (struct elfframes){ 0 };
	w.data = scn ? elf_getdata(scn, NULL) : NULL;
	w.ident = (const unsigned char *)elf_getident(elf, NULL);
	if (!w.data || !w.data->d_buf || !w.ident)
		return 0;
	w.addr = sh.sh_addr;
	rc = walk_section(&w, out);
	if (rc)
		elfframes_fini(out);
	else if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), compare_ranges);
	return rc;
}

void elfframes_fini(struct elfframes *frames)
{
	free(frames->v);
	*frames = (struct elfframes){ 0 };
}

size_t elfframes_upto(const struct elfframes *frames, taddr addr)
{
	size_t lo = 0, hi = frames->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (frames->v[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct code_range *elfframes_over(const struct elfframes *frames, taddr addr)
{
	size_t n = elfframes_upto(frames, addr);

	return n && addr < frames->v[n - 1].hi ? &frames->v[n - 1] : NULL;
}
