/* SPDX-License-Identifier: MIT */
/* crc32: the checksum of the trace format, the same as zlib's crc32(). Pure. */
#ifndef MM_CRC32_H
#define MM_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const void *data, size_t n);

#endif
