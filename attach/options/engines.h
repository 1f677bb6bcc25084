/* SPDX-License-Identifier: MIT */
/* engines: how hits are taken (--engine). */
#ifndef MM_ENGINES_H
#define MM_ENGINES_H

#define ENGINE_VALUES "ptrace|uprobe|auto|uprobe-session|uprobe-multi|uprobe-perf"

enum engine {
	ENGINE_PTRACE,		/* the keeper stops the thread */
	ENGINE_UPROBE,		/* a BPF program in the kernel */
	ENGINE_AUTO,		/* uprobe where that is possible and sees all that ptrace does, else ptrace */
	/* uprobe, in one of the ways that kernels have */
	ENGINE_UPROBE_SESSION,
	ENGINE_UPROBE_MULTI,
	ENGINE_UPROBE_PERF,
};

#endif
