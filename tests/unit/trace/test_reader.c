/* SPDX-License-Identifier: MIT */
/*
 * reader: files that are cut, flipped, shuffled, foreign: intact blocks are delivered, the rest is reported
 * with its offset.
 */
#include "trace/reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "tests/unit/fact_example.h"
#include "tests/unit/folder.h"
#include "tests/unit/trace_image.h"
#include "tests/unit/trace_tape.h"
#include "trace/codec.h"

#define BLOCKS 5

static struct image image;
static struct tape tape;

/* Block b of the example: two frees, at b * 100 and b * 100 + 1. */
static void add_block(uint32_t b, uint32_t number)
{
	const struct fact f[] = {
		{ .kind = MMT_FREE, .time_us = b * 100, .block.addr = 0x1000 * b },
		{ .kind = MMT_FREE, .time_us = b * 100 + 1, .block.addr = 0x1000 * b + 16 },
	};

	image_facts(&image, number, f, 2);
}

/* The facts of the blocks in @mask. */
static void expect(uint32_t mask, struct strbuf *sb)
{
	strbuf_reset(sb);
	for (uint32_t b = 0; b < 32; b++)
		if (mask >> b & 1)
			strbuf_printf(sb, "0: 2.0 @%u 0x%x\n0: 2.0 @%u 0x%x\n", b * 100, 0x1000 * b,
				      b * 100 + 1, 0x1000 * b + 16);
}

static int setup(void **state)
{
	image_init(&image);
	tape_init(&tape);
	return folder_enter(state);
}

static int setup_example(void **state)
{
	int err = setup(state);

	image_head(&image);
	for (uint32_t b = 0; b < BLOCKS; b++)
		add_block(b, b);
	return err;
}

static int teardown(void **state)
{
	image_fini(&image);
	tape_fini(&tape);
	return folder_leave(state);
}

static void again(void)
{
	tape_fini(&tape);
	tape_init(&tape);
}

/* From memory of exactly that size. */
static int read_bytes(const char *bytes, size_t n)
{
	cleanup_free char *exact = malloc(n ? n : 1);

	memcpy(exact, bytes, n);
	again();
	return tape_read_memory(&tape, exact, n);
}

static void assert_blocks(uint32_t mask)
{
	cleanup_strbuf struct strbuf want = STRBUF_INIT;

	expect(mask, &want);
	assert_string_equal(strbuf_str(&tape.events), strbuf_str(&want));
}

static void assert_damage(size_t i, uint64_t at, uint64_t bytes, bool at_end)
{
	assert_true(i < tape.ndamage);
	assert_int_equal(tape.damage[i].at, at);
	assert_int_equal(tape.damage[i].bytes, bytes);
	assert_int_equal(tape.damage[i].at_end, at_end);
	assert_true(*tape.damage[i].why);
}

#define ALL ((1u << BLOCKS) - 1)

/* Everything before the cut; and the cut is reported, unless it is between blocks. */
static void cut_at_every_byte(void **state)
{
	const char *bytes = strbuf_str(&image.bytes);

	(void)state;
	for (size_t n = 0; n <= image.bytes.len; n++) {
		uint32_t whole = 0;

		while (whole < BLOCKS && image_end(&image, whole) <= n)
			whole++;
		if (n < 8) {
			assert_int_equal(read_bytes(bytes, n), -EINVAL);
			continue;
		}
		assert_int_equal(read_bytes(bytes, n), 0);
		assert_blocks((1u << whole) - 1);
		size_t end = n < MMT_FILE_HEAD ? 0 : whole ? image_end(&image, whole - 1) : MMT_FILE_HEAD;
		assert_int_equal(tape.ndamage, n != end);
		if (n != end)
			assert_damage(0, end, n - end, true);
	}
}

/* All but the block that was hit, which is reported. */
static void every_bit_flipped(void **state)
{
	cleanup_free char *bytes = malloc(image.bytes.len);

	(void)state;
	memcpy(bytes, strbuf_str(&image.bytes), image.bytes.len);
	for (size_t bit = 0; bit < 8 * image.bytes.len; bit++) {
		uint32_t hit = 0;

		while (hit < BLOCKS && image.start[hit] <= bit / 8)
			hit++;
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(read_bytes(bytes, image.bytes.len), 0);
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		assert_blocks(hit ? ALL & ~(1u << (hit - 1)) : ALL);
		assert_int_equal(tape.ndamage, 1);
		if (hit)
			assert_damage(0, image.start[hit - 1],
				      image_end(&image, hit - 1) - image.start[hit - 1], hit == BLOCKS);
		else
			assert_damage(0, 0, MMT_FILE_HEAD, false);
	}
}

/* Bytes removed or inserted anywhere: at most two blocks are lost. */
static void bytes_removed_or_added(void **state)
{
	cleanup_free char *bytes = malloc(image.bytes.len + 7);

	(void)state;
	for (size_t at = MMT_FILE_HEAD; at + 7 < image.bytes.len; at++) {
		uint32_t hit = 0;

		while (hit < BLOCKS && image.start[hit] <= at)
			hit++;
		memcpy(bytes, strbuf_str(&image.bytes), at);
		memcpy(bytes + at, strbuf_str(&image.bytes) + at + 7, image.bytes.len - at - 7);
		assert_int_equal(read_bytes(bytes, image.bytes.len - 7), 0);
		uint32_t hit2 = at + 7 > image_end(&image, hit - 1) ? hit + 1 : hit;
		assert_blocks(ALL & ~(1u << (hit - 1)) & ~(1u << (hit2 - 1)));
		assert_int_equal(tape.ndamage, 1);
		assert_int_equal(tape.damage[0].at, image.start[hit - 1]);

		memset(bytes + at, 'x', 7);
		memcpy(bytes + at + 7, strbuf_str(&image.bytes) + at, image.bytes.len - at);
		assert_int_equal(read_bytes(bytes, image.bytes.len + 7), 0);
		assert_blocks(at == image.start[hit - 1] ? ALL : ALL & ~(1u << (hit - 1)));
		assert_int_equal(tape.ndamage, 1);
		assert_int_equal(tape.damage[0].at, image.start[hit - 1]);
	}
}

/* Damage as long as the window and longer, read from a file. */
static void far_apart(void **state)
{
	static const size_t holes[] = { 100, MMT_BLOCK_MAX - 1, 3 * MMT_BLOCK_MAX, 20 * MMT_BLOCK_MAX + 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++) {
		image_fini(&image);
		image_init(&image);
		image_head(&image);
		add_block(0, 0);
		size_t at = image.bytes.len;
		/* full of magic numbers that look like heads */
		while (image.bytes.len < at + holes[i])
			strbuf_append(&image.bytes, "MMB\xb1", image.bytes.len + 4 <= at + holes[i] ? 4 : 1);
		add_block(1, 1);
		assert_int_equal(write_whole_file("t", strbuf_str(&image.bytes), image.bytes.len), 0);
		again();
		assert_int_equal(tape_read(&tape, "t"), 0);
		assert_blocks(3);
		assert_int_equal(tape.ndamage, 1);
		assert_damage(0, at, holes[i], false);
	}
}

static void blocks_missing_and_again(void **state)
{
	static const uint32_t numbers[] = { 1, 2, 5, 6, 8, 2, 9, 9, 10 };

	(void)state;
	image_head(&image);
	for (uint32_t i = 0; i < 9; i++)
		add_block(i, numbers[i]);
	assert_int_equal(read_bytes(strbuf_str(&image.bytes), image.bytes.len), 0);
	assert_blocks(0x15f);
	assert_int_equal(tape.ndamage, 5);
	assert_damage(0, image.start[0], 0, false);
	assert_string_equal(tape.damage[0].why, "block 0 is missing");
	assert_damage(1, image.start[2], 0, false);
	assert_string_equal(tape.damage[1].why, "blocks 3 to 4 are missing");
	assert_damage(2, image.start[4], 0, false);
	assert_string_equal(tape.damage[2].why, "block 7 is missing");
	assert_damage(3, image.start[5], image.start[6] - image.start[5], false);
	assert_string_equal(tape.damage[3].why, "a block came before");
	assert_damage(4, image.start[7], image.start[8] - image.start[7], false);
}

/* The damage may have been another file's head: any number may follow, and no block counts as missing. */
static void any_number_behind_damage(void **state)
{
	(void)state;
	image_head(&image);
	add_block(0, 0);
	add_block(1, 1);
	image_head(&image);
	add_block(2, 0);
	add_block(3, 1);
	size_t damaged = image.start[2] - MMT_FILE_HEAD;
	image.bytes.s[damaged] ^= 1;
	assert_int_equal(read_bytes(strbuf_str(&image.bytes), image.bytes.len), 0);
	assert_blocks(15);
	assert_int_equal(tape.ndamage, 1);
	assert_damage(0, damaged, MMT_FILE_HEAD, false);
}

/* Its checksums are right; but it is not of this run. */
static void a_block_of_another_run(void **state)
{
	(void)state;
	image_head(&image);
	add_block(0, 0);
	image_block(&image, (struct block_head){ 1, 1, 1, MMT_CODEC_STORED, IMAGE_TAG + 1, 0 }, "\x0c");
	add_block(2, 1);
	assert_int_equal(read_bytes(strbuf_str(&image.bytes), image.bytes.len), 0);
	assert_blocks(5);
	assert_int_equal(tape.ndamage, 1);
	assert_damage(0, image.start[1], image.start[2] - image.start[1], false);
	assert_string_equal(tape.damage[0].why, "a block is of another run");
}

/* Blocks that cannot be decoded, for four reasons; the records before the bad one are delivered. */
static void blocks_without_sense(void **state)
{
	static const struct { const char *payload, *why; uint32_t n, length, codec; } blocks[] = {
		{ "\x02\x02\x12", "newer", 3, 3, MMT_CODEC_STORED },
		{ "\x02\x02\x01", "makes no sense", 3, 3, MMT_CODEC_STORED },
		{ "abcdef", "cannot be unpacked", 6, 6, MMT_CODEC_ZSTD },
		{ "\x0c\x0c", "cannot be unpacked", 2, 3, MMT_CODEC_STORED },
		{ "abcdef", "newer", 6, 6, 99 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		image_fini(&image);
		image_init(&image);
		image_head(&image);
		add_block(0, 0);
		image_block(&image,
			    (struct block_head){ 1, blocks[i].length, blocks[i].n, blocks[i].codec, IMAGE_TAG,
						 0 },
			    blocks[i].payload);
		assert_int_equal(read_bytes(strbuf_str(&image.bytes), image.bytes.len), 0);
		assert_int_equal(tape.nevents, i < 2 ? 3 : 2);
		assert_int_equal(tape.ndamage, 1);
		assert_damage(0, image.start[1], MMT_BLOCK_HEAD + blocks[i].n, true);
		add_block(2, 2);
		assert_int_equal(read_bytes(strbuf_str(&image.bytes), image.bytes.len), 0);
		assert_int_equal(tape.nevents, i < 2 ? 5 : 4);
		assert_int_equal(tape.ndamage, 1);
		assert_damage(0, image.start[1], MMT_BLOCK_HEAD + blocks[i].n, false);
		assert_non_null(strstr(tape.damage[0].why, blocks[i].why));
	}
}

static void packed_blocks(void **state)
{
	static uint8_t payload[MMT_BLOCK_MAX];
	struct packer *p;
	const void *out;
	size_t n;

	(void)state;
	memset(payload, MMT_TIME, sizeof(payload));
	assert_int_equal(packer_new(&p), 0);
	assert_int_equal(packer_pack(p, payload, sizeof(payload), &out, &n), MMT_CODEC_ZSTD);
	image_head(&image);
	image_block(&image,
		    (struct block_head){ 0, sizeof(payload), (uint32_t)n, MMT_CODEC_ZSTD, IMAGE_TAG, 0 },
		    out);
	packer_free(p);
	assert_int_equal(read_bytes(strbuf_str(&image.bytes), image.bytes.len), 0);
	assert_int_equal(tape.nevents, MMT_BLOCK_MAX);
	assert_int_equal(tape.ndamage, 0);
}

/* Versions, and files that are not traces. */
static void what_is_a_trace(void **state)
{
	uint8_t head[MMT_FILE_HEAD];
	uint32_t crc;
	char *text = image.bytes.s;

	(void)state;
	assert_int_equal(read_bytes("", 0), -EINVAL);
	assert_int_equal(read_bytes("\x7f" "ELF and so on, MMB MMT", 22), -EINVAL);
	assert_int_equal(tape_read(&tape, "absent"), -ENOENT);
	assert_int_equal(tape_read(&tape, "."), -EISDIR);
	assert_int_equal(tape_read(&tape, "/dev/null"), -EINVAL);
	/* newer minor: the same; newer major: refused; older than the first: not a trace */
	for (int i = 0; i < 3; i++) {
		static const uint8_t versions[3][4] = { { 1, 0, 9, 0 }, { 2, 0, 0, 0 }, { 0, 0, 0, 0 } };
		static const int want[3] = { 0, -EPROTO, -EINVAL };

		file_head_pack(head);
		memcpy(head + 8, versions[i], 4);
		crc = crc32_of(head, 12);
		memcpy(head + 12, &crc, 4);
		memcpy(text, head, sizeof(head));
		assert_int_equal(read_bytes(text, image.bytes.len), want[i]);
	}
	/* no head at all; half of one; and other bytes before it */
	assert_int_equal(read_bytes(text + MMT_FILE_HEAD, image.bytes.len - MMT_FILE_HEAD), 0);
	assert_blocks(ALL);
	assert_int_equal(tape.ndamage, 0);
	assert_int_equal(read_bytes(text + 5, image.bytes.len - 5), 0);
	assert_blocks(ALL);
	assert_int_equal(tape.ndamage, 1);
	assert_damage(0, 0, MMT_FILE_HEAD - 5, false);
}

/* cat svc.0001.mmt svc.0002.mmt */
static void one_behind_the_other(void **state)
{
	(void)state;
	image_head(&image);
	add_block(0, 0);
	add_block(1, 1);
	image_head(&image);
	add_block(2, 0);
	image_head(&image);
	add_block(3, 0);
	assert_int_equal(read_bytes(strbuf_str(&image.bytes), image.bytes.len), 0);
	assert_blocks(15);
	assert_int_equal(tape.ndamage, 0);
}

/*
 * A block begins with family 0, whatever the one before ended with; the reader delivers only the changes of
 * family.
 */
static int count_families(void *ctx, const struct fact *f)
{
	strbuf_printf(ctx, "%u:%u ", f->kind, f->kind == MMT_FAMILY ? f->family : 0);
	return 0;
}

/* --- what the reader knows besides the facts --- */

struct parts {
	struct reader *reader;
	uint32_t all[8];
	size_t n;
};

static int take_part(void *ctx, const struct fact *f)
{
	struct parts *p = ctx;

	(void)f;
	p->all[p->n++ % 8] = reader_part(p->reader);
	return 0;
}

static void ignore_damage(void *ctx, const struct reader_damage *d)
{
	(void)ctx;
	(void)d;
}

static int take_one(void *ctx, const struct fact *f)
{
	(void)f;
	++*(int *)ctx;
	return 1;
}

/* If the callback returns anything but 0, reading ends. */
static void the_taker_has_enough(void **state)
{
	struct reader *r;
	int taken = 0;

	(void)state;
	assert_int_equal(reader_open_memory(strbuf_str(&image.bytes), image.bytes.len, &r), 0);
	assert_int_equal(reader_run(r, take_one, ignore_damage, &taken), 1);
	assert_int_equal(taken, 1);
	reader_close(r);
}

/* Also where the head of the second file is damaged. */
static void which_part_and_tag(void **state)
{
	(void)state;
	image_head(&image);
	add_block(0, 0);
	add_block(1, 1);
	image_head(&image);
	add_block(2, 0);
	for (int damaged = 0; damaged < 2; damaged++) {
		struct parts p = { 0 };
		uint32_t tag;

		image.bytes.s[image.start[2] - MMT_FILE_HEAD] ^= damaged;
		assert_int_equal(reader_open_memory(strbuf_str(&image.bytes), image.bytes.len, &p.reader), 0);
		assert_false(reader_tag(p.reader, &tag));
		assert_int_equal(reader_run(p.reader, take_part, ignore_damage, &p), 0);
		assert_true(reader_tag(p.reader, &tag));
		assert_int_equal(tag, IMAGE_TAG);
		assert_int_equal(p.n, 6);
		assert_int_equal(p.all[3], p.all[0]);
		assert_int_equal(p.all[4], p.all[0] + 1);
		reader_close(p.reader);
	}
}

static void no_damage(void *ctx, const struct reader_damage *d)
{
	(void)ctx;
	fail_msg("%s", d->why);
}

static void families(void **state)
{
	const struct fact f[] = {
		{ .kind = MMT_FREE }, { .kind = MMT_FAMILY, .family = 3 }, { .kind = MMT_FREE },
		{ .kind = MMT_FREE }, { .kind = MMT_FAMILY, .family = 3 }, { .kind = MMT_TIME },
		{ .kind = MMT_FREE },
	};
	cleanup_strbuf struct strbuf got = STRBUF_INIT;
	struct reader *r;

	(void)state;
	image_head(&image);
	image_facts(&image, 0, f, 4);		/* free, 3, free, free */
	image_facts(&image, 1, f + 4, 2);	/* 3, time */
	image_facts(&image, 2, f + 4, 3);	/* 3, time, free */
	image_facts(&image, 3, f + 5, 2);	/* time, free: of family 0 */
	assert_int_equal(reader_open_memory(strbuf_str(&image.bytes), image.bytes.len, &r), 0);
	assert_int_equal(reader_run(r, count_families, no_damage, &got), 0);
	reader_close(r);
	assert_string_equal(strbuf_str(&got), "2:0 11:3 2:0 2:0 12:0 12:0 2:0 12:0 11:0 2:0 ");
}

static void the_taker_stops(void **state)
{
	struct reader *r;

	(void)state;
	tape.stop_at = 3;
	assert_int_equal(reader_open_memory(strbuf_str(&image.bytes), image.bytes.len, &r), 0);
	assert_int_equal(tape_run(&tape, r), -ECANCELED);
	assert_int_equal(tape.nevents, 3);
}

/* Byte by byte. The size is not known. */
static void a_pipe(void **state)
{
	struct reader *r;
	int status;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	pid_t pid = fork();
	if (!pid) {
		int fd = open("pipe", O_WRONLY);
		for (size_t i = 0; i < image.bytes.len; i++)
			if (write(fd, strbuf_str(&image.bytes) + i, 1) != 1)
				_exit(1);
		_exit(0);
	}
	assert_int_equal(reader_open("pipe", &r), 0);
	assert_int_equal(reader_size(r), 0);
	assert_int_equal(reader_run(r, tape_take, tape_damaged, &tape), 0);
	assert_int_equal(reader_at(r), image.bytes.len);
	reader_close(r);
	assert_blocks(ALL);
	assert_int_equal(tape.ndamage, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);

	assert_int_equal(write_whole_file("file", strbuf_str(&image.bytes), image.bytes.len), 0);
	assert_int_equal(reader_open("file", &r), 0);
	assert_int_equal(reader_size(r), image.bytes.len);
	reader_close(r);
	reader_close(NULL);
}

/*
 * A valid head every 32 bytes, each with an invalid payload of a megabyte: four megabytes are read, not for
 * hours.
 */
static void made_to_take_for_ever(void **state)
{
	const struct block_head h = { 0, MMT_BLOCK_MAX, MMT_BLOCK_MAX, MMT_CODEC_STORED, IMAGE_TAG, 12345 };
	uint8_t head[MMT_BLOCK_HEAD];
	struct timespec begin, end;

	(void)state;
	block_head_pack(&h, head);
	image_head(&image);
	while (image.bytes.len < 4u << 20)
		strbuf_append(&image.bytes, head, sizeof(head));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	assert_int_equal(read_bytes(strbuf_str(&image.bytes), image.bytes.len), 0);
	assert_int_equal(tape.ndamage, 1);
	assert_damage(0, MMT_FILE_HEAD, image.bytes.len - MMT_FILE_HEAD, true);
	/* the same without a file head: it is not even opened */
	assert_int_equal(read_bytes(strbuf_str(&image.bytes) + MMT_FILE_HEAD,
				    image.bytes.len - MMT_FILE_HEAD),
			 -EINVAL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_in_range(end.tv_sec - begin.tv_sec, 0, 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_EXAMPLE(name) cmocka_unit_test_setup_teardown(name, setup_example, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_EXAMPLE(cut_at_every_byte),
		TEST_EXAMPLE(every_bit_flipped),
		TEST_EXAMPLE(bytes_removed_or_added),
		TEST(far_apart),
		TEST(blocks_missing_and_again),
		TEST(any_number_behind_damage),
		TEST(a_block_of_another_run),
		TEST(blocks_without_sense),
		TEST(packed_blocks),
		TEST_EXAMPLE(what_is_a_trace),
		TEST(one_behind_the_other),
		TEST(which_part_and_tag),
		TEST_EXAMPLE(the_taker_has_enough),
		TEST(families),
		TEST_EXAMPLE(the_taker_stops),
		TEST_EXAMPLE(a_pipe),
		TEST(made_to_take_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
