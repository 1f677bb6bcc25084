/* SPDX-License-Identifier: MIT */
/*
 * names: what the code at an address is called: function, file and line, and
 * the functions inlined there.
 *
 * No live process is needed, only the ELF file that was mapped, and addresses in
 * it. The file may be hostile or damaged (we may be root beside somebody else's
 * binary), and debug information is too much to check beforehand. So a helper
 * process of its own reads each file (symbolize/worker.h), with limits on its memory and
 * time. What it had not answered when it failed is asked again of a second one, which
 * reads symbols only. A bad file costs names, never the caller.
 *
 * A function is what the debug information says, else the symbol that
 * covers the address, else not known: never the nearest neighbour.
 */
#ifndef MM_NAMES_H
#define MM_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

/* One ELF file whose addresses want names. */
struct names_file {
	int fd;			/* the file; stays the caller's */
	const char *path;	/* absolute, as the target names it: debug files may be beside it. NULL: has no place */
	int root;		/* the target's root directory (O_PATH), searched before our own; -1: only our own */
};

struct names_frame {
	const char *function;	/* readable; NULL: not known */
	const char *linkage;	/* as the linker knows it (mangled, "work.part.0"); NULL: the same, or not known */
	const char *file;	/* of the source; NULL: not known */
	int line;		/* 0: not known */
	bool inlined;		/* into the next frame's function */
};

#define NAMES_FRAMES_MAX 256	/* of one address */

struct names_options {
	bool debuginfod;	/* run debuginfod-find for debug information that is not here */
	bool demangle;		/* C++ and Rust */
	int stop;		/* when this file becomes readable, all is given up (it is not read); 0: none */
	uint64_t limit_ns;	/* a helper that answers nothing for so long is given up */
	uint64_t memory_bytes;	/* of address space for a helper, beyond what the caller has itself */
};

/*
 * The answer for addrs[i]. @frames: the innermost inlined function first, the function that holds the
 * code last; at least one, at most NAMES_FRAMES_MAX. Valid during the call.
 */
typedef void names_take(void *ctx, size_t i, const struct names_frame *frames, size_t n);

/*
 * Name the @n addresses @addrs (the file's own, ELF vaddr; the caller has moved return addresses back
 * into their call): @take is called once for each, in any order. What cannot be named is taken as
 * one frame of nothing. @why (@why_size bytes) says what was in the way, "" if nothing was.
 * 0; -ECANCELED when it was to stop; -ENOMEM or -errno of fork and pipe, then some addresses may not have been taken.
 */
must_check int names_resolve(const struct names_file *f, const struct names_options *opt, const taddr *addrs, size_t n,
			     names_take *take, void *ctx, char *why, size_t why_size);

#endif
