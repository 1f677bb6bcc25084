/* SPDX-License-Identifier: MIT */
/* fdetable: see fdetable.h. */
#include "symbolize/files/fdetable.h"

#include <dwarf.h>
#include <string.h>

#include "symbolize/files/elffile.h"

#define HEAD 12		/* version, three encodings, pointer to .eh_frame, number of entries */
#define ENTRY 8
#define CIE_HEAD 9	/* length, zero, version */
#define FDE_RANGE 16	/* of an FDE: length, pointer to its CIE, begin, size; four bytes each */

static int32_t read_s32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static const uint8_t *contents(Elf *elf, const char *name, size_t *n, taddr *addr)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elffile_section(elf, name, &sh);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf)
		return NULL;
	*n = data->d_size;
	*addr = sh.sh_addr;
	return data->d_buf;
}

void fdetable_init(struct fdetable *t, Elf *elf)
{
	static const uint8_t form[] = {
		1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4, DW_EH_PE_datarel | DW_EH_PE_sdata4,
	};
	struct fdetable found = { 0 };
	size_t n = 0;
	const uint8_t *head = contents(elf, ".eh_frame_hdr", &n, &found.base);

	*t = (struct fdetable){ 0 };
	if (!head || n < HEAD || memcmp(head, form, sizeof(form)))
		return;
	found.frames = contents(elf, ".eh_frame", &found.frames_size, &found.frames_addr);
	if (!found.frames)
		return;
	found.entries = head + HEAD;
	found.n = (uint32_t)read_s32(head + 8);
	if (found.n <= (n - HEAD) / ENTRY)
		*t = found;
}

static taddr begin_of(const struct fdetable *t, size_t i)
{
	return t->base + (uint64_t)(int64_t)read_s32(t->entries + i * ENTRY);
}

/* Where the function of entry @i ends according to its FDE; where it begins if the FDE is not plausible. */
static taddr end_of(const struct fdetable *t, size_t i)
{
	taddr begin = begin_of(t, i);
	uint64_t at = t->base + (uint64_t)(int64_t)read_s32(t->entries + i * ENTRY + 4) - t->frames_addr;
	const uint8_t *fde = t->frames + at;

	if (t->frames_size < FDE_RANGE || at > t->frames_size - FDE_RANGE)
		return begin;
	if (t->frames_addr + at + 8 + (uint64_t)(int64_t)read_s32(fde + 8) != begin)
		return begin;
	return begin + (uint32_t)read_s32(fde + 12);
}

/* The number of functions that begin before or at @addr. */
static size_t upto(const struct fdetable *t, taddr addr)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (begin_of(t, mid) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool fdetable_same(const struct fdetable *t, taddr lo, taddr hi)
{
	size_t n = upto(t, lo);
	taddr end;

	if (n != upto(t, hi))
		return false;
	end = n ? end_of(t, n - 1) : 0;
	return (lo < end) == (hi < end);
}

/* The CIE's offset of the FDE at offset @at is in its second word, backwards from there. */
const char *fdetable_augmentation(const struct fdetable *t, taddr addr)
{
	const size_t n = upto(t, addr);
	uint64_t at, cie;

	if (!t->n)
		return NULL;
	if (!n || addr >= end_of(t, n - 1))
		return "";
	at = t->base + (uint64_t)(int64_t)read_s32(t->entries + (n - 1) * ENTRY + 4) - t->frames_addr;
	cie = at + 4 - (uint32_t)read_s32(t->frames + at + 4);
	if (cie >= t->frames_size || t->frames_size - cie < CIE_HEAD)
		return NULL;
	if (!memchr(t->frames + cie + CIE_HEAD, 0, t->frames_size - cie - CIE_HEAD))
		return NULL;
	return (const char *)t->frames + cie + CIE_HEAD;
}
