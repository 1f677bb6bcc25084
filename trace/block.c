/* SPDX-License-Identifier: MIT */
#include "trace/block.h"

#include <endian.h>
#include <string.h>

#include "trace/crc32.h"

#define CRC_BYTES 4

static void put16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

void file_head_pack(uint8_t out[MMT_FILE_HEAD])
{
	put64(out, MMT_FILE_MAGIC);
	put16(out + 8, MMT_MAJOR);
	put16(out + 10, MMT_MINOR);
	put32(out + 12, crc32_of(out, MMT_FILE_HEAD - CRC_BYTES));
}

bool file_head_parse(const uint8_t *p, size_t n, uint16_t *major, uint16_t *minor)
{
	if (n < MMT_FILE_HEAD || get64(p) != MMT_FILE_MAGIC)
		return false;
	if (get32(p + 12) != crc32_of(p, MMT_FILE_HEAD - CRC_BYTES))
		return false;
	*major = get16(p + 8);
	*minor = get16(p + 10);
	return true;
}

void block_head_pack(const struct block_head *h, uint8_t out[MMT_BLOCK_HEAD])
{
	const uint32_t fields[] = {
		MMT_BLOCK_MAGIC, h->number, h->length, h->stored, h->codec, h->tag, h->crc
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		put32(out + 4 * i, fields[i]);
	put32(out + MMT_BLOCK_HEAD - CRC_BYTES, crc32_of(out, MMT_BLOCK_HEAD - CRC_BYTES));
}

/* Sizes that no writer produces are as bad as a wrong checksum. */
static bool head_parse(const uint8_t *p, struct block_head *h)
{
	if (get32(p) != MMT_BLOCK_MAGIC || get32(p + 28) != crc32_of(p, MMT_BLOCK_HEAD - CRC_BYTES))
		return false;
	*h = (struct block_head){ get32(p + 4), get32(p + 8), get32(p + 12), get32(p + 16), get32(p + 20),
				  get32(p + 24) };
	return h->length <= MMT_BLOCK_MAX && h->stored <= MMT_BLOCK_MAX;
}

/* There are fewer bytes than a head has: is it the beginning of one? */
static enum block_state look_at_less(const uint8_t *p, size_t n)
{
	uint8_t magic[4];

	put32(magic, MMT_BLOCK_MAGIC);
	return memcmp(p, magic, n < sizeof(magic) ? n : sizeof(magic)) ? BLOCK_NONE : BLOCK_CUT;
}

enum block_state block_look(const uint8_t *p, size_t n, struct block_head *h)
{
	*h = (struct block_head){ 0 };
	if (n < MMT_BLOCK_HEAD)
		return look_at_less(p, n);
	if (!head_parse(p, h))
		return BLOCK_NONE;
	if (n - MMT_BLOCK_HEAD < h->stored)
		return BLOCK_CUT;
	return crc32_of(p + MMT_BLOCK_HEAD, h->stored) == h->crc ? BLOCK_WHOLE : BLOCK_DAMAGED;
}
