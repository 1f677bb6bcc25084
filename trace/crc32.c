/* SPDX-License-Identifier: MIT */
/*
 * crc32: eight bytes at a time ("slicing by 8").
 *
 * tables[k][b] is what byte b becomes when k more bytes have come after it. That is linear in the bits of b: so a
 * row of a table is given by the eight values of single bits, and the compiler makes the 256 of it.
 */
#include "trace/crc32.h"

#include <endian.h>
#include <string.h>

#define BIT0(x, a) (x), (x) ^ (a)
#define BIT1(x, a, b) BIT0(x, a), BIT0((x) ^ (b), a)
#define BIT2(x, a, b, c) BIT1(x, a, b), BIT1((x) ^ (c), a, b)
#define BIT3(x, a, b, c, d) BIT2(x, a, b, c), BIT2((x) ^ (d), a, b, c)
#define BIT4(x, a, b, c, d, e) BIT3(x, a, b, c, d), BIT3((x) ^ (e), a, b, c, d)
#define BIT5(x, a, b, c, d, e, f) BIT4(x, a, b, c, d, e), BIT4((x) ^ (f), a, b, c, d, e)
#define BIT6(x, a, b, c, d, e, f, g) BIT5(x, a, b, c, d, e, f), BIT5((x) ^ (g), a, b, c, d, e, f)
#define ROW(a, b, c, d, e, f, g, h) { BIT6(0u, a, b, c, d, e, f, g), BIT6(0u ^ (h), a, b, c, d, e, f, g) }

static const uint32_t tables[8][256] = {
	ROW(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320),
	ROW(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b),
	ROW(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
	ROW(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
	ROW(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092),
	ROW(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8),
	ROW(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2),
	ROW(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da),
};

static uint32_t eight(uint32_t crc, const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	x = le64toh(x) ^ crc;
	return tables[7][x & 255] ^ tables[6][x >> 8 & 255] ^ tables[5][x >> 16 & 255] ^ tables[4][x >> 24 & 255] ^
	       tables[3][x >> 32 & 255] ^ tables[2][x >> 40 & 255] ^ tables[1][x >> 48 & 255] ^ tables[0][x >> 56];
}

uint32_t crc32_of(const void *data, size_t n)
{
	const uint8_t *p = data;
	uint32_t crc = ~0u;

	for (; n >= 8; n -= 8, p += 8)
		crc = eight(crc, p);
	for (; n; n--, p++)
		crc = crc >> 8 ^ tables[0][(crc ^ *p) & 255];
	return ~crc;
}
