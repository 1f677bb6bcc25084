/* SPDX-License-Identifier: MIT */
/*
 * core: a snapshot from an ELF core file of x86-64, the kernel's or gcore's.
 *
 *	program headers   PT_LOAD: where memory was, how much of it the file has (p_filesz), and where
 *	notes             NT_PRSTATUS, NT_X86_XSTATE: the threads; NT_FILE: which files were mapped where;
 *	                  NT_AUXV, NT_PRPSINFO, NT_SIGINFO: which program it was, and what it died of
 *
 * The bytes stay in the file, which is mapped (heap/snapshot/filemap.h); holes in the file, where no memory had been touched, are no pieces.
 * Only where segments do not lie at multiples of 8, which some old gdb makes, they are copied.
 *
 * What the core has not, in the order in which it is asked:
 *   - the file ends before it (truncated): a hole
 *   - a file's, private: FILE. The kernel leaves it out only if no page of it was ever written
 *   - shared: MISSING
 *   - private and of no file: never touched, or kept out by MADV_DONTDUMP; a core does not tell which: a hole
 * gcore leaves mappings of the last kind out altogether: nothing tells that they were there. What it leaves out of files has no
 * rights in it either: then the mapping says readable.
 *
 * In s->maps a file's ino is not 0 but made up (the same path, the same number), dev is 0; "[heap]" is not known, "[stack]" and "[vdso]"
 * are. Nothing in a core file is believed: what makes no sense is left out and counted in `damaged`.
 */
#ifndef MM_CORE_H
#define MM_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/taddr.h"
#include "heap/snapshot/snapshot.h"

struct core_info {
	char why[192];			/* core_open failed: why, in the user's words ("is a program, not a core file") */
	char what_to_do[192];		/* ""; or what the user can do about it */
	uint64_t size, whole;		/* bytes of the file, and how many its headers speak of; size < whole: truncated */
	bool headers_cut;		/* the list of memory is truncated itself: `whole` and `cut` are more than they say */
	uint64_t cut;			/* bytes of memory that would lie behind its end */
	uint64_t left_out;		/* bytes of private writable memory of no file that the core has not: never touched, or kept out */
	uint64_t unwritten;		/* bytes of writable private mappings of files that the core has not */
	bool no_private;		/* the core was written without private memory (coredump_filter): not even stacks are there */
	bool no_notes;			/* no thread is known: the notes are missing or cut */
	bool copied;			/* not mapped but copied: segments do not lie at multiples of 8 */
	unsigned damaged;		/* headers, notes, mappings that make no sense */
	int signal, code;		/* what the process died of; 0: not known, or it did not */
	taddr fault;			/* the address, for SIGSEGV and SIGBUS */
	char args[81];			/* the beginning of its command line */
	const char *exe;		/* path of its program, of s->maps; NULL: not known */
	taddr phdr, entry, base, vdso;	/* of the auxiliary vector: the program's headers, its entry, the loader; 0: not known */
};

/*
 * The core file @path as a sealed snapshot. 0; else @out is empty and info->why says it, with -errno: -ENOEXEC for what is no core
 * that can be read; -ENOMEM. @info is filled in any case, and valid as long as @out.
 */
must_check int core_open(const char *path, struct snapshot *out, struct core_info *info);

/* What the core does not have, a sentence each, NUL-terminated, into @out; how many. */
size_t core_doubts(const struct core_info *info, struct strbuf *out);

#endif
