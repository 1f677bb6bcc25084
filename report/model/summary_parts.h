/* SPDX-License-Identifier: MIT */
/* summary_parts: what the files of the summary have in common; for them alone. */
#ifndef MM_SUMMARY_PARTS_H
#define MM_SUMMARY_PARTS_H

#include <string.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

/*
 * Room for one more element of @size after the @n of *@array, doubling at powers of two. NULL if out of
 * memory, then and ever after: a list with a hole in it would look complete.
 */
void *summary_push(struct summary *s, void *array, size_t *n, size_t size);

/* NULL if @n is 0, or if out of memory. */
void *summary_copy(struct summary *s, const void *array, size_t n, size_t size);

/* A copy with frames of its own, to be freed with free; without frames if out of memory. */
struct stack_view summary_copy_stack(struct summary *s, const struct stack_view *stack);

/* The groups alone, and index_of. 0 or -ENOMEM. */
must_check int summary_sort_groups(struct summary *s);

/* The larger number first. */
static inline int summary_compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static inline int summary_compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

#endif
