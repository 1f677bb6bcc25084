/* SPDX-License-Identifier: MIT */
/*
 * uprobe_selftest: are the programs' records exact on this kernel? What a kernel does with them is no promise of its
 * developers': from Linux 6.13 to 7.3 counts were wrong without a loss that could be counted (doc/BPF-NOTES.md). So
 * before a watch believes them, a child of ours calls functions that are probed through the same programs, for a tenth
 * of a second, and each record is compared with what was called: how many, in which order, with which arguments and
 * which stack (selftest_calls.h, selftest_check.h). Once for a way and all watches: the answer is the kernel's.
 *
 * The child also finds out what a hit costs here.
 */
#ifndef MM_UPROBE_SELFTEST_H
#define MM_UPROBE_SELFTEST_H

#include <stddef.h>
#include <stdint.h>

#include "attach/uprobe/uprobe.h"
#include "attach/uprobe/uprobe_kernel.h"
#include "attach/uprobe/uprobe_reader.h"
#include "base/cleanup.h"

/*
 * 0: they are exact; @cost is known. -EBADE: they are not, and @why says what was wrong; other errors: the test could
 * not be made. Nothing of the test is left in the ring and in the child's memory; the sites 0 to 2 are to be set anew.
 */
must_check int uprobe_selftest(struct uprobe_kernel *k, struct uprobe_reader *r, struct uprobe_hit_cost *cost,
			       char *why, size_t n);

#endif
