/* SPDX-License-Identifier: MIT */
/* unwinders: the stack unwinders (--unwinder). */
#ifndef MM_UNWINDERS_H
#define MM_UNWINDERS_H

enum unwinders {
	UNWINDER_CFI,		/* ours, from the slice, while the thread runs */
	UNWINDER_DWFL,		/* libdwfl, while the thread waits */
	UNWINDER_LIBUNWIND,	/* libunwind, while the thread waits */
	UNWINDER_CHECK,		/* all three; ours counts, and differences are reported */
};

#endif
