/* SPDX-License-Identifier: MIT */
/*
 * verdict: whether a block that was not freed is still reachable.
 *
 * As in valgrind: a block is reachable if something that is reachable itself has a pointer to its beginning;
 * a block with pointers only to its inside is possibly lost; a block without pointers to it is lost; and what
 * only lost blocks point to is lost with them. The names are those of the JSON report; the numbers are those
 * of the trace.
 */
#ifndef MM_VERDICT_H
#define MM_VERDICT_H

#include <stdbool.h>

#define VERDICTS(X)			\
	X(UNKNOWN, unknown)		\
	X(DEFINITE, definite)		\
	X(INDIRECT, indirect)		\
	X(POSSIBLE, possible)		\
	X(REACHABLE, reachable)

enum verdict {
#define X(upper, lower) VERDICT_##upper,
	VERDICTS(X)
#undef X
	VERDICT_COUNT
};

/* As in the JSON report: "definite". The words for a reader are in report/words/words.h. */
const char *verdict_name(enum verdict v);

/* For certain: nothing points to it, or only lost blocks do. */
static inline bool verdict_is_lost(enum verdict v)
{
	return v == VERDICT_DEFINITE || v == VERDICT_INDIRECT;
}

#endif
