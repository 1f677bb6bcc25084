/* SPDX-License-Identifier: MIT */
/*
 * uprobe_jit: where has the kernel put the stack of a program that it has compiled?
 *
 * A program whose stack is in memory that each processor has once must never run at a probe: another thread's run of
 * it writes over that stack, with kernel pointers in it, and kernel 6.17 was seen to crash of it. Our programs avoid
 * it (keep_stack_of_thread in uprobe_maps.bpf.h); that it worked is seen in the compiled code, before anything is
 * probed. Where such a stack is used, a function begins by loading its address for the processor into r9:
 *
 *	49 b9 imm64		movabs $stack, %r9
 *	65 4c 03 0c 25 disp32	add %gs:disp32, %r9	or 65 4c 03 0d disp32, relative to rip
 */
#ifndef MM_UPROBE_JIT_H
#define MM_UPROBE_JIT_H

#include <stdbool.h>
#include <stddef.h>

/* Does the code of any function of the program @fd so? false also if it may not be read (BPF-NOTES.md). */
bool uprobe_jit_shares_stack(int fd);

bool uprobe_jit_code_shares_stack(const unsigned char *code, size_t n);

#endif
