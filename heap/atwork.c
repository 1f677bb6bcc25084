/* SPDX-License-Identifier: MIT */
#include "heap/atwork.h"

#include <syscall.h>

/* Does an allocator make this call, with its structures half changed? */
static bool is_allocators(uint64_t call)
{
	switch (call) {
	case SYS_mmap:
	case SYS_mprotect:
	case SYS_munmap:
	case SYS_brk:
	case SYS_mremap:
	case SYS_madvise:
	case SYS_sched_yield:
		return true;
	default:
		return false;
	}
}

bool atwork_is_in_file(const struct snapshot *s, const struct snapshot_thread *t, const struct mapping *file,
		       taddr lo, taddr hi)
{
	const struct mapping *m;

	if (!t->known || t->running)
		return true;
	if (t->regs.orig_rax == SYS_futex)
		return t->regs.rdi >= lo && t->regs.rdi < hi;
	if ((int64_t)t->regs.orig_rax >= 0)
		return is_allocators(t->regs.orig_rax);
	m = procmaps_find(&s->maps, t->regs.rip);
	return m && file && m->ino == file->ino && m->dev == file->dev && m->ino;
}

size_t atwork_in_file(const struct snapshot *s, const struct mapping *file, taddr lo, taddr hi)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nthreads; i++)
		n += atwork_is_in_file(s, &s->threads[i], file, lo, hi);
	return n;
}
