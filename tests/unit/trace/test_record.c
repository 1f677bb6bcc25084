/* SPDX-License-Identifier: MIT */
/* record: a fact of every kind is encoded and decoded unchanged; what is not a record is refused. */
#include "trace/encode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fact_example.h"
#include "tests/unit/fact_text.h"
#include "trace/decode.h"

static uint8_t payload[MMT_BLOCK_MAX];

static void text_of(const struct fact *f, struct strbuf *sb)
{
	strbuf_reset(sb);
	fact_text(sb, f);
}

/* Everything in @payload, as text. Returns the last result of decoder_next. */
static int read_all(size_t n, struct strbuf *sb)
{
	/* so that the address sanitizer sees a read beyond it */
	cleanup_free uint8_t *exact = malloc(n ? n : 1);
	struct decoder d;
	struct fact f;
	int got;

	strbuf_reset(sb);
	memcpy(exact, payload, n);
	assert_int_equal(decoder_init(&d), 0);
	decoder_start(&d, exact, n);
	while ((got = decoder_next(&d, &f)) > 0)
		fact_text(sb, &f);
	decoder_fini(&d);
	return got;
}

static void every_kind_alone(void **state)
{
	cleanup_strbuf struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
	uint64_t kinds = 0, infos = 0;
	struct encoder e;

	(void)state;
	for (size_t i = 0; i < FACT_EXAMPLES; i++) {
		encoder_start(&e, payload);
		assert_int_equal(encoder_put(&e, &fact_examples[i]), 0);
		assert_int_equal(read_all(e.n, &out), 0);
		text_of(&fact_examples[i], &in);
		assert_string_equal(strbuf_str(&out), strbuf_str(&in));
		kinds |= 1ull << fact_examples[i].kind;
		infos |= 1ull << fact_examples[i].info;
	}
	assert_int_equal(kinds, (1ull << MMT_INFO) | ((2ull << MMT_OBJECT) - 2));
	assert_int_equal(infos, (2ull << MMT_OLDER) - 1);
}

static void all_in_one_block(void **state)
{
	static const uint64_t steps[] = { 0, 1, 6, 7, 127, 128, 1000000, 1ull << 40 };
	cleanup_strbuf struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
	struct encoder e;
	uint64_t now = 0;

	(void)state;
	encoder_start(&e, payload);
	for (size_t i = 0; i < 3 * FACT_EXAMPLES; i++) {
		struct fact f = fact_examples[i * 7 % FACT_EXAMPLES];
		f.time_us = now += steps[i % 8];
		assert_int_equal(encoder_put(&e, &f), 0);
		fact_text(&in, &f);
	}
	assert_int_equal(read_all(e.n, &out), 0);
	assert_string_equal(strbuf_str(&out), strbuf_str(&in));
}

static void at_random(void **state)
{
	cleanup_strbuf struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
	uint64_t random = 88172645463325252u, now = 0;
	struct encoder e;

	(void)state;
	for (int round = 0; round < 50; round++) {
		encoder_start(&e, payload);
		strbuf_reset(&in);
		for (int i = 0; i < 1000; i++) {
			struct fact f = example_event(&random, &now);
			assert_int_equal(encoder_put(&e, &f), 0);
			fact_text(&in, &f);
		}
		assert_int_equal(read_all(e.n, &out), 0);
		assert_string_equal(strbuf_str(&out), strbuf_str(&in));
	}
}

static void time_never_goes_back(void **state)
{
	const struct fact late = { .kind = MMT_TIME, .time_us = MOST },
			  early = { .kind = MMT_TIME, .time_us = 5 };
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct encoder e;

	(void)state;
	encoder_start(&e, payload);
	assert_int_equal(encoder_put(&e, &late), 0);
	assert_int_equal(encoder_put(&e, &early), 0);
	assert_int_equal(read_all(e.n, &out), 0);
	assert_string_equal(strbuf_str(&out), "12.0 @18446744073709551615\n12.0 @18446744073709551615\n");
	/* one more microsecond would be too many */
	payload[e.n++] = 1 << MMT_KIND_BITS | MMT_TIME;
	assert_int_equal(read_all(e.n, &out), -EPROTO);
}

/* The usual events take few bytes. */
static void usual_events_are_small(void **state)
{
	const struct fact start = { .kind = MMT_FORGET, .block.addr = 0x7f1234567890 };
	const struct fact alloc = { .kind = MMT_ALLOC, .time_us = 5,
				    .block = { .addr = 0x7f12345678b0, .size = 24, .stack = 3 } };
	const struct fact release = { .kind = MMT_FREE, .time_us = 11, .block.addr = 0x7f1234567890 };
	struct encoder e;

	(void)state;
	encoder_start(&e, payload);
	assert_int_equal(encoder_put(&e, &start), 0);
	size_t before = e.n;
	assert_int_equal(encoder_put(&e, &alloc), 0);
	assert_int_equal(encoder_put(&e, &release), 0);
	assert_int_equal(e.n - before, 4 + 2);
}

/*
 * A block takes what fits; a record that does not fit leaves the block, and the state for the next record,
 * unchanged.
 */
static void a_full_block(void **state)
{
	cleanup_strbuf struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
	uint64_t random = 1, now = 0;
	static char text[MMT_BLOCK_MAX];
	struct encoder e;
	struct fact f;
	int err = 0;

	(void)state;
	encoder_start(&e, payload);
	while (!err) {
		struct encoder before = e;
		f = example_event(&random, &now);
		f.kind = f.kind == MMT_FAMILY ? MMT_TWICE : f.kind;
		err = encoder_put(&e, &f);
		if (err)
			assert_memory_equal(&e, &before, sizeof(e));
		else
			fact_text(&in, &f);
	}
	assert_int_equal(err, -ENOBUFS);
	assert_true(e.n <= MMT_BLOCK_MAX && e.n > MMT_BLOCK_MAX - 100);
	assert_int_equal(read_all(e.n, &out), 0);
	assert_string_equal(strbuf_str(&out), strbuf_str(&in));

	/* the largest note, and one that is larger */
	memset(text, 'x', sizeof(text) - 1);
	f = (struct fact){ .kind = MMT_INFO, .info = MMT_NOTE, .note = text };
	encoder_start(&e, payload);
	assert_int_equal(encoder_put(&e, &f), -ENOBUFS);
	assert_int_equal(e.n, 0);
	f.note = text + 32;
	assert_int_equal(encoder_put(&e, &f), 0);
	assert_int_equal(read_all(e.n, &out), 0);
	assert_int_equal(strlen(strbuf_str(&out)), strlen(f.note) + strlen("31.14 @0 \"\"\n"));
	/* and each length in between: what is accepted can be read, what is refused leaves nothing */
	for (size_t less = 1; less < 32; less++) {
		f.note = text + less;
		encoder_start(&e, payload);
		err = encoder_put(&e, &f);
		assert_true(err == 0 || (err == -ENOBUFS && e.n == 0));
		assert_true(e.n <= MMT_BLOCK_MAX);
		assert_int_equal(read_all(e.n, &out), 0);
	}
}

/* A decoder takes any number of blocks, each of the largest size; earlier results are then invalid. */
static void many_large_records(void **state)
{
	static char text[MMT_BLOCK_MAX];
	const struct fact in = { .kind = MMT_INFO, .info = MMT_NOTE, .note = text + 100 };
	struct encoder e;
	struct decoder d;
	struct fact f;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	encoder_start(&e, payload);
	assert_int_equal(encoder_put(&e, &in), 0);
	assert_int_equal(decoder_init(&d), 0);
	for (int i = 0; i < 4; i++) {
		decoder_start(&d, payload, e.n);
		assert_int_equal(decoder_next(&d, &f), 1);
		assert_string_equal(f.note, in.note);
		assert_ptr_equal(f.note, d.text);
	}
	decoder_fini(&d);
}

static void assert_lie(const uint8_t *lie, size_t n)
{
	struct decoder d;
	struct fact f;

	assert_int_equal(decoder_init(&d), 0);
	decoder_start(&d, lie, n);
	assert_int_equal(decoder_next(&d, &f), -EPROTO);
	assert_int_equal(d.list_size, 0);
	decoder_fini(&d);
}

/* A count of names, or of uses, that its bytes cannot hold allocates nothing. */
static void no_memory_for_lies(void **state)
{
	static const uint8_t names[] = { MMT_INFO, MMT_NAMES, 14, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t uses[] = { MMT_OBJECT, 0, 0, 2, 0, 3, 1, 1, 1, 1, 1, 1, 1, 1 };

	(void)state;
	assert_lie(names, sizeof(names));
	assert_lie(uses, sizeof(uses));
}

static void what_the_encoder_refuses(void **state)
{
	const struct fact no_kind = { .kind = 18 }, none = { .kind = 0 }, large = { .kind = 33 };
	const struct fact no_info = { .kind = MMT_INFO, .info = 63 };
	const struct fact long_series = { .kind = MMT_INFO, .info = MMT_PLACE,
					  .place = { .points = example_points,
						     .npoints = MMT_SERIES_POINTS + 1 } };
	const struct fact_sample tall = { .nsteps = MMT_SAMPLE_STEPS + 1 };
	const struct fact too_old = INFORMATION(SAMPLE, .sample = { 1, &tall });
	const struct fact_merged long_births = { .points = example_points, .npoints = MMT_SERIES_POINTS + 1 };
	const struct fact too_long = INFORMATION(MERGED, .merged = { 1, &long_births });
	struct encoder e;

	(void)state;
	encoder_start(&e, payload);
	assert_int_equal(encoder_put(&e, &too_long), -EINVAL);
	assert_int_equal(encoder_put(&e, &no_kind), -EINVAL);
	assert_int_equal(encoder_put(&e, &none), -EINVAL);
	assert_int_equal(encoder_put(&e, &large), -EINVAL);
	assert_int_equal(encoder_put(&e, &no_info), -EINVAL);
	assert_int_equal(encoder_put(&e, &long_series), -EINVAL);
	assert_int_equal(encoder_put(&e, &too_old), -EINVAL);
	assert_int_equal(e.n, 0);
}

/* Cut anywhere: the cut record is not delivered. */
static void cut_at_every_byte(void **state)
{
	cleanup_strbuf struct strbuf out = STRBUF_INIT, whole = STRBUF_INIT;
	struct encoder e;
	size_t ends[FACT_EXAMPLES];

	(void)state;
	encoder_start(&e, payload);
	for (size_t i = 0; i < FACT_EXAMPLES; i++) {
		assert_int_equal(encoder_put(&e, &fact_examples[i]), 0);
		ends[i] = e.n;
	}
	assert_int_equal(read_all(e.n, &whole), 0);
	for (size_t n = 0, record = 0; n <= e.n; n++) {
		bool between = n == 0 || n == ends[record];
		assert_int_equal(read_all(n, &out), between ? 0 : -EPROTO);
		assert_int_equal(strncmp(strbuf_str(&out), strbuf_str(&whole), strlen(strbuf_str(&out))), 0);
		record += n == ends[record];
	}
}

struct odd {
	const char *bytes;
	size_t n;
	int end;
	const char *text;
};

#define ODD(bytes, end, text) { bytes, sizeof(bytes) - 1, end, text }

static const struct odd odd[] = {
	/* unknown kinds */
	ODD("\x00", -ENOTSUP, ""),
	ODD("\x12", -ENOTSUP, ""),
	ODD("\x1e", -ENOTSUP, ""),
	ODD("\x1f\x3f\x03"
	    "abc"
	    "\x0c",
	    0, "12.0 @0\n"),
	ODD("\x1f\x00\x00\x0c", 0, "12.0 @0\n"),
	ODD("\x1f\xff\xff\xff\xff\x7f\x00\x0c", 0, "12.0 @0\n"),
	/* fields of a newer version behind the known ones, and too few */
	ODD("\x1f\x0a\x05\x01\x02"
	    "new"
	    "\x0c",
	    0, "31.10 @0 1 2\n12.0 @0\n"),
	ODD("\x1f\x0a\x01\x01\x02", -EPROTO, ""),
	/* a length beyond the block, and beyond everything */
	ODD("\x1f\x0e\x05\x02"
	    "x",
	    -EPROTO, ""),
	ODD("\x1f\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", -EPROTO, ""),
	/* a string longer than its record, though not longer than the block; a NUL in one */
	ODD("\x1f\x0e\x02\x03"
	    "xy",
	    -EPROTO, ""),
	ODD("\x1f\x0e\x04\x04"
	    "x\0y",
	    0, "31.14 @0 \"x\"\n"),
	/* numbers that do not fit */
	ODD("\x01\x00\x01\x80\x80\x80\x80\x10", -EPROTO, ""),
	/* verdicts: more sums than bytes, more blocks, a list that is cut off */
	ODD("\x1f\x14\x0d\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00", -EPROTO, ""),
	ODD("\x1f\x15\x03\x01\x02\x08", -EPROTO, ""),
	ODD("\x1f\x15\x04\x01\x01\x08\x01", -EPROTO, ""),
	ODD("\x1f\x15\x04\x09\x01\x08\x00\x0c", 0, "31.21 @0 9: 0x20 0 0\n12.0 @0\n"),
	ODD("\x1f\x02\x05\x80\x80\x80\x80\x20\x00\x00\x00", -EPROTO, ""),
	/* so many arguments, names, points do not fit */
	ODD("\x1f\x02\x06\x02\x00\x00\x02\x00\x00", 0, "31.2 @0 1 NULL NULL NULL NULL\n"),
	ODD("\x1f\x02\x06\x02\x00\x00\x03\x00\x00", -EPROTO, ""),
	ODD("\x1f\x02\x0c\x02\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -EPROTO, ""),
	ODD("\x1f\x08\x07\x00\x01\x00\x00\x00\x00\x00", 0, "31.8 @0 0: NULL NULL NULL 0 0\n"),
	ODD("\x1f\x08\x08\x00\x02\x00\x00\x00\x00\x00\x00", -EPROTO, ""),
	ODD("\x1f\x0f\x26\x00\x00\x00\x00\x21"
	    "123456789012345678901234567890123",
	    -EPROTO, ""),
	/*
	 * a sample: a flag and a number behind the steps are from a newer version; more steps than allowed,
	 * or than there are
	 */
	ODD("\x1f\x16\x21\x04\x7f\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x01\x0b\x0c\x0d"
	    "\x0e\x0f\x10\x00\x11\x12\x13\x14\x15\x16\x17\x18\x19"
	    "new\x0c",
	    0, "31.22 @0 4 1: 1 2 3 4 5 6 7 8 9 10 11 14 15 16 17 18 19 20 21 22 23 24 25 11/12/13\n12.0 @0\n"),
	/* one of an earlier version, which does not say what probes have seen; and one that says a part of it */
	ODD("\x1f\x16\x17\x04\x7f\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x01\x0b\x0c\x0d"
	    "\x0e\x0f\x10\x00\x11\x12\x0c",
	    0, "31.22 @0 4 1: 1 2 3 4 5 6 7 8 9 10 11 14 15 16 17 18 0 0 0 0 0 0 0 11/12/13\n12.0 @0\n"),
	ODD("\x1f\x16\x1a\x04\x7f\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x01\x0b\x0c\x0d"
	    "\x0e\x0f\x10\x00\x11\x12\x13\x14\x15\x0c",
	    -EPROTO, ""),
	/* one of an earlier version, which does not say what is lost; and one that says only a half of it */
	ODD("\x1f\x16\x15\x04\x7f\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x01\x0b\x0c\x0d"
	    "\x0e\x0f\x10\x00\x0c",
	    0, "31.22 @0 4 1: 1 2 3 4 5 6 7 8 9 10 11 14 15 16 0 0 0 0 0 0 0 0 0 11/12/13\n12.0 @0\n"),
	ODD("\x1f\x16\x16\x04\x7f\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x01\x0b\x0c\x0d"
	    "\x0e\x0f\x10\x00\x11\x0c",
	    -EPROTO, ""),
	/* a sample without its last numbers */
	ODD("\x1f\x16\x12\x04\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x01\x0b\x0c\x0d"
	    "\x0e\x0c",
	    -EPROTO, ""),
	ODD("\x1f\x16\x0e\x04\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x11", -EPROTO, ""),
	ODD("\x1f\x16\x0e\x04\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x01", -EPROTO, ""),
	ODD("\x1f\x17\x0a\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", -EPROTO, ""),
	/* a budget of an earlier version, which does not say what was lost; and one that says only a part of it */
	ODD("\x1f\x17\x0b\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c", 0,
	    "31.23 @0 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0 0\n12.0 @0\n"),
	ODD("\x1f\x17\x0d\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x11\x12\x0c", -EPROTO, ""),
	/* a run: unknown keys are skipped, a value is as long as its length */
	ODD("\x1f\x01\x09\x63\x02xx\x04\x01p\x05\x00", 0,
	    "31.1 @0 00000000000000000000000000000000 piece 0 last 0 start 0 \"p\" \"\" NULL NULL NULL NULL\n"),
	ODD("\x1f\x01\x05\x02\x02\x85\x85\x01", -EPROTO, ""),
	ODD("\x1f\x01\x03\x04\x02x", -EPROTO, ""),
	ODD("\x1f\x01\x05\x01\x03"
	    "abc",
	    -EPROTO, ""),
	/* unknown flags */
	ODD("\x1f\x05\x04\x01\x02\x00\xfe\x00", -EPROTO, ""),
	ODD("\x1f\x05\x04\x01\x02\x00\x7f", 0, "31.5 @0 1 0 0x2 1 1\n"),
	ODD("\x11\x00\x05\x02\xff\x01\x00", 0, "17.0 @0 0x0 5 1 1 1:\n"),
	/* a stack without its tag, a family without its kind and noun; and with a part of them */
	ODD("\x1f\x07\x03\x05\x06\x01", -EPROTO, ""),
	ODD("\x1f\x03\x03\x05\x02g", -EPROTO, ""),
	ODD("\x1f\x03\x04\x05\x02g\x01", -EPROTO, ""),
	/* so many uses do not fit; and just as many do */
	ODD("\x11\x04\x05\x01\x00\x02\x07\x01\x00\x08\x00\x03", 0,
	    "17.0 @0 0x10 5 -1 0 0: 7 +1 -0 8 +0 -3\n"),
	ODD("\x11\x00\x05\x01\x00\x03\x07\x01\x00\x08\x00\x03", -EPROTO, ""),
	ODD("\x11\x00\x05\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -EPROTO, ""),
};

static void odd_records(void **state)
{
	cleanup_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		memcpy(payload, odd[i].bytes, odd[i].n);
		int end = read_all(odd[i].n, &out);
		if (end != odd[i].end || strcmp(strbuf_str(&out), odd[i].text))
			fail_msg("odd record %zu: %d, %s", i, end, strbuf_str(&out));
	}
}

#define BYTES(bytes) bytes, sizeof(bytes) - 1

/* The bytes that tests/test_trace_format.py has by hand. */
static const struct { struct fact fact; const char *bytes; size_t n;
} by_hand[] = {
	{ { .kind = MMT_REF, .time_us = 3, .ref = { 0x5000, 5, 1, FACT_NONE } },
	  BYTES("\x6d\x80\x28\x05\x01\x00") },
	{ { .kind = MMT_REF, .ref = { 0x5000, 5, 2, 4 } }, BYTES("\x0d\x80\x28\x05\x02\x04") },
	{ { .kind = MMT_UNREF, .time_us = 17, .ref = { 0x5000, 5, 1, 1 } },
	  BYTES("\xee\x11\x80\x28\x05\x01\x01") },
	{ { .kind = MMT_BORN, .ref = { 40, 200, 1, 2 } }, BYTES("\x0f\x09\x08\xc8\x01\x01\x02") },
	{ { .kind = MMT_COUNTED, .ref = { .addr = 0x5000, .count = 0 } }, BYTES("\x10\x80\x28\x00") },
	{ { .kind = MMT_OBJECT,
	    .object = { 0x5000, 1000, -2, true, false,
			(const struct fact_use[]){ { 5, 3, 0 }, { 6, 0, 255 } }, 2 } },
	  BYTES("\x11\x80\x28\xe8\x07\x03\x01\x02\x05\x03\x00\x06\x00\xff\x01") },
	{ INFORMATION(FAMILY_NAME, .family_name = { 1, "dict", "obj", true, false }), BYTES("\x1f\x03\x0b\x01"
											    "\x05"
											    "dict"
											    "\x01\x04"
											    "obj") },
	{ INFORMATION(FAMILY_NAME, .family_name = { 2, "ma", "on", false, true }), BYTES("\x1f\x03\x08\x02"
											 "\x03"
											 "ma"
											 "\x02\x03"
											 "on") },
	{ INFORMATION(FRAME, .frame = { 7, FACT_NONE, 16, true, true }), BYTES("\x1f\x05\x04\x07\x10\x00"
									       "\x03") },
	{ INFORMATION(STACK, .stack = { 2, 1, MMT_END_WHOLE, 4 }), BYTES("\x1f\x07\x04\x02\x01\x00\x04") },
	{ INFORMATION(TAG, .tag = { 3, "char" }), BYTES("\x1f\x12\x06\x03\x05"
							"char") },
	{ INFORMATION(SKIP, .skip = "read"), BYTES("\x1f\x13\x05\x05"
						   "read") },
	{ INFORMATION(SAMPLE, .sample = { 5, &(const struct fact_sample){ 1,
									  2,
									  3,
									  4,
									  5,
									  6,
									  7,
									  8,
									  9,
									  10,
									  128,
									  true,
									  2,
									  { { 9, 1, 0 }, { 8, 0, 2 } },
									  12,
									  13,
									  14,
									  15,
									  16,
									  17,
									  { 18, 19, 20, 21, 22, 23, 24 } } }),
	  BYTES("\x1f\x16\x22\x05\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x80\x01\x02\x09\x01\x00\x08\x00"
		"\x02\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18") },
	{ INFORMATION(BUDGET, .budget = &(const struct fact_budget){ 10000, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
									   { 11, 12, 13, 14, 15 } }),
	  BYTES("\x1f\x17\x11\x90\x4e\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f") },
	{ INFORMATION(MEMORY, .memory = { 3, "w", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } }), BYTES("\x1f\x18\x0d\x06\x02"
										 "w"
										 "\x01\x02\x03\x04\x05"
										 "\x06\x07\x08\x09\x0a") },
	{ INFORMATION(RUNTIME, .runtime = "go"), BYTES("\x1f\x19\x03\x03"
						       "go") },
};

static void as_by_hand(void **state)
{
	struct encoder e;

	(void)state;
	for (size_t i = 0; i < sizeof(by_hand) / sizeof(by_hand[0]); i++) {
		encoder_start(&e, payload);
		assert_int_equal(encoder_put(&e, &by_hand[i].fact), 0);
		assert_int_equal(e.n, by_hand[i].n);
		assert_memory_equal(payload, by_hand[i].bytes, e.n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_alone),
		cmocka_unit_test(all_in_one_block),
		cmocka_unit_test(at_random),
		cmocka_unit_test(time_never_goes_back),
		cmocka_unit_test(usual_events_are_small),
		cmocka_unit_test(a_full_block),
		cmocka_unit_test(many_large_records),
		cmocka_unit_test(no_memory_for_lies),
		cmocka_unit_test(what_the_encoder_refuses),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(odd_records),
		cmocka_unit_test(as_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
