/* SPDX-License-Identifier: MIT */
/*
 * callsites: where in a file calls of given functions return to.
 *
 *	call malloc@plt   e8 rel32 ──▶ stub: jmp *slot ──▶ malloc
 *	mov  %rax, %rbx   ◀── the site: here rax is the new block
 *
 * A trap there stops one caller of an allocator, not all of them. It is an int3 over the first byte of an
 * instruction; inside of an instruction it would crash the target. So a site is reported only if the code of
 * the containing function, decoded from its beginning, reaches a call that ends there. Bytes that only look
 * like a call (data between functions, the inside of an instruction) are ignored; those that may be a call
 * but cannot be verified are counted.
 *
 * Not found: calls through a register or a pointer of the program's own, whose targets are not known from the
 * code.
 */
#ifndef MM_CALLSITES_H
#define MM_CALLSITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/probes/code/elfimage.h"
#include "base/cleanup.h"

/*
 * A function whose calls are searched: its name as imported (PLT, GOT; NULL: none) and its address in this
 * file (0: not defined here).
 */
struct callsite_target {
	const char *name;
	taddr addr;
};

/* All addresses are the file's. */
struct callsite {
	taddr ret;		/* where the call returns to */
	taddr function;		/* where the containing function begins; if it has several parts, this part */
	uint32_t target;	/* which of the targets is called */
	bool joined;		/* a jump within the function goes to @ret, too: rax may then be anything */
};

/*
 * All calls in the file that go to one of @targets, by ascending ret. @unsure, if not NULL: how many byte
 * sequences look like such a call, lie where code may be, and could not be verified. 0 or -ENOMEM; a file
 * that cannot be read has none. The caller frees @out.
 */
must_check int callsites_find(const struct elfimage *img, const struct callsite_target *targets, size_t n,
			      struct callsite **out, size_t *nout, size_t *unsure);

/*
 * The same for functions that end with a jump to one of @targets from number @first on (`jmp malloc@plt`), with
 * all their jumps to any of the targets. There is nothing after the jump to trap, but the callers of @function
 * get the block, and their calls are sites if @function is a target, too. @ret: the address after the jump.
 * @joined: the function has other exits; it may then return something else. PLT stubs do not count as
 * functions. 8-bit jumps, which occur only between adjacent static functions, are not searched.
 */
must_check int callsites_tails(const struct elfimage *img, const struct callsite_target *targets, size_t n,
			       size_t first, struct callsite **out, size_t *nout);

#endif
