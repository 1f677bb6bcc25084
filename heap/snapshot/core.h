/* SPDX-License-Identifier: MIT */
/*
 * core: a snapshot from an ELF core file of x86-64, the kernel's or gcore's.
 *
 *	program headers   PT_LOAD: where memory was, how much of it the file has (p_filesz), and where
 *	notes             NT_PRSTATUS, NT_X86_XSTATE: the threads; NT_FILE: which files were mapped where;
 *	                  NT_AUXV, NT_PRPSINFO, NT_SIGINFO: the program, and what it died of
 *
 * The bytes stay in the file, which is mapped (heap/snapshot/filemap.h); holes in the file, for memory that
 * had not been touched, are no pieces. Segments are copied only if they are not at multiples of 8, as some
 * old gdb writes them.
 *
 * What the core does not have, checked in this order:
 *    - the file ends before it (truncated): a hole
 *    - private, of a file: FILE. The kernel leaves it out only if no page of it was ever written
 *    - shared: MISSING
 *    - private, of no file: never touched, or excluded by MADV_DONTDUMP; a core does not show which: a hole
 * gcore leaves mappings of the last kind out altogether: nothing shows that they existed. If it leaves out
 * mappings of files, it does not record their permissions either: they are entered as readable.
 *
 * In s->maps the ino of a file is made up, never 0 (the same for the same path), dev is 0; "[heap]" is not
 * known, "[stack]" and "[vdso]" are. Nothing in a core file is trusted: what makes no sense is left out and
 * counted in `damaged`.
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
	char why[192];			/* if core_open failed: "is a program, not a core file" */
	char what_to_do[192];		/* ""; or what the user can do about it */
	uint64_t size, whole;		/* bytes of the file; what its headers describe: more if truncated */
	bool headers_cut;		/* the headers are truncated, too: `whole` and `cut` are too low */
	uint64_t cut;			/* bytes of memory that would be after its end */
	/*
	 * bytes of private writable memory of no file that the core does not have: never touched, or excluded
	 */
	uint64_t left_out;
	uint64_t unwritten;		/* bytes of writable private mappings of files that it lacks */
	bool no_private;		/* written without private memory (coredump_filter), even stacks */
	bool no_notes;			/* no thread is known: the notes are missing or cut */
	bool copied;			/* some bytes were copied: segments not at multiples of 8 */
	unsigned damaged;		/* headers, notes, mappings that make no sense */
	int signal, code;		/* what the process died of; 0: not known, or it did not die */
	taddr fault;			/* the address, for SIGSEGV and SIGBUS */
	char args[81];			/* the beginning of its command line */
	const char *exe;		/* path of its program, in s->maps; NULL: not known */
	/* from the auxiliary vector: the program's headers, its entry, the loader, the vDSO; 0: not known */
	taddr phdr, entry, base, vdso;
};

/*
 * The core file @path as a sealed snapshot. 0; otherwise @out is empty, info->why has the reason, and the
 * result is -ENOEXEC for a file that is no readable core; -ENOMEM; or another -errno. @info is filled in any
 * case, and valid as long as @out.
 */
must_check int core_open(const char *path, struct snapshot *out, struct core_info *info);

/* What the core does not have, one sentence each, NUL-terminated, into @out; returns their number. */
size_t core_doubts(const struct core_info *info, struct strbuf *out);

#endif
