/* SPDX-License-Identifier: MIT */
/* crc32: the checksum of the trace format, zlib's and xz's: liblzma has it. Pure. */
#ifndef MM_CRC32_H
#define MM_CRC32_H

#include <lzma.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t crc32_of(const void *data, size_t n)
{
	return lzma_crc32(data, n, 0);
}

#endif
