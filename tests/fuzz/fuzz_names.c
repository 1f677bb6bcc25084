/* SPDX-License-Identifier: MIT */
/*
 * names: a file that the target chose, its symbols and debug information read in this process (otherwise a
 * helper does that): every address is answered once, with valid frames.
 */
#include <errno.h>
#include <sys/mman.h>

#include "symbolize/elfnames.h"
#include "symbolize/files/buildid.h"
#include "tests/fuzz/fuzz.h"

#define ADDRESSES 512	/* from each of the two addresses where small files have their code */
#define STEP 4

struct taken {
	bool seen[2 * ADDRESSES];
	size_t n;
};

static void take(void *ctx, size_t i, const struct names_frame *frames, size_t n)
{
	struct taken *t = ctx;

	promised(i < 2 * ADDRESSES && !t->seen[i] && n >= 1);
	t->seen[i] = true;
	t->n++;
	for (size_t k = 0; k < n; k++) {
		promised(frames[k].inlined == (k < n - 1) && frames[k].line >= 0);
		promised(!frames[k].function || strlen(frames[k].function) < 1u << 20);
		promised(!frames[k].linkage ||
			 (frames[k].function && strcmp(frames[k].linkage, frames[k].function) &&
			  strlen(frames[k].linkage) < 1u << 16));
		promised(!frames[k].file || strlen(frames[k].file) < 1u << 18);
	}
}

static void note(void *ctx, const char *text)
{
	(void)ctx;
	promised(*text);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

/* The program reads this in its own process, too. */
static void check_build_id(int fd)
{
	char text[BUILDID_TEXT];
	int r = buildid_read(fd, text);

	promised(r == 0 || r == -EINVAL);
	promised(strspn(text, "0123456789abcdef") == strlen(text) && strlen(text) < BUILDID_TEXT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct names_options opt = { .demangle = true };
	cleanup_close int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct names_file file = { fd, NULL, -1 };
	struct taken taken = { .n = 0 };
	taddr addrs[2 * ADDRESSES];
	struct elfnames l = {
		.file = &file, .opt = &opt, .dwarf = true, .addrs = addrs, .n = 2 * ADDRESSES,
		.take = take, .note = note, .alive = nothing, .opened = nothing, .ctx = &taken,
	};

	if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	for (size_t i = 0; i < ADDRESSES; i++) {
		addrs[i] = 0x1000 + i * STEP;
		addrs[ADDRESSES + i] = 0x401000 + i * STEP;
	}
	promised(elfnames_run(&l) || taken.n == l.n);
	check_build_id(fd);
	return 0;
}
