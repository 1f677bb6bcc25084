/* SPDX-License-Identifier: MIT */
/*
 * cfi: the unwinding tables of a file that the target chose. They may yield nothing, or nonsense, but every
 * rule that they yield can be applied, and reads only what it may read.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/unwind/cfi.h"
#include "attach/stacks/unwind/frame.h"
#include "tests/fuzz/fuzz.h"

#define FUNCTIONS_MAX 500

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd >= 0 && pwrite(fd, data, size, 0) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

static void apply(const struct cfi_rule *rule, bool exact)
{
	static const uint8_t slice[512];
	const struct unwind_from from = { .slice = slice, .slice_len = sizeof(slice), .slice_addr = 0x7000 };
	struct frame_memory m = { .from = &from };
	struct frame_regs regs = { .r = { [FRAME_RSP] = 0x7080, [FRAME_RBP] = 0x70c0 }, .known = 0xffff };
	int err = frame_step(rule, exact, FRAME_BIT(FRAME_REGS) - 1, &m, &regs);

	promised(!err || err == -EINVAL || err == -EFAULT || err == -ENODATA);
	promised(m.used <= sizeof(slice));
}

static void look_at(const struct cfi *c, taddr addr)
{
	struct cfi_rule rule;
	int err = cfi_find(c, addr, &rule);

	promised(!err || err == -EINVAL || err == -ENOENT);
	if (err)
		return;
	apply(&rule, true);
	apply(&rule, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_close int fd = file_of(data, size);
	struct elfimage *img;
	struct cfi *c;

	if (fd < 0 || elfimage_open(fd, "fuzz", &img))
		return 0;
	if (!cfi_new(elfimage_elf(img), &c)) {
		for (size_t i = 0; i < cfi_count(c) && i < FUNCTIONS_MAX; i++) {
			taddr lo, hi;

			cfi_extent(c, i, &lo, &hi);
			promised(lo < hi);
			look_at(c, lo);
			look_at(c, lo + (hi - lo) / 2);
			look_at(c, hi - 1);
		}
		look_at(c, UINT64_MAX);
		cfi_free(c);
	}
	elfimage_close(img);
	return 0;
}
