/* SPDX-License-Identifier: MIT */
/* diff_parts: what the files of the difference have in common; for them alone. */
#ifndef MM_DIFF_PARTS_H
#define MM_DIFF_PARTS_H

#include "base/cleanup.h"
#include "report/diff/diff.h"

/* Append the key of @stack: two stacks are the same if their keys are. */
void diff_key_stack(struct strbuf *sb, const struct stack_view *stack);

/* Are both watches of one process, as far as can be seen? */
bool diff_is_of_one_process(const struct summary *old, const struct summary *new);

/* Fill in d->refs. 0 or -ENOMEM. */
must_check int diff_refs_make(struct diff *d);

/* Groups of blocks or of objects, of both sides; those with the same key are the same. */
struct diff_side {
	char *key;
	const void *what;
	bool is_new;
	size_t order;		/* in which they were added */
};

struct diff_sides {
	struct diff_side *all;
	size_t n, size;
};

must_check int diff_sides_init(struct diff_sides *s, size_t size);	/* room for @size. 0 or -ENOMEM */
void diff_sides_fini(struct diff_sides *s);

/* Takes ownership of @key. 0; -ENOMEM if it is NULL. */
must_check int diff_sides_add(struct diff_sides *s, char *key, const void *what, bool is_new);

/* Sort by key; within one key the new side comes first, and each side in the order in which it was added. */
void diff_sides_sort(struct diff_sides *s);

#endif
