/* SPDX-License-Identifier: MIT */
/*
 * callsites: where in a file calls of given functions return to.
 *
 *	call malloc@plt   e8 rel32 ──▶ stub: jmp *slot ──▶ malloc
 *	mov  %rax, %rbx   ◀── the site: here rax is the new block
 *
 * A trap there stops one caller of an allocator, not all of them. It is an int3 over the first byte of an instruction, and one
 * inside of an instruction would be the end of the target: a site is told only where the code of the function around,
 * gone through from where that begins, comes to a call that ends there. What only looks like a call in the bytes (data
 * between functions, the inside of an instruction) is not one; what may be one but cannot be shown to be is counted.
 *
 * Not found: calls through a register or a pointer of the program's own, for nothing in the code tells where they go.
 */
#ifndef MM_CALLSITES_H
#define MM_CALLSITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/probes/code/elfimage.h"
#include "base/cleanup.h"

/* A function that is called: by its name as imported (PLT, GOT; NULL: by none) and by its address in this very file (0: it is not defined here). */
struct callsite_target {
	const char *name;
	taddr addr;
};

/* All addresses are the file's. */
struct callsite {
	taddr ret;		/* where the call returns to */
	taddr function;		/* where the function around begins, as far as its code is in one piece */
	uint32_t target;	/* which of the targets is called */
	bool joined;		/* a jump within the function goes to @ret, too: rax may then be anything */
};

/*
 * All calls in the file that go to one of @targets, by ascending ret. @unsure, if not NULL: how many places look like
 * such a call, lie where code may be, and could not be shown to be one.
 * 0 or -ENOMEM; a file that cannot be read has none. @out is the caller's to free.
 */
must_check int callsites_find(const struct elfimage *img, const struct callsite_target *targets, size_t n, struct callsite **out, size_t *nout,
			      size_t *unsure);

/*
 * The same for functions that end with a jump to one of @targets (`jmp malloc@plt`): there is nothing behind it to be trapped, but who
 * calls @function gets the block, and is a site if @function is a target, too. @ret: behind the jump. @joined: the function has other ways out;
 * what it returns may then be something else. The stubs of a PLT are no functions; and jumps of 8 bits, which there are
 * only between static functions that lie side by side, are not looked for.
 */
must_check int callsites_tails(const struct elfimage *img, const struct callsite_target *targets, size_t n, struct callsite **out, size_t *nout);

#endif
