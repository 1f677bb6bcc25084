/* SPDX-License-Identifier: MIT */
/*
 * cfisection: see cfisection.h.
 *
 * libdw splits entries into their parts but does not decode an FDE's two addresses. The CIE names their
 * encoding ('R' in its augmentation; 0x1b in practice: four bytes, signed, relative to themselves). An entry
 * with an encoding that no compiler uses is not loaded.
 */
#include "symbolize/files/cfisection.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/addr_search.h"
#include "base/grow.h"
#include "symbolize/files/elffile.h"

#define RETURN_ADDRESS 16	/* the column of the return address on x86-64 */
/* a larger section, also when uncompressed, is not read: the largest programs have 30 MiB */
#define SECTION_MAX (128ull << 20)
/* the CIEs may be re-read up to this many times the section's size in all */
#define CIE_WORK_MAX 16

/* The parts of a CIE that matter for its FDEs. */
struct cie {
	Dwarf_CFI_Entry entry;
	int encoding;		/* of addresses; -1: not a known one */
	bool sized;		/* the augmentation data begin with their size */
	bool signal;
	uint64_t size;		/* of the entry */
};

/* The walk over a section. */
struct walk {
	Dwarf_Off cie_at;	/* the CIE read last... */
	struct cie cie;		/* ...and what it says */
	uint64_t cie_work;	/* bytes of CIEs read */
	size_t room;
};

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

static uint64_t read_encoded(struct bytes *b, int encoding)
{
	unsigned size = encoded_size(encoding);

	return encoding & 0x08 ? (uint64_t)bytes_signed(b, size) : bytes_number(b, size);
}

static bool encoding_known(int encoding)
{
	int base = encoding & 0x70;

	return encoding >= 0 && encoding <= 0x7f && encoded_size(encoding) &&
	       (base == DW_EH_PE_absptr || base == DW_EH_PE_pcrel);
}

/* One letter of the augmentation string and its data. */
static void read_augmentation(struct cie *c, char letter, struct bytes *data)
{
	int encoding;

	switch (letter) {
	case 'S':
		c->signal = true;
		return;
	case 'R':
		c->encoding = (int)bytes_number(data, 1);
		return;
	case 'L':
		bytes_number(data, 1);
		return;
	case 'P':
		encoding = (int)bytes_number(data, 1);
		if (encoded_size(encoding) && encoding != DW_EH_PE_aligned) {
			bytes_take(data, encoded_size(encoding));
			return;
		}
	}
	data->bad = true;
}

static void read_cie(struct cie *c)
{
	const Dwarf_CIE *cie = &c->entry.cie;
	const char *letters = cie->augmentation;
	struct bytes data = { cie->augmentation_data, cie->augmentation_data, false };

	c->encoding = DW_EH_PE_absptr;
	c->sized = *letters == 'z';
	if (c->sized && data.p)
		data.end += cie->augmentation_data_size;
	for (letters += c->sized; *letters && !data.bad; letters++)
		read_augmentation(c, *letters, &data);
	if (data.bad || !encoding_known(c->encoding) || cie->return_address_register != RETURN_ADDRESS)
		c->encoding = -1;
}

/* 0 or -EINVAL. */
static int find_cie(const struct cfi_section *s, Dwarf_Off at, struct cie *out)
{
	Dwarf_Off next = at;

	*out = (struct cie){ .encoding = -1 };
	if (dwarf_next_cfi(s->ident, s->data, s->eh, at, &next, &out->entry) || !dwarf_cfi_cie_p(&out->entry))
		return -EINVAL;
	out->size = next > at ? next - at : 0;
	read_cie(out);
	return out->encoding < 0 ? -EINVAL : 0;
}

/*
 * Where the function lies; @body is left after the addresses. false if the extent cannot be read or is empty.
 */
static bool read_extent(const struct cfi_section *s, const Dwarf_FDE *fde, int encoding, struct bytes *body,
			struct cfi_extent *out)
{
	uint64_t length;

	*body = (struct bytes){ fde->start, fde->end, false };
	out->lo = read_encoded(body, encoding);
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		out->lo += s->addr + (uint64_t)(fde->start - (const uint8_t *)s->data->d_buf);
	length = read_encoded(body, encoding & 0x07);
	out->hi = out->lo + length;
	return !body->bad && out->hi > out->lo;
}

static int add(struct cfi_section *s, size_t *room, struct cfi_extent f)
{
	if (grow_for(&s->v, s->n, room, sizeof(*s->v)) < 0)
		return -ENOMEM;
	s->v[s->n++] = f;
	return 0;
}

/*
 * Add an FDE that libdw has split. -ELOOP: reading the CIEs costs more than in any regular file, as when
 * thousands of FDEs alternate between two CIEs, each with an augmentation string of a megabyte.
 */
static int note(struct cfi_section *s, struct walk *w, Dwarf_Off at, const Dwarf_FDE *fde)
{
	struct cfi_extent f = { .at = at };
	struct bytes body;

	if (fde->CIE_pointer != w->cie_at) {
		w->cie_at = fde->CIE_pointer;
		(void)find_cie(s, w->cie_at, &w->cie);
		w->cie_work += w->cie.size;
	}
	if (w->cie_work > CIE_WORK_MAX * (uint64_t)s->data->d_size)
		return -ELOOP;
	if (w->cie.encoding < 0 || !read_extent(s, fde, w->cie.encoding, &body, &f))
		return 0;
	return add(s, &w->room, f);
}

/* libdw returns -1 for an entry that it cannot read; it can be skipped if @next is set. */
static int walk(struct cfi_section *s)
{
	struct walk w = { .cie_at = (Dwarf_Off)-1 };
	Dwarf_Off next;
	int err = 0;

	for (Dwarf_Off at = 0; !err && at < s->data->d_size; at = next) {
		Dwarf_CFI_Entry entry;
		int got;

		next = at;
		got = dwarf_next_cfi(s->ident, s->data, s->eh, at, &next, &entry);
		if (got > 0 || next <= at)
			break;
		if (got == 0 && !dwarf_cfi_cie_p(&entry))
			err = note(s, &w, at, &entry.fde);
	}
	return err == -ENOMEM ? err : 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct cfi_extent *a = pa, *b = pb;

	return a->lo < b->lo ? -1 : a->lo > b->lo;
}

/* false: the section is compressed, and will not be uncompressed. */
static bool unpack(Elf_Scn *scn, const GElf_Shdr *sh)
{
	GElf_Chdr ch;

	if (!(sh->sh_flags & SHF_COMPRESSED))
		return true;
	return gelf_getchdr(scn, &ch) && ch.ch_size <= SECTION_MAX && elf_compress(scn, 0, 0) >= 0;
}

/* A file without section headers still has its .eh_frame: .eh_frame_hdr has the address. */
static bool eh_frame_address(Elf *elf, const GElf_Phdr *hdr, taddr *addr)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)hdr->p_offset, 8, ELF_T_BYTE);
	struct bytes b;

	if (!data || data->d_size < 8 ||
	    ((const uint8_t *)data->d_buf)[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return false;
	b = (struct bytes){ (const uint8_t *)data->d_buf + 4, (const uint8_t *)data->d_buf + 8, false };
	*addr = hdr->p_vaddr + 4 + (uint64_t)bytes_signed(&b, 4);
	return true;
}

/* From @addr to the end of its segment: the section has its own terminator. */
static Elf_Data *loaded_at(Elf *elf, taddr addr, size_t nheaders)
{
	GElf_Phdr ph;

	for (size_t i = 0; i < nheaders && gelf_getphdr(elf, (int)i, &ph); i++) {
		uint64_t into = addr - ph.p_vaddr;

		if (ph.p_type == PT_LOAD && addr >= ph.p_vaddr && into < ph.p_filesz)
			return ph.p_filesz - into > SECTION_MAX
				       ? NULL
				       : elf_getdata_rawchunk(elf, (int64_t)(ph.p_offset + into),
							      ph.p_filesz - into, ELF_T_BYTE);
	}
	return NULL;
}

static Elf_Data *data_from_headers(Elf *elf, taddr *addr)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(elf, &n) || n > UINT16_MAX)
		return NULL;
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &ph); i++) {
		if (ph.p_type == PT_GNU_EH_FRAME)
			return eh_frame_address(elf, &ph, addr) ? loaded_at(elf, *addr, n) : NULL;
	}
	return NULL;
}

static Elf_Data *find_data(Elf *elf, bool eh, taddr *addr)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elffile_section(elf, eh ? ".eh_frame" : ".debug_frame", &sh);

	if (!scn)
		return eh ? data_from_headers(elf, addr) : NULL;
	*addr = sh.sh_addr;
	return sh.sh_size <= SECTION_MAX && unpack(scn, &sh) ? elf_getdata(scn, NULL) : NULL;
}

int cfi_section_load(Elf *elf, bool eh, struct cfi_section *out)
{
	int err;

	*out = (struct cfi_section){ .eh = eh };
	out->data = find_data(elf, eh, &out->addr);
	out->ident = (const unsigned char *)elf_getident(elf, NULL);
	if (!out->data || !out->data->d_buf || !out->ident)
		return 0;
	err = walk(out);
	if (err)
		cfi_section_fini(out);
	else if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), compare);
	return err;
}

void cfi_section_fini(struct cfi_section *s)
{
	free(s->v);
	*s = (struct cfi_section){ 0 };
}

size_t cfi_section_upto(const struct cfi_section *s, taddr addr)
{
	return ADDR_SEARCH(s->v, s->n, lo, addr);
}

const struct cfi_extent *cfi_section_over(const struct cfi_section *s, taddr addr)
{
	size_t n = cfi_section_upto(s, addr);

	return n && addr < s->v[n - 1].hi ? &s->v[n - 1] : NULL;
}

int cfi_section_program(const struct cfi_section *s, const struct cfi_extent *f, struct cfi_program *out)
{
	struct cfi_extent extent;
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	struct cie cie;

	*out = (struct cfi_program){ .lo = f->lo };
	if (dwarf_next_cfi(s->ident, s->data, s->eh, f->at, &next, &entry) || dwarf_cfi_cie_p(&entry) ||
	    find_cie(s, entry.fde.CIE_pointer, &cie) ||
	    !read_extent(s, &entry.fde, cie.encoding, &out->fde, &extent))
		return -EINVAL;
	if (cie.sized)
		bytes_take(&out->fde, bytes_uleb(&out->fde));
	out->cie = (struct bytes){ cie.entry.cie.initial_instructions, cie.entry.cie.initial_instructions_end,
				   false };
	out->code_align = cie.entry.cie.code_alignment_factor;
	out->data_align = cie.entry.cie.data_alignment_factor;
	out->absolute = cie.encoding == DW_EH_PE_absptr;
	out->signal = cie.signal;
	return out->fde.bad ? -EINVAL : 0;
}
