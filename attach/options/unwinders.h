/* SPDX-License-Identifier: MIT */
/* unwinders: who may walk the stacks (--unwinder). */
#ifndef MM_UNWINDERS_H
#define MM_UNWINDERS_H

enum unwinders {
	UNWINDER_CFI,		/* ours, from the slice, while the thread runs */
	UNWINDER_DWFL,		/* libdwfl, while the thread waits */
	UNWINDER_LIBUNWIND,	/* libunwind, while the thread waits */
	UNWINDER_CHECK,		/* all three; ours counts, and where they differ is told */
};

#endif
