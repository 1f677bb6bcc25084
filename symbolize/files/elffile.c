/* SPDX-License-Identifier: MIT */
/* elffile: see elffile.h. */
#include "symbolize/files/elffile.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool elffile_is_ours(Elf *elf)
{
	GElf_Ehdr eh;

	if (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 || !gelf_getehdr(elf, &eh))
		return false;
	return eh.e_machine == EM_X86_64 && eh.e_ident[EI_DATA] == ELFDATA2LSB && eh.e_type != ET_CORE;
}

static int begin(struct elffile *f)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EIO;
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (!f->elf)
		return -EIO;
	return elffile_is_ours(f->elf) ? 0 : -EINVAL;
}

int elffile_open(int fd, struct elffile *out)
{
	struct elffile f = { fd, NULL };
	int rc = begin(&f);

	if (rc)
		elffile_close(&f);
	*out = f;
	return rc;
}

void elffile_close(struct elffile *f)
{
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct elffile)ELFFILE_INIT;
}

Elf_Scn *elffile_section(Elf *elf, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *found;

		if (!gelf_getshdr(scn, sh) || sh->sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(elf, names, sh->sh_name);
		if (found && !strcmp(found, name))
			return scn;
	}
	return NULL;
}

void elffile_build_id(Elf *elf, struct build_id *out)
{
	const void *id;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &id);

	out->n = n <= 0 ? 0 : n < BUILD_ID_MAX ? (size_t)n : BUILD_ID_MAX;
	if (out->n)
		memcpy(out->bytes, id, out->n);
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n);
}
