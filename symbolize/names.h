/* SPDX-License-Identifier: MIT */
/*
 * names: what the code at an address is called: function, file and line, and the functions inlined there.
 *
 * No live process is needed, only the ELF file that was mapped, and addresses in it. The file may be hostile
 * or damaged (we may run as root and read another user's binary), and debug information is too much to check
 * beforehand. So a separate helper process reads each file (symbolize/worker.h), with limits on its memory
 * and time. If it fails, a second helper, which reads symbols only, is asked for the addresses that are not
 * answered yet. A bad file costs names, but never harms the caller.
 *
 * The function is the one in the debug information, else the symbol that covers the address, else not known:
 * never the nearest symbol.
 */
#ifndef MM_NAMES_H
#define MM_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

/* One ELF file that has addresses to be named. */
struct names_file {
	int fd;			/* the file; owned by the caller */
	/* absolute, in the target's view: debug files may be beside it. NULL: it has none */
	const char *path;
	/* the target's root directory (O_PATH), searched before our own; -1: only our own */
	int root;
};

struct names_frame {
	const char *function;	/* readable; NULL: not known */
	const char *linkage;	/* the linkage name (mangled, "work.part.0"); NULL: the same, or not known */
	const char *file;	/* of the source; NULL: not known */
	int line;		/* 0: not known */
	bool inlined;		/* into the next frame's function */
};

#define NAMES_FRAMES_MAX 256	/* of one address */

struct names_options {
	bool debuginfod;	/* run debuginfod-find for debug information that is not here */
	bool demangle;		/* C++ and Rust */
	int stop;		/* when this file becomes readable, cancel (it is not read); 0: none */
	uint64_t limit_ns;	/* a helper that sends no answer for so long is killed */
	uint64_t memory_bytes;	/* of address space for a helper, beyond what the caller uses itself */
};

/*
 * The answer for addrs[i]. @frames: the innermost inlined function first, the function that holds the
 * code last; at least one, at most NAMES_FRAMES_MAX. Valid during the call.
 */
typedef void names_take(void *ctx, size_t i, const struct names_frame *frames, size_t n);

/*
 * Name the @n addresses @addrs (ELF vaddr of the file; the caller has moved return addresses back into the
 * call instruction). @take is called once for each, in any order; an address that cannot be named gives one
 * frame with nothing known. @why (@why_size bytes) gets what went wrong, "" if nothing did. 0; -ECANCELED if
 * opt->stop became readable; -ENOMEM or -errno of fork and pipe: then some addresses may not have been taken.
 */
must_check int names_resolve(const struct names_file *f, const struct names_options *opt, const taddr *addrs,
			     size_t n, names_take *take, void *ctx, char *why, size_t why_size);

#endif
