/* SPDX-License-Identifier: MIT */
/*
 * minidebug: see minidebug.h. A few bytes of xz can expand to gigabytes, so both the result and liblzma's own
 * memory are limited.
 */
#include "symbolize/files/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdint.h>

#include "symbolize/files/elffile.h"

#define IMAGE_MAX (64u << 20)
#define DECODER_MAX (128u << 20)

/* Unpack into m->image, the length in @n. 0; -EINVAL damaged; -EFBIG. */
static int unpack_all(lzma_stream *stream, struct minidebug *m, size_t *n)
{
	size_t have = 0, room = 1u << 20;

	for (;;) {
		char *image = realloc(m->image, room);
		lzma_ret ret;

		if (!image)
			return -ENOMEM;
		m->image = image;
		stream->next_out = (uint8_t *)image + have;
		stream->avail_out = room - have;
		ret = lzma_code(stream, LZMA_FINISH);
		have = room - stream->avail_out;
		if (ret == LZMA_STREAM_END)
			break;
		if (ret != LZMA_OK)
			return ret == LZMA_MEM_ERROR ? -ENOMEM : -EINVAL;
		if (stream->avail_out)
			continue;
		if (room >= IMAGE_MAX)
			return -EFBIG;
		room *= 2;
	}
	*n = have;
	return 0;
}

static int unpack(const Elf_Data *packed, struct minidebug *m, size_t *n)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	int rc;

	if (lzma_stream_decoder(&stream, DECODER_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	rc = unpack_all(&stream, m, n);
	lzma_end(&stream);
	return rc;
}

int minidebug_open(Elf *elf, struct minidebug *out)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elffile_section(elf, ".gnu_debugdata", &sh);
	Elf_Data *packed = scn ? elf_rawdata(scn, NULL) : NULL;
	struct minidebug m = { NULL, NULL };
	size_t n;
	int rc;

	*out = m;
	if (!packed || !packed->d_buf)
		return 0;
	rc = unpack(packed, &m, &n);
	if (!rc)
		m.elf = elf_memory(m.image, n);
	if (m.elf && elffile_is_ours(m.elf))
		*out = m;
	else
		minidebug_close(&m);
	return rc == -ENOMEM ? rc : 0;
}

void minidebug_close(struct minidebug *m)
{
	elf_end(m->elf);
	free(m->image);
	*m = (struct minidebug){ NULL, NULL };
}
