/* SPDX-License-Identifier: MIT */
/*
 * driver LAST COUNT SEED FILE...: a fuzzer without libFuzzer, linked into each build/VARIANT/fuzz/fuzz_NAME.
 *
 * Runs each FILE as it is and COUNT times changed; the same SEED makes the same changes on every machine.
 * Every input is written to LAST before it is run: however the run ends (a signal, the sanitizer's exit, the
 * limits of time and memory here), LAST has the input that caused it. LAST - and COUNT 0 run it again:
 *
 *	build/release/fuzz/fuzz_rule - 0 0 build/release/fuzz/fuzz_rule.last
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_SECONDS 20	/* usually it takes a few milliseconds */
#define MEMORY_MAX (512ul << 20)
#define GROWTH 4096		/* a changed input is longer by at most this */
#define CHANGES_MAX 6

struct input {
	uint8_t *bytes;
	size_t n, room;
};

static uint64_t state;

static uint64_t below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? state % n : 0;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static struct input load(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct input in;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	in = (struct input){ .n = (size_t)st.st_size, .room = (size_t)st.st_size + GROWTH };
	in.bytes = malloc(in.room);
	if (!in.bytes || read(fd, in.bytes, in.n) != (ssize_t)in.n)
		die(path);
	return in;
}

/* Most files have headers and tables at their ends: change more there than in the middle. */
static size_t place(const struct input *in)
{
	size_t end = in->n < 4096 ? in->n : 4096;

	switch (below(4)) {
	case 0:
		return below(end < 512 ? end : 512);
	case 1:
		return in->n - 1 - below(end);
	default:
		return below(in->n);
	}
}

/* Numbers at the limits of sizes and offsets. */
static void put_number(struct input *in, size_t at)
{
	static const uint64_t numbers[] = {
		0, 1, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		INT64_MAX, 1ull << 63, UINT64_MAX - 7, UINT64_MAX,
	};
	uint64_t value = numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
	size_t width = 1u << below(4);

	at &= ~(width - 1);
	if (at + width <= in->n)
		memcpy(in->bytes + at, &value, width);
}

/* Copy some bytes to another offset: over what is there, or in between. */
static void copy_some(struct input *in, size_t at, bool between)
{
	size_t n = 1 + below(32), from = below(in->n);

	if (n > in->n - at)
		n = in->n - at;
	if (n > in->n - from)
		n = in->n - from;
	if (between && in->n + n <= in->room) {
		memmove(in->bytes + at + n, in->bytes + at, in->n - at);
		in->n += n;
	}
	memmove(in->bytes + at, in->bytes + from, n);
}

static void remove_some(struct input *in, size_t at)
{
	size_t n = 1 + below(16);

	if (n > in->n - at)
		n = in->n - at;
	memmove(in->bytes + at, in->bytes + at + n, in->n - at - n);
	in->n -= n;
}

static void change(struct input *in)
{
	size_t at;

	if (!in->n)
		return;
	at = place(in);
	switch (below(9)) {
	case 0:
		in->n = below(16) ? in->n : at;
		break;
	case 1:
		remove_some(in, at);
		break;
	case 2:
	case 3:
		copy_some(in, at, below(2));
		break;
	case 4:
		in->bytes[at] = (uint8_t)below(256);
		break;
	case 5:
		in->bytes[at] ^= (uint8_t)(1u << below(8));
		break;
	case 6:
		in->bytes[at] += (uint8_t)(below(9) - 4);
		break;
	default:
		put_number(in, at);
	}
}

static int keep(int last, const struct input *in)
{
	return ftruncate(last, 0) || pwrite(last, in->bytes, in->n, 0) != (ssize_t)in->n;
}

/* In a buffer of exactly its size: the address sanitizer then sees a read past the end. */
static void run(int last, const struct input *in)
{
	cleanup_free uint8_t *exact = malloc(in->n ? in->n : 1);

	if (!exact || (last >= 0 && keep(last, in)))
		die("the input");
	memcpy(exact, in->bytes, in->n);
	alarm(INPUT_SECONDS);
	LLVMFuzzerTestOneInput(exact, in->n);
	alarm(0);
}

static void run_changed(int last, const struct input *original, unsigned long count)
{
	struct input in = { .bytes = malloc(original->room), .room = original->room };

	if (!in.bytes)
		die("memory");
	for (unsigned long i = 0; i < count; i++) {
		in.n = original->n;
		memcpy(in.bytes, original->bytes, in.n);
		for (uint64_t changes = 1 + below(CHANGES_MAX); changes; changes--)
			change(&in);
		run(last, &in);
	}
	free(in.bytes);
}

/* The address sanitizer needs its terabytes of shadow, and has a limit of its own (tests/test_fuzz.py). */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	const struct rlimit limit = { MEMORY_MAX, MEMORY_MAX };

	if (setrlimit(RLIMIT_AS, &limit))
		die("RLIMIT_AS");
#endif
}

int main(int argc, char **argv)
{
	int last;

	if (argc < 5) {
		fprintf(stderr, "usage: %s LAST COUNT SEED FILE...\n", argv[0]);
		return 2;
	}
	last = strcmp(argv[1], "-") ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
	if (last < 0 && strcmp(argv[1], "-"))
		die(argv[1]);
	limit_memory();
	for (int i = 4; i < argc; i++) {
		struct input in = load(argv[i]);

		state = 88172645463325252u + strtoul(argv[3], NULL, 10);
		run(last, &in);
		run_changed(last, &in, strtoul(argv[2], NULL, 10));
		free(in.bytes);
	}
	if (last >= 0)
		close(last);
	return 0;
}
