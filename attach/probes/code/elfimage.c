/* SPDX-License-Identifier: MIT */
/*
 * elfimage: one file, its segments, and three tables made when first needed.
 *
 *	segments    here: where code lies, padding
 *	elfsyms     functions by name and address
 *	cfisection  extents of functions, from .eh_frame
 *	elfslots    which functions the global offset table is filled with
 *
 * Everything is read with pread (libelf's ELF_C_READ), never mapped: a file that is truncated meanwhile gives
 * short reads, not SIGBUS. Segments are read from the program headers; symbols and slots need section
 * headers, and a file without them has no functions that can be found by name.
 */
#include "attach/probes/code/elfimage.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/probes/code/elfslots.h"
#include "attach/probes/code/elfsyms.h"
#include "base/log.h"
#include "symbolize/files/cfisection.h"

#define PAGE_MASK_4K 4095ULL
#define PADDING_MAX 64	/* a longer gap between functions is no alignment */

struct segment {
	taddr vaddr;
	uint64_t offset, filesz, memsz;
	bool code;
};

/* Padding that was given out, and the instruction that it is for. */
struct taken {
	taddr addr, insn;
	size_t n;
};

/* The tables made on demand; a struct of their own, since they change behind const images. */
struct tables {
	bool have_syms, have_frames, have_slots;
	struct elfsyms syms;
	struct cfi_section frames;
	struct elfslots slots;
	struct taken *taken;
	size_t ntaken;
};

struct elfimage {
	int fd;
	Elf *elf;
	struct segment *segments;
	size_t nsegments;
	struct tables *tables;
};

static bool is_x86_64(Elf *elf)
{
	GElf_Ehdr eh;

	if (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 || !gelf_getehdr(elf, &eh))
		return false;
	return eh.e_machine == EM_X86_64 && eh.e_ident[EI_DATA] == ELFDATA2LSB &&
	       (eh.e_type == ET_DYN || eh.e_type == ET_EXEC);
}

static int read_segments(struct elfimage *img)
{
	size_t n;

	if (elf_getphdrnum(img->elf, &n) || n > UINT16_MAX)
		return -EINVAL;
	img->segments = calloc(n + 1, sizeof(*img->segments));
	if (!img->segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(img->elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		if (ph.p_vaddr + ph.p_filesz < ph.p_vaddr || ph.p_offset + ph.p_filesz < ph.p_offset)
			continue;
		img->segments[img->nsegments++] = (struct segment){
			.vaddr = ph.p_vaddr, .offset = ph.p_offset, .filesz = ph.p_filesz,
			.memsz = ph.p_memsz, .code = ph.p_flags & PF_X,
		};
	}
	return 0;
}

static int read_image(struct elfimage *img)
{
	struct stat st;

	if (fstat(img->fd, &st))
		return -EIO;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EIO;
	img->elf = elf_begin(img->fd, ELF_C_READ, NULL);
	if (!img->elf)
		return -EIO;
	if (!is_x86_64(img->elf))
		return -EINVAL;
	return read_segments(img);
}

int elfimage_open(int fd, const char *name, struct elfimage **out)
{
	struct elfimage *img = calloc(1, sizeof(*img));
	int rc;

	if (!img)
		return -ENOMEM;
	img->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	rc = img->fd < 0 ? -errno : 0;
	if (!rc) {
		img->tables = calloc(1, sizeof(*img->tables));
		rc = img->tables ? read_image(img) : -ENOMEM;
	}
	if (rc == -EIO)
		log_debug(MODULE, "%s: %s", name, elf_errmsg(-1));
	if (rc) {
		elfimage_close(img);
		return rc;
	}
	*out = img;
	return 0;
}

void elfimage_close(struct elfimage *img)
{
	if (!img)
		return;
	if (img->tables) {
		elfsyms_fini(&img->tables->syms);
		cfi_section_fini(&img->tables->frames);
		elfslots_fini(&img->tables->slots);
		free(img->tables->taken);
	}
	free(img->tables);
	free(img->segments);
	elf_end(img->elf);
	if (img->fd >= 0)
		close(img->fd);
	free(img);
}

/* If memory is short, a table stays empty and is tried again: missing names do no harm. */
static const struct elfsyms *syms_of(const struct elfimage *img)
{
	struct tables *t = img->tables;

	if (!t->have_syms)
		t->have_syms = elfsyms_load(img->elf, &t->syms) == 0;
	return &t->syms;
}

static const struct cfi_section *frames_of(const struct elfimage *img)
{
	struct tables *t = img->tables;

	if (!t->have_frames)
		t->have_frames = cfi_section_load(img->elf, true, &t->frames) == 0;
	return &t->frames;
}

static const struct elfslots *slots_of(const struct elfimage *img)
{
	struct tables *t = img->tables;

	if (!t->have_slots)
		t->have_slots = elfslots_load(img->elf, syms_of(img), &t->slots) == 0;
	return &t->slots;
}

int elfimage_fd(const struct elfimage *img)
{
	return img->fd;
}

struct Elf *elfimage_elf(const struct elfimage *img)
{
	return img->elf;
}

size_t elfimage_build_id(const struct elfimage *img, uint8_t *buf, size_t n)
{
	const void *id;
	ssize_t len = dwelf_elf_gnu_build_id(img->elf, &id);

	if (len <= 0)
		return 0;
	if ((size_t)len < n)
		n = (size_t)len;
	memcpy(buf, id, n);
	return n;
}

static bool is_textrel(const GElf_Dyn *dyn)
{
	return dyn->d_tag == DT_TEXTREL || (dyn->d_tag == DT_FLAGS && dyn->d_un.d_val & DF_TEXTREL);
}

static bool dynamic_textrel(Elf *elf, const GElf_Phdr *ph)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, ph->p_filesz, ELF_T_DYN);
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (is_textrel(&dyn))
			return true;
	}
	return false;
}

bool elfimage_textrel(const struct elfimage *img)
{
	size_t n;

	if (elf_getphdrnum(img->elf, &n))
		return false;
	for (size_t i = 0; i < n && i < UINT16_MAX; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(img->elf, (int)i, &ph) && ph.p_type == PT_DYNAMIC &&
		    dynamic_textrel(img->elf, &ph))
			return true;
	}
	return false;
}

/*
 * Neighbouring segments share a page of the file: a mapping that begins at a segment's own first page belongs
 * to that segment, rather than to one that merely reaches into the page.
 */
bool elfimage_load_for_offset(const struct elfimage *img, uint64_t file_offset, taddr *vaddr)
{
	const struct segment *best = NULL;
	bool best_exact = false;

	for (size_t i = 0; i < img->nsegments; i++) {
		const struct segment *s = &img->segments[i];
		uint64_t first = s->offset & ~PAGE_MASK_4K;
		bool exact = first == file_offset;

		if (file_offset < first || file_offset >= s->offset + s->filesz)
			continue;
		if (!best || exact > best_exact || (exact == best_exact && s->vaddr < best->vaddr)) {
			best = s;
			best_exact = exact;
		}
	}
	if (best)
		*vaddr = best->vaddr - best->offset + file_offset;
	return best;
}

bool elfimage_loads_at(const struct elfimage *img, taddr addr)
{
	for (size_t i = 0; i < img->nsegments; i++) {
		const struct segment *s = &img->segments[i];
		const taddr lo = s->vaddr & ~PAGE_MASK_4K;
		const uint64_t n = s->vaddr - lo + s->memsz;

		if (s->memsz && addr >= lo && addr - lo <= ((n - 1) | PAGE_MASK_4K))
			return true;
	}
	return false;
}

int elfimage_find(const struct elfimage *img, const char *name, taddr *addr, uint64_t *size, bool *ifunc)
{
	const struct elfsym *sym;
	int rc = elfsyms_find(syms_of(img), name, &sym);

	if (rc)
		return rc;
	*addr = sym->addr;
	*size = sym->size;
	*ifunc = sym->ifunc;
	return 0;
}

const char *elfimage_symbol_at(const struct elfimage *img, taddr addr)
{
	const struct elfsym *sym = elfsyms_at(syms_of(img), addr, false);

	return sym ? sym->name : NULL;
}

bool elfimage_is_global(const struct elfimage *img, taddr addr)
{
	const struct elfsym *sym = elfsyms_at(syms_of(img), addr, false);

	return sym && sym->rank != RANK_LOCAL;	/* of one address the best rank comes first */
}

const char *elfimage_symbol_over(const struct elfimage *img, taddr addr, struct code_range *range)
{
	const struct elfsym *sym = elfsyms_over(syms_of(img), addr);

	if (!sym)
		return NULL;
	*range = (struct code_range){ sym->addr, elfsym_end(sym) };
	return sym->name;
}

bool elfimage_extent(const struct elfimage *img, taddr addr, struct code_range *range)
{
	const struct cfi_extent *frame = cfi_section_over(frames_of(img), addr);

	if (!frame)
		return elfimage_symbol_over(img, addr, range);
	*range = (struct code_range){ frame->lo, frame->hi };
	return true;
}

const char *elfimage_slot_symbol(const struct elfimage *img, taddr slot)
{
	return elfslots_name(slots_of(img), slot);
}

const struct elfslot *elfimage_slots(const struct elfimage *img, size_t *n)
{
	*n = slots_of(img)->n;
	return slots_of(img)->v;
}

bool elfimage_code_segment(const struct elfimage *img, size_t i, struct code_range *range)
{
	for (size_t k = 0; k < img->nsegments; k++) {
		const struct segment *s = &img->segments[k];

		if (s->code && i-- == 0) {
			*range = (struct code_range){ s->vaddr, s->vaddr + s->filesz };
			return true;
		}
	}
	return false;
}

static const struct segment *code_segment(const struct elfimage *img, taddr addr)
{
	for (size_t i = 0; i < img->nsegments; i++) {
		const struct segment *s = &img->segments[i];

		if (s->code && addr >= s->vaddr && addr - s->vaddr < s->filesz)
			return s;
	}
	return NULL;
}

size_t elfimage_code(const struct elfimage *img, taddr addr, void *buf, size_t n)
{
	const struct segment *s = code_segment(img, addr);
	size_t got = 0;

	if (!s)
		return 0;
	if (n > s->filesz - (addr - s->vaddr))
		n = s->filesz - (addr - s->vaddr);
	while (got < n) {
		ssize_t rc = pread(img->fd, (char *)buf + got, n - got,
				   (off_t)(s->offset + (addr - s->vaddr) + got));

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc <= 0)
			break;
		got += (size_t)rc;
	}
	return got;
}

/* The length of one nop, int3 or zero at @p, 0 if it is something else. */
static size_t filler(const uint8_t *p, size_t n)
{
	size_t i = 0, len;

	if (*p == 0x00 || *p == 0xcc)
		return 1;
	while (i < n && (p[i] == 0x66 || p[i] == 0x2e))
		i++;
	if (i < n && p[i] == 0x90)
		return i + 1;
	if (n - i < 3 || p[i] != 0x0f || p[i + 1] != 0x1f)
		return 0;
	len = i + 3 + (p[i + 2] >> 6 == 1) + (p[i + 2] >> 6 == 2 ? 4 : 0) + ((p[i + 2] & 7) == 4);
	return p[i + 2] >> 6 == 3 || len > n ? 0 : len;
}

static bool is_filler(const uint8_t *p, size_t n)
{
	size_t at = 0;

	while (at < n) {
		size_t len = filler(p + at, n - at);

		if (!len)
			return false;
		at += len;
	}
	return true;
}

static bool is_taken(const struct tables *t, taddr addr)
{
	for (size_t i = 0; i < t->ntaken; i++) {
		if (t->taken[i].addr == addr)
			return true;
	}
	return false;
}

/*
 * The gap after FDE @i, if it is @n bytes or more of nothing but padding. Only gaps between two FDEs: padding
 * elsewhere may be inside of a function that has no FDE, and be executed.
 */
static taddr gap_after(const struct elfimage *img, size_t i, size_t n)
{
	const struct cfi_section *frames = frames_of(img);
	uint8_t code[PADDING_MAX];
	struct code_range over;
	taddr lo, hi;

	if (i + 1 >= frames->n)
		return 0;
	lo = frames->v[i].hi;
	hi = frames->v[i + 1].lo;
	if (hi < lo || hi - lo < n || hi - lo > sizeof(code) || is_taken(img->tables, lo))
		return 0;
	if (elfimage_symbol_over(img, lo, &over) || elfimage_symbol_over(img, hi - 1, &over))
		return 0;
	if (elfimage_code(img, lo, code, hi - lo) != hi - lo || !is_filler(code, hi - lo))
		return 0;
	return lo;
}

static taddr take(struct tables *t, taddr addr, taddr insn, size_t n)
{
	struct taken *more = realloc(t->taken, (t->ntaken + 1) * sizeof(*more));

	if (!more)
		return 0;
	t->taken = more;
	t->taken[t->ntaken++] = (struct taken){ addr, insn, n };
	return addr;
}

static taddr taken_for(const struct tables *t, taddr insn, size_t n)
{
	for (size_t i = 0; i < t->ntaken; i++) {
		if (t->taken[i].insn == insn && t->taken[i].n >= n)
			return t->taken[i].addr;
	}
	return 0;
}

/*
 * The same padding for an instruction at every call: a module that is opened again and again would otherwise
 * use up its padding.
 */
taddr elfimage_padding(struct elfimage *img, taddr insn, size_t n)
{
	size_t frames = frames_of(img)->n, middle = cfi_section_upto(frames_of(img), insn);
	taddr before = n ? taken_for(img->tables, insn, n) : 0;

	if (!n || before)
		return before;
	for (size_t away = 0; away <= frames; away++) {
		taddr addr = away <= middle ? gap_after(img, middle - away, n) : 0;

		if (!addr && middle + away < frames)
			addr = gap_after(img, middle + away, n);
		if (addr)
			return take(img->tables, addr, insn, n);
	}
	return 0;
}
