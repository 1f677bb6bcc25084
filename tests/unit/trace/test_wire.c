/* SPDX-License-Identifier: MIT */
/* The parts of a trace: numbers, checksums, heads, packed payloads. */
#include "trace/wire.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trace/block.h"
#include "trace/codec.h"
#include "trace/crc32.h"
#include "base/intern.h"

static const uint64_t numbers[] = {
	0,
	1,
	15,
	16,
	17,
	127,
	128,
	255,
	256,
	16383,
	16384,
	UINT32_MAX,
	1ull << 32,
	INT64_MAX,
	1ull << 63,
	UINT64_MAX - 15,
	UINT64_MAX - 1,
	UINT64_MAX,
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* The length is that of LEB128, and a cursor that is too short becomes bad, without a read past its end. */
static void varints(void **state)
{
	uint8_t bytes[2 * WIRE_VARINT_MAX];

	(void)state;
	for (size_t i = 0; i < NUMBERS; i++) {
		struct sink s = { bytes, bytes + sizeof(bytes), false };
		size_t want = 1;

		for (uint64_t v = numbers[i]; v >= 128; v >>= 7)
			want++;
		sink_varint(&s, numbers[i]);
		assert_false(s.full);
		assert_int_equal(s.at - bytes, want);
		for (size_t n = 0; n <= want; n++) {
			struct cursor c = { bytes, bytes + n, false };
			uint64_t v = cursor_varint(&c);
			assert_int_equal(c.bad, n < want);
			assert_true(c.bad || v == numbers[i]);
			assert_true(c.at <= c.end);
		}
	}
}

static uint64_t read_varint(const char *bytes, size_t n, bool *bad)
{
	struct cursor c = { (const uint8_t *)bytes, (const uint8_t *)bytes + n, false };
	uint64_t v = cursor_varint(&c);

	*bad = c.bad;
	return v;
}

static void varints_that_do_not_fit(void **state)
{
	bool bad;

	(void)state;
	assert_int_equal(read_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &bad), UINT64_MAX);
	assert_false(bad);
	read_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &bad);
	assert_true(bad);
	read_varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, &bad);
	assert_true(bad);
	assert_int_equal(read_varint("\x85\x80\x00", 3, &bad), 5);
	assert_false(bad);

	const uint8_t more[] = { 0x80, 0x80, 0x80, 0x80, 0x10 };
	struct cursor c = { more, more + sizeof(more), false };
	cursor_varint32(&c);
	assert_true(c.bad);
}

static void a_full_sink_writes_nothing_more(void **state)
{
	uint8_t bytes[16] = { [12] = 0x55 };
	struct sink s = { bytes, bytes + 12, false };

	(void)state;
	sink_bytes(&s, "0123456789ab", 12);
	assert_false(s.full);
	sink_byte(&s, 1);
	assert_true(s.full);
	s.full = false;
	sink_varint(&s, 1);
	assert_true(s.full);
	s.full = false;
	sink_bytes(&s, "x", 1);
	assert_true(s.full);
	assert_int_equal(bytes[12], 0x55);
}

static void zigzag(void **state)
{
	(void)state;
	assert_int_equal(wire_zigzag(0), 0);
	assert_int_equal(wire_zigzag(-1), 1);
	assert_int_equal(wire_zigzag(1), 2);
	assert_int_equal(wire_zigzag(INT64_MIN), UINT64_MAX);
	for (size_t i = 0; i < NUMBERS; i++)
		assert_int_equal(wire_zigzag(wire_unzigzag(numbers[i])), numbers[i]);
}

/* Any address after any other; one near the previous address, at a multiple of 16, takes a byte. */
static void addresses(void **state)
{
	uint8_t bytes[2 * WIRE_VARINT_MAX];

	(void)state;
	for (size_t i = 0; i < NUMBERS * NUMBERS; i++) {
		taddr before = numbers[i / NUMBERS], addr = numbers[i % NUMBERS];
		struct sink s = { bytes, bytes + sizeof(bytes), false };

		sink_address(&s, before, addr);
		struct cursor c = { bytes, s.at, false };
		assert_int_equal(cursor_address(&c, before), addr);
		assert_false(c.bad || s.full || cursor_left(&c));
	}
	struct sink s = { bytes, bytes + sizeof(bytes), false };
	sink_address(&s, 0x1000, 0x1000 - 32 * 16);
	assert_int_equal(s.at - bytes, 1);
	assert_int_equal(bytes[0], 126);
	struct cursor c = { (const uint8_t *)"\x01\x10", (const uint8_t *)"\x01\x10" + 2, false };
	cursor_address(&c, 0);
	assert_true(c.bad);
}

/* The definition, bit by bit. */
static uint32_t slow_crc(const uint8_t *p, size_t n)
{
	uint32_t crc = ~0u;

	for (; n; n--, p++) {
		crc ^= *p;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static void crc(void **state)
{
	uint8_t bytes[2048];
	uint64_t rng = 99;

	(void)state;
	assert_int_equal(crc32_of("123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_of("", 0), 0);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		rng = rng * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (uint8_t)(rng >> 56);
	}
	for (size_t at = 0; at < 9; at++)
		for (size_t n = 0; n < sizeof(bytes) - at; n += 1 + n / 16)
			assert_int_equal(crc32_of(bytes + at, n), slow_crc(bytes + at, n));
}

/* Any wrong bit of any head, and any size that no writer writes. */
static void heads(void **state)
{
	struct block_head h = { 3, MMT_BLOCK_MAX, 5, 1, 0xabcdef01, crc32_of("hello", 5) }, got;
	uint8_t block[MMT_BLOCK_HEAD + 5], file[MMT_FILE_HEAD];
	uint16_t major, minor;

	(void)state;
	file_head_pack(file);
	assert_memory_equal(file, "\x89MMT\r\n\x1a\n\x01\0\0\0", 12);
	assert_true(file_head_parse(file, sizeof(file), &major, &minor));
	assert_int_equal(major, MMT_MAJOR);
	assert_int_equal(minor, MMT_MINOR);
	assert_false(file_head_parse(file, sizeof(file) - 1, &major, &minor));
	for (size_t bit = 0; bit < 8 * sizeof(file); bit++) {
		file[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(file_head_parse(file, sizeof(file), &major, &minor));
		file[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	block_head_pack(&h, block);
	memcpy(block + MMT_BLOCK_HEAD, "hello", 5);
	assert_int_equal(block_look(block, sizeof(block), &got), BLOCK_WHOLE);
	assert_memory_equal(&got, &h, sizeof(h));
	for (size_t n = 1; n < sizeof(block); n++)
		assert_int_equal(block_look(block, n, &got), BLOCK_CUT);
	for (size_t bit = 0; bit < 8 * sizeof(block); bit++) {
		block[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(block_look(block, sizeof(block), &got),
				 bit / 8 < MMT_BLOCK_HEAD ? BLOCK_NONE : BLOCK_DAMAGED);
		block[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	h.length = MMT_BLOCK_MAX + 1;
	block_head_pack(&h, block);
	assert_int_equal(block_look(block, sizeof(block), &got), BLOCK_NONE);
	h.length = 5;
	h.stored = MMT_BLOCK_MAX + 1;
	block_head_pack(&h, block);
	assert_int_equal(block_look(block, sizeof(block), &got), BLOCK_NONE);
}

static void packed_and_back(void **state)
{
	static uint8_t raw[MMT_BLOCK_MAX];
	struct unpacker *u;
	struct packer *p;
	const void *stored, *out;
	uint64_t x = 1;
	size_t n;

	(void)state;
	assert_int_equal(packer_new(&p), 0);
	assert_int_equal(unpacker_new(&u), 0);
	for (size_t i = 0; i < sizeof(raw); i++)
		raw[i] = (uint8_t)(i / 7);
	assert_int_equal(packer_pack(p, raw, sizeof(raw), &stored, &n), MMT_CODEC_ZSTD);
	assert_true(n < sizeof(raw) / 20);
	assert_int_equal(unpacker_unpack(u, MMT_CODEC_ZSTD, stored, n, sizeof(raw), &out), 0);
	assert_memory_equal(out, raw, sizeof(raw));

	/* a wrong length, half of the data, another codec */
	assert_int_equal(unpacker_unpack(u, MMT_CODEC_ZSTD, stored, n, sizeof(raw) - 1, &out), -EPROTO);
	assert_int_equal(unpacker_unpack(u, MMT_CODEC_ZSTD, stored, n / 2, sizeof(raw), &out), -EPROTO);
	assert_int_equal(unpacker_unpack(u, MMT_CODEC_STORED, stored, n, sizeof(raw), &out), -EPROTO);
	assert_int_equal(unpacker_unpack(u, 2, stored, n, sizeof(raw), &out), -ENOTSUP);

	/* what cannot be packed is stored as it is */
	for (size_t i = 0; i < 1000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		raw[i] = (uint8_t)(x >> 56);
	}
	assert_int_equal(packer_pack(p, raw, 1000, &stored, &n), MMT_CODEC_STORED);
	assert_ptr_equal(stored, raw);
	assert_int_equal(n, 1000);
	packer_free(p);
	unpacker_free(u);
}

/* A gigabyte of zeros in a few kilobytes: no more than a block is unpacked. */
static void a_bomb(void **state)
{
	/* no size, a window of 2 MiB */
	static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58 };
	uint8_t bomb[sizeof(frame) + 4 * 1024], *at = bomb + sizeof(frame);
	struct unpacker *u;
	const void *out;

	(void)state;
	memcpy(bomb, frame, sizeof(frame));
	/* 1024 blocks, each 128 KiB of one byte; the last one is marked */
	for (uint32_t i = 0; i < 1024; i++, at += 4) {
		uint32_t head = 131072u << 3 | 1 << 1 | (i == 1023);
		memcpy(at, &head, 3);
		at[3] = 0;
	}
	assert_int_equal(unpacker_new(&u), 0);
	assert_int_equal(unpacker_unpack(u, MMT_CODEC_ZSTD, bomb, sizeof(bomb), MMT_BLOCK_MAX, &out),
			 -EPROTO);
	/* the same, and harmless: eight of them make a block */
	uint32_t last = 131072u << 3 | 1 << 1 | 1;
	memcpy(bomb + sizeof(frame) + 4 * 7, &last, 3);
	assert_int_equal(unpacker_unpack(u, MMT_CODEC_ZSTD, bomb, sizeof(frame) + 4 * 8, MMT_BLOCK_MAX, &out),
			 0);
	unpacker_free(u);
}

static void texts_are_kept_once(void **state)
{
	const char *kept[3000];
	struct intern t;
	char text[32];

	(void)state;
	intern_init(&t);
	assert_null(intern_text(&t, NULL));
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "%*d", i % 25, i);
		kept[i] = intern_text(&t, text);
		assert_string_equal(kept[i], text);
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "%*d", i % 25, i);
		assert_ptr_equal(intern_text(&t, text), kept[i]);
	}
	assert_string_equal(intern_text(&t, ""), "");
	assert_int_equal(t.n, 3001);
	assert_true(intern_memory(&t) > t.bytes && t.bytes > 3001 * 4);
	intern_fini(&t);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static bool has_nul(uint64_t word)
{
	for (int i = 0; i < 8; i++)
		if (!(word >> 8 * i & 255))
			return true;
	return false;
}

/* Two texts with the same hash: made with the seed, which an attacker does not know. */
static void texts_that_collide(void **state)
{
	uint64_t one[3] = { 0x6161616161616161, 0x6262626262626262, 0 }, other[3] = { 0 };
	const char *kept;
	struct intern t;

	(void)state;
	intern_init(&t);
	do {
		other[0] = mix(one[0] + other[0] + 1);
		uint64_t start = mix(t.index.seed + 16);
		other[1] = one[1] ^ (mix(start ^ one[0]) + t.index.seed) ^
			   (mix(start ^ other[0]) + t.index.seed);
	} while (has_nul(other[0]) || has_nul(other[1]));
	kept = intern_text(&t, (const char *)one);
	assert_string_equal(intern_text(&t, (const char *)other), (const char *)other);
	assert_ptr_equal(intern_text(&t, (const char *)one), kept);
	assert_int_equal(t.n, 2);
	/* they collide: the second one is in the slot next to the first one's */
	uint64_t key, first = 0, distance = 0;
	void *value;
	for (size_t i = 0, n = 0; addrmap_next(&t.index, &i, &key, &value); n++) {
		distance = key - first;
		first = key;
	}
	assert_true(distance == 1 || distance == UINT64_MAX);
	intern_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints),
		cmocka_unit_test(varints_that_do_not_fit),
		cmocka_unit_test(a_full_sink_writes_nothing_more),
		cmocka_unit_test(zigzag),
		cmocka_unit_test(addresses),
		cmocka_unit_test(crc),
		cmocka_unit_test(heads),
		cmocka_unit_test(packed_and_back),
		cmocka_unit_test(a_bomb),
		cmocka_unit_test(texts_are_kept_once),
		cmocka_unit_test(texts_that_collide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
