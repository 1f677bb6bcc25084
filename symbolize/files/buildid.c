/* SPDX-License-Identifier: MIT */
/* buildid: see buildid.h. */
#include "symbolize/files/buildid.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/fdio.h"

#define HEADERS_MAX 512
#define NOTES_MAX 65536		/* bytes of one segment */

static int read_fd(void *ctx, void *buf, size_t n, uint64_t offset)
{
	ssize_t got;

	if (offset > INT64_MAX)
		return -EINVAL;
	got = pread_full(*(int *)ctx, buf, n, (off_t)offset);
	return got < 0 ? (int)got : (size_t)got == n ? 0 : -EINVAL;
}

static bool is_ours(const Elf64_Ehdr *eh)
{
	return !memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_ident[EI_DATA] == ELFDATA2LSB && eh->e_machine == EM_X86_64 &&
	       (eh->e_type == ET_EXEC || eh->e_type == ET_DYN);
}

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static void put_hex(const unsigned char *bytes, size_t n, char *text)
{
	size_t max = (BUILDID_TEXT - 1) / 2;

	for (size_t i = 0; i < n && i < max; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
}

/* Each number is below 2^32, so no sum overflows. */
static void find_in_notes(const unsigned char *p, size_t n, uint64_t p_align, char *text)
{
	const uint64_t align = p_align == 8 ? 8 : 4;
	Elf64_Nhdr nh;

	for (uint64_t at = 0, name, desc; at < n && n - at >= sizeof(nh);
	     at = round_up(desc + nh.n_descsz, align)) {
		memcpy(&nh, p + at, sizeof(nh));
		name = at + sizeof(nh);
		desc = round_up(name + nh.n_namesz, align);
		if (desc + nh.n_descsz > n)
			return;
		if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != sizeof("GNU") ||
		    memcmp(p + name, "GNU", sizeof("GNU")))
			continue;
		put_hex(p + desc, nh.n_descsz, text);
		return;
	}
}

static int read_notes(buildid_reader *read, void *ctx, const Elf64_Phdr *ph, char *text)
{
	cleanup_free unsigned char *notes = NULL;
	int r;

	if (ph->p_filesz > NOTES_MAX)
		return 0;
	notes = malloc(ph->p_filesz + 1);
	if (!notes)
		return -ENOMEM;
	r = read(ctx, notes, ph->p_filesz, ph->p_offset);
	if (r == 0)
		find_in_notes(notes, ph->p_filesz, ph->p_align, text);
	return r == -EINVAL ? 0 : r;	/* they are not in the file: damaged, or only a part of it */
}

int buildid_by(buildid_reader *read, void *ctx, const Elf64_Ehdr *eh, char text[BUILDID_TEXT])
{
	int r = eh->e_phentsize == sizeof(Elf64_Phdr) ? 0 : -EINVAL;

	text[0] = '\0';
	for (unsigned i = 0; r == 0 && !text[0] && i < eh->e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr ph;

		r = read(ctx, &ph, sizeof(ph), eh->e_phoff + i * sizeof(ph));
		if (r == 0 && ph.p_type == PT_NOTE)
			r = read_notes(read, ctx, &ph, text);
	}
	return r;
}

int buildid_read(int fd, char text[BUILDID_TEXT])
{
	Elf64_Ehdr eh;
	int r = read_fd(&fd, &eh, sizeof(eh), 0);

	text[0] = '\0';
	if (r < 0)
		return r;
	return is_ours(&eh) ? buildid_by(read_fd, &fd, &eh, text) : -EINVAL;
}
