/* SPDX-License-Identifier: MIT */
/*
 * dwexpr: an expression out of the target's files, over registers and memory of the target. It ends within
 * its limits, and gives the same result for the same input.
 */
#include <errno.h>

#include "attach/stacks/unwind/dwexpr.h"
#include "tests/fuzz/fuzz.h"

/* Memory that can be read everywhere, except at addresses that end in 7 or f. */
static int load(void *ctx, taddr addr, void *buf, size_t n)
{
	unsigned *loads = ctx;
	uint64_t v = addr * 0x9e3779b97f4a7c15;

	promised(n >= 1 && n <= 8);
	promised(++*loads <= DWEXPR_STEPS);
	if (addr % 8 == 7)
		return -EFAULT;
	memcpy(buf, &v, n);
	return 0;
}

static int eval(const uint8_t *data, size_t size, const taddr *start, uint32_t known, uint64_t *out)
{
	const struct frame_regs regs = { .r = { 1, 2, 3, 4, 5, 6, 0x7fff1000, 0x7fff0f00 }, .known = known };
	unsigned loads = 0;
	const struct dwexpr_env env = { .regs = &regs, .start = start, .load = load, .ctx = &loads };

	return dwexpr_eval(data, size, &env, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const taddr cfa = 0x7fff2000;
	uint64_t one = 0, two = 0;
	int err = eval(data, size, &cfa, 0x1ffff, &one);

	promised(!err || err == -EINVAL || err == -EFAULT);
	promised(eval(data, size, &cfa, 0x1ffff, &two) == err && one == two);
	err = eval(data, size, NULL, 1u << FRAME_RSP, &one);
	promised(!err || err == -EINVAL || err == -EFAULT || err == -ENODATA);
	return 0;
}
