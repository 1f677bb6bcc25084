/* SPDX-License-Identifier: MIT */
/* summary_parts: what the files of the summary have in common; for them alone. */
#ifndef MM_SUMMARY_PARTS_H
#define MM_SUMMARY_PARTS_H

#include "report/model/summary.h"

/*
 * Room for one more element of @size behind the @n of *@array, doubling at powers of two. NULL on want
 * of memory, then and ever after: a list with a hole in it would look whole.
 */
void *summary_push(struct summary *s, void *array, size_t *n, size_t size);

/* NULL for nothing, and on want of memory. */
void *summary_copy(struct summary *s, const void *array, size_t n, size_t size);

/* @depth becomes 0 where there is no memory. */
struct summary_frame *summary_copy_stack(struct summary *s, const struct summary_frame *frames, size_t *depth);

/* The larger number first. */
int summary_compare_numbers(uint64_t a, uint64_t b);
int summary_compare_texts(const char *a, const char *b);
/* In the order of the summary; of those it does not list nothing is said. */
int summary_compare_families(const struct summary *s, const char *a, const char *b);
int summary_compare_stacks(const struct summary_frame *a, size_t na, const struct summary_frame *b, size_t nb);

/* Groups of a sampled run; of others: the same. */
int summary_compare_sampled(const struct summary_group *a, const struct summary_group *b);

void summary_sort_refs(struct summary *s);
void summary_refs_fini(struct summary_refs *r);

#endif
